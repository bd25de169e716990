"""path: an emulated path in the native engine, between ports a1, a2, ... and b1, b2, ...; exact in virtual time.

What waits in a buffer is counted in bytes of IP packets and includes the packet that the link is serving (with a trace: that it will
serve next), as mahimahi's drop-tail queue does. A trace begins anew whenever the tap starts to record.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from rackproof_native import Path, PathDirection, PathReport

from orchestrator.bench.cpus import Cpus
from orchestrator.bench.namespaces import Namespace
from orchestrator.bench.recorder import Recorder
from orchestrator.generators.native.run import Outcome
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction
from rackproof.model.path import Direction, EmulatedPath

MODEL = "path"
OPTIONS: frozenset[str] = frozenset()
#: One TCP flow fills it, with both its hosts on the same two cores; of 1 Gbit/s these leave a tenth. Measured.
LINK_RATE_BPS_MAX = 5e8

_COUNTS = ("received", "sent", "dropped_buffer", "dropped_loss", "in_flight", "other", "errors")


def objection(function: DeviceFunction) -> str:
    """It knows paths, whose directions must be possible."""
    if not isinstance(function, EmulatedPath):
        return f"{MODEL} cannot do {type(function).__name__}"
    for name, direction in (("forward", function.forward), ("backward", function.backward)):
        try:
            _native(direction)
        except (ValueError, OverflowError) as error:
            return f"{name}: {error}"
    return ""


def probe() -> str:
    """It needs raw sockets and nothing else of the kernel."""
    return ""


class Model:
    """The path; each apply starts it anew and empty."""

    def __init__(self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str]) -> None:
        self.name = name
        self._namespace = namespace
        if options:
            raise DeviceError(f"{name}: {MODEL} has no options, found {', '.join(sorted(options))}")
        self._pairs = _pairs(name, ports)
        self._function: EmulatedPath | None = None
        self._path: Path | None = None
        self._recorder = Recorder(name, DeviceError)

    def facts(self) -> Mapping[str, str]:
        """Model and how many pairs of ports it joins."""
        return {"model": MODEL, "pairs": str(len(self._pairs))}

    def configuration(self) -> str:
        """Both directions in words, one setting a line."""
        lines = [f"pairs {' '.join(f'{a}-{b}' for a, b in self._pairs)}"]
        if self._function is None:
            return "\n".join([*lines, "path none"])
        both = (("forward", self._function.forward), ("backward", self._function.backward))
        return "\n".join(
            [*lines, *(f"{name} {line}" for name, direction in both for line in _words(direction)), f"seed {self._function.seed}"]
        )

    def apply(self, function: DeviceFunction) -> None:
        """Start forwarding along this path."""
        if (why := objection(function)) or not isinstance(function, EmulatedPath):
            raise DeviceError(f"{self.name}: {why}")
        self.restore()
        cpus = Cpus.of_process()
        try:
            path = Path(
                netns_fd=self._namespace.fd,
                pairs=list(self._pairs),
                forward=_native(function.forward),
                backward=_native(function.backward),
                seed=function.seed,
                cpu=cpus.device,
                nice=cpus.nice,
            )
            path.start()
        except (OSError, ValueError, OverflowError) as error:
            raise DeviceError(f"{self.name}: the path does not start: {error}") from error
        self._path, self._function = path, function

    def check(self, function: DeviceFunction) -> None:
        """It does what it was started with, as long as it runs."""
        if self._path is None or self._function != function:
            raise DeviceError(f"{self.name}: the path is not running as it was asked for")
        self._report()

    def restore(self) -> None:
        """Stop forwarding."""
        if self._path is not None:
            self._path.stop()
        self._path = self._function = None
        self._recorder.abandon()

    def counters(self) -> Mapping[str, int]:
        """What each direction received, sent and dropped ("forward.received"), and how late packets left the virtual schedule [ns]."""
        if self._path is None:
            return {}
        report = self._report()
        both = (("forward", report.forward), ("backward", report.backward))
        return {
            **{f"{name}.{count}": getattr(counts, count) for name, counts in both for count in _COUNTS},
            "ring_drops": report.ring_drops,
            "delivery_lateness_p50_ns": report.lateness_ns_p50,
            "delivery_lateness_p99_ns": report.lateness_ns_p99,
            "stalled_ns": report.stalled_ns,
        }

    def tap_start(self) -> None:
        """Begin to record every packet. Raises DeviceError."""
        if self._path is None:
            raise DeviceError(f"{self.name}: there is no path to record: configure it first")
        self._recorder.start(self._path)

    def tap_stop(self) -> None:
        """End recording; tap_collect hands over what was seen. Raises DeviceError."""
        self._recorder.stop()

    def tap_collect(self) -> Outcome:
        """What the last recording saw, once. Raises GeneratorError."""
        return self._recorder.collect()

    def close(self) -> None:
        """Stop forwarding."""
        self.restore()
        self._recorder.close()

    def _report(self) -> PathReport:
        if self._path is None:
            raise DeviceError(f"{self.name}: the path is not running")
        try:
            return self._path.report()
        except RuntimeError as error:
            raise DeviceError(f"{self.name}: the path does not run any more: {error}") from error


def _pairs(name: str, ports: Sequence[str]) -> tuple[tuple[str, str], ...]:
    count = len(ports) // 2
    pairs = tuple((f"a{number}", f"b{number}") for number in range(1, count + 1))
    if not pairs or {port for pair in pairs for port in pair} != set(ports):
        raise DeviceError(f"{name}: expected ports a1, b1, a2, b2, ... in pairs, found {', '.join(ports) or 'none'}")
    return pairs


def _native(direction: Direction) -> PathDirection:
    return PathDirection(
        rate_bps=direction.rate_bps,
        trace_ms=list(direction.trace_ms),
        delay_ms=direction.delay_ms,
        buffer_bytes=direction.buffer_bytes,
        buffer_packets=direction.buffer_packets,
        loss=direction.loss,
    )


def _words(direction: Direction) -> Iterator[str]:
    if direction.rate_bps is None:
        trace = ",".join(map(str, direction.trace_ms))
        digest = hashlib.sha256(trace.encode()).hexdigest()[:16]
        yield f"trace of {len(direction.trace_ms)} opportunities in {direction.trace_ms[-1]} ms (SHA-256 {digest})"
    else:
        yield f"rate {direction.rate_bps:g} bit/s (IP)"
    yield f"delay {direction.delay_ms:g} ms"
    bounds = ((direction.buffer_bytes, "bytes"), (direction.buffer_packets, "packets"))
    yield f"buffer {' and '.join(f'{bound} {unit}' for bound, unit in bounds if bound is not None) or 'unbounded'}"
    yield f"loss {direction.loss:g}"
