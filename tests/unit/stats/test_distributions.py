"""Do the families agree with their closed forms, and do fits find what samples were drawn from?"""

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from rackproof.stats.distributions import Exponential, Family, Fit, Gaussian, fit
from rackproof.stats.groups import group
from rackproof.stats.mixtures import Mixture
from rackproof.stats.shifted import Gamma, LogNormal

SHARES = np.array([0.001, 0.01, 0.3, 0.5, 0.9, 0.99, 0.9999])
KNOWN: list[tuple[Family, tuple[float, ...], Any]] = [
    (Gaussian(), (60.0, 2.0), stats.norm(60, 2)),
    (Exponential(), (40.0, 3.0), stats.expon(40, 3)),
    (Gamma(), (30.0, 4.0, 2.0), stats.gamma(4, 30, 2)),
    (LogNormal(), (20.0, 0.5, math.e), stats.lognorm(0.5, 20, math.e)),
]


def _fit(family: Family, values: tuple[float, ...], n: int = 1000) -> Fit:
    return Fit(family=family, values=values, n=n, effective=n, log_likelihood=-1.0)


@pytest.mark.parametrize(("family", "values", "reference"), KNOWN, ids=lambda one: getattr(one, "name", ""))
def test_families_agree_with_their_closed_forms(family: Family, values: tuple[float, ...], reference: Any) -> None:
    one = _fit(family, values)
    x = np.asarray(reference.ppf(SHARES))
    np.testing.assert_allclose(one.pdf(x), reference.pdf(x), rtol=1e-9)
    np.testing.assert_allclose(one.cdf(x), SHARES, rtol=1e-9)
    np.testing.assert_allclose(one.ppf(SHARES), x, rtol=1e-9)
    assert one.mean == pytest.approx(reference.mean())
    assert one.cdf(np.array([0.0, 1000.0])).tolist() == pytest.approx([0, 1])
    assert one.bic == pytest.approx(family.parameters * math.log(1000) + 2)


@pytest.mark.parametrize(("family", "values", "reference"), KNOWN, ids=lambda one: getattr(one, "name", ""))
def test_fits_find_what_samples_were_drawn_from(family: Family, values: tuple[float, ...], reference: Any) -> None:
    samples = np.sort(reference.rvs(100_000, random_state=1))
    groups = group(samples, 1000)
    found = fit(family, groups.values, groups.counts, len(samples))
    assert found.n == len(samples)
    # The likelihood on groups is that of all samples, and no less than the truth's.
    assert found.log_likelihood == pytest.approx(float(family.log_density(samples, found.row).sum()), abs=3)
    assert found.log_likelihood >= reference.logpdf(samples).sum() - 1
    np.testing.assert_allclose(found.ppf(SHARES), reference.ppf(SHARES), rtol=0.01)
    np.testing.assert_allclose(list(found.components[0].values()), values, rtol=0.05)


def test_what_is_drawn_from_a_family_is_distributed_so() -> None:
    mixture: tuple[Family, tuple[float, ...]] = (Mixture(2, 0.0), (0.3, 0.7, 50.0, 60.0, 1.0, 1.5))
    for family, values in [*((family, values) for family, values, _ in KNOWN), mixture]:
        one = _fit(family, values)
        drawn = family.sample(np.random.default_rng(2), (2, 5000), one.row)
        assert drawn.shape == (2, 5000)
        assert stats.kstest(drawn.ravel(), one.cdf).pvalue > 0.01, family.name


def test_many_fits_at_once_are_each_the_fit_alone() -> None:
    rows = np.random.default_rng(3).gamma(5, 1, (3, 400)) + np.array([[10], [20], [30]])
    nothing = np.empty((1, 0))
    for family, *_ in KNOWN:
        together = family.fit(rows, np.ones((1, 400)), nothing)
        alone = np.vstack([family.fit(row[None, :], np.ones((1, 400)), nothing) for row in rows])
        np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_the_grid_to_draw_holds_the_density() -> None:
    one = _fit(Mixture(2, 0.0), (0.999, 0.001, 50.0, 90.0, 0.5, 0.1))
    x, y = one.grid(200)
    assert len(x) == len(y) <= 200
    assert list(x) == sorted(x)
    assert integrate.trapezoid(y, x) == pytest.approx(1, abs=0.01)


def test_copies_prove_nothing() -> None:
    once = Fit(family=Gaussian(), values=(0.0, 1.0), n=1000, effective=1000, log_likelihood=-1400)
    tenfold = Fit(family=Gaussian(), values=(0.0, 1.0), n=10_000, effective=1000, log_likelihood=-14_000)
    assert tenfold.bic == pytest.approx(once.bic)
