"""What became of frames at each hop: lost, copied, out of their order? From their numbers in the order in which each place saw them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.stats.order import order_of

Numbers = npt.NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A place where frames were seen, in the order in which they were: numbers of the measured stream, copies included.

    came: all that were seen; left: those of them that went on.
    """

    came: Numbers
    left: Numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class Fate:
    """What happened to frames at a hop: came in, lost in the element, lost on the link behind it, copies made, out of their order."""

    came: int
    lost_in_element: int
    lost_on_link: int
    duplicates: int
    reordered: int

    @property
    def lost(self) -> int:
        """Frames that came to the hop and did not leave it."""
        return self.lost_in_element + self.lost_on_link


def fates(stages: Sequence[Stage], first: int, last: int) -> tuple[Fate, ...]:
    """One for each stage, of the frames with numbers from first to last - 1, all of which were sent, in this order.

    A copy is one more than came to the hop; a frame is out of order where it comes behind one that came to the hop after it
    (RFC 4737, section 3.3, with the order in which frames came to the hop in place of that of sending).
    """
    found = []
    before = np.arange(first, last, dtype=np.uint32)
    for stage in stages:
        came, left = (numbers[(numbers >= first) & (numbers < last)] for numbers in (stage.came, stage.left))
        there, here, gone = (np.bincount(numbers - first, minlength=last - first) for numbers in (before, came, left))
        place = np.full(last - first, -1, np.int64)
        place[before[::-1] - first] = np.arange(len(before))[::-1]
        places = place[came - first]
        found.append(
            Fate(
                came=int(np.count_nonzero(there)),
                lost_in_element=int(np.count_nonzero((there > 0) & (here == 0))),
                lost_on_link=int(np.count_nonzero((here > 0) & (gone == 0))),
                duplicates=int(np.maximum(here - np.maximum(there, 1), 0).sum()),
                reordered=order_of(places[places >= 0]).reordered,
            )
        )
        before = left
    return tuple(found)
