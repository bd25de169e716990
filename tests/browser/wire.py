"""A connection between a browser and a site that can be cut, as cables are."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_CHUNK = 65536


class Wire:
    """Carries bytes to a site, until it is cut: then everything that is open ends, and nothing new gets through."""

    def __init__(self, target: str) -> None:
        where = urlsplit(target)
        assert where.hostname is not None
        assert where.port is not None
        self._target = (where.hostname, where.port)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._cut = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """From now on nothing gets through."""
        with self._lock:
            self._cut = True
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """From now on everything gets through again."""
        with self._lock:
            self._cut = False

    def close(self) -> None:
        """Cut it for good. Nothing of it is left."""
        self.cut()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()

    def _accept(self) -> None:
        serving = []
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                break
            serving.append(threading.Thread(target=self._serve, args=(near,), daemon=True))
            serving[-1].start()
        for thread in serving:
            thread.join()

    def _serve(self, near: socket.socket) -> None:
        """One connection to its end. It is known to whoever cuts before a byte gets through, and closed when both ways are done."""
        with near, suppress(OSError), socket.create_connection(self._target) as far:
            with self._lock:
                if self._cut:
                    return
                self._open |= {near, far}
            back = threading.Thread(target=_carry, args=(far, near), daemon=True)
            back.start()
            _carry(near, far)
            back.join()
            with self._lock:
                self._open -= {near, far}


def _carry(source: socket.socket, sink: socket.socket) -> None:
    """One way of a connection. Where it ends, the other ends, too."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    for one in (source, sink):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextmanager
def wired(target: str) -> Iterator[Wire]:
    """A wire to a site, for as long as this lasts."""
    wire = Wire(target)
    try:
        yield wire
    finally:
        wire.close()
