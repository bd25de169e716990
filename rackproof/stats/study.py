"""What do the delays of one trial say? Histogram, fits, mean and percentiles, all with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.stats.autocorrelation import Autocorrelation
from rackproof.stats.goodness import Judged, judge
from rackproof.stats.histogram import Histogram, histogram
from rackproof.stats.inference import Estimate, infer


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """fits: the smallest error first; empty where there is nothing to fit (all samples alike, or too few). chosen: the fit of the smallest
    BIC: the error alone would always prefer the most parameters. left_out: samples that the fits leave out, since they lie far off and are
    rare. percentiles: by percentile, as asked for.
    """

    n: int
    minimum: float
    maximum: float
    histogram: Histogram
    autocorrelation: Autocorrelation
    mean: Estimate
    percentiles: Mapping[float, Estimate]
    fits: tuple[Judged, ...]
    chosen: Judged | None
    left_out: int


def study(delays_us: npt.ArrayLike, percentiles: Sequence[float] = (1, 50, 99), confidence: float = 0.95, seed: int = 0) -> Study:
    """Studies delays in the order in which the frames were sent; lost ones are left out. ValueError where there is none, or one is not
    finite.

    The result depends on nothing but the arguments.
    """
    values = np.array(delays_us, np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError("delays must be one row of finite numbers, at least one")
    if not all(0 < percentile < 100 for percentile in percentiles):
        raise ValueError("percentiles must lie between 0 and 100")
    ordered = np.sort(values)
    found = infer(values, ordered, percentiles, confidence, seed)
    bins = histogram(ordered)
    fits = judge(found.fits, bins, values, found.autocorrelation.effective, seed)
    return Study(
        n=len(values),
        minimum=float(ordered[0]),
        maximum=float(ordered[-1]),
        histogram=bins,
        autocorrelation=found.autocorrelation,
        mean=found.mean,
        percentiles=found.percentiles,
        fits=fits,
        chosen=next((one for one in fits if one.fit is found.chosen), None),
        left_out=found.left_out,
    )
