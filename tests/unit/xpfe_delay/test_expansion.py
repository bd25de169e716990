"""How does a plan become trials, and what does a rehearsal say of them?"""

import dataclasses
import itertools

import pytest

from rackproof.planfile import read_plan, validate
from rackproof.ports import Limits
from testplans.foresight import neat
from testplans.xpfe_delay.expansion import expand
from testplans.xpfe_delay.plan import XpfeDelayPlan
from testplans.xpfe_delay.procedure import setup
from testplans.xpfe_delay.rehearsal import rehearse
from tests.unit.xpfe_delay.records import plan
from tests.unit.xpfe_delay.test_plan import FOLDER

LIMITS = Limits(
    send_fps=250e3,
    receive_fps=250e3,
    link_rate_bps_max={},
    device_models={"xpfe": "", "linux-bridge": "", "openvswitch": "it is not installed"},
    options={"xpfe": frozenset({"mode"})},
    wires_fps={"xpfe": 300e3, "linux-bridge": 250e3},
)
PAPER = validate(XpfeDelayPlan, read_plan(FOLDER / "paper.yaml"))


def test_trials_of_a_chain_and_a_hop_count_are_neighbours_and_share_a_setup() -> None:
    given = plan(chains=["xpfe", "linux-bridge"], hops=[1, 2], frame_bytes=[500, 1500], rates_mbps=[40, 80], repetitions=2)
    trials = expand(given)
    assert [trial.index for trial in trials] == list(range(1, 33))
    setups = [setup(given, trial) for trial in trials]
    assert len([1 for before, after in itertools.pairwise(setups) if before != after]) == 3
    assert trials[0].label == "xpfe, 1 hop, 500 bytes, 40 Mbit/s, repetition 1"
    assert trials[8].point == {"chain": "xpfe", "hops": 2, "frame_bytes": 500, "rate_mbps": 40.0, "offered_mbps": 40.0}
    # Rounds: all points of a setup once, then again.
    assert [trial.repetition for trial in trials[:8]] == [1] * 4 + [2] * 4


def test_the_same_point_meets_the_same_frames_at_every_hop_count() -> None:
    seeds: dict[object, set[int]] = {}
    for trial in expand(plan(hops=[1, 2, 3], frame_bytes=[500, 1500], repetitions=3)):
        seeds.setdefault((trial.point["frame_bytes"], trial.repetition), set()).add(trial.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 6


def test_rates_beyond_the_bench_are_refused_and_a_scale_is_proposed_that_is_not() -> None:
    found = rehearse(PAPER, LIMITS)
    assert found.refusals[0].startswith("xpfe, 3 hops: expected at most 300000 frames/s")
    assert "found 562500 at 750 Mbit/s with frames of 500 bytes; 3 of 15 points are beyond it" in found.refusals[1]
    assert "with the line `rate_scale: 0.45` in the plan, this testbed carries all of it" in found.refusals[-1]
    scaled = PAPER.model_copy(update={"rate_scale": 0.45})
    assert rehearse(scaled, LIMITS).refusals == ()
    assert rehearse(scaled, LIMITS).warnings == (
        "rate_scale 0.45: what is sent is less than trials are called by (Mbit/s: 250 as 112.5, 500 as 225, 750 as 337.5), "
        "so links are emptier",
    )


def test_one_hop_has_no_link_and_the_generator_alone_bounds_it() -> None:
    found = rehearse(plan(hops=[1], frame_bytes=[64], rates_mbps=[200]), LIMITS)
    assert "xpfe, 1 hop: expected at most 250000 frames/s" in found.refusals[0]
    assert "rate_scale: 0.55" in found.refusals[-1]


def test_background_counts_on_every_link_and_for_the_generator() -> None:
    given = plan(hops=[4], frame_bytes=[500], rates_mbps=[200], background={"per_hop_mbps": 400, "frame_bytes": 500})
    (first, _) = rehearse(given, LIMITS).refusals
    assert "found 450000" in first  # 3 links x (50,000 + 100,000), which is nearer its end than the generator's 350,000
    generous = dataclasses.replace(LIMITS, wires_fps={})
    assert "expected at most 250000 frames/s" in rehearse(given, generous).refusals[0]
    assert "found 350000" in rehearse(given, generous).refusals[0]


@pytest.mark.parametrize(("value", "rounded"), [(0.137, 0.1), (0.17, 0.15), (0.96, 0.95), (0.048, 0.045), (1.0, 1.0), (0.3, 0.3)])
def test_a_neat_scale_is_never_above(value: float, rounded: float) -> None:
    assert neat(value) == rounded


def test_models_that_are_not_there_are_refused() -> None:
    (text,) = rehearse(plan(chains=["openvswitch"]), LIMITS).refusals
    assert text == "chains[0] openvswitch: the model openvswitch cannot be used here: it is not installed"
    (text,) = rehearse(plan(chains=[{"name": "a", "model": "xpfe", "options": {"mod": "x"}}]), LIMITS).refusals
    assert text == "chains[0] a: expected options of xpfe (mode), found mod"
    assert "found switch-9" in rehearse(plan(chains=[{"name": "r", "devices": ["switch-9", "a", "b"]}]), LIMITS).refusals[0]


def test_notes_and_warnings_say_what_is_to_be_expected() -> None:
    found = rehearse(plan(hops=[1, 3], frame_bytes=[1500], rates_mbps=[750]), dataclasses.replace(LIMITS, wires_fps={}))
    assert found.notes[1] == "750 Mbit/s offered, 62500 frames/s; no link between elements"
    assert found.notes[2] == "750 Mbit/s offered, 62500 frames/s; links 77 % full, 2 x 12.34 us to serialise"
    assert found.warnings == ("one frame size: the part of the delay that grows with size cannot be told from the rest",)
    full = rehearse(plan(frame_bytes=[500, 1000], hops=[1, 2], rates_mbps=[950]), LIMITS)
    assert any("get more than they carry" in text for text in full.warnings)
