"""A network namespace without a name: it lives as long as the process that holds it, so nothing can be left behind."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from pyroute2 import IPRoute

from orchestrator.bench.privileges import CLONE_NEWNET, setns, unshare
from rackproof.errors import BenchError

T = TypeVar("T")


class Namespace:
    """An empty network namespace with IPv6 off, so that nothing sends unasked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fd = _in_thread(_new)
        self._route: IPRoute | None = None
        self.run(_silence)

    @property
    def path(self) -> str:
        """A path to the namespace, good in this process only."""
        return f"/proc/self/fd/{self.fd}"

    @property
    def route(self) -> IPRoute:
        """A netlink socket in the namespace."""
        if self._route is None:
            self._route = IPRoute(netns=self.path)
        return self._route

    def run(self, function: Callable[[], T]) -> T:
        """Call a function within the namespace, in a thread that ends with it; for sockets and files of /proc/sys/net."""

        def inside() -> T:
            setns(self.fd)
            return function()

        return _in_thread(inside)

    def close(self) -> None:
        """Let go of the namespace; the kernel removes it with all its links."""
        if self._route is not None:
            self._route.close()
            self._route = None
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _new() -> int:
    try:
        unshare(CLONE_NEWNET)
    except OSError as error:
        raise BenchError(f"cannot make a network namespace: {error.strerror}") from error
    return os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _silence() -> None:
    # Where /proc/sys is read-only (some containers) IPv6 stays on; its frames are then counted as foreign, not as ours.
    for entry in ("default", "all"):
        with suppress(OSError):
            Path(f"/proc/sys/net/ipv6/conf/{entry}/disable_ipv6").write_text("1")


def _in_thread(function: Callable[[], T]) -> T:
    result: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            result.append(function())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failure.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]
