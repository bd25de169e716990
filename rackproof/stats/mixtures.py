"""How many Gaussians are the delays made of, and which? Expectation maximisation on groups of samples.

Dempster, Laird and Rubin (J. R. Stat. Soc. B 39, 1977), from several starts; the number of components by the Bayesian information
criterion. A component may neither shrink to a point nor hold next to nothing: the likelihood of a mixture has no bound where it does.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from rackproof.stats.distributions import Component, Fit
from rackproof.stats.groups import Floats, Groups

COMPONENTS_MAX = 5
#: A component's deviation is at least this share of the width of the samples' middle nine tenths.
_NARROWEST = 2e-3
#: And it holds at least so many effective samples.
_FEWEST = 20
_STARTS = 5
#: Iterations from each start, then from the best of them, both on coarse groups, then on fine ones.
_FIRST, _SECOND, _LAST = 50, 400, 60
#: Enough where the likelihood of all effective samples grows by less.
_TOLERANCE = 1e-5
_SQRT_TAU = math.sqrt(2 * math.pi)


@dataclass(frozen=True, slots=True)
class Mixture:
    """A family: `size` Gaussians, parameters in the order weights, means, deviations.

    narrowest: the least deviation. How it is fitted: within: variance of the samples that each value stands for; iterations: at most so
    many; tolerance: enough where the mean log-likelihood grows by less.
    """

    size: int
    narrowest: float
    within: Floats | float = 0.0
    iterations: int = _LAST
    tolerance: float = 1e-9

    @property
    def name(self) -> str:
        return f"mixture-{self.size}"

    @property
    def parameters(self) -> int:
        return 3 * self.size - 1

    def fit(self, values: Floats, weights: Floats, start: Floats) -> Floats:
        """By expectation maximisation."""
        values = np.atleast_2d(values)
        total = weights.sum(axis=-1, keepdims=True)
        rows = max(len(values), len(weights))
        weighted = np.broadcast_to(weights / total, (rows, values.shape[-1]))
        # Sums over the samples, per component, of 1, x and x * x (with what varies within a group): one product of matrices.
        centre = float(values.mean())
        shifted = np.broadcast_to(values - centre, weighted.shape)
        powers = np.stack([np.ones_like(shifted), shifted, shifted**2 + self.within], axis=-1) * weighted[:, :, None]
        found, last = np.broadcast_to(start, (rows, 3 * self.size)).copy(), -math.inf
        found[:, self.size : 2 * self.size] -= centre
        for _ in range(self.iterations):
            each = self._each(shifted, found)
            density = each.sum(axis=1)
            level = float((np.log(density) * weighted).sum()) / rows
            if level - last < self.tolerance:
                break
            last = level
            each /= density[:, None, :]
            sums = each @ powers
            share = np.maximum(sums[:, :, 0], 1e-12)
            mean = sums[:, :, 1] / share
            deviation = np.sqrt(np.maximum(sums[:, :, 2] / share - mean**2, self.narrowest**2))
            found = np.hstack([share / share.sum(axis=1, keepdims=True), mean, deviation])
        found[:, self.size : 2 * self.size] += centre
        return found

    def _columns(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Weights, means, deviations: rows by components by 1."""
        size, columns = self.size, parameters[:, :, None]
        return columns[:, :size], columns[:, size : 2 * size], columns[:, 2 * size :]

    def _each(self, values: Floats, parameters: Floats) -> Floats:
        """Weighted density of each component: rows by components by samples; never 0 altogether."""
        weight, mean, deviation = self._columns(parameters)
        each = values[:, None, :] - mean
        each /= deviation
        each *= each
        each *= -0.5
        np.maximum(each, -300.0, out=each)
        np.exp(each, out=each)
        each *= weight / (deviation * _SQRT_TAU)
        return each

    def log_density(self, values: Floats, parameters: Floats) -> Floats:
        return np.asarray(np.log(self._each(np.atleast_2d(values), parameters).sum(axis=1)))

    def cumulative(self, values: Floats, parameters: Floats) -> Floats:
        weight, mean, deviation = self._columns(parameters)
        return np.asarray((weight * ndtr((np.atleast_2d(values)[:, None, :] - mean) / deviation)).sum(axis=1))

    def quantile(self, shares: Floats, parameters: Floats) -> Floats:
        """By bisection between the least and the largest quantile of the components."""
        _, mean, deviation = self._columns(parameters)
        each = mean + deviation * ndtri(np.atleast_2d(shares)[:, None, :])
        low, high = each.min(axis=1), each.max(axis=1)
        for _ in range(60):
            middle = (low + high) / 2
            below = self.cumulative(middle, parameters) < shares
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((low + high) / 2)

    def mean(self, parameters: Floats) -> Floats:
        return np.asarray((parameters[:, : self.size] * parameters[:, self.size : 2 * self.size]).sum(axis=1))

    def sample(self, random: np.random.Generator, size: tuple[int, int], parameters: Floats) -> Floats:
        weight, mean, deviation = np.split(parameters[0], 3)
        which = random.choice(self.size, size, p=weight / weight.sum())
        return np.asarray(mean[which] + deviation[which] * random.standard_normal(size))

    def moves(self, parameters: Floats) -> Floats:
        weight, _, deviation = np.split(parameters[0], 3)
        moves = np.diag(np.concatenate([weight, deviation, deviation]))
        # A weight grows at the cost of the others: that of the heaviest component follows from the rest.
        heaviest = int(weight.argmax())
        moves[: self.size, heaviest] -= weight
        return np.delete(moves, heaviest, axis=0)

    def describe(self, parameters: Floats) -> tuple[Component, ...]:
        parts = np.split(parameters, 3)
        return tuple(
            {"weight": float(weight), "mean": float(mean), "deviation": float(deviation)}
            for weight, mean, deviation in sorted(zip(*parts, strict=True), key=lambda one: float(one[1]))
        )


