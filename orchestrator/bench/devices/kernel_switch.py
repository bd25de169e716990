"""What the models that use the kernel's own bridge and qdiscs share."""

import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from pyroute2 import NetlinkError

from orchestrator.bench import links, tc
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction, Discipline, QosScheduler
from rackproof.units import FCS_BYTES, L1_OVERHEAD_BYTES

#: What the wire adds to the length that the kernel sees of a tagged frame: the FCS, the tag (kept in metadata), preamble and gap.
WIRE_OVERHEAD_BYTES = FCS_BYTES + 4 + L1_OVERHEAD_BYTES
LEAF_MAJOR = 0x10

Configure = Callable[[Namespace, QosScheduler], None]


class KernelSwitch:
    """A bridge whose egress port is scheduled by qdiscs that `configure` adds; class 1:(0x10 + q) is queue q."""

    def __init__(
        self,
        *,
        name: str,
        namespace: Namespace,
        ports: Sequence[str],
        options: Mapping[str, float | int | bool | str],
        configure: Configure,
        model: str,
    ) -> None:
        if options:
            raise DeviceError(f"{name}: expected no options, for {model} has none; found {', '.join(sorted(options))}")
        self.name = name
        self._namespace = namespace
        self._ports = tuple(ports)
        self._configure = configure
        self._model = model
        self._scheduler: QosScheduler | None = None
        links.bridge(namespace, "br0", ports)

    def facts(self) -> Mapping[str, str]:
        """Model and kernel."""
        return {"model": self._model, "kernel": platform.release(), "ports": str(len(self._ports))}

    def configuration(self) -> str:
        """Bridge ports, qdiscs, classes and filters, without counters."""
        lines = [f"bridge br0 {' '.join(self._ports)}"]
        for port in self._ports:
            lines += [f"{port}: {line}" for line in tc.configuration(self._namespace, port)]
        return "\n".join(lines)

    def apply(self, function: DeviceFunction) -> None:
        """Configure the scheduler of a port, from scratch."""
        if not isinstance(function, QosScheduler):
            raise DeviceError(f"{self.name}: {self._model} cannot do {type(function).__name__}")
        self.restore()
        try:
            self._configure(self._namespace, function)
        except NetlinkError as error:
            raise DeviceError(f"{self.name}: the kernel refused the scheduler {function.discipline} on {function.port}: {error}") from error
        self._scheduler = function

    def check(self, function: DeviceFunction) -> None:
        """Read back that every queue of the scheduler is there."""
        assert isinstance(function, QosScheduler)
        there = tc.statistics(self._namespace, function.port)
        missing = [f"q{queue}" for queue in range(function.queues) if tc.handle(LEAF_MAJOR + queue) not in there]
        if missing:
            raise DeviceError(f"{self.name}: {function.port} should have {function.queues} queues, but {', '.join(missing)} are not there")

    def restore(self) -> None:
        """Take the scheduler away."""
        if self._scheduler is not None:
            with suppress(NetlinkError):  # gone with a failed apply
                tc.delete_root(self._namespace, self._scheduler.port)
            self._scheduler = None

    def counters(self) -> Mapping[str, int]:
        """Frames sent, dropped and waiting per queue."""
        if self._scheduler is None:
            return {}
        there = tc.statistics(self._namespace, self._scheduler.port)
        return {
            f"queue.{queue}.{name}": value
            for queue in range(self._scheduler.queues)
            for name, value in there[tc.handle(LEAF_MAJOR + queue)].items()
        }

    def close(self) -> None:
        """Nothing runs in user space."""


def objection(model: str, function: DeviceFunction) -> str:
    """Why a kernel scheduler cannot do the function, "" where it can: both of them share by bytes."""
    if not isinstance(function, QosScheduler):
        return f"{model} cannot do {type(function).__name__}"
    if function.discipline is Discipline.WRR_PACKETS:
        return f"{model} schedules by bytes; it has no round robin by packets (use wrr-bytes)"
    return ""


def probe(configure: Configure) -> str:
    """Why the kernel does not take the schedulers that `configure` adds, "" where it takes both disciplines."""
    for discipline, weights in ((Discipline.STRICT_PRIORITY, ()), (Discipline.WRR_BYTES, (0.4, 0.6))):
        scheduler = QosScheduler(
            discipline=discipline, port="out", link_rate_bps=100_000_000, priority_map=(0,) * 4 + (1,) * 4, queue_frames=10, weights=weights
        )
        why = _try(configure, scheduler)
        if why:
            return why
    return ""


def _try(configure: Configure, scheduler: QosScheduler) -> str:
    """Why the kernel does not take the scheduler, "" where it does; tried in a namespace that is thrown away."""
    with Namespace("probe") as probe, Namespace("far") as far:
        links.cable(probe, scheduler.port, far, "far")
        try:
            configure(probe, scheduler)
        except NetlinkError as error:
            return f"the kernel says: {error.args[1] if len(error.args) > 1 else error}"
    return ""
