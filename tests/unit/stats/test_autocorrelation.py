"""Are block length and effective number of samples those of theory?"""

import numpy as np
import pytest

from rackproof.stats.autocorrelation import autocorrelation
from tests.unit.stats.scenarios import dependent


@pytest.mark.parametrize("correlation", [0.3, 0.8, 0.95])
def test_of_an_autoregression(correlation: float) -> None:
    count = 100_000
    found = autocorrelation([dependent(np.random.default_rng(1), count, correlation)])
    # Sum of all autocorrelations; and twice the length with the least error of the variance (Patton, Politis and White 2009, eq. 9).
    assert found.effective == pytest.approx(count * (1 - correlation) / (1 + correlation), rel=0.15)
    best = (2 * (2 * correlation / (1 - correlation**2)) ** 2 / (4 / 3) * count) ** (1 / 3)
    assert found.block == pytest.approx(2 * best, rel=0.2)


def test_of_independent_samples() -> None:
    found = autocorrelation([np.random.default_rng(2).standard_normal(50_000)])
    assert found.block == 1
    assert found.effective == 50_000


def test_the_longest_block_counts_and_the_first_series_effective_number() -> None:
    random = np.random.default_rng(3)
    independent, slow = random.standard_normal(20_000), dependent(random, 20_000, 0.9)
    assert autocorrelation([independent, slow]).block == autocorrelation([slow]).block
    assert autocorrelation([independent, slow]).effective == 20_000


def test_what_never_quiets_down_is_bounded() -> None:
    count = 10_000
    found = autocorrelation([np.sin(np.arange(count) / 1000)])
    assert 1 < found.block <= 3 * np.sqrt(count)
    assert 1 <= found.effective < count


@pytest.mark.parametrize("values", [[5.0], [5.0] * 100, [1.0, 2.0, 3.0]])
def test_of_next_to_nothing(values: list[float]) -> None:
    found = autocorrelation([np.array(values)])
    assert (found.block, found.effective) == (1, len(values))


def test_samples_that_alternate_do_not_tell_more_than_independent_ones() -> None:
    found = autocorrelation([dependent(np.random.default_rng(4), 10_000, -0.5)])
    assert found.effective == 10_000
