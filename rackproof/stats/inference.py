"""What do samples say of the mean and the percentiles of what they are drawn from? With and without a fitted distribution."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.measurement import Interval
from rackproof.stats import resampling
from rackproof.stats.autocorrelation import Autocorrelation, autocorrelation
from rackproof.stats.distributions import Exponential, Family, Fit, Gaussian, fit
from rackproof.stats.groups import Floats, group, resolution
from rackproof.stats.linearised import influences
from rackproof.stats.mixtures import best_mixture
from rackproof.stats.quantiles import rank
from rackproof.stats.shifted import Gamma, LogNormal

#: Fewer samples, or fewer that are independent, are not fitted.
FITTED_MIN = 50
_FINE, _COARSE = 1000, 150
_FAMILIES: tuple[Family, ...] = (Gaussian(), Gamma(), LogNormal(), Exponential())
#: Stalls of a host are no part of a distribution: fits leave out what lies so many times the middle nine tenths away from the median, as
#: long as it is at most this share of all samples.
_FAR = 10.0
_RARE = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A mean or a percentile. interval: whatever the distribution; fitted, fitted_interval: the same of the chosen fit."""

    value: float
    interval: Interval | None
    fitted: float | None
    fitted_interval: Interval | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """fits: empty where there is nothing to fit (all samples alike, or too few). chosen: the fit of the smallest BIC.

    left_out: samples that the fits leave out, since they lie far off and are rare. percentiles: by percentile, as asked for.
    """

    autocorrelation: Autocorrelation
    mean: Estimate
    percentiles: Mapping[float, Estimate]
    fits: tuple[Fit, ...]
    chosen: Fit | None
    left_out: int


def infer(values: Floats, ordered: Floats, percentiles: Sequence[float], confidence: float, seed: int) -> Inference:
    """values: in the order in which they came; ordered: the same, ascending."""
    shares = [percentile / 100 for percentile in percentiles]
    quantiles = [float(ordered[rank(len(ordered), share)]) for share in shares]
    dependence = autocorrelation([values, *((values <= quantile).astype(np.float64) for quantile in quantiles)])
    drawn = resampling.blocks(len(values), dependence.block, seed)
    core = _core(ordered)
    fits, chosen, fitted = _fitted(values, core, dependence.effective, shares, drawn, confidence, seed)
    intervals = [
        resampling.mean_interval(values, drawn, confidence),
        *(resampling.percentile_interval(values, ordered, share, drawn, confidence) for share in shares),
    ]
    mean, *rest = (
        Estimate(value=value, interval=interval, fitted=by_fit, fitted_interval=fitted_interval)
        for value, interval, (by_fit, fitted_interval) in zip([float(values.mean()), *quantiles], intervals, fitted, strict=True)
    )
    return Inference(
        autocorrelation=dependence,
        mean=mean,
        percentiles=dict(zip(percentiles, rest, strict=True)),
        fits=fits,
        chosen=chosen,
        left_out=len(ordered) - len(core),
    )


def _core(ordered: Floats) -> Floats:
    low, middle, high = (float(ordered[rank(len(ordered), share)]) for share in (0.05, 0.5, 0.95))
    reach = _FAR * (high - low)
    first, last = np.searchsorted(ordered, middle - reach), np.searchsorted(ordered, middle + reach, "right")
    return ordered[first:last] if reach > 0 and last - first >= len(ordered) * (1 - _RARE) else ordered


def _fitted(
    values: Floats, core: Floats, effective: float, shares: Sequence[float], drawn: resampling.Blocks, confidence: float, seed: int
) -> tuple[tuple[Fit, ...], Fit | None, Sequence[tuple[float | None, Interval | None]]]:
    """All fits, the chosen one, and its mean and percentiles with their intervals."""
    step = resolution(core)
    if effective < FITTED_MIN or step == 0:
        return (), None, [(None, None)] * (1 + len(shares))
    fine, coarse = group(core, _FINE), group(core, _COARSE)
    simple = [fit(family, fine.values, fine.counts, effective) for family in _FAMILIES]
    mixture = best_mixture(fine, coarse, effective, step, seed)
    fits = tuple(one for one in (*simple, mixture) if one is not None and math.isfinite(one.log_likelihood))
    chosen = min(fits, key=lambda one: one.bic)
    which = _membership(values, core[fine.starts[:-1]])
    method = f"one-step refits of the {chosen.name}, {drawn.words()}"
    found = [chosen.mean, *chosen.ppf(np.array(shares)).tolist()]
    moved = influences(chosen, fine, coarse, shares)
    intervals = [
        resampling.around(value, drawn.means(one[which]), drawn, confidence, method) for value, one in zip(found, moved, strict=True)
    ]
    return fits, chosen, list(zip(found, intervals, strict=True))


def _membership(values: Floats, firsts: Floats) -> npt.NDArray[np.intp]:
    """The group of each value, by the first values of the groups."""
    return (np.searchsorted(firsts, values, "right") - 1).clip(0)
