"""Delays of a fixed part and a random one: gamma and log-normal above a location that is fitted with them."""

import math

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln, log_ndtr, ndtri, polygamma, psi

from rackproof.stats.distributions import LOG_TAU, Component, columns, moments
from rackproof.stats.groups import Floats

#: How far the location may lie below the smallest sample, in deviations: at the far end, gamma and log-normal are all but Gaussian.
_GAP_MIN, _GAP_MAX = 1e-3, 100.0
_SECTIONS = 20
_GOLDEN = (math.sqrt(5) - 1) / 2
_NEWTON = 4


class _Shifted:
    """Location, shape and scale. The location has the largest likelihood between 100 deviations and a thousandth of one below the smallest
    sample (closer, the likelihood may grow without end around one sample); shape and scale that which fits it.
    """

    name, parameters = "", 3

    def fit(self, values: Floats, weights: Floats, _start: Floats, /) -> Floats:
        _, mean, deviation = moments(values, weights)
        least = values.min(axis=-1, keepdims=True)
        low, high = np.full_like(mean, math.log(_GAP_MIN)), np.full_like(mean, math.log(_GAP_MAX))

        def at(gap: Floats) -> tuple[Floats, Floats]:
            location = least - deviation * np.exp(gap)
            found = np.hstack([location, *self.above(values - location, weights)])
            return found, (weights * self.log_density(values, found)).sum(axis=-1, keepdims=True)

        # Golden section, each row by itself.
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = at(left)[1], at(right)[1]
        for _ in range(_SECTIONS):
            lower = at_left >= at_right
            low, high = np.where(lower, low, left), np.where(lower, right, high)
            kept, at_kept = np.where(lower, left, right), np.where(lower, at_left, at_right)
            fresh = np.where(lower, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
            at_fresh = at(fresh)[1]
            left, right = np.where(lower, fresh, kept), np.where(lower, kept, fresh)
            at_left, at_right = np.where(lower, at_fresh, at_kept), np.where(lower, at_kept, at_fresh)
        return at((low + high) / 2)[0]

    def above(self, excess: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Shape and scale of what lies above the location."""
        raise NotImplementedError

    def log_density(self, values: Floats, parameters: Floats) -> Floats:
        raise NotImplementedError

    def describe(self, parameters: Floats) -> tuple[Component, ...]:
        return (dict(zip(("location", "shape", "scale"), parameters.tolist(), strict=True)),)


class Gamma(_Shifted):
    """A shape of at least 1 (below, the density has no bound); the mean is location + shape * scale."""

    name = "gamma"

    def above(self, excess: Floats, weights: Floats) -> tuple[Floats, Floats]:
        total = weights.sum(axis=-1, keepdims=True)
        mean = (weights * excess).sum(axis=-1, keepdims=True) / total
        lack = np.maximum(np.log(mean) - (weights * np.log(excess)).sum(axis=-1, keepdims=True) / total, 1e-12)
        # Minka's start and Newton's method on the inverse (Estimating a Gamma distribution, 2002).
        shape = (3 - lack + np.sqrt((lack - 3) ** 2 + 24 * lack)) / (12 * lack)
        for _ in range(_NEWTON):
            step = (np.log(shape) - psi(shape) - lack) / (shape**2 * (1 / shape - polygamma(1, shape)))
            shape = 1 / np.maximum(1 / shape + step, 1e-12)
        shape = np.maximum(shape, 1.0)
        return shape, mean / shape

    def log_density(self, values: Floats, parameters: Floats) -> Floats:
        location, shape, scale = columns(parameters)
        above = (values - location) / scale
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (shape - 1) * np.log(above) - above - gammaln(shape) - np.log(scale)
        return np.where(above > 0, inside, -math.inf)

    def cumulative(self, values: Floats, parameters: Floats) -> Floats:
        location, shape, scale = columns(parameters)
        return np.asarray(gammainc(shape, np.maximum(values - location, 0) / scale))

    def quantile(self, shares: Floats, parameters: Floats) -> Floats:
        location, shape, scale = columns(parameters)
        return np.asarray(location + scale * gammaincinv(shape, shares))

    def mean(self, parameters: Floats) -> Floats:
        return parameters[:, 0] + parameters[:, 1] * parameters[:, 2]

    def sample(self, random: np.random.Generator, size: tuple[int, int], parameters: Floats) -> Floats:
        return np.asarray(parameters[0, 0] + parameters[0, 2] * random.standard_gamma(parameters[0, 1], size))

    def moves(self, parameters: Floats) -> Floats:
        _, shape, scale = parameters[0]
        # Up to a shape of 2 the location is found faster than by the root of n, and is as good as known.
        return np.diag([math.sqrt(shape) * scale, shape, scale])[0 if shape > 2 else 1 :]


class LogNormal(_Shifted):
    """Shape: the deviation of the logarithm above the location; scale: exp of its mean."""

    name = "log-normal"

    def above(self, excess: Floats, weights: Floats) -> tuple[Floats, Floats]:
        _, centre, deviation = moments(np.log(excess), weights)
        return deviation, np.exp(centre)

    def log_density(self, values: Floats, parameters: Floats) -> Floats:
        location, shape, scale = columns(parameters)
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithm = np.log(values - location)
            inside = -0.5 * ((logarithm - np.log(scale)) / shape) ** 2 - logarithm - np.log(shape) - LOG_TAU / 2
        return np.where(values > location, inside, -math.inf)

    def cumulative(self, values: Floats, parameters: Floats) -> Floats:
        location, shape, scale = columns(parameters)
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(log_ndtr((np.log(np.maximum(values - location, 0)) - np.log(scale)) / shape)))

    def quantile(self, shares: Floats, parameters: Floats) -> Floats:
        location, shape, scale = columns(parameters)
        return np.asarray(location + scale * np.exp(shape * ndtri(shares)))

    def mean(self, parameters: Floats) -> Floats:
        return parameters[:, 0] + parameters[:, 2] * np.exp(parameters[:, 1] ** 2 / 2)

    def sample(self, random: np.random.Generator, size: tuple[int, int], parameters: Floats) -> Floats:
        return np.asarray(parameters[0, 0] + parameters[0, 2] * np.exp(parameters[0, 1] * random.standard_normal(size)))

    def moves(self, parameters: Floats) -> Floats:
        _, shape, scale = parameters[0]
        return np.diag([shape * scale, shape, shape * scale])
