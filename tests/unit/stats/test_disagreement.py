"""Does the interval of a difference hold the true one as often as it says?"""

import math

import numpy as np
import pytest

from rackproof.model.measurement import Interval
from rackproof.stats.disagreement import difference


def interval(low: float, high: float) -> Interval:
    return Interval(low=low, high=high, method="given")


def test_the_closed_form_of_two_symmetric_intervals() -> None:
    value, found = difference(10.0, interval(7.0, 13.0), 12.0, interval(8.0, 16.0))
    assert value == 2.0
    assert found is not None
    assert (found.low, found.high) == pytest.approx((2.0 - 5.0, 2.0 + 5.0))


def test_an_exact_one_adds_nothing_and_sides_stay_apart() -> None:
    value, found = difference(1.0, interval(1.0, 1.0), 2.0, interval(1.5, 5.0))
    assert value == 1.0
    assert found is not None
    assert (found.low, found.high) == (0.5, 4.0)


def test_without_an_interval_nothing_is_said() -> None:
    assert difference(1.0, None, 2.0, interval(1, 3)) == (1.0, None)
    assert difference(math.inf, interval(0, 1), 2.0, interval(1, 3))[1] is None


def test_it_covers_the_true_difference_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    runs, hits = 4000, 0
    for first, second in zip(rng.normal(5.0, 1.0, runs), rng.normal(8.0, 2.0, runs), strict=True):
        _, found = difference(first, interval(first - 1.96, first + 1.96), second, interval(second - 3.92, second + 3.92))
        assert found is not None
        hits += found.contains(3.0)
    assert hits / runs == pytest.approx(0.95, abs=0.012)
