"""How sure is a mean or a ratio? Batch means, sectioning and the jackknife over batches.

A steady-state run is cut into batches of equal length, long against the correlation within it, so that batches are nearly independent. The
estimate comes from all data; the spread of the batches around it gives the interval (sectioning: Asmussen and Glynn, Stochastic Simulation,
2007, section III.5; batch means: Law, Simulation Modeling and Analysis, section 9.5.3; ratios: Cochran, Sampling Techniques, chapter 6).
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from rackproof.model.measurement import Interval

Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.95
#: Neighbours that hold this share of all squares stand out: 20 independent batches show that, and cancel, once in 600 runs.
_STANDS_OUT = 0.6
#: And they cancel where their sum is at most this share of their length.
_CANCELS = 0.35


@functools.cache
def t_quantile(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Two-sided quantile of Student's t."""
    return float(stdtrit(degrees, (1 + confidence) / 2))


def mean(values: npt.ArrayLike, method: str = "batch means", confidence: float = CONFIDENCE) -> tuple[float, Interval | None]:
    """Mean of one value a batch, with its interval; None below 2 batches."""
    data = np.asarray(values, np.float64)
    if data.size == 0:
        return math.nan, None
    centre = float(data.mean())
    if data.size < 2:
        return centre, None
    return centre, around(centre, standard_error(data - centre), data.size, method, confidence=confidence)


def standard_error(residuals: Floats) -> float:
    """Standard error of a mean from one residual a batch (residuals of mean 0; at least 2).

    What a host delays past the end of one batch arrives in the next: two neighbours that stand out by opposite amounts. The mean does not
    feel it; a spread that took them for independent would. Such a pair counts as if the boundary between them had not been.
    """
    count = residuals.size
    smooth = _without_handovers(residuals)
    return math.sqrt(float(smooth @ smooth) / (count - 1) / count)


def _without_handovers(residuals: Floats) -> Floats:
    """The residuals with every pair of neighbours levelled that holds most of all squares and nearly cancels."""
    smooth = residuals
    for _ in range(residuals.size // 2):
        squares = smooth**2
        pairs = squares[:-1] + squares[1:]
        at = int(pairs.argmax())
        sum_of_pair = float(smooth[at] + smooth[at + 1])
        if pairs[at] < _STANDS_OUT * squares.sum() or abs(sum_of_pair) > _CANCELS * math.sqrt(float(pairs[at])) or pairs[at] == 0:
            break
        smooth = smooth.copy()
        smooth[at : at + 2] = sum_of_pair / 2
    return smooth


def ratio(over: npt.ArrayLike, under: npt.ArrayLike, method: str = "sectioning") -> tuple[float, Interval | None]:
    """Sum of `over` by the sum of `under`, both one value a batch, with its interval; nan where the divisor is 0.

    The residuals over - ratio * under have mean 0; their spread is the ratio's (linearised). Batches may be of any size.
    """
    top, bottom = np.asarray(over, np.float64), np.asarray(under, np.float64)
    whole = float(bottom.sum())
    if whole == 0:
        return math.nan, None
    value = float(top.sum()) / whole
    error = ratio_error(top, bottom, value)
    return value, None if error is None else around(value, error, top.size, method)


def ratio_error(over: Floats, under: Floats, value: float) -> float | None:
    """Standard error of a ratio of sums over batches; None below 2 batches that hold anything."""
    count = over.size
    if count < 2 or np.count_nonzero(under) < 2:
        return None
    residuals = (over - value * under) / float(under.mean())
    return standard_error(residuals)


def jackknife(
    estimate: Callable[[Floats], Floats], sums: Floats, method: str = "jackknife over batches", bounds: tuple[float, float] | None = None
) -> tuple[float, Interval | None]:
    """Any smooth function of sums over batches, with its interval (Efron 1982, chapter 3); for what is not a plain ratio.

    sums: quantities by batches. estimate maps quantities by columns to one value a column; it is called with the totals as one column, and
    with the totals without each batch. bounds: values that the quantity cannot leave.
    """
    total = sums.sum(axis=1, keepdims=True)
    value = float(estimate(total)[0])
    count = sums.shape[1]
    if count < 2 or not math.isfinite(value):
        return value, None
    without = estimate(total - sums)
    if not np.isfinite(without).all():
        return value, None
    spread = without - without.mean()
    error = math.sqrt(float(spread @ spread) * (count - 1) / count)
    return value, around(value, error, count, method, bounds)


def around(
    value: float, error: float, batches: int, method: str, bounds: tuple[float, float] | None = None, confidence: float = CONFIDENCE
) -> Interval:
    """The interval of a value with a standard error that rests on so many batches."""
    half = t_quantile(batches - 1, confidence) * error
    least, most = bounds or (-math.inf, math.inf)
    low, high = min(max(value - half, least), value), max(min(value + half, most), value)
    return Interval(low=low, high=high, confidence=confidence, method=f"{method}, {batches} batches")
