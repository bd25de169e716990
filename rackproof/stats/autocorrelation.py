"""How long do samples in a row depend on each other? The block length for the block bootstrap, and the effective number of samples.

Block length: Politis and White (Econometric Reviews 23, 2004) with the correction by Patton, Politis and White (28, 2009), for circular
blocks, and twice that: their length gives the least square error of the variance, but part of that error is always too little. Effective
number: the samples by the sum of all their autocorrelations, estimated with the same flat-top window.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rackproof.stats.groups import Floats

#: An autocorrelation counts as none below this many times sqrt(log10(n) / n), so many lags in a row.
_THRESHOLD = 2.0
_QUIET_LAGS = 5
_LONGER = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Autocorrelation:
    """block: length of the blocks in samples, 1 where no dependence shows; effective: independent samples that tell as much of the mean."""

    block: int
    effective: float


def autocorrelation(series: Iterable[Floats]) -> Autocorrelation:
    """Of several series of equal length that belong together (delays, and which of them exceed a percentile): the longest block of all,
    the effective number of the first.
    """
    found = [_one(values) for values in series]
    return Autocorrelation(block=max(one.block for one in found), effective=found[0].effective)


def _one(values: Floats) -> Autocorrelation:
    count = len(values)
    centred = values - values.mean()
    variance = float(centred @ centred) / count
    if count < 2 * _QUIET_LAGS or variance <= 0:
        return Autocorrelation(block=1, effective=float(count))
    lags_max = min(math.ceil(math.sqrt(count)) + max(_QUIET_LAGS, math.ceil(math.sqrt(math.log10(count)))), count - 1)
    correlation = _correlations(centred, lags_max)
    quiet = np.abs(correlation[1:]) < _THRESHOLD * math.sqrt(math.log10(count) / count)
    calm = np.convolve(quiet, np.ones(_QUIET_LAGS), "valid") == _QUIET_LAGS
    first_quiet = int(calm.argmax()) if calm.any() else lags_max
    if first_quiet == 0:
        return Autocorrelation(block=1, effective=float(count))
    window = min(2 * first_quiet, lags_max)
    lags = np.arange(1, window + 1)
    weighted = np.minimum(1.0, 2 * (1 - lags / window)) * correlation[1 : window + 1]
    spectrum = max(1 + 2 * float(weighted.sum()), 1 / count)
    curvature = 2 * float((lags * weighted).sum())
    block = _LONGER * (2 * curvature**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * count ** (1 / 3)
    limit = math.ceil(min(3 * math.sqrt(count), count / 3))
    return Autocorrelation(block=min(max(math.ceil(block), 1), limit), effective=min(max(count / spectrum, 1.0), float(count)))


def _correlations(centred: Floats, lags: int) -> Floats:
    """Autocorrelations at lags 0 to `lags`, by pieces of the series: transforms stay short, and so does the memory."""
    piece = max(1 << (8 * lags).bit_length(), 1 << 14)
    sums = np.zeros(lags + 1)
    for start in range(0, len(centred), piece):
        part = centred[start : start + piece]
        ahead = centred[start : start + piece + lags]
        size = piece + (1 << lags.bit_length())
        product = np.conj(np.fft.rfft(part, size)) * np.fft.rfft(ahead, size)
        sums += np.fft.irfft(product, size)[: lags + 1]
    return np.asarray(sums / sums[0])
