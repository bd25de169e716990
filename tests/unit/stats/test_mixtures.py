"""Are known mixtures of Gaussians recovered, and is nothing found that is not there?"""

import numpy as np
import pytest

from rackproof.stats.distributions import Fit, Gaussian, fit
from rackproof.stats.groups import Floats, group, resolution
from rackproof.stats.mixtures import Mixture, best_mixture

Part = tuple[float, float, float]
KNOWN: list[tuple[Part, ...]] = [
    ((0.3, 50, 1), (0.7, 60, 1.5)),
    ((0.5, 58, 1.0), (0.5, 62.5, 1.0)),
    ((0.1, 40, 0.5), (0.9, 80, 4)),
    ((0.2, 30, 1), (0.5, 40, 1.5), (0.3, 52, 2)),
    ((0.25, 10, 0.2), (0.25, 12, 0.2), (0.25, 14, 0.2), (0.25, 20, 1)),
]


def _draw(parts: tuple[Part, ...], count: int, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    weights, means, deviations = np.array(parts, np.float64).T
    which = random.choice(len(parts), count, p=weights)
    return np.sort(means[which] + deviations[which] * random.standard_normal(count))


def _even(parts: tuple[Part, ...], count: int) -> Floats:
    """As many samples at the mixture's quantiles: drawn without luck."""
    shares, row = (np.arange(count) + 0.5) / count, np.array(parts, np.float64).T.reshape(1, -1)
    return np.asarray(Mixture(len(parts), 0.0).quantile(shares, row)[0])


def _best(ordered: Floats, seed: int = 0) -> Fit | None:
    return best_mixture(group(ordered, 1000), group(ordered, 150), len(ordered), resolution(ordered), seed)


# The deviation of a component of 25,000 samples is itself no surer than 0.5 %: the last mixture is drawn without luck.
@pytest.mark.parametrize(
    ("parts", "ordered"),
    [*((parts, _even(parts, 100_000)) for parts in KNOWN), *((parts, _draw(parts, 100_000, 1)) for parts in KNOWN[:-1])],
    ids=[f"{len(parts)} {how} {number}" for how, known in (("even", KNOWN), ("drawn", KNOWN[:-1])) for number, parts in enumerate(known)],
)
def test_known_mixtures_are_recovered(parts: tuple[Part, ...], ordered: Floats) -> None:
    found = _best(ordered)
    assert found is not None
    assert found.name == f"mixture-{len(parts)}"
    for component, (weight, mean, deviation) in zip(found.components, parts, strict=True):
        assert component["weight"] == pytest.approx(weight, abs=0.01)
        assert component["mean"] == pytest.approx(mean, rel=0.01)
        assert component["deviation"] == pytest.approx(deviation, rel=0.01)


def test_the_same_seed_gives_the_same_mixture() -> None:
    ordered = _draw(KNOWN[3], 5000, 2)
    assert _best(ordered, 7) == _best(ordered, 7)


def test_one_gaussian_is_not_taken_for_two() -> None:
    ordered = np.sort(60 + 2 * np.random.default_rng(3).standard_normal(20_000))
    groups = group(ordered, 1000)
    two = _best(ordered)
    assert two is None or two.bic > fit(Gaussian(), groups.values, groups.counts, len(ordered)).bic


def test_no_component_shrinks_to_a_point() -> None:
    random = np.random.default_rng(4)
    ordered = np.sort(np.concatenate([np.full(5000, 50.0), 60 + random.standard_normal(5000), [90.0]]))
    found = _best(ordered)
    if found is not None:
        assert min(component["deviation"] for component in found.components) >= resolution(ordered)
        assert min(component["weight"] for component in found.components) * len(ordered) >= 20


def test_a_mixture_of_what_the_clock_cannot_tell_apart_is_none() -> None:
    assert _best(np.full(1000, 5.0)) is None


def test_quantiles_invert_the_distribution() -> None:
    found = _best(_draw(KNOWN[2], 20_000, 5))
    assert found is not None
    shares = np.array([1e-4, 0.05, 0.1, 0.5, 0.9999])
    np.testing.assert_allclose(found.cdf(found.ppf(shares)), shares, rtol=1e-6)
