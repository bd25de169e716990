"""The measured stream of one trial as what all numbers are made from: delays in the order of sending, counts by batch."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.traffic import Arrivals, Capture
from rackproof.stats.order import order_of
from rackproof.units import NS_PER_S, Layer, wire_bits
from testplans.xpfe_delay.fates import Fate, fates
from testplans.xpfe_delay.links import Path, path
from testplans.xpfe_delay.plan import BENCH, XpfeDelayPlan
from testplans.xpfe_delay.procedure import MEASURED, WIRES

Floats = npt.NDArray[np.float64]

#: Gaps of constant traffic are at least this share of what they should be, where the host is on time.
GAP_SHARE = 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow:
    """What became of the frames that were sent within the measured span.

    path: of all frames, warm-up included, by number; first, last: numbers of the measured ones are first to last - 1. cuts: batches + 1
    numbers at which batches begin. sent, intended: frames; offered_mbps, rx_mbps (by batch): at the plan's layer; fates: by hop.
    """

    path: Path
    first: int
    last: int
    cuts: npt.NDArray[np.int64]
    intended: int
    offered_mbps: float
    rx_mbps: Floats
    rx_frames: int
    fates: tuple[Fate, ...]
    duplicates: int
    reordered: int

    @property
    def sent(self) -> int:
        """Frames sent within the measured span."""
        return self.last - self.first

    @property
    def received(self) -> int:
        """Frames of these that arrived."""
        return int(np.count_nonzero(~np.isnan(self.measured(self.path.arrived_ns))))

    def measured(self, column: Floats) -> Floats:
        """The measured frames' part of a column by number; nan for those that no record has."""
        part = column[self.first : self.last]
        return np.concatenate([part, np.full(self.sent - len(part), np.nan)]) if len(part) < self.sent else part


def flow(plan: XpfeDelayPlan, capture: Capture, links: int) -> Flow:
    """The measured stream over so many recorded links (0: none was)."""
    samples, sent = capture.samples, capture.sent[MEASURED]
    seconds = np.diff(capture.batch_starts_ns) / NS_PER_S
    first, last = int(sent.first_sequence[0]), int(sent.first_sequence[-1])
    overhead_bits = wire_bits(0, plan.link.layer)
    octets = int(sent.octets[-1] - sent.octets[0])
    size = octets / max(1, last - first)
    gap_ns = wire_bits(size, Layer.L1) / plan.link.rate_bps * NS_PER_S
    if plan.arrivals is Arrivals.CONSTANT:
        gap_ns = max(gap_ns, GAP_SHARE * float(seconds.sum()) * NS_PER_S / max(1, sent.intended_frames))
    if plan.testbed != BENCH:
        gap_ns = 0.0
    said = {number: capture.health.get(f"{WIRES}lateness_p50_us.{number}") for number in range(links)}
    way = path(
        samples,
        links=links,
        rate_bps=plan.link.rate_bps,
        lateness_p50_us={number: value for number, value in said.items() if value is not None},
        gap_ns=gap_ns,
    )
    received = way.stages[-1].came
    order = order_of(received[(received >= first) & (received < last)])
    arrived_ns = np.sort(way.arrived_ns[~np.isnan(way.arrived_ns)])
    edges = np.searchsorted(arrived_ns, (capture.batch_starts_ns - way.origin_ns).astype(np.float64))
    rx_frames = np.diff(edges)
    return Flow(
        path=way,
        first=first,
        last=last,
        cuts=sent.first_sequence,
        intended=sent.intended_frames,
        offered_mbps=(8 * octets + overhead_bits * (last - first)) / float(seconds.sum()) / 1e6,
        rx_mbps=rx_frames * wire_bits(size, plan.link.layer) / seconds / 1e6,
        rx_frames=int(rx_frames.sum()),
        fates=fates(way.stages, first, last),
        duplicates=order.duplicates,
        reordered=order.reordered,
    )
