"""How sure is a quantile of correlated samples?

Woodruff's method (J. Am. Stat. Assoc. 47, 1952) with batches: the share of samples at or below the estimate is a mean of
indicators, whose standard error follows from their spread over batches, correlation included. The quantiles at q minus and plus that
half-width are the interval. It needs no quantile of a batch, which would be biased in the tail, and no density.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from rackproof.model.measurement import Interval
from rackproof.stats.batches import CONFIDENCE, ratio_error, t_quantile

#: Gives the values at places (from 0) of the samples in ascending order.
Select = Callable[[Sequence[int]], list[float]]


def of_ordered(ordered: npt.NDArray[np.float32] | npt.NDArray[np.float64]) -> Select:
    """Selects from an array that is in ascending order already."""
    return lambda places: [float(ordered[place]) for place in places]


def rank(count: int, share: float) -> int:
    """Index of the quantile in ascending order: the inverse of the empirical distribution. 1e-9 keeps 0.95 * 20 from becoming 20."""
    return min(max(math.ceil(count * share - 1e-9) - 1, 0), count - 1)


def quantiles(select: Select, count: int, shares: Sequence[float]) -> list[float]:
    """For each share the smallest of `count` samples at or below which at least this share lies; there must be a sample."""
    return select([rank(count, share) for share in shares])


def bounds(count: int, share: float, below: npt.ArrayLike, sizes: npt.ArrayLike, confidence: float = CONFIDENCE) -> tuple[int, int] | None:
    """Places, in ascending order of all samples, of the ends of a quantile's interval.

    count: samples; below: those at or below the estimate, per batch; sizes: samples per batch. None below 2 batches.
    A place may lie outside of the samples; see `interval`.
    """
    under, size = np.asarray(below, np.float64), np.asarray(sizes, np.float64)
    if count == 0 or size.sum() == 0:
        return None
    error = ratio_error(under, size, float(under.sum() / size.sum()))
    if error is None:
        return None
    if error == 0:
        # No batch differs, mostly because no sample lies above: then independence gives the least error that there can be.
        error = math.sqrt(share * (1 - share) / count)
    half = t_quantile(size.size - 1, confidence) * error
    return math.ceil(count * (share - half) - 1e-9) - 1, math.ceil(count * (share + half) - 1e-9) - 1


def interval(value: float, low: float, high: float, batches: int, confidence: float = CONFIDENCE) -> Interval:
    """The interval between the samples at the two places."""
    method = f"Woodruff on batch indicators, {batches} batches"
    return Interval(low=min(low, value), high=max(high, value), confidence=confidence, method=method)


def quantile_intervals(
    select: Select,
    count: int,
    shares: Sequence[float],
    values: Sequence[float],
    below: Sequence[npt.ArrayLike],
    sizes: npt.ArrayLike,
    confidence: float = CONFIDENCE,
) -> list[Interval | None]:
    """Intervals of several quantiles. values: their estimates; below: for each, samples at or below it per batch; sizes: samples per batch.

    None where the samples cannot bound it: an end would lie beyond the smallest or the largest of them, and they are not all alike.
    """
    places = [bounds(count, share, under, sizes, confidence) for share, under in zip(shares, below, strict=True)]
    wanted = sorted({min(max(place, 0), count - 1) for pair in places if pair is not None for place in pair} | {0, count - 1})
    at = dict(zip(wanted, select(wanted), strict=True))
    found: list[Interval | None] = []
    for value, pair in zip(values, places, strict=True):
        if pair is None:
            found.append(None)
            continue
        low, high = (at[min(max(place, 0), count - 1)] for place in pair)
        outside = pair[0] < 0 or pair[1] >= count
        found.append(None if outside and low < high else interval(value, low, high, len(np.atleast_1d(sizes)), confidence))
    return found
