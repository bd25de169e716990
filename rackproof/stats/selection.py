"""What would stand at a place of several arrays, were they one and sorted? Exact, and without that one."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

Parts = Sequence[npt.NDArray[np.float32]]

#: Up to so many values are simply put together, and looked at in one go.
TOGETHER_MAX = 1 << 18
_HALF = 1 << 15
_LOW = (1 << 16) - 1


def selector(parts: Parts) -> Callable[[Sequence[int]], list[float]]:
    """Selects among all parts together: from a sorted copy where they are small, by `order_statistics` where they are not."""
    if sum(map(len, parts)) > TOGETHER_MAX:
        return partial(order_statistics, parts)
    together = np.concatenate(parts)
    together.sort()
    return lambda ranks: [float(together[rank]) for rank in ranks]


def order_statistics(parts: Parts, ranks: Sequence[int]) -> list[float]:
    """The values at these places (from 0) of all parts together in ascending order. The parts must hold that many, and no nan.

    They are counted by the upper half of their bits, and the values in the counter that holds the place by the lower half: two passes in
    pieces instead of a copy of everything.
    """
    upper = np.zeros(2 * _HALF, np.int64)
    for keys in _keys(parts):
        upper += np.bincount((keys >> 16) + _HALF, minlength=2 * _HALF)
    ends = np.cumsum(upper)
    return [_within(parts, int(np.searchsorted(ends, rank, "right")), rank, ends) for rank in ranks]


def _within(parts: Parts, at: int, rank: int, ends: npt.NDArray[np.int64]) -> float:
    lower = np.zeros(2 * _HALF, np.int64)
    for keys in _keys(parts):
        lower += np.bincount(keys[(keys >> 16) == at - _HALF] & _LOW, minlength=2 * _HALF)
    left = rank - (int(ends[at - 1]) if at else 0)
    key = np.array([(at - _HALF) << 16 | int(np.searchsorted(np.cumsum(lower), left, "right"))], np.int32)
    return float(_ordered_bits(key).view(np.float32)[0])


def _keys(parts: Parts) -> Iterator[npt.NDArray[np.int32]]:
    for part in parts:
        for start in range(0, len(part), TOGETHER_MAX):
            yield _ordered_bits(part[start : start + TOGETHER_MAX].view(np.int32))


def _ordered_bits(bits: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Bits of floats as integers that sort like the floats: those of negative ones run backwards. Its own inverse."""
    return bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
