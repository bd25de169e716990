"""Which linear model goes through measured numbers, and how sure is what it says? Weighted least squares with a scatter of its own.

Numbers lie off the model by more than their intervals say wherever the model is not quite true. The variance of that scatter is chosen such
that the weighted squares of the residuals are what they must be (R. C. Paule and J. Mandel, J. Res. Natl. Bur. Stand. 87, 1982), and added
to each number's own; where the intervals alone explain the residuals it is 0. Intervals are Student's, by the degrees of freedom that are
left. Single numbers that lie far off what the others agree on (by the least absolute residuals) are set aside before.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, linprog
from scipy.special import ndtri

from rackproof.model.measurement import Interval, Measurement
from rackproof.stats.batches import CONFIDENCE, t_quantile

Floats = npt.NDArray[np.float64]

#: A row lies outside of what was measured where more than this of its length does.
_OUTSIDE = 1e-6
#: Nothing is surer than this share of the usual number.
_EXACT = 1e-5
#: A number is set aside that lies off by more than so many deviations: of what the other residuals say, and its own error.
_FAR = 6.0
_NORMAL = 1.4826
#: Where more than this share would be, the model is wrong; with fewer degrees of freedom, nobody knows which number is.
_SHARE_MAX, _DEGREES_MIN = 0.2, 8
#: Squares of singular values below this share of the largest one are 0.
_SINGULAR = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A linear model through numbers.

    scatter: standard deviation of the truth about the model, in the unit of the numbers; numbers: how many count; aside: the indices of
    those that lie far off; degrees: how many count beyond what the coefficients take; residuals: number minus model, one a number; span:
    projects onto the combinations of coefficients that the numbers determine; bounded: intervals or residuals say how large errors are.
    """

    coefficients: Floats
    covariance: Floats
    scatter: float
    numbers: int
    aside: tuple[int, ...]
    degrees: int
    residuals: Floats
    confidence: float
    span: Floats
    bounded: bool

    def at(self, row: Sequence[float] | Floats, scatter: bool = False) -> tuple[float, float] | None:
        """What the model says of a combination of its coefficients, and its standard error; None where the numbers do not determine it.

        scatter: the error is that of the truth there, which lies off the model, instead of that of the model.
        """
        wanted = np.asarray(row, np.float64)
        if np.linalg.norm(wanted - self.span @ wanted) > _OUTSIDE * max(1.0, float(np.linalg.norm(wanted))):
            return None
        variance = max(float(wanted @ self.covariance @ wanted), 0.0) + (self.scatter**2 if scatter else 0.0)
        return float(wanted @ self.coefficients), math.sqrt(variance)

    @property
    def quantile(self) -> float:
        """Half-widths of intervals in standard errors."""
        return t_quantile(self.degrees or math.inf, self.confidence)

    def interval(self, value: float, error: float, method: str) -> Interval | None:
        """The interval of a value with a standard error; None where nothing says how large errors are."""
        if not self.bounded:
            return None
        half = self.quantile * error
        return Interval(low=value - half, high=value + half, confidence=self.confidence, method=method)


def fit(rows: Sequence[Sequence[float]] | Floats, numbers: Sequence[Measurement], confidence: float = CONFIDENCE) -> Fit:
    """The model through at least one number. rows: one a number, what each coefficient is multiplied with.

    A number without an interval is one that its samples cannot bound: it does not count, unless none has one. Numbers that lie far off what
    the others agree on are set aside.
    """
    design, values = np.asarray(rows, np.float64), np.array([number.value for number in numbers])
    counts = np.array([number.interval is not None for number in numbers])
    bounded = bool(counts.any())
    if not bounded:
        counts[:] = True
    own = _own_variances(numbers, counts)
    aside = _far_off(design, values, own, counts)
    counts[aside] = False
    basis = _determined(design[counts])
    reduced = design @ basis
    degrees = int(counts.sum()) - basis.shape[1]
    scatter = _scatter(reduced[counts], values[counts], own[counts], degrees)
    found, covariance = _solve(reduced[counts], values[counts], own[counts] + scatter)
    return Fit(
        coefficients=basis @ found,
        covariance=basis @ covariance @ basis.T,
        scatter=math.sqrt(scatter),
        numbers=int(counts.sum()),
        aside=tuple(map(int, aside)),
        degrees=degrees,
        residuals=values - reduced @ found,
        confidence=confidence,
        span=basis @ basis.T,
        bounded=bounded or degrees > 0,
    )


