"""How sure is a mean or a percentile of samples that depend on their neighbours, whatever their distribution?

The circular block bootstrap (Politis and Romano, 1992): blocks of samples in a row are drawn with replacement, so that the dependence
within a block is kept. Where no dependence shows, a percentile's interval is that of order statistics (David and Nagaraja, Order
Statistics, section 7.1), which is exact. Blocks begin at every quarter of a block: what is drawn is sums over quarters,
few of them however many samples there are.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, ndtri

from rackproof.model.measurement import Interval
from rackproof.stats.batches import t_quantile
from rackproof.stats.groups import Floats
from rackproof.stats.quantiles import rank

REPLICATES = 1000
#: More blocks would not be surer, only slower; longer blocks miss less of the dependence.
BLOCKS_MAX = 250
_PIECES = 4
#: A percentile is looked for this many standard errors around its estimate, in so many cells.
_REACH = 8.0
_CELLS = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocks:
    """Blocks of `length` samples, some of which are drawn for each replicate.

    starts: first sample of each piece (a quarter of a block, or a whole one); pieces: how many make a block; drawn: the pieces that the
    drawn blocks begin with, replicates by blocks.
    """

    length: int
    pieces: int
    starts: npt.NDArray[np.intp]
    sizes: Floats
    drawn: npt.NDArray[np.intp]

    @property
    def number(self) -> int:
        """Blocks in a replicate."""
        return int(self.drawn.shape[1])

    def words(self) -> str:
        """How intervals are made, for a report."""
        return f"circular block bootstrap, {len(self.drawn)} replicates, blocks of {self.length} samples"

    def widening(self, confidence: float) -> float:
        """By what an interval of few blocks must grow: as Student's t against the Gaussian, and the spread of so many draws."""
        if self.number < 2:
            return math.inf
        return t_quantile(self.number - 1, confidence) / float(ndtri((1 + confidence) / 2)) * math.sqrt(self.number / (self.number - 1))

    def of_blocks(self, of_pieces: Floats) -> Floats:
        """Sums over the block that begins with each piece, from sums over the pieces (the first axis); the last pieces go on with the
        first.
        """
        found = of_pieces.copy()
        for ahead in range(1, self.pieces):
            found += np.roll(of_pieces, -ahead, axis=0)
        return found

    def drawn_samples(self) -> Floats:
        """How many samples each replicate holds."""
        return np.asarray(self.of_blocks(self.sizes)[self.drawn].sum(axis=1))

    def means(self, values: Floats) -> Floats:
        """Mean of the values (one a sample) in each replicate, less their mean in all."""
        sums = self.of_blocks(np.add.reduceat(values - values.mean(), self.starts))
        return np.asarray(sums[self.drawn].sum(axis=1) / self.drawn_samples())


def blocks(count: int, length: int, seed: int, replicates: int = REPLICATES) -> Blocks:
    """Draws blocks of at least `length` out of so many samples."""
    length = max(length, math.ceil(count / BLOCKS_MAX))
    per = _PIECES if length >= _PIECES else 1
    pieces = max(round(count * per / length), 1)
    edges = np.rint(np.linspace(0, count, pieces + 1)).astype(np.intp)
    drawn = np.random.default_rng(seed).integers(0, pieces, (replicates, max(round(pieces / per), 1)))
    return Blocks(length=length, pieces=per, starts=edges[:-1], sizes=np.diff(edges).astype(np.float64), drawn=drawn)


def around(value: float, deviations: Floats, drawn: Blocks, confidence: float, method: str) -> Interval | None:
    """The interval of a value from the deviations that replicates show; None where there are too few blocks."""
    widening = drawn.widening(confidence)
    if not math.isfinite(widening) or not np.isfinite(deviations).all():
        return None
    low, high = np.quantile(deviations, [(1 - confidence) / 2, (1 + confidence) / 2]) * widening
    return Interval(low=value + min(float(low), 0.0), high=value + max(float(high), 0.0), confidence=confidence, method=method)


def mean_interval(values: Floats, drawn: Blocks, confidence: float) -> Interval | None:
    """Of the mean of values in the order in which they came."""
    return around(float(values.mean()), drawn.means(values), drawn, confidence, drawn.words())


