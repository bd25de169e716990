"""Do the bins follow the rule that the histogram states, whatever the samples are?"""

import numpy as np
import pytest

from rackproof.stats.histogram import Histogram, histogram


def _area(one: Histogram) -> float:
    return float(np.array(one.density) @ np.diff(one.edges))


def test_bins_are_as_wide_as_freedman_and_diaconis_say() -> None:
    ordered = np.sort(np.random.default_rng(1).normal(60, 2, 10_000))
    one = histogram(ordered)
    first, third = np.quantile(ordered, [0.25, 0.75])
    assert np.diff(one.edges) == pytest.approx(2 * (third - first) / 10_000 ** (1 / 3), rel=1e-3)
    assert one.rule == "Freedman-Diaconis"
    assert (sum(one.counts), one.outside) == (10_000, 0)
    assert _area(one) == pytest.approx(1)
    assert one.counts == tuple(np.histogram(ordered, one.edges)[0])


def test_a_few_late_frames_neither_coarsen_the_bins_nor_vanish() -> None:
    random = np.random.default_rng(2)
    ordered = np.sort(np.concatenate([random.normal(10, 0.5, 99_980), random.uniform(100, 5000, 20)]))
    one = histogram(ordered)
    assert len(one.counts) <= 200
    assert np.diff(one.edges).max() < 0.05
    assert one.outside >= 20
    assert "lie beyond" in one.rule
    assert _area(one) == pytest.approx(1 - one.outside / 100_000)


def test_the_number_of_bins_is_bounded() -> None:
    ordered = np.sort(np.random.default_rng(3).pareto(1.2, 100_000))
    one = histogram(ordered, 50)
    assert len(one.counts) <= 50
    assert "at most 50 bins" in one.rule


@pytest.mark.parametrize("step", [0.5, 1.0, 0.1])
def test_bins_of_a_coarse_clock_hold_whole_steps(step: float) -> None:
    ordered = np.sort(np.round(np.random.default_rng(4).normal(60, 4, 50_000) / step) * step)
    one = histogram(ordered)
    steps = np.diff(one.edges) / step
    assert steps == pytest.approx(np.round(steps))
    # Neighbouring bins differ as the density does, not by how many steps they hold.
    inner = np.array(one.density)[np.array(one.counts) > 0.3 * max(one.counts)]
    assert np.abs(np.diff(inner)).max() < 0.35 * inner.max()
    assert "whole steps" in one.rule


def test_most_samples_alike() -> None:
    ordered = np.sort(np.concatenate([np.full(900, 7.0), np.random.default_rng(5).uniform(5, 9, 100)]))
    one = histogram(ordered)
    assert "Scott" in one.rule
    assert 1 < len(one.counts) <= 200
    assert _area(one) == pytest.approx(1 - one.outside / 1000)


@pytest.mark.parametrize("ordered", [[7.0], [7.0] * 1000, [0.0, 0.0], [-1.0, -1.0]])
def test_samples_that_are_all_alike_are_one_bin(ordered: list[float]) -> None:
    one = histogram(np.array(ordered))
    assert one.counts == (len(ordered),)
    assert _area(one) == pytest.approx(1)
    assert "all samples are alike" in one.rule


@pytest.mark.parametrize("count", [2, 3, 5])
def test_few_samples(count: int) -> None:
    one = histogram(np.arange(count, dtype=np.float64))
    assert sum(one.counts) + one.outside == count
