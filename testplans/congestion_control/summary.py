"""What do the runs of a scheme come to together? Means over those that have statistics, with how many have them and how many do not."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rackproof.model.measurement import Interval
from rackproof.stats.pooling import repetitions


@dataclass(frozen=True, kw_only=True, slots=True)
class Average:
    """Mean over the runs that have the number.

    interval: 95 %, Student's t over the runs; None below 2 of them, or where one is infinite. n: runs that have the number; ignored: those
    that do not.
    """

    value: float
    interval: Interval | None
    n: int
    ignored: int = 0


def average(runs: Iterable[float | None]) -> Average | None:
    """The mean over runs, None standing for a run without statistics; None where no run has any."""
    every = list(runs)
    values = [value for value in every if value is not None]
    ignored = len(every) - len(values)
    if not values:
        return None
    if not all(map(math.isfinite, values)):
        return Average(value=math.inf, interval=None, n=len(values), ignored=ignored)
    value, interval = repetitions(values)
    return Average(value=value, interval=interval, n=len(values), ignored=ignored)
