"""Commands run where they cannot do harm: with a small disk of their own, or as the root of a user namespace."""

import functools
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


def small_disk(folder: Path, size: str, command: Sequence[str]) -> list[str]:
    """The command with a file system of `size` mounted on folder, which nobody else sees and which goes with it."""
    mounted = f"mount -t tmpfs -o size={size},mode=700 small {shlex.quote(str(folder))} && exec {shlex.join(command)}"
    return [*_root_of_namespace(), "--mount", "--", "sh", "-c", mounted]


def as_root_of_namespace(command: Sequence[str]) -> list[str]:
    """The command as what it takes for root."""
    return [*_root_of_namespace(), "--", *command]


@functools.cache
def _allowed() -> str:
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip()


def _root_of_namespace() -> list[str]:
    if why := _allowed():
        pytest.skip(f"user {os.geteuid()} may not make a user namespace here: {why}")
    return ["unshare", "--user", "--map-root-user"]
