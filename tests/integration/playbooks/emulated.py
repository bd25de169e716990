"""Starts an emulated switch: fakenos's SSH server and prompts around a configuration that can be changed."""

import io
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import paramiko  # type: ignore[import-untyped]
from fakenos import FakeNOS  # type: ignore[import-untyped]
from fakenos.plugins.servers import ssh_server_paramiko  # type: ignore[import-untyped]

from tests.integration.playbooks.switch import Switch, SwitchShell

NAME, USER, PASSWORD = "dut", "lab", "an emulated secret"


def host_key() -> str:
    """The key of fakenos's server, as `known_hosts` has it."""
    return f"ssh-rsa {paramiko.RSAKey(file_obj=io.StringIO(ssh_server_paramiko.DEFAULT_SSH_KEY)).get_base64()}"


@contextmanager
def served(switch: Switch, nos: str) -> Iterator[int]:
    """The switch behind an SSH server; yields its port. nos: fakenos's own platform, for all that the switch does not know."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    net = FakeNOS({"hosts": {NAME: {"username": USER, "password": PASSWORD, "port": port, "platform": nos}}})
    net.shell_plugins["CMDShell"] = type("Shell", (SwitchShell,), {"switch": switch})
    quick = SimpleNamespace(sleep=lambda seconds: time.sleep(seconds if seconds > 0.1 else 0.001), monotonic=time.monotonic)
    with (
        mock.patch.object(ssh_server_paramiko, "time", quick),
        mock.patch.object(ssh_server_paramiko, "channel_to_shell_tap", _typed),
        net,
    ):
        yield port


def _typed(stdio: Any, stdin: Any, replied: threading.Event, running: threading.Event) -> None:
    """What is typed, echoed and handed on by the line; fakenos's own does it by the character and waits 10 ms after each."""
    rest = ""
    while running.is_set() and (data := stdio.channel.recv(4096)):
        replied.wait(10)
        *lines, rest = (rest + data.decode()).replace("\r", "\n").split("\n")
        for line in lines:
            stdio.write(f"{line}\r\n".encode())
            replied.clear()
            stdin.write(f"{line}\n")
