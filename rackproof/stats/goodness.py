"""How well does a fit hold? The error that fits are ranked by, and tests against chance.

The tests are Kolmogorov-Smirnov's and Anderson-Darling's. Their statistics are compared to those of samples drawn from the fit and fitted
anew (parametric bootstrap: Stute, Manteiga and Quindimil, Metrika 40, 1993), since parameters from the same data make any fit look better.
A million samples would reject everything, and samples in a row are not independent: the tests see samples far apart, one drawn out of each
of as many stretches of the data as there are effective samples, at most 500. So they ask whether 500 independent frames could tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rackproof.stats.distributions import Fit
from rackproof.stats.groups import Floats
from rackproof.stats.histogram import Histogram

TESTED_MAX = 500
REPLICATES = 199
_LEAST = 1e-15


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """error: root mean square difference between the densities of histogram and fit, over the bins, in 1 by the unit of the samples.

    ks, ad: the statistics; ks_p, ad_p: how often chance alone gives larger ones; tested: samples that they rest on.
    """

    fit: Fit
    error: float
    ks: float
    ks_p: float
    ad: float
    ad_p: float
    tested: int


def judge(fits: Sequence[Fit], histogram: Histogram, values: Floats, effective: float, seed: int) -> tuple[Judged, ...]:
    """The fits with what speaks for them, the smallest error first. values: in the order in which they came."""
    random = np.random.default_rng(seed)
    tested = min(int(effective), TESTED_MAX)
    edges = np.linspace(0, len(values), tested + 1)
    apart = values[np.floor(edges[:-1] + random.random(tested) * np.diff(edges)).astype(np.intp).clip(0, len(values) - 1)]
    return tuple(sorted((_judge(fit, histogram, apart, random) for fit in fits), key=lambda one: one.error))


def error(fit: Fit, histogram: Histogram) -> float:
    """Root mean square difference of the densities; the fit's is its mean over each bin."""
    edges = np.array(histogram.edges)
    fitted = np.diff(fit.cdf(edges)) / np.diff(edges)
    return float(np.sqrt(np.mean((np.array(histogram.density) - fitted) ** 2)))


def _judge(fit: Fit, histogram: Histogram, apart: Floats, random: np.random.Generator) -> Judged:
    ks, ad = (float(statistic[0]) for statistic in _statistics(fit, apart[None, :]))
    others = _statistics(fit, fit.family.sample(random, (REPLICATES, len(apart)), fit.row))
    chance = [(1 + int((other >= own).sum())) / (1 + REPLICATES) for own, other in zip((ks, ad), others, strict=True)]
    return Judged(fit=fit, error=error(fit, histogram), ks=ks, ks_p=chance[0], ad=ad, ad_p=chance[1], tested=len(apart))


def _statistics(fit: Fit, rows: Floats) -> tuple[Floats, Floats]:
    """Both statistics of rows of samples, each against its own fit."""
    rows = np.sort(rows, axis=1)
    count = rows.shape[1]
    own = fit.family.fit(rows, np.ones((1, count)), fit.row)
    below = fit.family.cumulative(rows, own).clip(_LEAST, 1 - _LEAST)
    steps = np.arange(count) / count
    ks = np.maximum(below - steps, steps + 1 / count - below).max(axis=1)
    odd = 2 * np.arange(count) + 1
    ad = -count - ((np.log(below) + np.log1p(-below[:, ::-1])) * odd).sum(axis=1) / count
    return ks, ad
