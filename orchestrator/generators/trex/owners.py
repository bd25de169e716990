"""Whose ports are they? What TRex's ports name as their owner, where the inventory names no user."""

import getpass
import os
import socket
from pathlib import Path


def this_process() -> str:
    """The owner that this process is: "rackproof:user@host:pid"."""
    return f"{_this_host()}{os.getpid()}"


def gone(owner: str) -> bool:
    """Was this owner a process like this one, on this host, that was killed?"""
    pid = owner.removeprefix(_this_host())
    return pid != owner and pid.isdecimal() and not Path(f"/proc/{pid}").exists()


def _this_host() -> str:
    return f"rackproof:{getpass.getuser()}@{socket.gethostname()}:"
