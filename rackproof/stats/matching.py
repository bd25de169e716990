"""Which value of one row belongs to which of another?"""

from typing import Any

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]


def matches(haystack: npt.NDArray[Any], needles: npt.NDArray[Any]) -> Places:
    """The place in the haystack of each needle; -1 where it has none. The k-th needle of a value takes the k-th straw of that value."""
    found = np.full(len(needles), -1, np.intp)
    if not len(haystack) or not len(needles):
        return found
    order, straws = _sorted(haystack)
    wanted, sought = _sorted(needles)
    begins = np.flatnonzero(np.r_[True, sought[1:] != sought[:-1]])
    rank = np.arange(len(sought)) - np.repeat(begins, np.diff(np.r_[begins, len(sought)]))
    at = np.searchsorted(straws, sought, "left") + rank
    inside = np.minimum(at, len(straws) - 1)
    hit = (at < len(straws)) & (straws[inside] == sought)
    found[wanted[hit]] = order[at[hit]]
    return found


def _sorted(keys: npt.NDArray[Any]) -> tuple[Places, npt.NDArray[Any]]:
    """The order of the keys, and the keys in it; many come in order."""
    if np.all(keys[1:] >= keys[:-1]):
        return np.arange(len(keys)), keys
    order = np.argsort(keys)
    ordered = keys[order]
    if np.any(ordered[1:] == ordered[:-1]):
        order = np.argsort(keys, kind="stable")  # slower, and needed for equal keys alone
    return order, ordered
