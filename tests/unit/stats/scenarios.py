"""Made-up delays whose true mean and percentiles are known, and how often intervals hold them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rackproof.stats.distributions import Exponential, Family, Gaussian
from rackproof.stats.groups import Floats
from rackproof.stats.inference import infer
from rackproof.stats.mixtures import Mixture
from rackproof.stats.shifted import Gamma

PERCENTILES = (1.0, 99.0)
Draw = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True, slots=True)
class Scenario:
    """draw: samples in a row; family and parameters: what each of them is distributed as."""

    name: str
    draw: Draw
    family: Family
    parameters: tuple[float, ...]

    @property
    def truths(self) -> dict[str, float]:
        row = np.array([self.parameters])
        percentiles = self.family.quantile(np.array(PERCENTILES) / 100, row)[0]
        return {"mean": float(self.family.mean(row)[0]), **{f"p{p:g}": float(v) for p, v in zip(PERCENTILES, percentiles, strict=True)}}


def dependent(random: np.random.Generator, count: int, correlation: float) -> Floats:
    """Standard Gaussians, each correlated with the one before: AR(1), in equilibrium from the first."""
    from scipy.signal import lfilter

    noise = random.standard_normal(count) * np.sqrt(1 - correlation**2)
    noise[0] = random.standard_normal()
    return np.asarray(lfilter([1.0], [1.0, -correlation], noise))


def unimodal(correlation: float) -> Draw:
    """60 us, deviation 2."""
    return lambda random, count: 60 + 2 * dependent(random, count, correlation)


def skewed(correlation: float) -> Draw:
    """Gamma above 30 us, shape 4: through its quantiles, as dependent as the Gaussians behind it."""
    from scipy.special import gammaincinv, ndtr

    return lambda random, count: 30 + 2 * np.asarray(gammaincinv(4.0, ndtr(dependent(random, count, correlation))))


def bimodal(correlation: float, staying: float) -> Draw:
    """50 us for 3 of 10 frames, 60 for the others; a frame draws its mode anew with probability 1 - staying, else has that of the one
    before.
    """

    def draw(random: np.random.Generator, count: int) -> Floats:
        anew = random.random(count) >= staying
        anew[0] = True
        modes = random.random(count) < 0.3
        mode = modes[np.maximum.accumulate(np.where(anew, np.arange(count), 0))]
        noise = dependent(random, count, correlation)
        return np.where(mode, 50 + noise, 60 + 1.5 * noise)

    return draw


def queued(random: np.random.Generator, count: int) -> Floats:
    """Poisson arrivals at a queue that serves in exponential times of 5 us (M/M/1), half loaded: the time from arrival to departure, after
    20 us.

    The queue is found in equilibrium, so that each delay is exponential, with a mean of 10 us above the 20.
    """
    service, gap = 5 * random.standard_exponential(count), 10 * random.standard_exponential(count)
    first = 10 * random.standard_exponential() * (random.random() < 0.5)
    steps = np.concatenate([[first], service[:-1] - gap[1:]])
    # Lindley: the work found on arrival, less what it would have been had the queue never been empty, is the deepest that this ever fell.
    level = np.cumsum(steps)
    waiting = level - np.minimum(np.minimum.accumulate(level), 0)
    return 20 + waiting + service


_TWO = (0.3, 0.7, 50.0, 60.0, 1.0, 1.5)
SCENARIOS = (
    Scenario("independent, unimodal", unimodal(0), Gaussian(), (60, 2)),
    Scenario("independent, bimodal", bimodal(0, 0), Mixture(2, 0.0), _TWO),
    Scenario("autocorrelated, unimodal", unimodal(0.8), Gaussian(), (60, 2)),
    Scenario("autocorrelated, bimodal", bimodal(0.6, 0.9), Mixture(2, 0.0), _TWO),
    Scenario("independent, skewed", skewed(0), Gamma(), (30, 4, 2)),
    Scenario("autocorrelated, skewed", skewed(0.8), Gamma(), (30, 4, 2)),
    Scenario("packets through a queue", queued, Exponential(), (20, 10)),
)


def coverage(scenario: Scenario, trials: int, count: int, seed: int) -> dict[tuple[str, str], float]:
    """Share of trials whose 95 % interval holds the truth, by quantity and method ("free", "fit")."""
    held: Counter[tuple[str, str]] = Counter({(quantity, method): 0 for quantity in scenario.truths for method in ("free", "fit")})
    for trial in range(trials):
        values = scenario.draw(np.random.default_rng([seed, trial]), count)
        found = infer(values, np.sort(values), PERCENTILES, 0.95, trial)
        estimates = [found.mean, *found.percentiles.values()]
        for (quantity, truth), estimate in zip(scenario.truths.items(), estimates, strict=True):
            for method, interval in (("free", estimate.interval), ("fit", estimate.fitted_interval)):
                held[quantity, method] += interval is not None and interval.contains(truth)
    return {key: number / trials for key, number in held.items()}
