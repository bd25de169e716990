"""Numbers of one trial as measurements: single ones, and how times are spread over LSPs."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.stats import batches
from rackproof.stats.delta_q import delta_q
from rackproof.stats.quantiles import rank
from rackproof.stats.resampling import order_statistics

Floats = npt.NDArray[np.float64]
_SHARES = {"p50": 0.5, "p99": 0.99}


def number(
    name: str, unit: str, value: float, n: int, interval: Interval | None = None, subject: Mapping[str, str] | None = None
) -> Measurement:
    """One number."""
    return Measurement(name=name, unit=unit, value=value, n=n, interval=interval, subject=subject or {})


def spread(name: str, values_ms: Floats, confidence: float, subject: Mapping[str, str]) -> Iterator[Measurement]:
    """Mean, percentiles and the largest of times, one an LSP [ms]; nothing where there is none."""
    count = len(values_ms)
    if count == 0:
        return
    ordered = np.sort(values_ms)
    mean = float(ordered.mean())
    half = batches.t_quantile(count - 1, confidence) * float(ordered.std(ddof=1)) / count**0.5 if count > 1 else 0.0
    interval = Interval(low=mean - half, high=mean + half, confidence=confidence, method=f"Student's t over {count} LSPs")
    yield number(f"{name}.mean", "ms", mean, count, interval if count > 1 else None, subject)
    for label, share in _SHARES.items():
        yield number(
            f"{name}.{label}", "ms", float(ordered[rank(count, share)]), count, order_statistics(ordered, share, confidence), subject
        )
    yield number(f"{name}.max", "ms", float(ordered[-1]), count, None, subject)


def distribution(name: str, values_ms: Floats, of: int, subject: Mapping[str, str]) -> Iterator[Curve]:
    """How many of `of` LSPs took so long at most; what never ended leaves it below 1. Nothing where there is no value."""
    if len(values_ms) == 0:
        return
    x, y = delta_q(np.sort(values_ms), of)
    yield Curve(name=name, x_name="time", x_unit="ms", y_name="cumulative share", y_unit="1", x=x, y=y, n=of, subject=subject)