def standard_error(interval: Interval, value: float) -> float:
    """The standard error that an interval of a value stands for; an end that is nan is as far away as the other."""
    half = float(np.nanmean([value - interval.low, interval.high - value]))
    return abs(half) / float(ndtri((1 + interval.confidence) / 2))


def _own_variances(numbers: Sequence[Measurement], counts: npt.NDArray[np.bool_]) -> Floats:
    """Of each number; those without an interval are exact."""
    errors = [standard_error(number.interval, number.value) if number.interval else 0.0 for number in numbers]
    usual = float(np.median([abs(number.value) for number, count in zip(numbers, counts, strict=True) if count]))
    return np.square(np.maximum(np.array(errors, np.float64), _EXACT * (usual or 1.0)))


def _far_off(design: Floats, values: Floats, own: Floats, counts: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Which of the numbers that count lie far off the model of the least absolute residuals.

    None where many do, where few count, or where the others would determine less.
    """
    places = np.flatnonzero(counts)
    reduced = design[counts] @ _determined(design[counts])
    degrees = len(places) - reduced.shape[1]
    if degrees < _DEGREES_MIN:
        return places[:0]
    residuals = np.abs(_least_absolute(reduced, values[counts]))
    # As many residuals as there are coefficients are 0: they say nothing of the spread.
    spread = _NORMAL * float(np.median(np.sort(residuals)[-degrees:]))
    far = residuals > _FAR * np.sqrt(spread**2 + own[counts])
    few = far.sum() <= _SHARE_MAX * len(places) and _determined(reduced[~far]).shape[1] == reduced.shape[1]
    return places[far] if few else places[:0]


def _least_absolute(design: Floats, values: Floats) -> Floats:
    """Residuals of the model that makes their absolute sum least, as a linear programme: each is one part above and one below the model."""
    count, coefficients = design.shape
    cost = np.concatenate([np.zeros(coefficients), np.ones(2 * count)])
    sides = np.hstack([design, np.eye(count), -np.eye(count)])
    free, positive = [(None, None)] * coefficients, [(0, None)] * (2 * count)
    found = linprog(cost, A_eq=sides, b_eq=values, bounds=[*free, *positive])
    return np.asarray(values - design @ found.x[:coefficients], np.float64)


def _determined(design: Floats) -> Floats:
    """An orthonormal basis, by columns, of the combinations of coefficients that a design determines."""
    squares, vectors = np.linalg.eigh(design.T @ design)
    return np.asarray(vectors[:, squares > _SINGULAR * squares[-1]], np.float64)


def _solve(design: Floats, values: Floats, variances: Floats) -> tuple[Floats, Floats]:
    weighted = design / variances[:, None]
    covariance = np.asarray(np.linalg.inv(weighted.T @ design), np.float64)
    return covariance @ (weighted.T @ values), covariance


def _scatter(design: Floats, values: Floats, own: Floats, degrees: int) -> float:
    """Variance of the truth about the model."""

    def surplus(variance: float) -> float:
        coefficients, _ = _solve(design, values, own + variance)
        return float(((values - design @ coefficients) ** 2 / (own + variance)).sum()) - degrees

    if degrees == 0 or surplus(0.0) <= 0:
        return 0.0
    most = float(own.max())
    while surplus(most) > 0:
        most *= 4
    return float(brentq(surplus, 0.0, most))
