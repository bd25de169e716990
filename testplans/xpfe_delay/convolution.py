"""What do the hops of a path do together? Delta-Q of each hop convolved along the path, as if hops knew nothing of one another.

Delta-Q composes by convolution where delays are independent (D. Reeve, A New Blueprint for Network QoS, 2003); a hop that smooths traffic
for the next, or a queue that lasts over several frames, is not: the measured delay of the whole path says how far it holds.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from rackproof.model.measurement import Curve, Measurement
from rackproof.stats.regression import Floats
from testplans.xpfe_delay.hops import outstanding
from testplans.xpfe_delay.view import Key, Point, View

#: The curve of what hop k alone does to the frames that come to it, subject {"hop": k}.
CURVE = "hop.delta-q"
ASSUMES = "Convolved as if the delays of hops were independent."
#: Resolution [us], and at most so many bins for a hop: beyond, it is coarser.
_STEP_US = 0.01
_BINS_MAX = 1 << 15


@dataclass(frozen=True, kw_only=True)
class DeltaQ:
    """Probabilities of delays first_us, first_us + step_us, ...; what is missing to 1 is lost."""

    first_us: float
    step_us: float
    mass: Floats

    @property
    def delays(self) -> Floats:
        """All delays [us]."""
        return self.first_us + self.step_us * np.arange(len(self.mass), dtype=np.float64)

    @property
    def loss(self) -> float:
        """Probability that a frame does not arrive."""
        return max(0.0, 1 - float(self.mass.sum()))

    @property
    def mean(self) -> float:
        """Mean delay of the frames that arrive [us]."""
        return float(self.delays @ self.mass / self.mass.sum())

    def percentile(self, percent: float) -> float:
        """The delay that so many of 100 frames that arrive keep [us]."""
        total = np.cumsum(self.mass)
        return float(self.delays[np.searchsorted(total, percent / 100 * total[-1] * (1 - 1e-12)).clip(0, len(total) - 1)])


@dataclass(frozen=True, kw_only=True, slots=True)
class Convolved:
    """The delay of a point by the hops of a chain of `source` hops, beside what was measured end to end."""

    key: Key
    source: int
    mean: float
    percentile: float
    measured_mean: Measurement
    measured_percentile: Measurement


def along(parts: Sequence[DeltaQ]) -> DeltaQ:
    """One hop after the other; all have the same step."""
    length = sum(len(part.mass) for part in parts) - len(parts) + 1
    fast = next_fast_len(length, real=True)
    spectra = {id(part): rfft(part.mass, fast) for part in parts}
    whole = np.prod([spectra[id(part)] for part in parts], axis=0)
    # What the transform leaves where there is nothing is rounding.
    mass = np.maximum(irfft(whole, fast)[:length], 0.0)
    return DeltaQ(first_us=sum(part.first_us for part in parts), step_us=parts[0].step_us, mass=mass)


def path(point: Point, hops: int, odd: Collection[int] = ()) -> DeltaQ | None:
    """Delta-Q of a path of so many hops (from 2 on where they are not the point's), from the hops of a point; None where it lacks them.

    A shorter path ends with the last hop of the point; what a longer one has more is like the mean of its inner hops but the odd ones.
    """
    own = point.key.hops
    curves = [point.curves(CURVE, hop=str(hop)) for hop in range(1, own + 1)]
    usual = [hop - 1 for hop in range(2, own) if hop not in odd]
    if not all(curves) or (hops != own and hops < 2) or (hops > own and not usual):
        return None
    found = _on_one_grid([each[0] for each in curves])
    if hops <= own:
        return along([*found[: hops - 1], found[-1]])
    more = [_mean([found[at] for at in usual])] * (hops - own)
    return along([*found[:-1], *more, found[-1]])


def convolved(view: View, chain: str) -> Iterator[Convolved]:
    """Every point of a chain by its own hops, and by those of the longest other chain that has what it takes."""
    points = [point for point in view.of(chain) if point.curves(CURVE, hop="1")]
    odd = {found.hop for found in view.once(outstanding, chain)}
    for point in points:
        key = point.key
        others = [each for each in points if each.key.hops != key.hops > 1 and _same_traffic(each.key, key)]
        for source in (point, *sorted(others, key=lambda each: each.key.hops)[-1:]):
            whole = path(source, key.hops, odd)
            mean, high = point.get("delay.mean"), point.get(view.percentile)
            if whole is not None and mean is not None and high is not None:
                yield Convolved(
                    key=key,
                    source=source.key.hops,
                    mean=whole.mean,
                    percentile=whole.percentile(view.plan.verdict.percentile),
                    measured_mean=mean,
                    measured_percentile=high,
                )


def _same_traffic(one: Key, other: Key) -> bool:
    return (one.frame_bytes, one.rate_mbps) == (other.frame_bytes, other.rate_mbps)


def _on_one_grid(curves: Sequence[Curve]) -> list[DeltaQ]:
    longest = max(curve.x[-1] - curve.x[0] for curve in curves)
    step = max(_STEP_US, longest / _BINS_MAX)
    return [_from(curve, step) for curve in curves]


def _from(curve: Curve, step: float) -> DeltaQ:
    """Probabilities between the points of a curve are spread evenly; that of the first point lies at it."""
    x, y = np.asarray(curve.x, np.float64), np.asarray(curve.y, np.float64)
    bins = math.ceil((x[-1] - x[0]) / step) + 1
    edges = x[0] + step * (np.arange(bins + 1) - 0.5)
    # A point may stand on several probabilities: interp takes the last of them.
    total = np.interp(edges, x, y, left=0.0)
    return DeltaQ(first_us=float(x[0]), step_us=step, mass=np.diff(total))


def _mean(parts: Sequence[DeltaQ]) -> DeltaQ:
    """Any of the parts, as likely as the others."""
    step = parts[0].step_us
    first = min(part.first_us for part in parts)
    shifts = [round((part.first_us - first) / step) for part in parts]
    mass = np.zeros(max(shift + len(part.mass) for shift, part in zip(shifts, parts, strict=True)))
    for shift, part in zip(shifts, parts, strict=True):
        mass[shift : shift + len(part.mass)] += part.mass / len(parts)
    return DeltaQ(first_us=first, step_us=step, mass=mass)
