"""Do the stable LSPs notice that others flap? Delay and loss before and during, point by point, tested for being alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rackproof.model.measurement import Measurement
from rackproof.stats.equivalence import Equivalence, average, judge, simultaneous
from testplans.mpls_flap.view import Point, View

#: What is compared: over the phases as a whole; while messages are under way, which shows what a mean over a phase hides; loss.
DELAY, BUSY, LOSS = "effect.delay", "effect.busy", "effect.loss"


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """What flaps change of one quantity. said: of all points together; worse: points at which it is worse by more than the margin.

    pooled: mean over the points; largest: the point with the largest value, and that value, among those that are worse where any is.
    """

    name: str
    margin: float
    said: Equivalence
    pooled: Measurement
    worse: tuple[Point, ...]
    largest: tuple[Point, Measurement]


@dataclass(frozen=True, kw_only=True, slots=True)
class Separation:
    """What the points of a network say. growing: the delay grows before anything flaps, so that it is not compared."""

    delay: Effect | None
    busy: Effect | None
    loss: Effect | None
    growing: bool

    @property
    def worse(self) -> tuple[Effect, ...]:
        """Quantities that flaps make worse by more than the margin."""
        return tuple(each for each in (self.busy, self.delay, self.loss) if each is not None and each.worse)

    @property
    def alike(self) -> bool:
        """Delay and loss are shown to be the same: delay on the whole or, which is the sharper test, while messages are under way.

        Where the delay grows anyway, and with it what is still under way at the end, nothing more is asked than that nothing is worse.
        """
        same = any(each is not None and each.said is Equivalence.EQUIVALENT for each in (self.delay, self.busy))
        kept = self.loss is not None and self.loss.said is Equivalence.EQUIVALENT
        return not self.worse and (self.growing or (same and kept))


def separation(seen: View, network: str, *, growing: bool = False) -> Separation | None:
    """Of all points of a network that sent anything over stable LSPs; None where none did."""
    margins = seen.plan.margins
    points = [point for point in seen.of(network) if point.get(LOSS) is not None]
    if not points:
        return None
    return Separation(
        delay=None if growing else effect(points, DELAY, margins.delay_us),
        busy=None if growing else effect(points, BUSY, margins.delay_us),
        loss=effect(points, LOSS, margins.loss),
        growing=growing,
    )


def effect(points: Sequence[Point], name: str, margin: float) -> Effect | None:
    """One quantity over several points; None where none has it."""
    found = [(point, each) for point in points if (each := point.get(name)) is not None]
    if not found:
        return None
    value, interval = average([(each.value, each.interval) for _, each in found])
    pooled = replace(found[0][1], value=value, interval=interval, n=sum(each.n for _, each in found))
    worse = [(point, each) for point, each in found if each.value > 0 and _beyond(each, margin, len(found))]
    return Effect(
        name=name,
        margin=margin,
        said=judge(pooled.interval, margin),
        pooled=pooled,
        worse=tuple(point for point, _ in worse),
        largest=max(worse or found, key=lambda pair: pair[1].value),
    )


def _beyond(found: Measurement, margin: float, many: int) -> bool:
    """Whether it lies beyond the margin, where so many points could by chance."""
    return judge(simultaneous(found.value, found.interval, many), margin) is Equivalence.DIFFERENT
