"""reference: a switch in the native engine, exact by construction, with defects that can be switched on.

Options: leak, the probability that a decision under strict priority serves the lowest queue that waits; waste, the share of the link
that is lost; unfair, the probability that frames of the odd ingress ports are dropped from a queue more than half full;
weights_per_packet, byte weights that count packets.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from rackproof_native import Switch

from orchestrator.bench.cpus import Cpus
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction, Discipline, QosScheduler

MODEL = "reference"
OPTIONS = frozenset({"leak", "waste", "unfair", "weights_per_packet"})
#: One thread, eight senders of 300 Mbit/s into one link; measured.
LINK_RATE_BPS_MAX = 1e9

_DISCIPLINES: Mapping[Discipline, Literal["strict_priority", "wrr_packets", "wrr_bytes"]] = {
    Discipline.STRICT_PRIORITY: "strict_priority",
    Discipline.WRR_PACKETS: "wrr_packets",
    Discipline.WRR_BYTES: "wrr_bytes",
}


def objection(function: DeviceFunction) -> str:
    """It knows every discipline."""
    return "" if isinstance(function, QosScheduler) else f"{MODEL} cannot do {type(function).__name__}"


def probe() -> str:
    """It needs raw sockets and nothing else of the kernel."""
    return ""


class Model:
    """The switch; each apply starts it anew with empty queues."""

    def __init__(self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str]) -> None:
        self.name = name
        self._namespace = namespace
        self._ports = tuple(ports)
        unknown = sorted(set(options) - OPTIONS)
        if unknown:
            raise DeviceError(f"{name}: expected options of {MODEL} ({', '.join(sorted(OPTIONS))}), found {', '.join(unknown)}")
        self._options = dict(options)
        self._scheduler: QosScheduler | None = None
        self._switch: Switch | None = None

    def facts(self) -> Mapping[str, str]:
        """Model and planted defects."""
        defects = {f"option {name}": str(value) for name, value in sorted(self._options.items())}
        return {"model": MODEL, "ports": str(len(self._ports)), **defects}

    def configuration(self) -> str:
        """The scheduler in words, one setting a line."""
        lines = [f"ports {' '.join(self._ports)}", *(f"option {name} {value}" for name, value in sorted(self._options.items()))]
        scheduler = self._scheduler
        if scheduler is None:
            return "\n".join([*lines, "scheduler none"])
        return "\n".join(
            [
                *lines,
                f"scheduler {scheduler.discipline} on {scheduler.port} at {scheduler.link_rate_bps} bit/s (L1)",
                f"priority map {' '.join(map(str, scheduler.priority_map))}",
                f"queues {scheduler.queues} of {scheduler.queue_frames} frames",
                *([f"weights {' '.join(map(str, scheduler.weights))}"] if scheduler.weights else []),
                *([f"quantum {scheduler.quantum_bytes} bytes"] if scheduler.discipline is Discipline.WRR_BYTES else []),
            ]
        )

    def apply(self, function: DeviceFunction) -> None:
        """Start switching with this scheduler."""
        if not isinstance(function, QosScheduler):
            raise DeviceError(f"{self.name}: {MODEL} cannot do {type(function).__name__}")
        self.restore()
        cpus = Cpus.of_process()
        try:
            self._switch = Switch(
                netns_fd=self._namespace.fd,
                ingress=[port for port in self._ports if port != function.port],
                egress=function.port,
                link_rate_bps=function.link_rate_bps,
                scheduler=_DISCIPLINES[function.discipline],
                weights=list(function.weights),
                queue_frames=[function.queue_frames] * function.queues,
                pcp_to_queue=list(function.priority_map),
                quantum_bytes=function.quantum_bytes,
                cpu=cpus.device,
                nice=cpus.nice,
                leak=float(self._options.get("leak", 0.0)),
                waste=float(self._options.get("waste", 0.0)),
                unfair=float(self._options.get("unfair", 0.0)),
                weights_per_packet=bool(self._options.get("weights_per_packet", False)),
            )
            self._switch.start()
        except (OSError, ValueError) as error:
            raise DeviceError(f"{self.name}: the reference switch does not start: {error}") from error
        self._scheduler = function

    def check(self, function: DeviceFunction) -> None:
        """It does what it was started with."""
        if self._switch is None or self._scheduler != function:
            raise DeviceError(f"{self.name}: the reference switch is not running with the scheduler that was asked for")

    def restore(self) -> None:
        """Stop switching."""
        if self._switch is not None:
            self._switch.stop()
            self._switch = None
        self._scheduler = None

    def counters(self) -> Mapping[str, int]:
        """Frames received, sent and dropped per queue, and how late frames left the virtual schedule [ns]."""
        if self._switch is None:
            return {}
        report = self._switch.report()
        found = {
            f"queue.{queue}.{name}": value
            for name, values in (("received", report.received), ("sent", report.sent), ("dropped", report.dropped))
            for queue, value in enumerate(values)
        }
        return {
            **found,
            "ring_drops": report.ring_drops,
            "delivery_lateness_p50_ns": report.lateness_ns_p50,
            "delivery_lateness_p99_ns": report.lateness_ns_p99,
            "stalled_ns": report.stalled_ns,
        }

    def close(self) -> None:
        """Stop switching."""
        self.restore()
