"""What Ansible is handed: its inventory, keys, known hosts, settings and environment.

Texts that come from plans and inventories are marked as unsafe: Ansible takes them as they are and never as templates.
"""

import hashlib
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from orchestrator.devices.platforms import Platform
from orchestrator.secrets import Secret
from rackproof.model.inventory import DeviceEntry

CONNECT_S = 10
#: One connection a device stays open between plays; a device that is silent for 15 s is given up.
SSH_OPTIONS = (
    "ControlMaster=auto",
    "ControlPersist=300",
    "StrictHostKeyChecking=yes",
    "GlobalKnownHostsFile=/dev/null",
    "IdentitiesOnly=yes",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    f"ConnectTimeout={CONNECT_S}",
    "LogLevel=ERROR",
)

_SETTINGS = """\
[defaults]
strategy = ansible.builtin.free
forks = 50
gathering = explicit
internal_poll_interval = 0.005
timeout = {connect_s}
host_key_checking = True
interpreter_python = auto_silent
localhost_warning = False
deprecation_warnings = False
[ssh_connection]
pipelining = True
usetty = False
retries = 0
control_path_dir = {folder}/c
ssh_args = {ssh}
[persistent_connection]
connect_timeout = 60
[paramiko_connection]
host_key_auto_add = False
look_for_keys = False
"""


class _Unsafe(str):
    """A text that Ansible must not read as a template."""

    __slots__ = ()


def write_settings(folder: Path) -> None:
    """Write what holds for all plays into the private folder: Ansible's settings, and a home that is nobody's."""
    ssh = " ".join(f"-o {option}" for option in (*SSH_OPTIONS, f"UserKnownHostsFile={folder}/known_hosts"))
    (folder / "ansible.cfg").write_text(_SETTINGS.format(folder=folder, ssh=ssh, connect_s=CONNECT_S))
    (folder / "c").mkdir()
    (folder / "home/.ssh").mkdir(parents=True)
    # Where Python's SSH libraries look.
    (folder / "home/.ssh/known_hosts").symlink_to(folder / "known_hosts")


def environment(folder: Path) -> dict[str, str]:
    """The environment of plays. ansible-runner writes it into its artefacts, so nothing of the worker's own is in it."""
    path = os.environ.get("PATH", os.defpath)
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), path, "/usr/sbin", "/sbin"]),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "HOME": str(folder / "home"),
        "LANG": "C.UTF-8",
        "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
        "ANSIBLE_HOST_KEY_CHECKING": "True",  # ansible-runner turns it off where nobody says anything
    }


def known_hosts(entry: DeviceEntry, platform: Platform) -> str:
    """The lines of a device in a `known_hosts` file: by its alias for OpenSSH, and by its address for Python's libraries."""
    port = entry.port or platform.port
    names = (_alias(entry), entry.address if port == 22 else f"[{entry.address}]:{port}")
    return "".join(f"{name} {line.strip()}\n" for name in names for line in entry.known_host.splitlines() if line.strip())


def ssh(folder: Path, entry: DeviceEntry, platform: Platform) -> list[str]:
    """The command that reaches a device over the connection that plays keep open, without a prompt."""
    own = [f"HostKeyAlias={_alias(entry)}", f"ControlPath={_control_path(folder, entry, platform)}", "BatchMode=yes"]
    own += [f"UserKnownHostsFile={folder}/known_hosts", f"Port={entry.port or platform.port}"]
    own += [f"User={entry.credentials.user}"] if entry.credentials.user else []
    return ["ssh", *(f"-o{option}" for option in (*SSH_OPTIONS, *own)), "--", entry.address]


def _alias(entry: DeviceEntry) -> str:
    """What a device's host key is looked up by: no other device's key is good for it."""
    return f"rackproof-{entry.name}"


def _control_path(folder: Path, entry: DeviceEntry, platform: Platform) -> str:
    """Where ssh keeps the device's connection; a device that is described differently has another one."""
    what = json.dumps([entry.model_dump(mode="json"), platform.port])
    return str(folder / "c" / hashlib.sha256(what.encode()).hexdigest()[:32])


def files(
    place: Path,
    platform: Platform,
    devices: Sequence[tuple[DeviceEntry, Mapping[str, Secret]]],
    variables: Mapping[str, Mapping[str, Any]],
) -> Mapping[str, str]:
    """The files of a play by their path in its folder: the inventory, and a file for every key."""
    hosts = {entry.name: _host(place, platform, entry, secrets, variables.get(entry.name, {})) for entry, secrets in devices}
    text = io.StringIO()
    yaml = YAML(pure=True)
    yaml.representer.add_representer(_Unsafe, lambda representer, value: representer.represent_scalar("!unsafe", str(value), style='"'))
    yaml.dump({"all": {"hosts": hosts}}, text)
    keys = {f"keys/{entry.name}": f"{secrets['private_key'].reveal()}\n" for entry, secrets in devices if "private_key" in secrets}
    return {"inventory.yml": text.getvalue(), **keys}


def _host(
    place: Path, platform: Platform, entry: DeviceEntry, secrets: Mapping[str, Secret], variables: Mapping[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        **platform.variables,
        "ansible_host": entry.address,
        "ansible_port": entry.port or platform.port,
        "ansible_ssh_common_args": f"-o HostKeyAlias={_alias(entry)}",
        "ansible_control_path": _control_path(place.parent, entry, platform),
        "rackproof_options": dict(entry.options),
    }
    if entry.credentials.user:
        found["ansible_user"] = entry.credentials.user
    if "private_key" in secrets:
        found["ansible_ssh_private_key_file"] = str(place / "keys" / entry.name)
    if "password" in secrets:
        found["ansible_password"] = secrets["password"].reveal()
    if "become" in secrets:
        found |= {"ansible_become": True, "ansible_become_password": secrets["become"].reveal()}
    untrusted = {key: _unsafe(value) for key, value in found.items() if key not in platform.variables}
    return {**platform.variables, **untrusted, **{key: _unsafe(value) for key, value in variables.items()}}


def _unsafe(value: Any) -> Any:
    if isinstance(value, str):
        return _Unsafe(value)
    if isinstance(value, Mapping):
        return {key: _unsafe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_unsafe(item) for item in value]
    return value
