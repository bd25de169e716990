"""What would the delay be over a number of hops that was not measured, and how far may that be believed?

The prediction is the model of decomposition.py; its interval holds the uncertainty of the model and the scatter of the points about it. The
check leaves each hop count out in turn, predicts it from the others, and counts the points whose measured number lies within the interval.
"""

import math
from dataclasses import dataclass
from statistics import median

from rackproof.model.measurement import Interval, Measurement
from rackproof.stats.counts import wilson
from rackproof.stats.regression import standard_error
from testplans.xpfe_delay.decomposition import Model, model_of
from testplans.xpfe_delay.sections_words import point_words
from testplans.xpfe_delay.view import Key, View

#: A line over hops goes through any two hop counts: with so many there is one to leave out.
HOP_COUNTS_MIN = 3
_METHOD = "prediction interval of the model without this hop count, Student's t"
_UNRELIABLE = " That is fewer than chance allows: beyond the hop counts that were measured, nothing is to be relied on."


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """A point, and what the other hop counts predict for it; the interval holds the error of the measured number as well."""

    key: Key
    measured: Measurement
    predicted: Measurement

    @property
    def within(self) -> bool:
        """The measured number lies within the interval."""
        return self.predicted.interval is not None and self.predicted.interval.contains(self.measured.value)

    @property
    def error(self) -> float:
        """Predicted minus measured [us]."""
        return self.predicted.value - self.measured.value


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """How well hop counts that were left out were predicted. why_not: why that cannot be said; empty where it can."""

    chain: str
    quantity: str
    points: tuple[LeftOut, ...]
    why_not: str = ""

    @property
    def within(self) -> int:
        """Points whose measured number lies within the interval."""
        return sum(point.within for point in self.points)

    @property
    def fails(self) -> bool:
        """Whether fewer points lie within their intervals than the confidence of these allows by chance."""
        promised = [point.predicted.interval.confidence for point in self.points if point.predicted.interval]
        share = wilson(self.within, len(self.points))
        return share is not None and bool(promised) and share.high < min(promised)

    @property
    def error(self) -> float:
        """Median of the errors without their signs [us]; nan without a point."""
        return median(abs(point.error) for point in self.points) if self.points else math.nan

    @property
    def text(self) -> str:
        """In a sentence."""
        if self.why_not:
            return f"The prediction cannot be checked: {self.why_not}."
        return (
            f"With each hop count left out in turn, {self.within} of {len(self.points)} points lie within the interval that the others "
            f"predict; half of the errors are below {self.error:.2g} µs.{_UNRELIABLE if self.fails else ''}"
        )


def model(view: View, chain: str, quantity: str) -> Model | None:
    """What predicts a number of a chain (Model.at); None where it was not measured at two hop counts."""
    found = model_of(view, chain, quantity, view.points)
    return found if found is not None and len({key.hops for key in found.residuals}) > 1 else None


def assumes(found: Model) -> str:
    """What a prediction assumes, in sentences."""
    counts = sorted({key.hops for key in found.residuals})
    text = (
        "Predictions take the delay as growing by the same amount with each further hop, and that amount as growing in a straight line "
        f"with the frame size; each rate for itself, measured at {', '.join(map(str, counts))} hops."
    )
    for odd in found.odd:
        text += f" Hop {odd.hop} stands out by {odd.more.value:.1f} µs, which count once."
    if found.aside:
        far = "; ".join(point_words(key) for key in found.aside)
        text += f" Left out, for far off what all others agree on: {far}."
    if found.fit.degrees == 0:
        return f"{text} No point is left to show how far that is true: the interval holds the errors of the measured numbers alone."
    return (
        f"{text} Points lie off that by {found.fit.scatter:.2g} µs (standard deviation, {found.fit.degrees} degrees of freedom), which the "
        "interval holds."
    )


def check(view: View, chain: str, quantity: str) -> Check:
    """Each hop count of a chain left out in turn; where some numbers have intervals, those without are neither used nor predicted."""
    known = {point.key: number for point in view.of(chain) if (number := point.get(quantity)) is not None}
    known = {key: number for key, number in known.items() if number.interval} or known
    counts = sorted({key.hops for key in known})
    if len(counts) < HOP_COUNTS_MIN:
        many = "1 hop count was" if len(counts) == 1 else f"{len(counts)} hop counts were"
        return Check(chain=chain, quantity=quantity, points=(), why_not=f"{many} measured, {HOP_COUNTS_MIN} are needed")
    points = [
        LeftOut(key=key, measured=measured, predicted=predicted)
        for count in counts
        if (others := model_of(view, chain, quantity, [key for key in known if key.hops != count])) is not None
        for key, measured in known.items()
        if key.hops == count and (predicted := _predicted(others, key, measured)) is not None
    ]
    if not points:
        return Check(chain=chain, quantity=quantity, points=(), why_not="no point was measured at enough other hop counts")
    return Check(chain=chain, quantity=quantity, points=tuple(points))


def _predicted(found: Model, key: Key, measured: Measurement) -> Measurement | None:
    predicted = found.at(key.hops, key.frame_bytes, key.rate_mbps)
    if predicted is None or predicted.interval is None or measured.interval is None:
        return predicted
    half = predicted.interval.half_width
    own = standard_error(measured.interval, measured.value) * found.fit.quantile
    wide = math.hypot(half, own)
    interval = Interval(low=predicted.value - wide, high=predicted.value + wide, confidence=predicted.interval.confidence, method=_METHOD)
    return Measurement(name=predicted.name, unit=predicted.unit, value=predicted.value, n=predicted.n, interval=interval)
