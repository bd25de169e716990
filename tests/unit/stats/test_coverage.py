"""Do 95 % intervals hold the truth in 95 of 100 trials? A few trials here; RACKPROOF_LONG=1 has 2,000 of each kind, as `make bench` has."""

import os

import numpy as np
import pytest

from tests.unit.stats.scenarios import SCENARIOS, Scenario, coverage

LONG = os.environ.get("RACKPROOF_LONG") == "1"
#: Of the four that are promised; those of other shapes are measured in benchmarks.
PROMISED = SCENARIOS[:4]


def test_in_a_few_trials() -> None:
    found = [coverage(scenario, trials=6, count=2500, seed=1) for scenario in PROMISED]
    shares = np.array([share for one in found for share in one.values()])
    # 144 intervals, of 24 trials: 95 % give or take twice 3 %; of 6 trials, fewer than 3 hold the truth once in 10,000 times.
    assert shares.mean() == pytest.approx(0.95, abs=0.06)
    assert shares.min() >= 3 / 6


@pytest.mark.skipif(not LONG, reason="takes minutes: RACKPROOF_LONG=1")
@pytest.mark.parametrize("scenario", PROMISED, ids=lambda scenario: scenario.name)
def test_in_two_thousand_trials(scenario: Scenario) -> None:
    found = [coverage(scenario, trials=1000, count=20_000, seed=seed) for seed in (1, 7)]
    shares = {key: sum(one[key] for one in found) / len(found) for key in found[0]}
    assert {key: share for key, share in shares.items() if not 0.93 <= share <= 0.97} == {}