def percentile_interval(values: Floats, ordered: Floats, share: float, drawn: Blocks, confidence: float) -> Interval | None:
    """Of the percentile that `share` of the values lie below.

    values: in the order in which they came; ordered: ascending. None where an end would lie beyond the samples.
    """
    if drawn.length == 1:
        return order_statistics(ordered, share, confidence)
    count = len(ordered)
    place = rank(count, share)
    least = float(np.std(drawn.means((values <= ordered[place]).astype(np.float64))))
    error = max(least * count, 1.0) if least > 0 else math.sqrt(count * share * (1 - share))
    if _beyond(count * share * (1 - share) * count / error**2, share, confidence):
        return None
    ranks = np.rint(np.linspace(place - _REACH * error - 2, place + _REACH * error + 2, _CELLS + 1)).clip(0, count - 1).astype(np.intp)
    # One edge more, below: where the clock is coarse, all others may be the same step of it.
    edges = np.unique(ordered[[max(int(np.searchsorted(ordered, ordered[ranks[0]])) - 1, 0), *ranks]])
    # How many samples of each piece lie at or below each edge.
    cell = np.searchsorted(edges, values).astype(np.int32)
    width = len(edges) + 1
    cell += np.repeat(np.arange(len(drawn.starts), dtype=np.int32) * width, drawn.sizes.astype(np.intp))
    held = np.bincount(cell, minlength=len(drawn.starts) * width).reshape(-1, width)[:, :-1]
    below = drawn.of_blocks(np.cumsum(held, axis=1, dtype=np.float64))
    found = _crossing(below, share, np.searchsorted(ordered, edges, "right").astype(np.float64), drawn)
    deviations = np.quantile(found - count * share, [(1 - confidence) / 2, (1 + confidence) / 2]) * drawn.widening(confidence)
    low, high = (min(max(math.ceil(count * share + deviation) - 1, 0), count - 1) for deviation in deviations.tolist())
    value = float(ordered[place])
    return Interval(low=min(float(ordered[low]), value), high=max(float(ordered[high]), value), confidence=confidence, method=drawn.words())


def _crossing(below: Floats, share: float, ranks: Floats, drawn: Blocks) -> Floats:
    """For each replicate the rank at which its share of values below reaches `share`, by bisection over the edges.

    below: samples at or below each edge, blocks by edges; ranks: of the edges.
    """
    below, ranks = np.pad(below, ((0, 0), (1, 0))), np.pad(ranks, (1, 0))
    samples, flat, rows = drawn.drawn_samples(), below.ravel(), drawn.drawn * below.shape[1]

    def at(edges: npt.NDArray[np.intp]) -> Floats:
        return np.asarray(flat.take(rows + edges[:, None]).sum(axis=1) / samples)

    low, high = np.zeros(len(samples), np.intp), np.full(len(samples), len(ranks) - 1)
    for _ in range(math.ceil(math.log2(len(ranks)))):
        middle = (low + high) // 2
        short = at(middle) < share
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    before, after = at(low), at(high)
    part = np.clip((share - before) / np.where(after > before, after - before, 1.0), 0.0, 1.0)
    return np.asarray(ranks[low] + part * (ranks[high] - ranks[low]))


def order_statistics(ordered: Floats, share: float, confidence: float) -> Interval | None:
    """Of a percentile of independent samples in ascending order, exact for any distribution; None where there are too few."""
    count = len(ordered)
    if _beyond(count, share, confidence):
        return None
    spread = 10 * math.sqrt(count * share * (1 - share)) + 10
    places = np.arange(max(math.floor(count * share - spread), 0), min(math.ceil(count * share + spread), count - 1) + 1)
    most = bdtr(places.astype(np.float64), count, share)
    low = int(places[max(int(np.searchsorted(most, (1 - confidence) / 2, "right")) - 1, 0)])
    high = int(places[min(int(np.searchsorted(most, (1 + confidence) / 2)), len(places) - 1)])
    return Interval(
        low=float(ordered[low]), high=float(ordered[high]), confidence=confidence, method="order statistics, samples independent"
    )


def _beyond(effective: float, share: float, confidence: float) -> bool:
    """True where so many independent samples may well all lie on one side of the percentile."""
    return bool(max(share, 1 - share) ** effective > (1 - confidence) / 2)
