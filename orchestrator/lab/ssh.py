"""The way to a host of an inventory: one SSH connection by the system's OpenSSH client, and sessions that share it."""

import os
import select
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from orchestrator.devices.private import private_folder
from orchestrator.secrets import of_credentials
from rackproof.errors import LabError
from rackproof.model.inventory import HostEntry

#: How long signing in may take, and the client to end after its session was closed [s].
SIGN_IN_S = 15.0
END_S = 8.0
#: A host that says nothing for ALIVE_S is asked; after so many questions without an answer it is gone.
ALIVE_S = 5
ALIVE_COUNT = 3
_ERROR_BYTES = 600


class Connection:
    """A context manager: entering signs in and starts the first program, leaving ends it and hangs up.

    What the first program reads comes by a pipe of this process: when this process dies, however it does, the pipe closes, and the program
    is told so. The key is what the entry's credentials refer to; where they refer to none, it is the user's own.
    """

    def __init__(self, entry: HostEntry, first: Sequence[str]) -> None:
        if not entry.known_host.strip():
            raise LabError(f"{entry.name}: expected its SSH host key in the inventory (known_host, see ssh-keyscan), found none")
        if entry.credentials.password is not None:
            raise LabError(f"{entry.name}: expected a private key in its credentials: a host is not signed in to with a password")
        self.name = entry.name
        self._entry = entry
        self._first = first
        self._master: subprocess.Popen[bytes] | None = None
        self._folder, self._claim = Path(), -1
        self._key = -1
        self._errors: IO[bytes] | None = None
        self._partial = b""
        self._sessions: list[subprocess.Popen[bytes]] = []
        self._saying = threading.Lock()

    def __enter__(self) -> Self:
        self._folder, self._claim = private_folder()
        try:
            self._errors = tempfile.TemporaryFile()
            self._keep_key()
            known = (line.strip() for line in self._entry.known_host.splitlines())
            (self._folder / "known_hosts").write_text("".join(f"{self.name} {line}\n" for line in known if line))
            self._master = self._ssh("yes", self._first)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End every program, and hang up."""
        for process in self._sessions:
            end(process)
        self._sessions.clear()
        if self._master is not None:
            end(self._master)
            self._master = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None
        if self._key >= 0:
            os.close(self._key)
            self._key = -1
        if self._claim >= 0:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._claim)
            self._claim = -1

    def say(self, line: bytes) -> None:
        """A line for the first program, from any thread. Does nothing where the connection is gone: the next to listen is told so."""
        if self._master is not None and self._master.stdin is not None:
            with self._saying, suppress(BrokenPipeError, ValueError):
                self._master.stdin.write(line + b"\n")

    def heard(self, timeout_s: float) -> list[bytes]:
        """Lines that the first program wrote, as soon as there are any; none after the timeout. Raises LabError where it has ended."""
        if self._master is None:
            raise LabError(f"{self.name}: the connection is closed")
        assert self._master.stdout is not None
        deadline = time.monotonic() + timeout_s
        whole: list[bytes] = []
        while not whole and select.select([self._master.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            got = os.read(self._master.stdout.fileno(), 1 << 16)
            if not got:
                with suppress(subprocess.TimeoutExpired):
                    self._master.wait(END_S)
                raise LabError(f"{self.where}: the connection ended: {self.errors() or 'without a word'}")
            *whole, self._partial = (self._partial + got).split(b"\n")
        return whole

    @property
    def where(self) -> str:
        """The host and where it is reached."""
        return f"{self.name} ({self._entry.address}{f' port {self._entry.port}' if self._entry.port else ''})"

    def errors(self) -> str:
        """The end of what the client and the programs of sessions wrote to their standard error, in one line."""
        if self._errors is None:
            return ""
        end = os.fstat(self._errors.fileno()).st_size
        said = os.pread(self._errors.fileno(), _ERROR_BYTES, max(0, end - _ERROR_BYTES))
        return " ".join(said.decode(errors="replace").split())

    def session(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start another program there, with pipes to its standard input and from its output. Raises LabError."""
        if self._master is None or self._master.poll() is not None:
            raise LabError(f"{self.where}: the connection is gone: {self.errors() or 'without a word'}")
        self._sessions = [each for each in self._sessions if each.poll() is None]
        self._sessions.append(self._ssh("no", command))
        return self._sessions[-1]

    def _ssh(self, master: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        options = {
            "BatchMode": "yes",
            "CheckHostIP": "no",
            "ConnectTimeout": f"{SIGN_IN_S:.0f}",
            "ControlMaster": master,
            "ControlPath": str(self._folder / "control"),
            "ControlPersist": "no",
            "GlobalKnownHostsFile": "/dev/null",
            "HostKeyAlias": self.name,
            "LogLevel": "ERROR",
            "ServerAliveCountMax": str(ALIVE_COUNT),
            "ServerAliveInterval": str(ALIVE_S),
            "StrictHostKeyChecking": "yes",
            "UpdateHostKeys": "no",
            "UserKnownHostsFile": str(self._folder / "known_hosts"),
        }
        if self._key >= 0:
            options |= {"IdentitiesOnly": "yes", "IdentityFile": f"/proc/{os.getpid()}/fd/{self._key}"}
        arguments = ["ssh", "-F", "none", "-T", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
        if self._entry.credentials.user:
            arguments += ["-l", self._entry.credentials.user]
        if self._entry.port is not None:
            arguments += ["-p", str(self._entry.port)]
        # Namespaces and captures are root's; whoever signs in is root, or may be without a password.
        remote = f'[ "$(id -u)" = 0 ] || become="sudo -n"; exec $become {shlex.join(command)}'
        try:
            return subprocess.Popen(
                [*arguments, "--", self._entry.address, remote],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,  # Ctrl-C in the terminal is for the campaign's process alone
            )
        except OSError as error:
            raise LabError(f"ssh cannot be started: {error.strerror}; is the OpenSSH client installed?") from error

    def _keep_key(self) -> None:
        """Put the key into a file that is in memory alone, and ends with this process."""
        key = of_credentials(self._entry.credentials).get("private_key")
        if key is not None:
            self._key = os.memfd_create("key", os.MFD_CLOEXEC)
            os.fchmod(self._key, 0o600)
            os.write(self._key, f"{key.reveal().rstrip()}\n".encode())


def end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe that a program reads from, and wait for its end."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
