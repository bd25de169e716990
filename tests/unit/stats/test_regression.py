import numpy as np
import pytest

from rackproof.model.measurement import Interval, Measurement
from rackproof.stats.regression import Fit, fit, standard_error

ROWS = [(1.0, float(x)) for x in range(8)]


def _number(value: float, half: float | None) -> Measurement:
    interval = None if half is None else Interval(low=value - half, high=value + half, method="made up")
    return Measurement(name="y", unit="us", value=value, n=1, interval=interval)


def _at(found: Fit, *row: float) -> tuple[float, float]:
    said = found.at(row)
    assert said is not None
    return said


def test_an_exact_line_is_found() -> None:
    found = fit(ROWS, [_number(3 + 2 * x, 0.1) for _, x in ROWS])
    assert found.coefficients == pytest.approx([3, 2])
    assert (found.scatter, found.degrees) == (0.0, 6)
    assert found.at((1, 20)) == found.at((1, 20), scatter=True)
    assert _at(found, 1, 20)[0] == pytest.approx(43)


def test_errors_are_those_of_weighted_least_squares() -> None:
    halves = [0.2 + 0.1 * x for _, x in ROWS]
    found = fit(ROWS, [_number(3 + 2 * x, half) for (_, x), half in zip(ROWS, halves, strict=True)])
    weights = (1.959964 / np.array(halves)) ** 2
    design = np.array(ROWS)
    assert found.covariance == pytest.approx(np.linalg.inv(design.T @ (weights[:, None] * design)), rel=1e-5)


def test_what_intervals_do_not_explain_is_scatter() -> None:
    rng = np.random.default_rng(2)
    found = [fit([(1.0,)] * 40, [_number(value, 0.2) for value in rng.normal(10, np.hypot(1.0, 0.2 / 1.96), 40)]) for _ in range(100)]
    assert np.mean([each.scatter**2 for each in found]) == pytest.approx(1.0, abs=0.05)
    inside = [abs(value - 10) <= each.quantile * error for each in found for value, error in [_at(each, 1)]]
    assert 0.91 <= np.mean(inside) <= 0.98


def test_what_the_numbers_do_not_determine_is_not_said() -> None:
    found = fit([(1.0, 2.0, 2.0)] * 3, [_number(7.0, 0.1)] * 3)
    assert _at(found, 1, 2, 2) == pytest.approx((7.0, 0.1 / 1.959964 / np.sqrt(3)))
    assert found.at((1.0, 3.0, 2.0)) is None
    assert found.degrees == 2


def test_without_intervals_the_residuals_say_how_large_errors_are() -> None:
    values = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    found = fit([(1.0,)] * 8, [_number(float(value), None) for value in values])
    assert found.scatter == pytest.approx(values.std(ddof=1), rel=1e-3)
    assert found.interval(0.0, 1.0, "made up") is not None


def test_nothing_says_how_large_the_errors_of_an_exact_fit_are() -> None:
    found = fit([(1.0, 0.0), (1.0, 1.0)], [_number(1.0, None), _number(2.0, None)])
    assert found.interval(0.0, 1.0, "made up") is None


def test_a_number_without_an_interval_does_not_count_where_others_have_one() -> None:
    found = fit([(1.0,)] * 3, [_number(1.0, 0.3), _number(2.0, 0.3), _number(99.0, None)])
    assert found.coefficients == pytest.approx([1.5])
    assert (found.numbers, found.degrees) == (2, 1)
    assert found.residuals[2] == pytest.approx(97.5)
    assert fit([(1.0, 0.0), (1.0, 1.0)], [_number(1.0, 0.3), _number(2.0, None)]).at((1.0, 1.0)) is None


def test_numbers_far_off_are_set_aside() -> None:
    rows = [(1.0, float(x)) for x in range(12)]
    found = fit(rows, [_number(3 + 2 * x + 500 * (x in (2, 9)), 0.1) for _, x in rows])
    assert found.aside == (2, 9)
    assert (found.numbers, found.scatter) == (10, 0.0)
    assert found.coefficients == pytest.approx([3, 2])


def test_nothing_is_set_aside_where_many_lie_off_or_few_are_left() -> None:
    rows = [(1.0, float(x)) for x in range(12)]
    many = fit(rows, [_number(3 + 2 * x + 500 * (x in (2, 5, 9)), 0.1) for _, x in rows])
    few = fit(rows[:9], [_number(3 + 2 * x + 500 * (x == 2), 0.1) for _, x in rows[:9]])
    assert many.aside == few.aside == ()
    assert many.scatter > 100


def test_nothing_is_set_aside_without_which_less_is_known() -> None:
    rows = [(1.0, float(x == 5), float(x)) for x in range(14)]
    found = fit(rows, [_number(3 + 2 * x + 500 * (x == 5), 0.1) for x in range(14)])
    assert found.aside == ()
    assert found.coefficients == pytest.approx([3, 500, 2])


def test_an_end_that_is_not_known_is_as_far_as_the_other() -> None:
    assert standard_error(Interval(low=float("nan"), high=12.0, method=""), 10.0) == pytest.approx(2 / 1.959964, rel=1e-6)
    assert standard_error(Interval(low=9.0, high=12.0, method=""), 10.0) == pytest.approx(1.5 / 1.959964, rel=1e-6)
