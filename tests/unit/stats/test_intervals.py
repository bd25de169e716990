"""Do the intervals hold what they promise? By simulation with known answers, seeded."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
from scipy.signal import lfilter
from scipy.special import ndtri
from scipy.stats import binomtest

from rackproof.model.measurement import Interval
from rackproof.stats import batches, counts, pooling
from rackproof.stats.quantiles import of_ordered, quantile_intervals, quantiles, rank

TRIALS = 1000
BATCHES = 20
#: 95 % of the trials, give or take 3.6 standard deviations of their number: fewer trials would fail by chance.
COVERED = (0.925, 0.975)


def correlated(phi: float, samples: int) -> Iterator[npt.NDArray[np.float64]]:
    """Standard normal samples, each of which remembers the one before (AR(1)); stationary from the first on."""
    rng = np.random.default_rng(2004)
    for _ in range(TRIALS):
        noise = rng.standard_normal(samples + 500) * math.sqrt(1 - phi**2)
        yield lfilter([1], [1, -phi], noise)[500:]


def coverage(found: list[Interval | None], truth: float) -> float:
    assert None not in found
    return sum(interval is not None and interval.contains(truth) for interval in found) / len(found)


@pytest.mark.parametrize("phi", [0.0, 0.9])
def test_batch_means_cover(phi: float) -> None:
    found = [batches.mean(data.reshape(BATCHES, -1).mean(axis=1))[1] for data in correlated(phi, 5000)]
    assert COVERED[0] <= coverage(found, 0.0) <= COVERED[1]


def test_what_one_batch_hands_to_the_next_does_not_widen_the_interval() -> None:
    """A host that stalls for half a batch moves its octets to the next one: the mean is untouched, and the interval says so."""
    rng = np.random.default_rng(11)
    found, plain = [], []
    for _ in range(TRIALS):
        data = rng.standard_normal(BATCHES)
        at = int(rng.integers(BATCHES - 1))
        data[at] -= 20
        data[at + 1] += 20
        found.append(batches.mean(data)[1])
        plain.append(batches.t_quantile(BATCHES - 1) * data.std(ddof=1) / math.sqrt(BATCHES))
    assert coverage(found, 0.0) >= COVERED[0]
    widths = [interval.half_width for interval in found if interval is not None]
    assert np.median(widths) < np.median(plain) / 3


@pytest.mark.parametrize("phi", [0.0, 0.9])
def test_ratios_cover(phi: float) -> None:
    """Numerator and denominator vary together, and batches differ in size."""
    rng = np.random.default_rng(7)
    found = []
    for data in correlated(phi, 5000):
        size = rng.poisson(200, BATCHES).astype(float)
        found.append(batches.ratio(size * 3 + data.reshape(BATCHES, -1).sum(axis=1), size)[1])
    assert COVERED[0] <= coverage(found, 3.0) <= COVERED[1]


@pytest.mark.parametrize("phi", [0.0, 0.9])
def test_the_jackknife_covers(phi: float) -> None:
    def ratio_squared(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray((sums[0] / sums[1]) ** 2)

    found = []
    for data in correlated(phi, 5000):
        size = np.full(BATCHES, 250.0)
        found.append(batches.jackknife(ratio_squared, np.array([size * 2 + data.reshape(BATCHES, -1).sum(axis=1), size]))[1])
    assert COVERED[0] <= coverage(found, 4.0) <= COVERED[1]


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_quantiles_cover(phi: float, share: float) -> None:
    found = [quantile_of(data, share)[1] for data in correlated(phi, 10_000)]
    assert COVERED[0] <= coverage(found, float(ndtri(share))) <= COVERED[1]


def test_naive_quantile_intervals_would_not_cover() -> None:
    """The reason for the batches: taking correlated samples for independent ones makes intervals that are far too narrow."""
    hits = 0
    for data in correlated(0.9, 10_000):
        ordered, half = np.sort(data), 1.96 * math.sqrt(0.5 * 0.5 / 10_000)
        hits += ordered[rank(10_000, 0.5 - half)] <= 0 <= ordered[rank(10_000, 0.5 + half)]
    assert hits / TRIALS < 0.6


def quantile_of(data: npt.NDArray[np.float64], share: float) -> tuple[float, Interval | None]:
    select = of_ordered(np.sort(data))
    (value,) = quantiles(select, len(data), [share])
    below = (data.reshape(BATCHES, -1) <= value).sum(axis=1)
    return value, quantile_intervals(select, len(data), [share], [value], [below], np.full(BATCHES, len(data) // BATCHES))[0]


def test_no_interval_where_samples_cannot_bound_the_quantile() -> None:
    data = np.random.default_rng(3).standard_normal(400)
    assert quantile_of(data, 0.999)[1] is None
    assert quantile_of(data, 0.5)[1] is not None


def test_quantile_interval_of_equal_samples_is_that_value() -> None:
    value, interval = quantile_of(np.full(400, 7.0), 0.999)
    assert value == 7.0
    assert interval is not None
    assert (interval.low, interval.high) == (7.0, 7.0)


@pytest.mark.parametrize(("count", "share", "index"), [(20, 0.95, 18), (20, 0.5, 9), (1, 0.999, 0), (1000, 0.999, 998), (3, 0.5, 1)])
def test_rank_is_the_inverse_of_the_empirical_distribution(count: int, share: float, index: int) -> None:
    assert rank(count, share) == index


@pytest.mark.parametrize(("interval", "exact"), [(counts.wilson, False), (counts.clopper_pearson, True)])
@pytest.mark.parametrize("share", [0.002, 0.02, 0.3])
def test_counts_cover(interval: Callable[[int, int], Interval | None], exact: bool, share: float) -> None:
    """Coverage over the binomial distribution itself: no chance in the test."""
    trials = 1000
    events = np.arange(trials + 1)
    log = [math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) for k in events]
    weight = np.exp(np.array(log) + events * math.log(share) + (trials - events) * math.log(1 - share))
    covered = sum(w for k, w in zip(events, weight, strict=True) if w > 1e-12 and (i := interval(int(k), trials)) and i.contains(share))
    assert covered >= (0.95 if exact else 0.92)
    assert covered <= 0.99


def test_known_intervals_of_counts() -> None:
    for events in (0, 10, 100):
        oracle = binomtest(events, 100)
        for found, method in ((counts.wilson(events, 100), "wilson"), (counts.clopper_pearson(events, 100), "exact")):
            expected = oracle.proportion_ci(method=method)
            assert found is not None
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    nothing = counts.clopper_pearson(0, 100)
    assert nothing is not None
    assert nothing.high == pytest.approx(1 - 0.025 ** (1 / 100))
    assert counts.wilson(0, 0) is None


def test_repetitions_follow_student() -> None:
    value, interval = pooling.repetitions([1.0, 2.0, 3.0, 4.0])
    assert value == 2.5
    assert interval is not None
    assert interval.half_width == pytest.approx(3.182446 * math.sqrt(5 / 3 / 4))


def test_few_repetitions_pool_their_own_intervals() -> None:
    own = [Interval(low=9.0, high=11.0, method="m"), Interval(low=10.0, high=14.0, method="m")]
    value, interval = pooling.pool([10.0, 12.0], list(own))
    assert value == 11.0
    assert interval is not None
    assert interval.half_width == pytest.approx(math.sqrt(1 + 4) / 2)
    assert pooling.pool([10.0], [own[0]]) == (10.0, own[0])
    assert pooling.pool([10.0, 12.0], [own[0], None]) == (11.0, None)


def test_nothing_can_be_said_from_one_batch() -> None:
    assert batches.mean([3.0]) == (3.0, None)
    assert batches.ratio([3.0], [2.0]) == (1.5, None)
    assert math.isnan(batches.ratio([0.0, 0.0], [0.0, 0.0])[0])
