"""What do several runs of the same thing say together?"""

import math
from collections.abc import Sequence

from rackproof.model.measurement import Interval
from rackproof.stats.batches import CONFIDENCE, t_quantile

#: From so many repetitions on their own spread makes the interval; with fewer, Student's t is wider than what they could show.
REPETITIONS_MIN = 4


def repetitions(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, Interval | None]:
    """Mean over repetitions with Student's interval; None below 2."""
    count = len(values)
    centre = sum(values) / count
    if count < 2:
        return centre, None
    error = math.sqrt(sum((value - centre) ** 2 for value in values) / (count - 1) / count)
    half = t_quantile(count - 1, confidence) * error
    method = f"Student's t over {count} repetitions"
    return centre, Interval(low=centre - half, high=centre + half, confidence=confidence, method=method)


def pool(values: Sequence[float], intervals: Sequence[Interval | None]) -> tuple[float, Interval | None]:
    """Mean of a measurement over its repetitions.

    From 4 repetitions on the interval is Student's over them: it holds what changes from run to run as well. Below, the runs' own intervals
    are pooled as independent. A single run keeps its own. None where a run has no interval and there are fewer than 4. The confidence is
    that of the runs' intervals.
    """
    known = [interval for interval in intervals if interval is not None]
    confidence = known[0].confidence if known else CONFIDENCE
    if len(values) >= REPETITIONS_MIN:
        return repetitions(values, confidence)
    centre = sum(values) / len(values)
    if len(known) < len(values):
        return centre, None
    if len(values) == 1:
        return centre, known[0]
    low = math.sqrt(sum((value - interval.low) ** 2 for value, interval in zip(values, known, strict=True))) / len(values)
    high = math.sqrt(sum((interval.high - value) ** 2 for value, interval in zip(values, known, strict=True))) / len(values)
    method = f"{known[0].method}, {len(values)} repetitions pooled"
    return centre, Interval(low=centre - low, high=centre + high, confidence=confidence, method=method)
