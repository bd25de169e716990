"""Secrets: followed from their reference at the moment of use, and kept out of every text.

A reference is `env:NAME`, `file:/PATH` or `vault:/PATH#KEY`: a file that Ansible Vault encrypted, whose password is in the file that
RACKPROOF_VAULT_PASSWORD_FILE names, and a key of the YAML mapping in it.
"""

import base64
import json
import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Never

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from rackproof.errors import LabError
from rackproof.model.inventory import Credentials

VAULT_PASSWORD_FILE = "RACKPROOF_VAULT_PASSWORD_FILE"
SHOWN = "***"
#: Lines of a secret that are shorter are not looked for one by one: they stand in other texts too.
_LINE_CHARACTERS_MIN = 16


class Secret:
    """A secret. It shows itself as ***, and is neither pickled nor compared."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself, for whoever uses it at once."""
        return self._value

    def __repr__(self) -> str:
        return SHOWN

    __str__ = __repr__

    def __reduce__(self) -> Never:
        raise TypeError("a secret is not pickled")


def follow(reference: str) -> Secret:
    """The secret that a reference names. Raises LabError that says what is missing, never the secret."""
    kind, _, place = reference.partition(":")
    match kind:
        case "env":
            if place not in os.environ:
                raise LabError(f"{reference}: expected a secret in the environment of the worker, found none")
            return Secret(os.environ[place])
        case "file":
            return Secret(_read(Path(place), reference).removesuffix("\n"))
        case "vault":
            path, _, key = place.rpartition("#")
            return _in_vault(Path(path), key, reference)
    raise LabError(f"{kind}: expected a reference to a secret (env:NAME, file:/PATH, vault:/PATH#KEY)")


def of_credentials(credentials: Credentials) -> Mapping[str, Secret]:
    """What credentials refer to, by field ("password", "private_key", "become"), where they refer to something. Raises LabError."""
    fields = ("password", "private_key", "become")
    return {name: follow(reference) for name in fields if (reference := getattr(credentials, name)) is not None}


def redacted(text: str, secrets: Iterable[Secret]) -> str:
    """The text with *** for every secret, also where it stands quoted, escaped, in base64, or by the line."""
    forms = {form for secret in secrets for form in _forms(secret.reveal()) if form}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, SHOWN)
    return text


def _forms(value: str) -> set[str]:
    lines = {line.strip() for line in value.splitlines()}
    plain = {value, value.strip(), *(line for line in lines if len(line) >= _LINE_CHARACTERS_MIN)}
    return {
        form
        for text in plain
        for form in (
            text,
            json.dumps(text)[1:-1],
            json.dumps(text, ensure_ascii=False)[1:-1],
            repr(text)[1:-1],
            shlex.quote(text),
            base64.b64encode(text.encode()).decode(),
        )
    }


def _in_vault(path: Path, key: str, reference: str) -> Secret:
    from ansible.errors import AnsibleError  # type: ignore[import-untyped]  # only who has a vault waits for its import
    from ansible.parsing.vault import VaultLib, VaultSecret  # type: ignore[import-untyped]

    named = os.environ.get(VAULT_PASSWORD_FILE)
    if not named:
        raise LabError(f"{reference}: expected the file of the vault's password in {VAULT_PASSWORD_FILE}, found nothing")
    password = _read(Path(named), f"{VAULT_PASSWORD_FILE} ({named})").strip()
    try:
        text = VaultLib([("default", VaultSecret(password.encode()))]).decrypt(_read(path, reference))
    except AnsibleError:
        raise LabError(f"{reference}: expected a file that the password of {VAULT_PASSWORD_FILE} opens, found another") from None
    try:
        data = YAML(typ="safe").load(bytes(text).decode())
    except (YAMLError, UnicodeDecodeError):
        data = None
    if not isinstance(data, dict) or not isinstance(data.get(key), str):
        raise LabError(f"{reference}: expected a mapping with the text {key} in the vault, found none")
    return Secret(data[key])


def _read(path: Path, what: str) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise LabError(f"{what}: expected a file that can be read: {why}") from None
