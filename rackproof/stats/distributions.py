"""Which distribution do delays follow? Families, and what a fit to samples gives.

All families work on rows: parameters are rows by parameters, values are rows by samples or one row for all, so that many refits (a
bootstrap) are one call. A delay has a fixed part, so gamma, log-normal and exponential are shifted: from 0 on, they could only imitate a
Gaussian. The location is fitted by maximum likelihood, see each family.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from rackproof.stats.groups import Floats

LOG_TAU = math.log(2 * math.pi)
GRID_POINTS = 200
#: A deviation is at least this share of what it is the deviation of.
LEAST = 1e-9
Component = Mapping[str, float]


class Family(Protocol):
    """A family of distributions. fit takes weights (rows by samples, or one row) and parameters to start from, where it must search."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> int: ...
    def fit(self, values: Floats, weights: Floats, start: Floats, /) -> Floats: ...
    def log_density(self, values: Floats, parameters: Floats) -> Floats: ...
    def cumulative(self, values: Floats, parameters: Floats) -> Floats: ...
    def quantile(self, shares: Floats, parameters: Floats) -> Floats: ...
    def mean(self, parameters: Floats) -> Floats: ...
    def sample(self, random: np.random.Generator, size: tuple[int, int], parameters: Floats) -> Floats: ...
    def moves(self, parameters: Floats) -> Floats:
        """Directions by parameters, each of natural length: where the likelihood is smooth, and the parameters free to move."""
        ...

    def describe(self, parameters: Floats) -> tuple[Component, ...]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A distribution fitted to n samples that tell as much as `effective` independent ones.

    log_likelihood: of all samples. values: the family's parameters, in its order; `components` names them.
    """

    family: Family
    values: tuple[float, ...]
    n: int
    effective: float
    log_likelihood: float

    @property
    def name(self) -> str:
        """As in a measurement's subject: "gaussian", "mixture-2"."""
        return self.family.name

    @property
    def row(self) -> Floats:
        """The parameters as the one row that the family works on."""
        return np.array([self.values])

    @property
    def components(self) -> tuple[Component, ...]:
        """The parameters by name: one mapping, for a mixture one per component."""
        return self.family.describe(self.row[0])

    @property
    def bic(self) -> float:
        """Bayesian information criterion, less is better. The likelihood counts as that of the effective samples: copies prove nothing."""
        return self.family.parameters * math.log(self.effective) - 2 * self.log_likelihood * self.effective / self.n

    @property
    def mean(self) -> float:
        """Mean of the fitted distribution."""
        return float(self.family.mean(self.row)[0])

    def pdf(self, values: Floats) -> Floats:
        """Density at the values."""
        return np.asarray(np.exp(self.family.log_density(values, self.row)[0]))

    def cdf(self, values: Floats) -> Floats:
        """Probability of at most the values."""
        return np.asarray(self.family.cumulative(values, self.row)[0])

    def ppf(self, shares: Floats) -> Floats:
        """Values that these shares lie below."""
        return np.asarray(self.family.quantile(shares, self.row)[0])

    def grid(self, points: int = GRID_POINTS) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Values and densities to draw, at most `points`: half of them evenly in between all but 1 in 10,000 at either end, half where the
        mass is.
        """
        shares = np.linspace(1e-4, 1 - 1e-4, points // 2)
        where = self.ppf(shares)
        x = np.union1d(where, np.linspace(where[0], where[-1], points - points // 2))
        return tuple(x.tolist()), tuple(self.pdf(x).tolist())


def fit(family: Family, values: Floats, counts: Floats, effective: float) -> Fit:
    """The family's fit to values that came `counts` times each."""
    row = family.fit(values, counts[None, :], np.empty((1, 0)))
    likelihood = float((family.log_density(values, row)[0] * counts).sum())
    return Fit(family=family, values=tuple(row[0].tolist()), n=int(counts.sum()), effective=effective, log_likelihood=likelihood)


def moments(values: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Sum of the weights, mean and deviation per row, as columns; samples that are all alike deviate next to nothing."""
    total = weights.sum(axis=-1, keepdims=True)
    mean = (weights * values).sum(axis=-1, keepdims=True) / total
    deviation = np.sqrt((weights * (values - mean) ** 2).sum(axis=-1, keepdims=True) / total)
    return total, mean, np.maximum(deviation, LEAST * np.maximum(np.abs(mean), 1))


class Gaussian:
    """Mean and deviation."""

    name, parameters = "gaussian", 2

    def fit(self, values: Floats, weights: Floats, _start: Floats, /) -> Floats:
        return np.hstack(moments(values, weights)[1:])

    def log_density(self, values: Floats, parameters: Floats) -> Floats:
        mean, deviation = columns(parameters)
        return -0.5 * ((values - mean) / deviation) ** 2 - np.log(deviation) - LOG_TAU / 2

    def cumulative(self, values: Floats, parameters: Floats) -> Floats:
        mean, deviation = columns(parameters)
        return np.asarray(ndtr((values - mean) / deviation))

    def quantile(self, shares: Floats, parameters: Floats) -> Floats:
        mean, deviation = columns(parameters)
        return np.asarray(mean + deviation * ndtri(shares))

    def mean(self, parameters: Floats) -> Floats:
        return parameters[:, 0]

    def sample(self, random: np.random.Generator, size: tuple[int, int], parameters: Floats) -> Floats:
        return np.asarray(parameters[0, 0] + parameters[0, 1] * random.standard_normal(size))

    def moves(self, parameters: Floats) -> Floats:
        return np.asarray(np.eye(2) * parameters[0, 1])

    def describe(self, parameters: Floats) -> tuple[Component, ...]:
        return (dict(zip(("mean", "deviation"), parameters.tolist(), strict=True)),)


class Exponential:
    """Location: the smallest sample (of largest likelihood); scale: the mean above it."""

    name, parameters = "exponential", 2

    def fit(self, values: Floats, weights: Floats, _start: Floats, /) -> Floats:
        least = values.min(axis=-1, keepdims=True)
        scale = np.maximum(moments(values, weights)[1] - least, LEAST * np.maximum(np.abs(least), 1))
        return np.hstack([np.broadcast_to(least, scale.shape), scale])

    def log_density(self, values: Floats, parameters: Floats) -> Floats:
        location, scale = columns(parameters)
        above = values - location
        return np.where(above >= 0, -above / scale, -math.inf) - np.log(scale)

    def cumulative(self, values: Floats, parameters: Floats) -> Floats:
        location, scale = columns(parameters)
        return -np.expm1(-np.maximum(values - location, 0) / scale)

    def quantile(self, shares: Floats, parameters: Floats) -> Floats:
        location, scale = columns(parameters)
        return location - scale * np.log1p(-shares)

    def mean(self, parameters: Floats) -> Floats:
        return np.asarray(parameters.sum(axis=1))

    def sample(self, random: np.random.Generator, size: tuple[int, int], parameters: Floats) -> Floats:
        return np.asarray(parameters[0, 0] + parameters[0, 1] * random.standard_exponential(size))

    def moves(self, parameters: Floats) -> Floats:
        # The smallest sample is found faster than by the root of n, and is as good as known.
        return np.array([[0.0, parameters[0, 1]]])

    def describe(self, parameters: Floats) -> tuple[Component, ...]:
        return (dict(zip(("location", "scale"), parameters.tolist(), strict=True)),)


def columns(parameters: Floats) -> list[Floats]:
    return [parameters[:, at : at + 1] for at in range(parameters.shape[1])]
