"""Are changes of a series found where they were planted, and none where there is only noise?"""

import itertools
import math
import random

import pytest

from rackproof.model.measurement import Interval
from rackproof.store.jumps import jumps


def around(value: float, half_width: float) -> Interval:
    return Interval(low=value - half_width, high=value + half_width, method="batch means")


def noise(source: random.Random, level: float, spread: float, count: int) -> list[float]:
    return [source.gauss(level, spread) for _ in range(count)]


@pytest.mark.parametrize(("level", "spread"), [(100.0, 0.01), (100.0, 20.0), (0.0, 1.0), (1e9, 1.0)])
def test_noise_is_no_change_at_any_scale(level: float, spread: float) -> None:
    """Each value with its interval, as campaigns give them. Of 120 series at most 3 % show a change where there is none."""
    source = random.Random(f"{level} {spread}")
    alarms = 0
    for length in (5, 20, 40):
        for _ in range(40):
            values = noise(source, level, spread, length)
            alarms += bool(jumps(values, [around(value, 1.96 * spread) for value in values]))
    assert alarms <= 3


@pytest.mark.parametrize(("level", "spread"), [(100.0, 0.01), (100.0, 1.0), (100.0, 10.0), (-3.0, 0.1), (1e9, 1.0)])
def test_planted_changes_are_found_within_one_campaign(level: float, spread: float) -> None:
    source = random.Random(7)
    found = 0
    for _ in range(20):
        values = noise(source, level, spread, 30) + noise(source, level + 5 * spread, spread, 20) + noise(source, level, spread, 30)
        changes = jumps(values, [around(value, 1.96 * spread) for value in values])
        found += len(changes) == 2 and abs(changes[0] - 30) <= 1 and abs(changes[1] - 50) <= 1
    assert found >= 18


def test_the_last_campaign_alone_can_be_a_change_and_a_small_step_need_not() -> None:
    source = random.Random(1)
    hits = false = 0
    for _ in range(30):
        values = noise(source, 100, 1, 30)
        hits += jumps([*values, 110.0], [None] * 31) == [30]
        false += bool(jumps([*values, 101.0], [None] * 31))
    assert hits >= 27
    assert false <= 1


def test_a_step_within_the_intervals_is_no_change_however_even_the_values_are() -> None:
    values = [10.0] * 10 + [10.5] * 10
    assert jumps(values, [None] * 20) == [10]
    assert jumps(values, [around(value, 0.1) for value in values]) == [10]
    assert jumps(values, [around(value, 5.0) for value in values]) == []


def test_what_becomes_infinite_and_finite_again_changed_there() -> None:
    inf = math.inf
    values = [10.0, 10.0, inf, inf, 10.0, 10.0]
    assert jumps(values, [None] * 6) == [2, 4]
    assert jumps([inf, inf, -inf], [None] * 3) == [2]
    assert jumps([inf], [None]) == []


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.0], [0.0] * 50, [5.0] * 50])
def test_what_never_changes_has_no_change(values: list[float]) -> None:
    assert jumps(values, [None] * len(values)) == []


def test_indices_rise_and_lie_within() -> None:
    source = random.Random(3)
    values = [source.choice([1.0, 5.0, math.inf]) for _ in range(200)]
    changes = jumps(values, [None] * 200)
    assert all(before < after for before, after in itertools.pairwise([0, *changes, 200]))
