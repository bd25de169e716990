"""What does a path's record of packets say of its flows? Throughput, loss and delay, by Pantheon's definitions and by our own.

Pantheon's: throughput is the bits that left by the time from the first to the last departure; the 95th percentile of one-way delay is the
sample nearest to the place 0.95 (n - 1); loss counts whatever did not leave. Ours beside them: true loss, and every delay with an interval.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rackproof.model.measurement import Interval
from rackproof.model.path import DROPPED, Packets
from rackproof.stats import batches
from rackproof.stats.counts import clopper_pearson
from rackproof.stats.quantiles import quantile_intervals, rank
from rackproof.units import NS_PER_S

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Charts and batches count in bins of this length, as Pantheon's charts do.
BIN_NS = 500_000_000
NS_PER_MS = 1_000_000
#: The flow that stands for all flows of a trial together.
ALL = "all"
_SHARES = {"delay.p5": 0.05, "delay.p50": 0.5, "delay.p95": 0.95, "delay.p99": 0.99}


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """When a flow was meant to run, from the start of its second side to its end (CLOCK_REALTIME)."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The packets of one flow, or of all, in order of ingress; what is derived from them is computed once."""

    packets: Packets

    @cached_property
    def left(self) -> npt.NDArray[np.bool_]:
        """True for packets that left the path."""
        return self.packets.delivered

    @cached_property
    def egress_ns(self) -> Integers:
        """When each packet that left did so."""
        return self.packets.egress_ns[self.left]

    @cached_property
    def left_bits(self) -> Integers:
        """The bits of each packet that left."""
        return self.packets.packet_bytes[self.left].astype(np.int64) * 8

    @cached_property
    def delays_ns(self) -> Integers:
        """One-way delays of the packets that left."""
        return self.egress_ns - self.packets.ingress_ns[self.left]

    @cached_property
    def ordered_ns(self) -> Integers:
        """The same, ascending."""
        return np.sort(self.delays_ns)

    @cached_property
    def departures_ns(self) -> tuple[int, int]:
        """The first and the last departure; (0, 0) where nothing left."""
        return (int(self.egress_ns.min()), int(self.egress_ns.max())) if len(self.egress_ns) else (0, 0)

    @cached_property
    def throughput_bps(self) -> float:
        """Bits that left, by the time between the first and the last departure; 0 where fewer than two packets left."""
        first, last = self.departures_ns
        return float(self.left_bits.sum()) * NS_PER_S / (last - first) if last > first else 0.0

    @cached_property
    def dropped(self) -> npt.NDArray[np.bool_]:
        """True for packets that the path dropped."""
        return np.asarray(self.packets.egress_ns == DROPPED)

    @cached_property
    def loss(self) -> float:
        """Packets dropped by packets that came; 0 where none came."""
        return float(self.dropped.mean()) if len(self.packets) else 0.0

    @cached_property
    def edges_ns(self) -> Integers:
        """Where bins of arrival begin and end."""
        first, last = int(self.packets.ingress_ns[0]), int(self.packets.ingress_ns[-1])
        return np.arange(first, last + BIN_NS + 1, BIN_NS, dtype=np.int64)

    def delay_ms(self, share: float) -> float:
        """A percentile of the delay; something must have left."""
        return float(self.ordered_ns[_place(share, len(self.ordered_ns))]) / NS_PER_MS


def streams(packets: Packets, flows: Sequence[int]) -> tuple[Stream, dict[int, Stream]]:
    """All packets together, and those of each flow; the same object where there is but one flow."""
    together = Stream(packets=packets)
    if len(flows) == 1 and not np.any(packets.flow != flows[0]):
        return together, {flows[0]: together}
    each = {}
    for flow in flows:
        mine = packets.flow == flow
        columns = (packets.ingress_ns, packets.egress_ns, packets.flow, packets.packet_bytes)
        ingress, egress, number, octets = (column[mine] for column in columns)
        each[flow] = Stream(packets=Packets(ingress_ns=ingress, egress_ns=egress, flow=number, packet_bytes=octets))
    return together, each


def flows_of(packets: Packets, spans: Mapping[int, Span]) -> tuple[int, ...]:
    """The flows that were started, and those that were seen."""
    seen = np.flatnonzero(np.bincount(packets.flow)) if len(packets) else ()
    return tuple(sorted({*spans, *(int(flow) for flow in seen)}))


