"""Do the tests of fits reject what is wrong, and what is right no more often than they say?"""

import numpy as np
import pytest
from scipy import stats

from rackproof.stats.distributions import Exponential, Family, Fit, Gaussian, fit
from rackproof.stats.goodness import error, judge
from rackproof.stats.groups import Floats
from rackproof.stats.histogram import Histogram, histogram


def _fit(family: Family, values: Floats) -> Fit:
    return fit(family, np.sort(values), np.ones(len(values)), len(values))


def test_the_error_is_the_root_mean_square_difference_of_densities() -> None:
    bins = Histogram(edges=(0.0, 1.0, 2.0), counts=(3, 1), density=(0.75, 0.25), outside=0, rule="by hand")
    flat = Fit(family=Exponential(), values=(0.0, 1.0), n=4, effective=4, log_likelihood=0)
    expected = np.sqrt(((0.75 - (1 - np.exp(-1))) ** 2 + (0.25 - (np.exp(-1) - np.exp(-2))) ** 2) / 2)
    assert error(flat, bins) == pytest.approx(expected)


def test_statistics_are_those_of_the_textbook() -> None:
    values = np.random.default_rng(1).normal(60, 2, 300)
    (found,) = judge([_fit(Gaussian(), values)], histogram(np.sort(values)), values, 300, 0)
    assert found.tested == 300
    fitted = stats.norm(values.mean(), values.std())
    assert found.ks == pytest.approx(stats.kstest(values, fitted.cdf).statistic)
    ordered = np.sort(fitted.cdf(values))
    weights = 2 * np.arange(1, 301) - 1
    assert found.ad == pytest.approx(-300 - float((weights * (np.log(ordered) + np.log(1 - ordered[::-1]))).sum()) / 300)


def test_a_wrong_fit_is_rejected_and_the_right_one_ranked_first() -> None:
    values = np.random.default_rng(2).normal(60, 2, 20_000)
    best, worst = judge([_fit(Exponential(), values), _fit(Gaussian(), values)], histogram(np.sort(values)), values, 20_000, 0)
    assert (best.fit.name, worst.fit.name) == ("gaussian", "exponential")
    assert best.error < worst.error
    assert min(best.ks_p, best.ad_p) > 0.05
    assert max(worst.ks_p, worst.ad_p) < 0.01
    assert best.tested == 500


def test_the_right_fit_is_rejected_as_often_as_stated() -> None:
    found = []
    for seed in range(80):
        values = np.random.default_rng([3, seed]).normal(60, 2, 200)
        found.append(judge([_fit(Gaussian(), values)], histogram(np.sort(values)), values, 200, seed)[0])
    # The chances are spread evenly between 0 and 1; without fitting each replicate anew, hardly any would be small.
    for chances in ([one.ks_p for one in found], [one.ad_p for one in found]):
        assert stats.kstest(chances, "uniform").pvalue > 0.01


def test_dependent_samples_are_tested_as_the_few_that_they_are_worth() -> None:
    values = np.repeat(np.random.default_rng(4).normal(60, 2, 100), 50)
    (found,) = judge([_fit(Gaussian(), values)], histogram(np.sort(values)), values, 100, 0)
    assert found.tested == 100
    assert found.ks_p > 0.05