def best_mixture(
    fine: Groups, coarse: Groups, effective: float, resolution: float, seed: int, size_max: int = COMPONENTS_MAX
) -> Fit | None:
    """The mixture of 2 or more with the smallest criterion, the first from which one component more does not help; None where none can be.

    fine, coarse: groups of the same samples; starts are tried on the coarse. resolution: how finely the samples are told apart.
    """
    middle = _at_shares(coarse, np.array([0.05, 0.95]))
    narrowest = max(resolution, _NARROWEST * float(middle[1] - middle[0]))
    if narrowest <= 0:
        return None
    random = np.random.default_rng(seed)
    best: Fit | None = None
    for size in range(2, size_max + 1):
        found = _mixture(fine, coarse, size, effective, narrowest, random, best)
        if found is None or (best is not None and found.bic >= best.bic):
            break
        best = found
    return best


def _mixture(
    fine: Groups, coarse: Groups, size: int, effective: float, narrowest: float, random: np.random.Generator, smaller: Fit | None
) -> Fit | None:
    first = Mixture(size, narrowest, coarse.within, _FIRST, _TOLERANCE / effective)
    starts = np.concatenate([_starts(coarse, size, narrowest, random), *([_split(smaller)] if smaller is not None else [])])
    tried = first.fit(coarse.values, coarse.counts[None, :].repeat(len(starts), 0), starts)
    levels = (first.log_density(coarse.values, tried) * coarse.counts).sum(axis=1)
    sound = (tried[:, :size].min(axis=1) >= _FEWEST / effective) & (tried[:, 2 * size :].min(axis=1) > narrowest)
    if not sound.any():
        return None
    row = tried[[int(np.where(sound, levels, -math.inf).argmax())]]
    row = replace(first, iterations=_SECOND).fit(coarse.values, coarse.counts[None, :], row)
    row = replace(first, within=fine.within, iterations=_LAST).fit(fine.values, fine.counts[None, :], row)
    if row[0, :size].min() < _FEWEST / effective or row[0, 2 * size :].min() <= narrowest:
        return None
    family = Mixture(size, narrowest)
    likelihood = float((family.log_density(fine.values, row)[0] * fine.counts).sum())
    return Fit(family=family, values=tuple(row[0].tolist()), n=int(fine.counts.sum()), effective=effective, log_likelihood=likelihood)


def _starts(groups: Groups, size: int, narrowest: float, random: np.random.Generator) -> Floats:
    """Pieces of equal number, pieces of equal width, and pieces cut at random."""
    even = np.arange(1, size) / size
    low, high = _at_shares(groups, np.array([0.01, 0.99]))
    cuts = [_at_shares(groups, even), low + (high - low) * even]
    cuts += [np.sort(_at_shares(groups, random.random(size - 1))) for _ in range(_STARTS - 2)]
    return np.array([_pieces(groups.values, groups.counts, cut, narrowest) for cut in cuts])


def _pieces(values: Floats, counts: Floats, cuts: Floats, narrowest: float) -> Floats:
    piece = np.searchsorted(cuts, values)
    share = np.bincount(piece, counts, len(cuts) + 1) + counts.sum() * 1e-3
    mean = (np.bincount(piece, counts * values, len(cuts) + 1) + counts.sum() * 1e-3 * (counts @ values / counts.sum())) / share
    deviation = np.sqrt(np.bincount(piece, counts * (values - mean[piece]) ** 2, len(cuts) + 1) / share)
    return np.concatenate([share / share.sum(), mean, np.maximum(deviation, 4 * narrowest)])


def _split(smaller: Fit) -> Floats:
    """The smaller mixture with its heaviest component taken in two."""
    weight, mean, deviation = np.split(smaller.row[0], 3)
    at = int(weight.argmax())
    weight, mean = weight.copy(), mean.copy()
    weight[at] /= 2
    mean[at] -= deviation[at] / 2
    return np.concatenate([np.append(weight, weight[at]), np.append(mean, mean[at] + deviation[at]), np.append(deviation, deviation[at])])[
        None, :
    ]


def _at_shares(groups: Groups, shares: Floats) -> Floats:
    below = np.cumsum(groups.counts)
    return np.asarray(groups.values[np.searchsorted(below, shares * below[-1]).clip(0, len(below) - 1)])
