"""How are the samples spread? A histogram whose bins follow a stated rule.

Freedman and Diaconis (Z. Wahrscheinlichkeitstheorie 57, 1981): bins as wide as twice the interquartile range by the cube root of the
number of samples. It looks at neither the mean nor the tails, so that a few late frames do not make the bins coarse.
"""

import math
from dataclasses import dataclass

import numpy as np

from rackproof.stats.groups import Floats, resolution

BINS_MAX = 200
#: Half of all samples are alike, or nearly: then Scott's rule (Biometrika 66, 1979) by the deviation.
_SCOTT = 3.49
#: The core holds all but this share at either end; bins reach past it by a quarter of its width.
_CORE = 0.001
_MARGIN = 0.25
#: Bins hold whole steps of the clock where they are at most so many steps wide.
_STEPS_MAX = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Histogram:
    """edges: ascending, one more than counts and density. density: counts by width and by all samples, those beyond the edges included.

    outside: samples beyond the edges. rule: how the bins were made, in words that a report can print.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    density: tuple[float, ...]
    outside: int
    rule: str


def histogram(ordered: Floats, bins_max: int = BINS_MAX) -> Histogram:
    """The histogram of samples in ascending order; there must be one."""
    edges, rule = _edges(ordered, bins_max)
    at = np.searchsorted(ordered, edges)
    at[-1] = np.searchsorted(ordered, edges[-1], "right")
    counts = np.diff(at)
    outside = len(ordered) - int(counts.sum())
    if outside:
        rule += f"; {outside / len(ordered):.2g} of the samples lie beyond"
    return Histogram(
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        density=tuple((counts / np.diff(edges) / len(ordered)).tolist()),
        outside=outside,
        rule=rule,
    )


def _edges(ordered: Floats, bins_max: int) -> tuple[Floats, str]:
    count = len(ordered)
    low, high = float(ordered[0]), float(ordered[-1])
    if low == high:
        half = max(abs(low), 1.0) * 1e-3
        return np.array([low - half, low + half]), "one bin: all samples are alike"
    first, last = (float(ordered[int(share * (count - 1))]) for share in (_CORE, 1 - _CORE))
    margin = _MARGIN * (last - first)
    if margin > 0:
        low, high = max(low, first - margin), min(high, last + margin)
    quartiles = ordered[(count - 1) // 4], ordered[3 * (count - 1) // 4]
    width, rule = 2 * float(quartiles[1] - quartiles[0]) / count ** (1 / 3), "Freedman-Diaconis"
    if width == 0:
        inner = ordered[np.searchsorted(ordered, low) : np.searchsorted(ordered, high, "right")]
        width, rule = _SCOTT * float(inner.std()) / count ** (1 / 3), "Scott, since the quartiles are alike"
    if (high - low) / width > bins_max:
        width, rule = (high - low) / bins_max, f"{rule}, at most {bins_max} bins"
    step = resolution(ordered)
    if step > 0 and count > 10 * (high - low) / step and width < _STEPS_MAX * step:
        # Bins of one and a half steps would hold one step, two steps, one step ...
        width, low, rule = math.ceil(width / step) * step, low - step / 2, f"{rule}, whole steps of {step:.3g}"
    bins = max(math.ceil((high - low) / width * (1 - 1e-12)), 1)
    return low + width * np.arange(bins + 1), rule
