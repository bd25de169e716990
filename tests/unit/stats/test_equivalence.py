"""Equivalence: intervals that hold the truth, and verdicts that are wrong no more often than they say."""

import math

import numpy as np
import pytest

from rackproof.model.measurement import Interval
from rackproof.stats.counts import wilson
from rackproof.stats.equivalence import Equivalence, average, between, difference, judge, share, simultaneous

TRIALS = 1000


def _interval(low: float, high: float) -> Interval:
    return Interval(low=low, high=high, method="made up")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-1, 2, Equivalence.EQUIVALENT),
        (-3, 3, Equivalence.EQUIVALENT),
        (2, 4, Equivalence.UNDECIDED),
        (-9, 9, Equivalence.UNDECIDED),
        (4, 5, Equivalence.DIFFERENT),
        (-5, -4, Equivalence.DIFFERENT),
        (math.nan, 1, Equivalence.UNDECIDED),
    ],
)
def test_an_interval_lies_within_the_margin_beyond_it_or_across(low: float, high: float, said: Equivalence) -> None:
    assert judge(_interval(low, high), 3.0) is said


def test_without_an_interval_nothing_is_decided() -> None:
    assert judge(None, 3.0) is Equivalence.UNDECIDED
    assert difference(np.array([1.0]), np.array([2.0, 3.0]))[1] is None
    assert between((1.0, None), (2.0, _interval(1, 3))) == (1.0, None)


def test_differences_of_batches_cover() -> None:
    """Also where one phase is shorter and varies more."""
    rng = np.random.default_rng(5)
    found = [difference(rng.normal(50, 1, 20), rng.normal(53, 4, 12))[1] for _ in range(TRIALS)]
    assert 0.93 <= np.mean([each is not None and each.contains(3.0) for each in found]) <= 0.97


def test_phases_that_differ_by_the_margin_are_called_alike_no_more_often_than_allowed() -> None:
    rng = np.random.default_rng(6)
    found = [judge(difference(rng.normal(50, 2, 20), rng.normal(53, 2, 20))[1], 3.0) for _ in range(TRIALS)]
    assert found.count(Equivalence.EQUIVALENT) / TRIALS <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / TRIALS)
    alike = [judge(difference(rng.normal(50, 2, 20), rng.normal(50, 2, 20))[1], 3.0) for _ in range(TRIALS)]
    assert alike.count(Equivalence.EQUIVALENT) / TRIALS > 0.97


def test_shares_of_independent_events_are_wilsons() -> None:
    value, interval = share(np.array([1.0, 1.0]), np.array([100.0, 100.0]))
    expected = wilson(2, 200)
    assert value == 0.01
    assert interval is not None
    assert expected is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert share(np.zeros(3), np.zeros(3))[1] is None


def test_losses_in_bursts_count_for_less() -> None:
    """Twenty frames of ten thousand are lost in one burst: that may happen to a share of 0, and to a larger one."""
    burst, spread = np.zeros(20), np.ones(20)
    burst[7] = 20.0
    wide, narrow = (share(lost, np.full(20, 500.0))[1] for lost in (burst, spread))
    assert wide is not None
    assert narrow is not None
    assert wide.low < narrow.low / 3
    assert wide.high > 2 * narrow.high


def test_averages_of_different_things_cover() -> None:
    """Their spread among each other is no error of their mean."""
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(TRIALS):
        each = [difference(rng.normal(0, 1, 20), rng.normal(truth, 1, 20)) for truth in (0.0, 5.0, 40.0)]
        interval = average(each)[1]
        hits += interval is not None and interval.contains(15.0)
        assert interval is None or interval.half_width < 1
    assert 0.93 <= hits / TRIALS <= 0.97
    assert average([(1.0, None), (3.0, _interval(2, 4))]) == (2.0, None)
    assert average([(3.0, _interval(2, 4))])[1] == _interval(2, 4)


def test_one_of_many_must_be_farther_off() -> None:
    """Of twenty differences of nothing some lie beyond their own intervals in most campaigns, beyond the wider ones in one of twenty."""
    rng = np.random.default_rng(9)
    campaigns = 200
    plain = wide = 0
    for _ in range(campaigns):
        each = [difference(rng.normal(0, 1, 60), rng.normal(0, 1, 60)) for _ in range(20)]
        plain += not all(interval is not None and interval.contains(0.0) for _, interval in each)
        wider = [simultaneous(value, interval, 20) for value, interval in each]
        wide += not all(interval is not None and interval.contains(0.0) for interval in wider)
    assert plain / campaigns > 0.5
    assert wide / campaigns < 0.11
    assert simultaneous(1.0, _interval(0, 2), 1) == _interval(0, 2)
    assert simultaneous(1.0, None, 20) is None


def test_differences_of_shares_cover() -> None:
    rng = np.random.default_rng(7)
    sizes = np.full(20, 500.0)
    hits = 0
    for _ in range(TRIALS):
        before, after = (share(rng.binomial(500, each, 20).astype(float), sizes) for each in (0.002, 0.006))
        interval = between(before, after)[1]
        hits += interval is not None and interval.contains(0.004)
    assert 0.93 <= hits / TRIALS <= 0.99
