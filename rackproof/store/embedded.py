"""Who shares the embedded PostgreSQL of a data folder, and so when it starts and stops.

Every process that uses it holds a shared lock on one file; who lets go of it last stops the server. The kernel takes the lock from a
process that is killed, so a dead process never keeps the server running: the next to leave, or `rackproof bench clean`, stops it.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from rackproof.errors import StoreError
from rackproof.store import cluster as servers
from rackproof.store.cluster import Cluster

_TURN_S = 90.0
_POLL_S = 0.01


class EmbeddedServer:
    """A share in the server of a data folder, as a context manager."""

    def __init__(self, data_dir: Path, extra: Sequence[tuple[str, str]] = ()) -> None:
        self.cluster = cluster_of(data_dir, extra)
        self._share: int | None = None

    @property
    def url(self) -> str:
        """The database's URL."""
        return self.cluster.url()

    def why_down(self) -> str:
        """Why the server is gone; empty where it runs."""
        if servers.server_pid(self.cluster) is not None:
            return ""
        words = servers.last_words(self.cluster)
        return words if "disk is full" in words or "PANIC" in words else "its server was killed"

    def hand_over(self) -> int:
        """Leave the share to whoever has the file descriptor that this returns: it ends when the last copy of that is closed."""
        if self._share is None:
            raise RuntimeError("there is no share to hand over")
        share, self._share = self._share, None
        return share

    def __enter__(self) -> Self:
        servers.create_folders(self.cluster)
        with _turn(self.cluster):
            share = _open(self.cluster.folder / "users")
            fcntl.flock(share, fcntl.LOCK_SH)
            try:
                servers.create(self.cluster)
                servers.start(self.cluster)
            except BaseException:
                os.close(share)
                raise
            self._share = share
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._share is None:
            return
        with _turn(self.cluster):
            share, self._share = self._share, None
            try:
                if _is_last(share):
                    servers.stop(self.cluster)
            finally:
                os.close(share)


def stop_if_unused(data_dir: Path) -> bool:
    """Stop the server of a data folder where no living process uses it. True where one was stopped. Raises StoreError."""
    cluster = cluster_of(data_dir)
    if servers.server_pid(cluster) is None:
        return False
    with _turn(cluster):
        share = _open(cluster.folder / "users")
        try:
            return _is_last(share) and servers.stop(cluster)
        finally:
            os.close(share)


def cluster_of(data_dir: Path, extra: Sequence[tuple[str, str]] = ()) -> Cluster:
    return Cluster(data_dir.expanduser().resolve() / "postgres", tuple(extra))


@contextmanager
def _turn(cluster: Cluster) -> Iterator[None]:
    """Only one process at a time starts or stops the server. Raises StoreError."""
    lock = _open(cluster.folder / "turn")
    try:
        deadline = time.monotonic() + _TURN_S
        while not _try_lock(lock):
            if time.monotonic() > deadline:
                raise StoreError(f"another process has been starting or stopping the database in {cluster.folder} for {_TURN_S:.0f} s")
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(lock)


def _is_last(share: int) -> bool:
    """True where nobody but the holder of this descriptor has a share; it is then held alone."""
    return _try_lock(share)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be opened ({error.strerror}): give its folder to this user, or set RACKPROOF_DATA_DIR") from error
