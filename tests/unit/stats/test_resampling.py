"""Are intervals by resampling those of theory, where theory knows them?"""

import math

import numpy as np
import pytest
from scipy import stats

from rackproof.stats.batches import t_quantile
from rackproof.stats.resampling import blocks, mean_interval, order_statistics, percentile_interval
from tests.unit.stats.scenarios import dependent


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9])
def test_order_statistics_are_exact(share: float) -> None:
    count = 1000
    ordered = np.arange(count, dtype=np.float64)
    found = order_statistics(ordered, share, 0.95)
    assert found is not None
    low, high = int(found.low), int(found.high)
    # Chance that the percentile lies below the low sample, or above the high one: at most 2.5 % each, and more were an end one place
    # inside.
    below = stats.binom(count, share)
    assert below.cdf(low) <= 0.025 < below.cdf(low + 1)
    assert below.sf(high) <= 0.025 + 1e-12 < below.sf(high - 1)


def test_a_percentile_beyond_the_samples_has_no_interval() -> None:
    values = np.random.default_rng(1).standard_normal(300)
    ordered = np.sort(values)
    assert order_statistics(ordered, 0.99, 0.95) is None
    assert order_statistics(ordered, 0.95, 0.95) is not None
    assert percentile_interval(values, ordered, 0.99, blocks(300, 5, 1), 0.95) is None


def test_one_sample_bounds_nothing() -> None:
    values = np.array([5.0])
    drawn = blocks(1, 1, 1)
    assert mean_interval(values, drawn, 0.95) is None
    assert percentile_interval(values, values, 0.5, drawn, 0.95) is None


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_means_of_dependent_samples(correlation: float) -> None:
    count = 50_000
    values = dependent(np.random.default_rng(2), count, correlation)
    found = mean_interval(values, blocks(count, 400, 3), 0.95)
    assert found is not None
    error = math.sqrt((1 + correlation) / (1 - correlation) / count)
    assert found.half_width == pytest.approx(1.96 * error, rel=0.12)
    assert found.contains(float(values.mean()))
    assert found.method == "circular block bootstrap, 1000 replicates, blocks of 400 samples"


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_percentiles_of_independent_samples_are_as_sure_by_blocks_as_by_order_statistics(share: float) -> None:
    values = np.random.default_rng(4).standard_normal(50_000)
    ordered = np.sort(values)
    exact, found = order_statistics(ordered, share, 0.95), percentile_interval(values, ordered, share, blocks(50_000, 200, 5), 0.95)
    assert exact is not None
    assert found is not None
    assert found.half_width == pytest.approx(exact.half_width, rel=0.15)


def test_percentiles_of_a_coarse_clock() -> None:
    values = np.round(np.random.default_rng(5).normal(60, 1, 20_000))
    found = percentile_interval(values, np.sort(values), 0.5, blocks(20_000, 20, 6), 0.95)
    assert found is not None
    assert (found.low, found.high) == (60, 60)


def test_every_sample_is_drawn_as_often_as_any_other() -> None:
    drawn = blocks(1003, 10, 7)
    assert drawn.sizes.sum() == 1003
    assert drawn.drawn_samples() == pytest.approx(1003, rel=0.02)
    # In the replicates together, every piece begins as many blocks as any other; a block at the end goes on at the start.
    begun = np.bincount(drawn.drawn.ravel())
    assert begun == pytest.approx(begun.mean(), rel=0.25)
    assert drawn.of_blocks(np.eye(len(drawn.sizes))).sum(axis=0) == pytest.approx(drawn.pieces)


def test_few_blocks_widen_an_interval_as_few_batches_do() -> None:
    drawn = blocks(100, 20, 8)
    assert drawn.number == 5
    assert drawn.widening(0.95) == pytest.approx(t_quantile(4) / 1.95996 * math.sqrt(5 / 4), rel=1e-4)


def test_no_more_blocks_are_drawn_than_are_of_use() -> None:
    assert blocks(1_000_000, 1, 9).length == 4000
