"""Many samples in few groups: what fits and bootstraps work on, so that a million samples cost no more than thousands."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Share of the samples at either end that the cuts by width leave to the cuts by rank.
_TAIL = 0.001
_TAIL_CUTS = 40


@dataclass(frozen=True, slots=True)
class Groups:
    """Neighbouring samples in ascending order, put together.

    values: their mean; counts: how many (float); within: their variance around the mean; starts: rank of the first, and at the end the
    number of all samples.
    """

    values: Floats
    counts: Floats
    within: Floats
    starts: npt.NDArray[np.intp]


def group(ordered: Floats, cuts: int) -> Groups:
    """At most 2 * cuts + 80 groups of samples in ascending order.

    Cut at equal numbers of samples (narrow where they are dense), at equal widths (narrow where they are rare, so that no group spans two
    modes), and ever closer towards both ends.
    """
    count = len(ordered)
    low, high = ordered[int(count * _TAIL)], ordered[count - 1 - int(count * _TAIL)]
    tail = np.geomspace(1, max(count / 2, 1), _TAIL_CUTS)
    ranks = np.concatenate(
        [np.linspace(0, count, cuts + 1), np.searchsorted(ordered, np.linspace(low, high, cuts)), tail, count - tail, [0, count]]
    )
    starts = np.unique(np.rint(ranks).astype(np.intp))
    counts = np.diff(starts).astype(np.float64)
    centre = ordered[count // 2]
    shifted = ordered - centre
    means = np.add.reduceat(shifted, starts[:-1]) / counts
    np.square(shifted, out=shifted)
    within = np.maximum(np.add.reduceat(shifted, starts[:-1]) / counts - means**2, 0.0)
    return Groups(values=means + centre, counts=counts, within=within, starts=starts)


def resolution(ordered: Floats) -> float:
    """How finely the samples are told apart: the median step between different neighbours; 0 where all are alike."""
    steps = np.diff(ordered)
    steps = steps[steps > 0]
    return float(np.median(steps)) if steps.size else 0.0
