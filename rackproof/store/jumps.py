"""Where does a series of numbers change? Pure.

jumpavg (FD.io CSIT) proposes: it cuts the series where two averages need fewer bits to write down than one with a larger spread. It takes
values for positive and asks how fine they are; both are made the same for every series here: the range of the values lies at the top of
what it may be, and the resolution is an eighth of the spread from one campaign to the next. A proposal counts where Student's t says that
the two sides differ, given how campaigns scatter and how sure each of them is of itself.
"""

import functools
import itertools
import math
from collections.abc import Sequence

from rackproof.model.measurement import Interval

#: So often a series without any change may show one at a place where jumpavg proposes it.
_FALSE_ALARM = 0.005
# Below the least value lies so many times the range.
_OFFSET_RANGES = 8.0
_RESOLUTION_PER_SPREAD = 1 / 8
#: The median of the absolute differences of neighbours, for normal values of standard deviation 1.
_MEDIAN_DIFFERENCE = 0.6745 * math.sqrt(2)
_Z_95 = 1.959964


def jumps(values: Sequence[float], intervals: Sequence[Interval | None]) -> list[int]:
    """The indices at which something new begins. Where values become infinite, or finite again, that is a change by itself.

    The time that it takes grows with the square of the length: 0.1 s for 200 campaigns. What was asked before is known.
    """
    return list(_jumps(tuple(values), tuple(intervals)))


@functools.lru_cache(maxsize=256)
def _jumps(values: tuple[float, ...], intervals: tuple[Interval | None, ...]) -> tuple[int, ...]:
    found: list[int] = []
    start = 0
    for at in range(1, len(values) + 1):
        if at < len(values) and _same_sort(values[at - 1], values[at]):
            continue
        if math.isfinite(values[start]):
            errors = [0.0 if interval is None else interval.half_width / _Z_95 for interval in intervals[start:at]]
            found += [start + index for index in _finite(list(values[start:at]), errors)]
        if at < len(values):
            found.append(at)
        start = at
    return tuple(found)


def _same_sort(one: float, other: float) -> bool:
    return (math.isfinite(one) and math.isfinite(other)) or one == other


def _finite(values: list[float], errors: list[float]) -> list[int]:
    """errors: the standard error of each value, by its own account."""
    if len(values) < 2 or max(values) == min(values):
        return []
    edges = [0, *_proposed(values), len(values)]
    while len(edges) > 2:
        strengths = [
            _strength(values[a:b], errors[a:b], values[b:c], errors[b:c]) for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)
        ]
        weakest = min(range(len(strengths)), key=strengths.__getitem__)
        if strengths[weakest] >= 1:
            break
        del edges[weakest + 1]
    return edges[1:-1]


def _proposed(values: list[float]) -> list[int]:
    import jumpavg  # type: ignore[import-untyped]  # it ships no types

    span = max(values) - min(values)
    floor = min(values) - _OFFSET_RANGES * span
    differences = sorted(abs(after - before) for before, after in itertools.pairwise(values))
    spread = differences[len(differences) // 2] / _MEDIAN_DIFFERENCE
    unit = spread * _RESOLUTION_PER_SPREAD if spread > 0 else None
    ends, end = [], 0
    for group in jumpavg.classify([(value - floor) / span for value in values], unit=None if unit is None else unit / span):
        end += len(group)
        ends.append(end)
    return ends[:-1]


def _strength(before: Sequence[float], errors_before: Sequence[float], after: Sequence[float], errors_after: Sequence[float]) -> float:
    """How far two means are apart, in the distance that chance reaches."""
    from scipy.special import stdtrit

    degrees = len(before) + len(after) - 2
    centre_before, centre_after = sum(before) / len(before), sum(after) / len(after)
    squares = sum((value - centre_before) ** 2 for value in before) + sum((value - centre_after) ** 2 for value in after)
    scatter = squares / degrees if degrees > 0 else 0.0
    # What each is unsure of by its own account is the least that it scatters.
    variance = sum(max(scatter, sum(error**2 for error in errors) / len(errors)) / len(errors) for errors in (errors_before, errors_after))
    if variance == 0:
        return math.inf
    reach = float(stdtrit(max(degrees, 1), 1 - _FALSE_ALARM / 2)) if degrees < 1000 else 2.807
    return abs(centre_after - centre_before) / (reach * math.sqrt(variance))
