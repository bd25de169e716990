"""Are intervals of a fit as wide as theory says, and as refits say?"""

import math

import numpy as np
import pytest
from scipy.special import ndtri

from rackproof.stats.distributions import Exponential, Family, Gaussian, fit
from rackproof.stats.groups import group
from rackproof.stats.linearised import influences
from rackproof.stats.mixtures import best_mixture
from rackproof.stats.shifted import Gamma, LogNormal

SHARES = (0.01, 0.99)


def test_of_a_gaussian() -> None:
    ordered = np.sort(np.random.default_rng(1).normal(60, 2, 50_000))
    fine, coarse = group(ordered, 1000), group(ordered, 150)
    found = influences(fit(Gaussian(), fine.values, fine.counts, len(ordered)), fine, coarse, SHARES)
    variance = (found**2 @ fine.counts) / fine.counts.sum()
    # Variances by n: that of the mean is 1, that of a percentile 1 + z * z / 2, both in squares of the deviation.
    z = float(ndtri(0.99))
    assert np.sqrt(variance) == pytest.approx(2 * np.sqrt([1, 1 + z * z / 2, 1 + z * z / 2]), rel=0.02)


@pytest.mark.parametrize("family", [Gamma(), LogNormal(), Exponential()], ids=lambda family: family.name)
def test_of_shifted_families_as_refits_say(family: Family) -> None:
    random = np.random.default_rng(2)
    count = 4000
    truth = np.array([[30.0, 5.0, 2.0] if family.name == "gamma" else [30.0, 0.4, 5.0] if family.name == "log-normal" else [30.0, 5.0]])
    rows = family.sample(random, (200, count), truth)
    refits = family.fit(rows, np.ones((1, count)), np.empty((1, 0)))
    spread = np.column_stack([family.mean(refits), family.quantile(np.array(SHARES), refits)]).std(axis=0)
    ordered = np.sort(rows[0])
    fine, coarse = group(ordered, 1000), group(ordered, 150)
    found = influences(fit(family, fine.values, fine.counts, count), fine, coarse, SHARES)
    errors = np.sqrt((found**2 @ fine.counts) / fine.counts.sum() / count)
    # A location that is as good as known moves the lowest percentile all the same, by less than the others' errors.
    judged = slice(0, 3, 2) if family.name == "exponential" else slice(None)
    assert errors[judged] == pytest.approx(spread[judged], rel=0.2)


def test_of_a_mixture_its_mean_is_as_sure_as_the_samples_mean() -> None:
    random = np.random.default_rng(3)
    ordered = np.sort(np.where(random.random(20_000) < 0.3, 50.0, 60.0) + random.standard_normal(20_000))
    fine, coarse = group(ordered, 1000), group(ordered, 150)
    mixture = best_mixture(fine, coarse, len(ordered), 0.0, 0)
    assert mixture is not None
    found = influences(mixture, fine, coarse, SHARES)
    error = math.sqrt(float(found[0] ** 2 @ fine.counts) / fine.counts.sum())
    assert error == pytest.approx(ordered.std(), rel=0.01)
