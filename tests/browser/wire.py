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
        """Cut it for good."""
        self.cut()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(timeout=10)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                is_cut = self._cut
            if is_cut:
                near.close()
                continue
            far = socket.create_connection(self._target)
            with self._lock:
                self._open |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(_CHUNK):
                sink.sendall(chunk)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._open -= {source}
        source.close()


@contextmanager
def wired(target: str) -> Iterator[Wire]:
    """A wire to a site, for as long as this lasts."""
    wire = Wire(target)
    try:
        yield wire
    finally:
        wire.close()
