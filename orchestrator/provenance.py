"""What is written down before the first trial: code, libraries, host and testbed."""

import importlib.metadata
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import rackproof
from rackproof.ports import Testbed

_LIBRARIES = ("numpy", "scipy", "pyroute2", "rackproof-native", "SQLAlchemy", "matplotlib", "typst")


def provenance(testbed: Testbed) -> Mapping[str, Mapping[str, str]]:
    """Topic -> name -> value."""
    return {
        "Rackproof": {"version": rackproof.__version__, "commit": _commit(), "python": sys.version.split()[0], **_versions()},
        "Host": {
            "name": socket.gethostname(),
            "system": _system(),
            "user id": str(os.geteuid()),
            "time zone": time.strftime("%Z (%z)"),
        },
        "Testbed": {"name": testbed.name, **testbed.facts()},
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _commit() -> str:
    """The commit of the checkout that runs, with a mark where files differ from it; "unknown" outside a checkout."""
    folder = Path(rackproof.__file__).parent
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return f"{commit}{' with local changes' if changed else ''}"


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    return done.stdout.strip()


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.platform())
    except OSError:
        return platform.platform()
