"""Which hop of a chain takes what, from the records of the links between elements, and does one of them stand out?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from scipy.stats import quantile_test

from rackproof.model.measurement import Interval, Measurement
from rackproof.stats.pooling import pool, repetitions
from testplans.xpfe_delay.view import Point, View

#: A hop stands out where it surely adds more than this beyond the others [us].
STANDS_OUT_US = 1.0

#: What may stand out, and how it is called.
EXCESS, ELEMENT = "hop.excess.p50", "hop.element.p50"
_METHOD = "order statistics over {} points"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hop:
    """One hop of one point, measured: its element, then the link behind it (None at the last hop, or where nothing was recorded) [us]."""

    number: int
    element: Measurement | None
    queueing: Measurement | None
    serialisation: Measurement | None
    excess: Measurement | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outstanding:
    """A hop that takes longer than the others. part: EXCESS (its link) or ELEMENT; more: by how much [us], n: points; trials: indices."""

    chain: str
    hop: int
    part: str
    more: Measurement
    trials: tuple[int, ...]

    @property
    def text(self) -> str:
        """In words: "hop 2 adds 10.0 µs [9.8, 10.2] more than the others"."""
        bounds = f" [{self.more.interval.low:.1f}, {self.more.interval.high:.1f}]" if self.more.interval else ""
        return f"hop {self.hop} adds {self.more.value:.1f} µs{bounds} more than the others, {self.where}"

    def on(self, hops: int) -> bool:
        """Whether a chain of so many hops has it: the last element has no link behind it."""
        return self.hop < hops if self.part == EXCESS else self.hop <= hops

    @property
    def where(self) -> str:
        """Where in the hop."""
        return "behind its element" if self.part == EXCESS else "within its element"


def hops_of(point: Point) -> tuple[Hop, ...]:
    """What was measured of each hop of a point, from the first; empty where no link was recorded."""
    if not point.subjects("hop.element.mean"):
        return ()

    def number(name: str, hop: int) -> Measurement | None:
        return point.get(name, hop=str(hop))

    return tuple(
        Hop(
            number=hop,
            element=number("hop.element.mean", hop),
            queueing=number("hop.queueing.mean", hop),
            serialisation=number("hop.serialisation", hop),
            excess=number(EXCESS, hop),
        )
        for hop in range(1, point.key.hops + 1)
    )


def outstanding(view: View, chain: str) -> tuple[Outstanding, ...]:
    """Hops of a chain that surely add more than STANDS_OUT_US beyond the median of the others, the worst of each part first.

    What the first and the last element take holds the generator's ports as well: they are not compared. A link beside which there is no
    other is compared to what it should take. Intervals: of the median over the points; below 6 points those of the trials, pooled, or
    Student's over the points where trials have none; a single number without an interval is taken as it is.
    """
    return tuple(found for part in (EXCESS, ELEMENT) for found in _part(view, chain, part))


def _part(view: View, chain: str, part: str) -> Iterator[Outstanding]:
    points = [point for point in view.of(chain) if point.valid]
    numbers = [_numbers(point, part) for point in points]
    odd: list[int] = []
    while True:
        candidates = {hop: _more(numbers, hop, odd) for hop in {hop for found in numbers for hop in found} - set(odd)}
        sure = {hop: more for hop, more in candidates.items() if more is not None and _least(more) > STANDS_OUT_US}
        if not sure:
            break
        odd.append(max(sure, key=lambda hop: sure[hop].value))
    for hop in odd:
        # Once more, for now it is known which of the others stand out as well.
        more = _more(numbers, hop, odd)
        if more is not None:
            trials = tuple(index for point, found in zip(points, numbers, strict=True) if hop in found for index in point.indices)
            yield Outstanding(chain=chain, hop=hop, part=part, more=more, trials=trials)


def _numbers(point: Point, part: str) -> Mapping[int, Measurement]:
    """By hop, where they can be compared."""
    inner = range(1, point.key.hops) if part == EXCESS else range(2, point.key.hops)
    return {hop: number for hop in inner if (number := point.get(part, hop=str(hop))) is not None}


def _more(numbers: list[Mapping[int, Measurement]], hop: int, odd: list[int]) -> Measurement | None:
    """What a hop takes beyond the median of the others, over all points that have it; None where nothing can be compared."""
    values: list[float] = []
    intervals: list[Interval | None] = []
    for found in numbers:
        if hop not in found:
            continue
        others = [number.value for other, number in found.items() if other != hop and other not in odd]
        part = found[hop]
        if not others and part.name != EXCESS:
            continue
        usual = median(others) if others else 0.0
        values.append(part.value - usual)
        own = part.interval
        intervals.append(own and Interval(low=own.low - usual, high=own.high - usual, confidence=own.confidence, method=own.method))
    if not values:
        return None
    value, interval = _middle(values) or pool(values, intervals)
    if interval is None:
        value, interval = repetitions(values)
    return Measurement(name="more", unit="us", value=value, n=len(values), interval=interval)


def _least(more: Measurement) -> float:
    return more.interval.low if more.interval else more.value


def _middle(values: list[float]) -> tuple[float, Interval] | None:
    """The median with its interval; None where there are too few values for one."""
    found = quantile_test(values, p=0.5).confidence_interval(0.95)
    low, high = float(found.low), float(found.high)
    if not low <= high:  # nan
        return None
    return median(values), Interval(low=low, high=high, method=_METHOD.format(len(values)))
