"""Does the number of LSPs that come up again in time (K) follow the number that is flapped (N), and up to where?

K over N is a line through the origin that may bend once. Where K = N throughout there is no knee.
"""

from dataclasses import dataclass

from rackproof.model.measurement import Interval
from rackproof.stats import piecewise
from testplans.mpls_flap.view import Point, View

#: The first window's number, as subject.
FIRST = "1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Knee:
    """Where the line bends [LSPs]; slopes: K by N before and after it; n: trials. p: how often one line alone would look as bent."""

    value: float
    interval: Interval | None
    slope_before: float
    slope_after: float
    n: int
    p: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Linearity:
    """K = N up to `up_to` (0: nowhere), in all repetitions of that point and of those below it; `below`: the first point with K < N.

    least: the share K/N that was smallest, at `least_at` LSPs.
    """

    up_to: int
    below: int | None
    least: float
    least_at: int
    knee: Knee | None

    @property
    def throughout(self) -> bool:
        """K = N wherever it was measured."""
        return self.below is None


def knee(seen: View, network: str, test: str) -> Knee | None:
    """The knee of K over N in one test; None where there is none, or too few points say."""
    return seen.once(_knee, network, test)


def linearity(seen: View, network: str, test: str) -> Linearity | None:
    """What one test says; None where nothing was measured."""
    points = [point for point in _ascending(seen, network, test) if point.each("flap.k", flap=FIRST)]
    if not points:
        return None
    shares = [(min(each.value for each in point.each("flap.k", flap=FIRST)) / point.key.flapped, point.key.flapped) for point in points]
    below = next((flapped for share, flapped in shares if share < 1), None)
    least, least_at = min(shares)
    return Linearity(
        up_to=max((flapped for _, flapped in shares if below is None or flapped < below), default=0),
        below=below,
        least=least,
        least_at=least_at,
        knee=knee(seen, network, test),
    )


def _knee(seen: View, network: str, test: str) -> Knee | None:
    measured = [
        (float(point.key.flapped), each.value) for point in _ascending(seen, network, test) for each in point.each("flap.k", flap=FIRST)
    ]
    if all(k == flapped for flapped, k in measured):
        return None
    found = piecewise.knee(*zip(*measured, strict=True), origin=True, resolution=1.0, confidence=seen.plan.confidence, seed=seen.plan.seed)
    if found is None:
        return None
    return Knee(
        value=found.value,
        interval=found.interval,
        slope_before=found.slope_before,
        slope_after=found.slope_after,
        n=found.n,
        p=found.p,
    )


def _ascending(seen: View, network: str, test: str) -> list[Point]:
    return sorted(seen.of(network, test), key=lambda point: point.key.flapped)
