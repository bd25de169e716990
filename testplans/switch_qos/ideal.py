"""What an ideal switch does: one output port, no input contention, tail drop, and a scheduler that keeps its promise.

The fluid model of Beuran et al. 2004, section 2.2, for frames of any size: queues are served in frames, the link is spent in layer-1 bits.
Queues count from 0, the lowest. Nothing here knows plans; `of_plan` in this folder applies it to one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rackproof.model.functions import Discipline
from rackproof.units import Layer, wire_bits


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """What is offered to one queue: frames per second, and their mean size (FCS included)."""

    rate_fps: float
    frame_bytes: float

    @property
    def wire_bps(self) -> float:
        """Layer-1 rate [bit/s]."""
        return self.rate_fps * wire_bits(self.frame_bytes, Layer.L1)


def merged(demands: Sequence[Demand]) -> Demand:
    """What several flows offer together."""
    rate = sum(demand.rate_fps for demand in demands)
    if rate == 0:
        return Demand(rate_fps=0.0, frame_bytes=64.0)
    return Demand(rate_fps=rate, frame_bytes=sum(demand.rate_fps * demand.frame_bytes for demand in demands) / rate)


def strict_priority_bps(demands: Sequence[Demand], link_bps: float) -> list[float]:
    """Layer-1 rate [bit/s] that each queue gets: the highest first, each what the higher ones leave."""
    left = link_bps
    served = [0.0] * len(demands)
    for queue in reversed(range(len(demands))):
        served[queue] = min(demands[queue].wire_bps, left)
        left -= served[queue]
    return served


def wire_weights(demands: Sequence[Demand], weights: Sequence[float], discipline: Discipline) -> list[float]:
    """The share of the link that each queue is entitled to while all are backlogged; they sum to 1.

    Weights per packet share out frames, so a queue of large frames gets more of the link. Weights per byte share out octets of frames;
    preamble and gap, which no scheduler counts, still take the link.
    """
    raw = []
    for demand, weight in zip(demands, weights, strict=True):
        cost = 1.0 if discipline is Discipline.WRR_PACKETS else demand.frame_bytes
        raw.append(weight / cost * wire_bits(demand.frame_bytes, Layer.L1))
    total = sum(raw)
    return [share / total for share in raw]


def weighted_bps(demands: Sequence[Demand], link_bps: float, shares: Sequence[float]) -> list[float]:
    """Layer-1 rate [bit/s] that each queue gets from a work-conserving round robin: what one leaves, the others share (water-filling)."""
    served = [0.0] * len(demands)
    hungry = {queue for queue, demand in enumerate(demands) if demand.rate_fps > 0}
    left = link_bps
    while hungry:
        total = sum(shares[queue] for queue in hungry)
        content = {queue for queue in hungry if demands[queue].wire_bps <= left * shares[queue] / total}
        if not content:
            for queue in hungry:
                served[queue] = left * shares[queue] / total
            break
        for queue in content:
            served[queue] = demands[queue].wire_bps
        left = max(left - sum(served[queue] for queue in content), 0.0)
        hungry -= content
    return served


def served_bps(demands: Sequence[Demand], link_bps: float, discipline: Discipline, weights: Sequence[float]) -> list[float]:
    """Layer-1 rate [bit/s] that each queue gets."""
    if discipline is Discipline.STRICT_PRIORITY:
        return strict_priority_bps(demands, link_bps)
    return weighted_bps(demands, link_bps, wire_weights(demands, weights, discipline))


def saturation_factors(demands: Sequence[Demand], link_bps: float, discipline: Discipline, weights: Sequence[float]) -> dict[str, float]:
    """By how much the demands must be multiplied to reach each of the paper's points.

    Strict priority: the point from which queue q loses frames, named A, B, ... from the lowest queue on. Round robin: E, where the link is
    full, and F, from which every queue gets its guarantee and no more. Queues without demand have no point.
    """
    used = [queue for queue, demand in enumerate(demands) if demand.rate_fps > 0]
    if discipline is Discipline.STRICT_PRIORITY:
        return {
            saturation_name(queue, len(demands)): link_bps / sum(demands[other].wire_bps for other in used if other >= queue)
            for queue in used
        }
    shares = wire_weights(demands, weights, discipline)
    whole = sum(shares[queue] for queue in used)
    return {
        "E": link_bps / sum(demands[queue].wire_bps for queue in used),
        "F": max(link_bps * shares[queue] / whole / demands[queue].wire_bps for queue in used),
    }


def saturation_name(queue: int, queues: int) -> str:
    """The paper's letter for the point from which a queue loses frames under strict priority; with more than four queues "A0", "A1", ..."""
    return "ABCD"[queue] if queues <= 4 else f"A{queue}"


def published_delay_ratios(weights: Sequence[float]) -> list[float]:
    """Expected delay ratios of a round robin as the paper's Table 5 gives them; they sum to 1.

    The mean delay of queue i is taken as proportional to the sum over queues j >= i of 1 / w_j. Little's law on full queues of equal length
    gives `full_queue_delay_ratios` instead; the two agree on the order only.
    """
    sums = [sum(1 / weight for weight in weights[queue:]) for queue in range(len(weights))]
    return [value / sum(sums) for value in sums]


def full_queue_delay_ratios(weights: Sequence[float]) -> list[float]:
    """Delay ratios where every queue is full and all are equally long: by Little's law a frame waits for a queue served at a rate w_i."""
    inverse = [1 / weight for weight in weights]
    return [value / sum(inverse) for value in inverse]


def priority_delays_s(demands: Sequence[Demand], sizes: Sequence[Mapping[int, float]], link_bps: float) -> list[float]:
    """Mean delay [s] of each queue under strict priority and Poisson arrivals: wait and serialisation (non-preemptive M/G/1, Cobham 1954).

    sizes[queue]: frame size -> its share of the frames. W_k = R / ((1 - s_above) (1 - s_above - s_k)), where R is half the sum over all
    queues of rate times the second moment of the serialisation time, and s are utilisations. inf where a queue is not stable, or where the
    queues above alone fill the link; an overloaded lower queue then keeps the link busy, and R is capped by what can be served.
    """
    rates = [demand.rate_fps for demand in demands]
    first = [_moment(size, link_bps, 1) for size in sizes]
    second = [_moment(size, link_bps, 2) for size in sizes]
    loads = [rate * mean for rate, mean in zip(rates, first, strict=True)]
    # An overloaded queue is served at the rate that is left to it: only served frames delay others.
    residual, left = 0.0, 1.0
    for queue in reversed(range(len(demands))):
        served = min(loads[queue], left)
        left -= served
        if loads[queue] > 0:
            residual += rates[queue] * served / loads[queue] * second[queue] / 2
    delays = [math.inf] * len(demands)
    above = 0.0
    for queue in reversed(range(len(demands))):
        if above + loads[queue] < 1:
            delays[queue] = residual / ((1 - above) * (1 - above - loads[queue])) + first[queue]
        above += loads[queue]
    return delays


def _moment(sizes: Mapping[int, float], link_bps: float, order: int) -> float:
    total = sum(sizes.values())
    return sum(share * (wire_bits(size, Layer.L1) / link_bps) ** order for size, share in sizes.items()) / total if total else 0.0
