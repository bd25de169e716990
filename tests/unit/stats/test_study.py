"""What does the study of a trial's delays give, of ordinary and of odd ones?"""

import numpy as np
import numpy.typing as npt
import pytest

from rackproof.stats.study import study
from tests.unit.stats.scenarios import SCENARIOS


def test_two_modes() -> None:
    scenario = SCENARIOS[1]
    found = study(scenario.draw(np.random.default_rng(1), 20_000), (1, 50, 99, 99.9))
    assert found.chosen is not None
    assert found.chosen.fit.name == "mixture-2"
    assert found.chosen is found.fits[0]
    assert {one.fit.name for one in found.fits} == {"gaussian", "gamma", "log-normal", "exponential", "mixture-2"}
    assert [one.error for one in found.fits] == sorted(one.error for one in found.fits)
    assert list(found.percentiles) == [1, 50, 99, 99.9]
    for name, estimate in (("mean", found.mean), ("p1", found.percentiles[1]), ("p99", found.percentiles[99])):
        truth = scenario.truths[name]
        assert estimate.interval is not None
        assert estimate.fitted_interval is not None
        assert estimate.fitted is not None
        assert estimate.interval.contains(estimate.value)
        assert estimate.fitted_interval.contains(estimate.fitted)
        assert estimate.value == pytest.approx(truth, abs=0.3)
        assert estimate.fitted == pytest.approx(truth, abs=0.3)
        assert estimate.interval.half_width < 0.3
        assert "blocks of 80 samples" in estimate.interval.method
        assert estimate.fitted_interval.method.startswith("one-step refits of the mixture-2, ")
    assert found.mean.fitted == pytest.approx(found.mean.value)


def test_the_same_arguments_give_the_same_study() -> None:
    values = SCENARIOS[3].draw(np.random.default_rng(2), 5000)
    assert study(values, seed=5) == study(values, seed=5)
    assert study(values.astype(np.float32), seed=5).chosen is not None


def test_dependence_widens_the_intervals() -> None:
    independent, dependent = (study(SCENARIOS[at].draw(np.random.default_rng(3), 10_000)) for at in (0, 2))
    assert independent.mean.interval is not None
    assert dependent.mean.interval is not None
    assert dependent.mean.interval.half_width == pytest.approx(3 * independent.mean.interval.half_width, rel=0.3)
    assert dependent.autocorrelation.block > independent.autocorrelation.block


def test_stalls_are_counted_and_do_not_bend_the_fit() -> None:
    random = np.random.default_rng(4)
    values = random.normal(10, 0.5, 50_000)
    values[[100, 20_000, 44_000]] = 5000.0, 1000.0, 300.0
    found = study(values)
    assert found.left_out == 3
    assert found.maximum == 5000
    assert found.chosen is not None
    assert found.chosen.fit.n == 49_997
    assert found.chosen.fit.components[0]["deviation"] == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("values", [[7.0], [7.0, 7.0], [7.0] * 5000, [1.0, 2.0, 3.0]], ids=["one", "two", "constant", "three"])
def test_where_there_is_nothing_to_fit(values: list[float]) -> None:
    found = study(values)
    assert (found.n, found.minimum, found.maximum) == (len(values), min(values), max(values))
    assert found.mean.value == pytest.approx(np.mean(values))
    assert (found.fits, found.chosen, found.mean.fitted) == ((), None, None)
    if len(values) == 5000:
        assert found.percentiles[99].interval is not None
        assert (found.percentiles[99].interval.low, found.percentiles[99].interval.high) == (7, 7)


def test_all_alike_but_one() -> None:
    found = study([3.0] * 4000 + [4.0])
    assert found.percentiles[99].interval is not None
    assert found.percentiles[99].interval.high == 3
    assert all(np.isfinite([one.error, one.ks, one.ad]).all() for one in found.fits)


def test_percentiles_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        study([1.0, 2.0], (1, 100))


@pytest.mark.parametrize("step", [0.008, 1.0, 5.0])
def test_of_a_coarse_clock(step: float) -> None:
    values = np.round(np.random.default_rng(5).gamma(4, 2, 5000) / step) * step
    found = study(values)
    assert found.chosen is not None
    assert found.mean.interval is not None
    assert found.mean.interval.contains(found.mean.value)
    assert found.mean.value == pytest.approx(8, abs=0.3)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [float("inf")], [[1.0, 2.0]]])
def test_what_is_no_row_of_delays_is_refused(values: npt.ArrayLike) -> None:
    with pytest.raises(ValueError, match="finite numbers"):
        study(values)
