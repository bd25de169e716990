"""xpfe: a packet forwarding element of 5G-Crosshaul, in XDP: MAC-in-MAC between its UNI and NNI ports by the tables that it is given."""

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Protocol

from orchestrator.bench.namespaces import Namespace
from orchestrator.bench.xpfe import objections, words
from orchestrator.bench.xpfe.element import XdpElement
from orchestrator.bench.xpfe.native import NativeElement
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction
from rackproof.model.xcf import ForwardingElement

MODEL = "xpfe"
OPTIONS: frozenset[str] = frozenset()
#: Links of 1 Gbit/s full of the smallest frames are beyond two cores; the rate that holds is what the calibration allows.
LINK_RATE_BPS_MAX = 1e9
#: Frames per second over all emulated links between such elements, on two cores. Measured (benchmarks/chain.py).
WIRES_FPS_MAX = 300e3
#: The same where a thread of ours forwards on the links' processor, without the right to be preferred: half more than a busy host carried.
WIRES_FPS_MAX_SHARED = 15e3


class Engine(Protocol):
    """What forwards."""

    @staticmethod
    def facts() -> Mapping[str, str]:
        """What it is ("forwarding")."""

    def apply(self, element: ForwardingElement) -> None:
        """Take these tables; only what differs is changed. Raises DeviceError."""

    def check(self, element: ForwardingElement) -> None:
        """Read the tables back. Raises DeviceError with a difference."""

    def counters(self) -> Mapping[str, int]:
        """What was counted."""

    def close(self) -> None:
        """Stop."""


def objection(function: DeviceFunction) -> str:
    """It knows forwarding elements whose tables make sense."""
    if not isinstance(function, ForwardingElement):
        return f"{MODEL} cannot do {type(function).__name__}"
    return objections.objection(function)


def probe() -> str:
    """It needs raw sockets and nothing else of the kernel: where XDP is not allowed, the native engine forwards."""
    return ""


def shares_processor() -> bool:
    """Whether a thread of ours forwards, which emulated links on the same processor must let run."""
    return _engine() is NativeElement


class Model:
    """The element; until it is given tables it forwards nothing."""

    def __init__(self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str]) -> None:
        self.name = name
        self._namespace = namespace
        self._ports = tuple(ports)
        if options:
            raise DeviceError(f"{name}: expected no options, for {MODEL} has none; found {', '.join(sorted(options))}")
        self._engine: Engine | None = None
        self._function: ForwardingElement | None = None

    def facts(self) -> Mapping[str, str]:
        """Model, kernel, and what forwards."""
        return {"model": MODEL, "kernel": platform.release(), "ports": str(len(self._ports)), **_engine().facts()}

    def configuration(self) -> str:
        """Its tables in words, one entry a line."""
        return f"ports {' '.join(self._ports)}\n{words.text(self._function)}"

    def apply(self, function: DeviceFunction) -> None:
        """Take these tables; where it has some already, only what differs is changed, while frames go on."""
        if (why := objection(function)) or not isinstance(function, ForwardingElement):
            raise DeviceError(f"{self.name}: {why}")
        if unknown := {*function.uni, *function.nni} - {*self._ports}:
            raise DeviceError(f"{self.name}: expected its ports {', '.join(self._ports)}, found {', '.join(sorted(unknown))}")
        if self._engine is None:
            try:
                self._engine = _engine()(name=self.name, namespace=self._namespace, ports=self._ports)
            except OSError as error:
                raise DeviceError(f"{self.name}: {error}") from error
        self._engine.apply(function)
        self._function = function

    def check(self, function: DeviceFunction) -> None:
        """Read every table back from what forwards."""
        if self._engine is None or not isinstance(function, ForwardingElement):
            raise DeviceError(f"{self.name}: it has no tables")
        self._engine.check(function)

    def restore(self) -> None:
        """Take the tables away, and what forwards."""
        if self._engine is not None:
            self._engine.close()
        self._engine = self._function = None

    def counters(self) -> Mapping[str, int]:
        """Frames dropped by reason ("drop.no_route"), OAM frames, and what each entry counted ("table.253.<entry>.frames")."""
        return self._engine.counters() if self._engine is not None else {}

    def close(self) -> None:
        """Stop forwarding."""
        self.restore()


@cache
def _engine() -> type[XdpElement] | type[NativeElement]:
    """What may forward on this machine: XDP needs root."""
    with Namespace("probe") as namespace:
        try:
            XdpElement(name=MODEL, namespace=namespace, ports=()).close()
        except OSError:
            return NativeElement
    return XdpElement
