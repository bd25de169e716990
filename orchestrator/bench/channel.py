"""How the campaign's process talks to others of ours (the bench's, a generator's, Ansible's): pickled messages, with open files.

Both ends are the same code of the same user, so pickle is safe here; nothing from outside ever comes this way.
"""

import pickle
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

_HEADER = struct.Struct("!QI")


class Closed(Exception):
    """The other end is gone."""


class Channel:
    """One end of the pair; messages are any picklable value, with up to 8 file descriptors."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def send(self, message: Any, fds: tuple[int, ...] = ()) -> None:
        """Send one message. Raises Closed."""
        body = pickle.dumps(message)
        header = _HEADER.pack(len(body), len(fds))
        try:
            socket.send_fds(self._sock, [header], list(fds))
            self._sock.sendall(body)
        except OSError as error:
            raise Closed from error

    def receive(self) -> tuple[Any, list[int]]:
        """The next message and its file descriptors, which the caller then owns. Raises Closed."""
        try:
            header, fds, _, _ = socket.recv_fds(self._sock, _HEADER.size, 8)
            if len(header) < _HEADER.size:
                raise Closed
            length, _ = _HEADER.unpack(header)
            body = bytearray(length)
            view = memoryview(body)
            while view:
                got = self._sock.recv_into(view)
                if got == 0:
                    raise Closed
                view = view[got:]
        except OSError as error:
            raise Closed from error
        return pickle.loads(body), fds  # noqa: S301 - see above: both ends are ours

    def readable(self, timeout_s: float) -> bool:
        """True as soon as something can be received (a message or the end), False after the timeout."""
        return bool(select.select([self._sock], [], [], timeout_s)[0])

    def fileno(self) -> int:
        """For select()."""
        return self._sock.fileno()

    def close(self) -> None:
        """Close this end; the other one sees Closed."""
        self._sock.close()


def spawned(module: str, *arguments: str, environment: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], Channel]:
    """A process that runs a module with the number of its end of a channel and the arguments; and our end."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(theirs.fileno()), *arguments],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal is for the campaign's process alone
            env=environment,
        )
    return process, Channel(ours)
