"""Which frames came out of order, which twice? By their sequence numbers, in order of arrival."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """reordered: frames whose number is smaller than the next expected one (Type-P-Reordered, RFC 4737 section 3.3); copies are not judged.
    duplicates: copies beyond the first of a frame (RFC 5560 counts them so). first: positions of the first copies, by ascending sequence
    number; None where all frames came once and in order.
    """

    reordered: int
    duplicates: int
    first: npt.NDArray[np.intp] | None


def order_of(sequence: npt.NDArray[np.int64] | npt.NDArray[np.uint32]) -> Order:
    """What is wrong with the order of arrival. Numbers must not wrap around."""
    if len(sequence) < 2 or bool(np.all(sequence[1:] > sequence[:-1])):
        return Order(reordered=0, duplicates=0, first=None)
    _, first = np.unique(sequence, return_index=True)
    arrived = sequence[np.sort(first)]
    expected = np.maximum.accumulate(arrived)
    return Order(reordered=int(np.count_nonzero(arrived[1:] < expected[:-1])), duplicates=len(sequence) - len(first), first=first)
