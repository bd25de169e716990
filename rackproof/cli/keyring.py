"""Which token belongs to which server? In a file that only its owner can read, written by `rackproof login`."""

import json
import os
import stat
from pathlib import Path

import platformdirs

from rackproof.errors import SettingsError

_PRIVATE = stat.S_IRUSR | stat.S_IWUSR


def path() -> Path:
    """Where tokens are kept."""
    return platformdirs.user_config_path("rackproof", appauthor=False) / "tokens.json"


def token_for(server: str) -> str | None:
    """The token for a server: of RACKPROOF_TOKEN, else of the file; None where there is none. Raises SettingsError."""
    return os.environ.get("RACKPROOF_TOKEN") or kept(server)


def kept(server: str) -> str | None:
    """The token for a server that login wrote down. Raises SettingsError."""
    return _read().get(_key(server))


def keep(server: str, token: str | None) -> None:
    """Write down the token for a server; None removes it. Raises SettingsError."""
    tokens = _read()
    tokens.pop(_key(server), None)
    if token is not None:
        tokens[_key(server)] = token
    where = path()
    where.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = where.with_name(f".{where.name}.{os.getpid()}")
    # Private from its first moment on.
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w") as file:
        json.dump(tokens, file, indent=2)
    part.replace(where)


def _read() -> dict[str, str]:
    where = path()
    try:
        with where.open() as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & ~_PRIVATE & 0o077:
                raise SettingsError(f"{where}: expected a file that only its owner can read, found others who can: chmod 600 {where}")
            found = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError:
        raise SettingsError(f"{where}: expected JSON, found something else; remove it and sign in again") from None
    return {str(server): str(token) for server, token in found.items()} if isinstance(found, dict) else {}


def _key(server: str) -> str:
    return server.rstrip("/").lower()