#: Name, unit, value, n and interval.
Number = tuple[str, str, float, int, Interval | None]


def of_stream(stream: Stream, floor_ms: float | None) -> Iterator[Number]:
    """The numbers that a flow has, and all flows together: delays only where something left, losses where anything came.

    floor_ms: the least delay of the path; None where neither the plan nor a packet says it.
    """
    delivered = len(stream.egress_ns)
    yield "throughput", "Mbit/s", stream.throughput_bps / 1e6, delivered, _throughput_interval(stream)
    if len(stream.packets):
        octets = stream.packets.packet_bytes
        came = int(octets.sum(dtype=np.int64))
        yield "loss.pantheon", "1", 1 - float(stream.left_bits.sum()) / (8 * came), len(octets), None
        yield "loss", "1", stream.loss, len(octets), _loss_interval(stream)
    if delivered:
        yield from _delays(stream, floor_ms)


def _delays(stream: Stream, floor_ms: float | None) -> Iterator[Number]:
    count = len(stream.ordered_ns)
    cuts = np.searchsorted(stream.packets.ingress_ns[stream.left], stream.edges_ns)
    sizes = np.diff(cuts)
    totals = np.diff(np.concatenate([[0], np.cumsum(stream.delays_ns)])[cuts])
    mean, interval = batches.ratio(totals / NS_PER_MS, sizes, "batch means")
    yield "delay.mean", "ms", mean, count, interval
    values = {name: stream.delay_ms(share) for name, share in _SHARES.items()}
    intervals = _delay_intervals(stream, list(values.values()), cuts, sizes)
    for (name, value), interval in zip(values.items(), intervals, strict=True):
        if name != "delay.p5":
            yield name, "ms", value, count, interval
    yield "delay.spread", "ms", values["delay.p95"] - values["delay.p5"], count, None
    if floor_ms is not None:
        yield "delay.floor", "ms", floor_ms, count, None
        for name in ("p50", "p95"):
            yield f"queueing.{name}", "ms", values[f"delay.{name}"] - floor_ms, count, None


def _delay_intervals(stream: Stream, values_ms: Sequence[float], cuts: npt.NDArray[np.intp], sizes: Integers) -> list[Interval | None]:
    ordered, count = stream.ordered_ns, len(stream.ordered_ns)
    below = []
    for value in values_ms:
        under = np.concatenate([[0], np.cumsum(stream.delays_ns <= round(value * NS_PER_MS), dtype=np.int64)])
        below.append(np.diff(under[cuts]))
    return quantile_intervals(
        lambda places: [float(ordered[place]) / NS_PER_MS for place in places], count, list(_SHARES.values()), values_ms, below, sizes
    )


def _place(share: float, count: int) -> int:
    """Where a percentile stands: Pantheon's 95th where its numpy rounds to, the others at the nearest rank."""
    return round(share * (count - 1)) if share == _SHARES["delay.p95"] else rank(count, share)


def _throughput_interval(stream: Stream) -> Interval | None:
    first, last = stream.departures_ns
    if last - first <= BIN_NS:
        return None
    bins = (stream.egress_ns - first) // BIN_NS
    bits = np.bincount(bins, weights=stream.left_bits)
    seconds = np.full(len(bits), BIN_NS / NS_PER_S)
    # The last departure may stand at the very end of the last whole bin.
    seconds[-1] = (last - first) / NS_PER_S - seconds[:-1].sum()
    _, interval = batches.ratio(bits / 1e6, seconds, "batch means")
    return _around(stream.throughput_bps / 1e6, interval, math.inf)


def _loss_interval(stream: Stream) -> Interval | None:
    lost, came = int(stream.dropped.sum()), len(stream.packets)
    if lost in (0, came):
        # Nothing varies between batches, and yet the share is not known exactly.
        return clopper_pearson(lost, came)
    cuts = np.searchsorted(stream.packets.ingress_ns, stream.edges_ns)
    under = np.concatenate([[0], np.cumsum(stream.dropped)])
    _, interval = batches.ratio(np.diff(under[cuts]), np.diff(cuts))
    return _around(stream.loss, interval, 1.0)


def _around(value: float, interval: Interval | None, most: float) -> Interval | None:
    """The interval within 0 and the most that the value can be; rounding must not leave the value outside."""
    if interval is None:
        return None
    return Interval(low=min(max(interval.low, 0.0), value), high=max(min(interval.high, most), value), method=interval.method)
