"""What takes how much of a class's budget along a path? Steps from 0 to the budget, hop by hop."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rackproof.units import Layer, wire_bits
from testplans.xpfe_delay.classes import TrafficClass
from testplans.xpfe_delay.decomposition import Decomposition
from testplans.xpfe_delay.hops import hops_of
from testplans.xpfe_delay.view import Point, View


class Part(StrEnum):
    """What takes time. ENDS: what does not belong to a hop, and what the model does not explain."""

    ELEMENT = "element"
    QUEUEING = "queueing"
    SERIALISATION = "serialisation"
    EXCESS = "excess"
    ENDS = "ends and remainder"
    SPREAD = "spread"
    LEFT = "left"


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """hop: from 1; None for what is of no hop. before_us: the sum of the steps before it; us: its own, below 0 where it gives back or, for
    LEFT, where the budget is overdrawn.
    """

    part: Part
    hop: int | None
    before_us: float
    us: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Waterfall:
    """All steps add up to the budget. measured: the hops' steps were measured hop by hop; else they follow from the sweep."""

    traffic_class: TrafficClass
    measured: bool
    steps: tuple[Step, ...]

    @property
    def left_us(self) -> float:
        """What the percentile leaves of the budget [us]; below 0 where it takes more."""
        return self.steps[-1].us

    def total(self, part: Part) -> float:
        """What a part takes over all hops [us]."""
        return sum(step.us for step in self.steps if step.part is part)


def waterfall(view: View, point: Point, traffic_class: TrafficClass, parts: Decomposition | None) -> Waterfall | None:
    """The mean of each part of each hop, the remainder to the mean end to end, from there to the percentile (SPREAD), and what is LEFT.

    None where the mean or the percentile was not measured. parts: the chain taken apart, for points without records of their hops; None:
    all of their mean is the remainder.
    """
    mean, high = point.get("delay.mean"), point.get(view.percentile)
    if mean is None or high is None:
        return None
    own = list(_measured(point))
    hops = own or list(_modelled(view, point, parts))
    explained = sum(us for _, _, us in hops)
    rest = [(Part.ENDS, None, mean.value - explained), (Part.SPREAD, None, high.value - mean.value)]
    steps: list[Step] = []
    at = 0.0
    for part, hop, us in (*hops, *rest, (Part.LEFT, None, traffic_class.budget_us - high.value)):
        steps.append(Step(part=part, hop=hop, before_us=at, us=us))
        at += us
    return Waterfall(traffic_class=traffic_class, measured=bool(own), steps=tuple(steps))


def _measured(point: Point) -> Iterator[tuple[Part, int | None, float]]:
    for hop in hops_of(point):
        found = {
            Part.ELEMENT: hop.element,
            Part.QUEUEING: hop.queueing,
            Part.SERIALISATION: hop.serialisation,
            Part.EXCESS: hop.excess,
        }
        yield from ((part, hop.number, number.value) for part, number in found.items() if number is not None)


def _modelled(view: View, point: Point, parts: Decomposition | None) -> Iterator[tuple[Part, int | None, float]]:
    """Every hop alike: the link's serialisation is known, the element is what else a hop takes at the lowest rate."""
    key = point.key
    least = parts.per_hop(key.frame_bytes, parts.model.rates[0]) if parts else None
    if parts is None or least is None or key.rate_mbps not in parts.model.rates:
        return
    load = parts.load(key.frame_bytes, key.rate_mbps)
    bits = wire_bits(key.frame_bytes + view.plan.chain(key.chain).overhead_bytes, Layer.L1)
    serialisation = bits / view.plan.link.rate_bps * 1e6
    for hop in range(1, key.hops + 1):
        yield Part.ELEMENT, hop, least.value - serialisation
        if load is not None:
            yield Part.QUEUEING, hop, load.value
        yield Part.SERIALISATION, hop, serialisation
