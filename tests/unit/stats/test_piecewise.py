"""Two straight pieces: the knee is found where it is, its interval holds it, and one line is not called bent."""

import os

import numpy as np
import pytest

from rackproof.stats.piecewise import knee

LONG = os.environ.get("RACKPROOF_LONG") == "1"
PLACES = np.arange(100.0, 1000.0, 100.0)


def bent(at: float, after: float) -> np.ndarray:
    """Slope 1 through the origin up to `at`, then `after`."""
    return np.where(at > PLACES, PLACES, at + after * (PLACES - at))


def test_an_exact_knee_is_found() -> None:
    found = knee(PLACES.tolist(), bent(300, -0.45).tolist(), origin=True, resolution=1.0)
    assert found is not None
    assert found.value == pytest.approx(300, abs=5)
    assert found.interval.contains(300)
    assert found.interval.half_width < 10
    assert (found.slope_before, found.slope_after) == pytest.approx((1, -0.45), abs=0.01)
    assert found.n == 9


def test_one_line_has_no_knee() -> None:
    assert knee(PLACES.tolist(), PLACES.tolist(), origin=True, resolution=1.0) is None
    assert knee(PLACES.tolist(), (5 - 0.3 * PLACES).tolist()) is None


@pytest.mark.parametrize(("origin", "points"), [(False, 4), (True, 3)])
def test_too_few_points_say_nothing(origin: bool, points: int) -> None:
    assert knee(PLACES[:points].tolist(), bent(150, 0)[:points].tolist(), origin=origin) is None
    twice = [*PLACES[:2], *PLACES[:2], *PLACES[:2]]
    assert knee(twice, twice, origin=origin) is None


@pytest.mark.parametrize("origin", [False, True])
def test_intervals_hold_the_knee_and_chance_bends_few_lines(origin: bool) -> None:
    rng = np.random.default_rng(8)
    trials = 1000 if LONG else 16
    found = [knee(PLACES.tolist(), (bent(330, -0.45) + rng.normal(0, 6, 9)).tolist(), origin=origin) for _ in range(trials)]
    held = sum(each is not None and each.interval.contains(330) for each in found)
    straight = sum(knee(PLACES.tolist(), (0.5 * PLACES + rng.normal(0, 6, 9)).tolist(), origin=origin) is not None for _ in range(trials))
    # 95 % and 5 %, give or take 3.5 deviations of so many trials.
    assert held >= trials * (0.95 - 3.5 * (0.0475 / trials) ** 0.5)
    assert straight <= trials * (0.05 + 3.5 * (0.0475 / trials) ** 0.5)


def test_repetitions_count_each() -> None:
    rng = np.random.default_rng(9)
    x = np.tile(PLACES, 5)
    found = knee(x.tolist(), (np.tile(bent(330, -0.45), 5) + rng.normal(0, 6, 45)).tolist(), origin=True)
    assert found is not None
    assert found.n == 45
    assert found.interval.half_width < 12
