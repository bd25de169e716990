"""How did a trial go over time? Curves in bins of 500 ms from the first event on, and the distribution of the delay."""

from collections.abc import Iterator, Mapping

import numpy as np

from rackproof.model.measurement import Curve
from rackproof.stats.delta_q import delta_q
from rackproof.units import NS_PER_S
from testplans.congestion_control.metrics import ALL, BIN_NS, NS_PER_MS, Integers, Stream
from testplans.congestion_control.opportunities import Opportunities

_BIN_S = BIN_NS / NS_PER_S


def curves(together: Stream, each: Mapping[int, Stream], opportunities: Opportunities) -> Iterator[Curve]:
    """Curves of each flow and of all; x is where a bin begins [s since the first event]."""
    if not len(together.packets):
        return
    zero_ns = int(together.packets.ingress_ns[0])
    if len(opportunities):
        zero_ns = min(zero_ns, int(opportunities.time_ns[0]))
    for flow, stream in each.items():
        mine = {"flow": str(flow)}
        bits = stream.packets.packet_bytes.astype(np.int64) * 8
        yield from _rate("throughput.ingress", stream.packets.ingress_ns - zero_ns, bits, mine)
        yield from _rate("throughput.egress", stream.egress_ns - zero_ns, stream.left_bits, mine)
        yield from _delay_over_time(stream, zero_ns, mine)
    whole = {"flow": ALL}
    yield from _rate("capacity", opportunities.time_ns - zero_ns, opportunities.octets.astype(np.int64) * 8, whole)
    if len(together.ordered_ns):
        yield _distribution(together, whole)


def _rate(name: str, at_ns: Integers, bits: Integers, subject: Mapping[str, str]) -> Iterator[Curve]:
    """From the first to the last bin that holds anything, as Pantheon draws it; nothing where none does.

    The last bin is one that the stream ends in: it counts by the time until then, and where that is less than half of it, not at all.
    """
    if not len(at_ns):
        return
    bins = at_ns // BIN_NS
    first, last = int(bins.min()), int(bins.max())
    mbps = np.bincount(bins - first, weights=bits) / _BIN_S / 1e6
    if last > first:
        covered = (int(at_ns.max()) - last * BIN_NS) / BIN_NS
        if covered < 0.5:
            mbps = mbps[:-1]
        else:
            mbps[-1] /= covered
    x = (np.arange(len(mbps)) + first) * _BIN_S
    yield Curve(
        name=name,
        x_name="time",
        x_unit="s",
        y_name="throughput",
        y_unit="Mbit/s",
        x=tuple(x.tolist()),
        y=tuple(mbps.tolist()),
        n=len(at_ns),
        subject=subject,
    )


def _delay_over_time(stream: Stream, zero_ns: int, subject: Mapping[str, str]) -> Iterator[Curve]:
    """95th percentile of the delay of what left in each bin; bins in which nothing left are not there."""
    if not len(stream.egress_ns):
        return
    bins, delays_ns = (stream.egress_ns - zero_ns) // BIN_NS, stream.delays_ns
    if np.any(bins[1:] < bins[:-1]):
        order = np.argsort(bins, kind="stable")
        bins, delays_ns = bins[order], delays_ns[order]
    begins = np.flatnonzero(np.r_[True, bins[1:] != bins[:-1]])
    delays_ms = [_p95_ns(part) / NS_PER_MS for part in np.split(delays_ns, begins[1:])]
    yield Curve(
        name="delay.p95.over_time",
        x_name="time",
        x_unit="s",
        y_name="one-way delay",
        y_unit="ms",
        x=tuple((bins[begins] * _BIN_S).tolist()),
        y=tuple(delays_ms),
        n=len(bins),
        subject=subject,
    )


def _p95_ns(delays_ns: Integers) -> int:
    """At the same place as that of the whole run."""
    place = round(0.95 * (len(delays_ns) - 1))
    return int(np.partition(delays_ns, place)[place])


def _distribution(stream: Stream, subject: Mapping[str, str]) -> Curve:
    """The improper distribution of the delay: it ends at 1 - loss."""
    x, y = delta_q(stream.ordered_ns / NS_PER_MS, len(stream.ordered_ns))
    return Curve(
        name="delay.cdf",
        x_name="one-way delay",
        x_unit="ms",
        y_name="cumulative probability",
        y_unit="1",
        x=x,
        y=tuple(share * (1 - stream.loss) for share in y),
        n=len(stream.packets),
        subject=subject,
    )
