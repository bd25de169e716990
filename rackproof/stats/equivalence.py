"""Are two phases alike, to within a margin that was stated before? Equivalence is tested, not the absence of a difference.

Two one-sided tests (D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987): alike where the interval of the difference lies within the
margin as a whole, different where it lies beyond it as a whole, undecided else. With an interval of confidence 1 - 2a each test is one of
level a.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
from scipy.special import ndtri

from rackproof.model.measurement import Interval
from rackproof.stats.batches import CONFIDENCE, Floats, standard_error, t_quantile


class Equivalence(StrEnum):
    """What an interval of a difference says."""

    EQUIVALENT = "equivalent"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


def judge(interval: Interval | None, margin: float) -> Equivalence:
    """Of the interval of a difference; without one nothing is decided."""
    if interval is None or math.isnan(interval.low) or math.isnan(interval.high):
        return Equivalence.UNDECIDED
    if -margin <= interval.low and interval.high <= margin:
        return Equivalence.EQUIVALENT
    return Equivalence.DIFFERENT if interval.low > margin or interval.high < -margin else Equivalence.UNDECIDED


def difference(before: Floats, after: Floats, value: float | None = None, confidence: float = CONFIDENCE) -> tuple[float, Interval | None]:
    """Mean of `after` less mean of `before`, both one value a batch, with its interval (B. L. Welch, Biometrika 34, 1947).

    value: the difference, where more is known of it than the batches say. None below 2 batches on either side.
    """
    found = value if value is not None else float(after.mean() - before.mean()) if before.size and after.size else math.nan
    if min(before.size, after.size) < 2:
        return found, None
    variances = [standard_error(each - each.mean()) ** 2 for each in (before, after)]
    error = math.sqrt(sum(variances))
    if error == 0:
        degrees = float(before.size + after.size - 2)
    else:
        degrees = error**4 / sum(variance**2 / (each.size - 1) for variance, each in zip(variances, (before, after), strict=True))
    half = t_quantile(degrees, confidence) * error
    method = f"Welch, {before.size} and {after.size} batches"
    return found, Interval(low=found - half, high=found + half, confidence=confidence, method=method)


def share(events: Floats, trials: Floats, confidence: float = CONFIDENCE) -> tuple[float, Interval | None]:
    """Share of events that come in bursts, from counts by batch, with Wilson's interval; None without trials.

    Where batches differ by more than independent events would, as many fewer count (L. Kish, Survey Sampling, 1965, section 8.2).
    """
    whole = float(trials.sum())
    if whole == 0:
        return math.nan, None
    found = float(events.sum()) / whole
    independent = found * (1 - found) / whole
    effect = 1.0
    if independent > 0 and np.count_nonzero(trials) > 1:
        residuals = (events - found * trials) / float(trials.mean())
        effect = max(1.0, float(residuals @ residuals) / (trials.size - 1) / trials.size / independent)
    z = float(ndtri((1 + confidence) / 2))
    count = whole / effect
    scale = 1 + z**2 / count
    centre = (found + z**2 / (2 * count)) / scale
    half = z / scale * math.sqrt(found * (1 - found) / count + z**2 / (4 * count**2))
    method = "Wilson" if effect == 1 else f"Wilson, {count:.0f} independent of {whole:.0f}"
    low, high = min(max(centre - half, 0.0), found), max(min(centre + half, 1.0), found)
    return found, Interval(low=low, high=high, confidence=confidence, method=method)


def between(before: tuple[float, Interval | None], after: tuple[float, Interval | None]) -> tuple[float, Interval | None]:
    """One estimate less another, from their own intervals, however lopsided (R. G. Newcombe, Statist. Med. 17, 1998, method 10, of shares;
    G. Y. Zou and A. Donner, 27, 2008, of anything). None where one has no interval.
    """
    (first, first_interval), (second, second_interval) = before, after
    found = second - first
    if first_interval is None or second_interval is None:
        return found, None
    low = math.hypot(second - second_interval.low, first_interval.high - first)
    high = math.hypot(second_interval.high - second, first - first_interval.low)
    method = f"{second_interval.method}, differences by Newcombe"
    return found, Interval(low=found - low, high=found + high, confidence=first_interval.confidence, method=method)


def average(found: Sequence[tuple[float, Interval | None]]) -> tuple[float, Interval | None]:
    """Mean of estimates of different things, at least one, from their own intervals, as `between`. None where one has no interval."""
    centre = sum(value for value, _ in found) / len(found)
    known = [(value, interval) for value, interval in found if interval is not None]
    if len(known) < len(found):
        return centre, None
    if len(known) == 1:
        return known[0]
    low = math.hypot(*(value - interval.low for value, interval in known)) / len(known)
    high = math.hypot(*(interval.high - value for value, interval in known)) / len(known)
    first = known[0][1]
    method = f"{first.method}, averaged over {len(known)}"
    return centre, Interval(low=centre - low, high=centre + high, confidence=first.confidence, method=method)


def simultaneous(value: float, interval: Interval | None, many: int) -> Interval | None:
    """The interval as wide as it must be for all of `many` such to hold at its confidence (Z. Sidak, J. Am. Stat. Assoc. 62, 1967)."""
    if interval is None or many < 2:
        return interval
    each = interval.confidence ** (1 / many)
    wider = float(ndtri((1 + each) / 2) / ndtri((1 + interval.confidence) / 2))
    method = f"{interval.method}, one of {many}"
    return replace(interval, low=value - wider * (value - interval.low), high=value + wider * (interval.high - value), method=method)
