"""A forwarding element in the native engine, in user space: for machines where XDP is not allowed."""

from collections.abc import Iterable, Mapping
from functools import cache

from rackproof_native import Element, ElementReport, Forwarder

from orchestrator.bench.cpus import Cpus
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import DeviceError
from rackproof.model.xcf import ForwardingElement


class NativeElement:
    """Forwards from the first apply on, until it is closed.

    Frames that end within their VLAN tag are never seen, and not counted as malformed: the kernel drops them on the way to user space.
    """

    def __init__(self, *, name: str, namespace: Namespace, ports: Iterable[str]) -> None:
        """Nothing yet: the engine wants tables first."""
        self._name = name
        self._namespace = namespace
        self._ports = tuple(ports)
        self._engine: Element | None = None
        self._element: ForwardingElement | None = None

    @staticmethod
    def facts() -> Mapping[str, str]:
        """What forwards."""
        return {"forwarding": "native engine, user space"}

    def apply(self, element: ForwardingElement) -> None:
        """Forward by these tables; where it does so already, from the next frame on. Raises DeviceError."""
        try:
            if self._engine is None:
                self._engine = Element(_forwarder(), netns_fd=self._namespace.fd, ports=list(self._ports), tables=element)
            else:
                self._engine.change(element)
        except (OSError, OverflowError, ValueError, RuntimeError) as error:
            raise DeviceError(f"{self._name}: the native engine does not forward by these tables: {error}") from error
        self._element = element

    def check(self, element: ForwardingElement) -> None:
        """It has the tables that it was given, as long as it forwards. Raises DeviceError."""
        self._report()
        if element != self._element:
            raise DeviceError(f"{self._name}: it has other tables")

    def counters(self) -> Mapping[str, int]:
        """What XdpElement.counters() has, frames that its ring had no room for, and frames that a port refused. Raises DeviceError."""
        report = self._report()
        return {**report.counters, "ring_drops": report.ring_drops, "errors": report.errors}

    def close(self) -> None:
        """Stop forwarding."""
        if self._engine is not None:
            self._engine.stop()
        self._engine = self._element = None

    def _report(self) -> ElementReport:
        if self._engine is None:
            raise DeviceError(f"{self._name}: it has no tables")
        try:
            return self._engine.report()
        except RuntimeError as error:
            raise DeviceError(f"{self._name}: {error}") from error


@cache
def _forwarder() -> Forwarder:
    """One thread for all elements of this process."""
    cpus = Cpus.of_process()
    return Forwarder(cpu=cpus.device, nice=cpus.nice)
