"""Over how many hops does a class of traffic keep its delay budget, and what takes how much of it?

A budget holds where the upper end of the interval of the verdict's percentile is at most the budget, it does not where the lower end is
above, and it is undecided in between, or where the end that would decide is not known. Frames that were lost count as late.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rackproof.model.measurement import Measurement
from testplans.xpfe_delay.classes import TrafficClass
from testplans.xpfe_delay.decomposition import Model
from testplans.xpfe_delay.prediction import model
from testplans.xpfe_delay.view import Key, Point, View

#: Predictions go no further than this.
HOPS_MAX = 64


class Holding(StrEnum):
    """Whether a budget holds."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """How far a class gets at one size and rate.

    measured: hop count -> what was found there, ascending; hops: the largest measured count up to which it holds at all of them, 0 at none.
    predicted: beyond what was measured, hop count -> what is predicted, up to the first that does not hold or HOPS_MAX; only where it holds
    at all that were measured.
    """

    chain: str
    traffic_class: TrafficClass
    frame_bytes: int
    rate_mbps: float
    measured: Mapping[int, Holding]
    predicted: Mapping[int, Holding]

    @property
    def hops(self) -> int:
        """The largest number of hops at which it was measured to hold, as at all smaller ones that were measured."""
        return _last(self.measured)

    @property
    def predicted_hops(self) -> int:
        """The largest number of hops at which it is predicted to hold; 0 where none beyond those measured is."""
        return _last(self.predicted)


def holds(number: Measurement | None, budget_us: float) -> Holding:
    """Whether a delay keeps a budget."""
    if number is None or number.interval is None:
        return Holding.UNDECIDED
    if number.interval.high <= budget_us:
        return Holding.HOLDS
    # An end that is nan compares as false: nothing is concluded from it.
    return Holding.FAILS if number.interval.low > budget_us else Holding.UNDECIDED


def judge(view: View, point: Point, traffic_class: TrafficClass) -> Holding:
    """Whether a class keeps its budget at a point."""
    loss = point.get("loss")
    if loss is not None and loss.value > 0:
        bearable = 1 - view.plan.verdict.percentile / 100
        if (loss.interval.low if loss.interval else loss.value) > bearable:
            return Holding.FAILS
        if (loss.interval.high if loss.interval else loss.value) > bearable:
            return Holding.UNDECIDED
    return holds(point.get(view.percentile), traffic_class.budget_us)


def reaches(view: View, chain: str, traffic_class: TrafficClass) -> tuple[Reach, ...]:
    """How far a class gets, for each size and rate of a chain."""
    predictor = view.once(model, chain, view.percentile)
    return tuple(_reach(view, predictor, chain, traffic_class, size, rate) for size in view.sizes(chain) for rate in view.rates(chain))


def _reach(view: View, predictor: Model | None, chain: str, traffic_class: TrafficClass, size: int, rate: float) -> Reach:
    places = (Key(chain, hops, size, rate) for hops in view.hops(chain))
    points = [view.points[key] for key in places if key in view.points]
    measured = {point.key.hops: judge(view, point, traffic_class) for point in points}
    predicted: dict[int, Holding] = {}
    if predictor is not None and all(found is Holding.HOLDS for found in measured.values()):
        for hops in range(max(measured) + 1, HOPS_MAX + 1):
            predicted[hops] = holds(predictor.at(hops, size, rate), traffic_class.budget_us)
            if predicted[hops] is Holding.FAILS:
                break
    return Reach(chain=chain, traffic_class=traffic_class, frame_bytes=size, rate_mbps=rate, measured=measured, predicted=predicted)


def _last(found: Mapping[int, Holding]) -> int:
    """The largest count before the first at which it does not surely hold."""
    return max(_leading(found), default=0)


def _leading(found: Mapping[int, Holding]) -> Iterator[int]:
    for hops, holding in found.items():
        if holding is not Holding.HOLDS:
            return
        yield hops
