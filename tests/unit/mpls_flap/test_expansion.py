"""How does a plan become trials?"""

import itertools

import pytest

from testplans.mpls_flap.expansion import LSPS_PER_S, expand
from testplans.mpls_flap.procedure import setup
from tests.unit.mpls_flap.plans import plan


def test_trials_of_a_network_are_neighbours_and_share_its_setup() -> None:
    given = plan(networks=["soft-lsr", {"name": "row", "model": "soft-lsr", "shape": "chain"}], repetitions=2, rate_scale=0.5)
    trials = expand(given)
    assert [trial.index for trial in trials] == list(range(1, 9))
    setups = [setup(given, trial) for trial in trials]
    assert len([1 for before, after in itertools.pairwise(setups) if before != after]) == 1
    assert trials[3].label == "soft-lsr, test 1.2, 4 stable, 6 flapped, repetition 2"
    assert trials[4].point == {
        "network": "row", "shape": "chain", "routers": 3, "test": "1.2", "stable": 4, "flapped": 2, "frame_bytes": 512,
        "rate_mbps": 40.0, "offered_mbps": 20.0,
    }  # fmt: skip
    # Rounds: all points of a network once, then again.
    assert [trial.repetition for trial in trials[:4]] == [1, 1, 2, 2]


def test_the_same_point_has_the_same_seed_on_every_network() -> None:
    trials = expand(plan(networks=["soft-lsr", {"name": "other", "model": "soft-lsr"}], repetitions=3))
    seeds: dict[object, set[int]] = {}
    for trial in trials:
        seeds.setdefault((trial.point["flapped"], trial.repetition), set()).add(trial.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 6


def test_a_trial_takes_its_phases_and_the_time_for_its_lsps() -> None:
    few, many = expand(plan(tests=[{"name": "a", "stable": 10, "flapped": [10, 1990], "frame_bytes": 512, "rate_mbps": 40}]))
    assert many.duration_s - few.duration_s == pytest.approx(1980 / LSPS_PER_S)
    assert 1.7 < few.duration_s < 5


def test_by_configuration_every_number_of_lsps_is_a_setup_of_its_own() -> None:
    given = plan(signalling={"by": "configuration"})
    few, many = (setup(given, trial).functions["soft-lsr"][0] for trial in expand(given))
    assert few != many
