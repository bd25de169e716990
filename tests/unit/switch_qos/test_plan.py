"""What is accepted, and what is refused where, with what was expected and what was found."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rackproof.model.traffic import Arrivals
from testplans.switch_qos.plan import CRITERIA, SwitchQosPlan
from tests.unit.switch_qos.plans import PAPER, SHIPPED, changed, plan, shipped


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_plans_are_good_and_survive_storing(name: str) -> None:
    found = SwitchQosPlan.model_validate(shipped(name))
    assert SwitchQosPlan.model_validate(found.model_dump(mode="json")) == found


def test_defaults_are_the_papers() -> None:
    found = plan()
    assert found.queues.priority_map == (0, 0, 1, 1, 2, 2, 3, 3)
    assert found.traffic.sender_priorities == (0, 1, 2, 3, 4, 5, 6, 7)
    assert found.traffic.frame_sizes(0)[0].frame_bytes == 1518
    assert found.traffic.arrivals is Arrivals.POISSON
    assert plan(queues__count=8, disciplines=["strict-priority"]).queues.priority_map == (0, 1, 2, 3, 4, 5, 6, 7)
    assert plan(traffic__senders=10).traffic.sender_priorities[8:] == (0, 1)


REFUSED: list[tuple[str, Any, tuple[str | int, ...], str]] = [
    ("link.rate_gbps", 1, ("link", "rate_gbps"), "expected rate_mbps (in Mbit/s), found the unknown key rate_gbps"),
    ("trial.duration_ms", 100, ("trial", "duration_ms"), "expected duration_s (in s), found the unknown key duration_ms"),
    ("trafic", {}, ("trafic",), "expected traffic, found the unknown key trafic"),
    ("disciplines.1.weights", [0.1, 0.2, 0.3, 0.5], ("disciplines", 1, "weights"), "expected weights that sum to 1, found a sum of 1.1"),
    ("disciplines.1.weights", [0.1, 0.9], ("disciplines", 1, "weights"), "expected 4 weights, one for each queue, found 2"),
    ("disciplines.1.weights", [0.0, 0.2, 0.3, 0.5], ("disciplines", 1, "weights", 0), "greater than 0"),
    ("disciplines.1", "wrr-bytes", ("disciplines", 1), "expected a mapping with weights for wrr-bytes, one per queue, found no weights"),
    (
        "disciplines.0",
        {"discipline": "strict-priority", "weights": [1.0]},
        ("disciplines", 0, "weights"),
        "expected no weights for strict-priority",
    ),
    ("disciplines.1", "strict-priority", ("disciplines", 1), "expected disciplines that differ, found SP again"),
    ("disciplines", [], ("disciplines",), "expected at least one, found none"),
    ("devices", ["a", "a"], ("devices", 1), "expected names that differ, found a again"),
    ("queues.count", 5, ("queues", "count"), "4 or 8"),
    ("queues.priority_map", [0, 1, 2, 3], ("queues", "priority_map"), "expected 8 queues, one for each VLAN priority 0 to 7, found 4"),
    ("queues.priority_map", [0, 0, 1, 1, 2, 2, 3, 4], ("queues", "priority_map", 7), "expected a queue from 0 to 3, found 4"),
    ("queues.priority_map", [0, 0, 1, 1, 1, 1, 3, 3], ("queues", "priority_map"), "found none for q2"),
    ("traffic.priorities", [0, 1], ("traffic", "priorities"), "expected 8 priorities, one for each sender, found 2"),
    ("traffic.priorities", [0, 1, 2, 3, 4, 5, 6, 8], ("traffic", "priorities", 7), "less than 8"),
    ("traffic.frame_bytes", 63, ("traffic", "frame_bytes"), "greater than or equal to 64"),
    ("traffic.frame_bytes", 1523, ("traffic", "frame_bytes"), "less than or equal to 1522"),
    ("traffic.frame_bytes_by_priority", {0: 64, 1: 64}, ("traffic", "frame_bytes_by_priority"), "found none for 2, 3, 4, 5, 6, 7"),
    ("traffic", {"frame_bytes": 64, "frame_mix": "imix"}, ("traffic", "frame_mix"), "expected one of frame_bytes"),
    ("traffic.arrivals", "flat_out", ("traffic", "arrivals"), "constant"),
    ("load.per_sender_mbps", [100, 90], ("load", "per_sender_mbps", 1), "expected loads that ascend: more than 100 Mbit/s, found 90"),
    ("load.per_sender_mbps", [100, 1001], ("load", "per_sender_mbps", 1), "expected at most 1000 Mbit/s (L1)"),
    ("load.per_sender_mbps", [-1.0], ("load", "per_sender_mbps", 0), "greater than 0"),
    ("load.per_sender_mbps", [], ("load", "per_sender_mbps"), "expected at least one load, found none"),
    ("link.rate_mbps", "1 Gbit/s", ("link", "rate_mbps"), "valid number"),
    ("link.rate_mbps", math.nan, ("link", "rate_mbps"), "finite number"),
    ("repetitions", True, ("repetitions",), "valid integer"),
    ("validity.offered_deviation_max", 0.01, ("validity", "offered_deviation_max"), "less than or equal to 0.005"),
    ("expect", [{"device": "x", "criteria": ["waste"]}], ("expect", 0, "device"), "expected a device of the plan (reference), found x"),
    ("expect", [{"device": "reference", "criteria": ["speed"]}], ("expect", 0, "criteria", 0), "expected a criterion (sp.leak"),
    ("expect", [{"device": "reference", "criteria": ["delay.top"]}], ("expect", 0, "criteria", 0), "delay_p99_top_us_max is null"),
]


@pytest.mark.parametrize(("path", "value", "where", "text"), REFUSED, ids=[f"{case[0]}={case[1]}" for case in REFUSED])
def test_refusals(path: str, value: Any, where: tuple[str | int, ...], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SwitchQosPlan.model_validate(changed(PAPER, path, value))
    found = {error["loc"]: error["msg"] for error in caught.value.errors()}
    assert where in found
    assert text in found[where]


def test_all_faults_are_named_at_once() -> None:
    data = changed(changed(PAPER, "link.rate_gbps", 1), "load.per_sender_mbps", [5, 4])
    with pytest.raises(ValidationError) as caught:
        SwitchQosPlan.model_validate(data)
    assert {error["loc"] for error in caught.value.errors()} == {("link", "rate_gbps"), ("load", "per_sender_mbps", 1)}


def test_layer_2_loads_stay_below_the_line_rate() -> None:
    """A sender of 64-byte frames fills 1 Gbit/s with 761.9 Mbit/s at layer 2 (RFC 2544, section 20)."""
    limits: dict[str, Any] = {"link__layer": "L2", "traffic__frame_bytes": 64}
    assert plan(load__per_sender_mbps=[761.9], **limits).sender_mbps_max == pytest.approx(761.90, abs=0.01)
    with pytest.raises(ValidationError, match=r"at most 761\.905 Mbit/s \(L2\)"):
        plan(load__per_sender_mbps=[762], **limits)


def test_every_field_is_described_for_forms() -> None:
    schema = SwitchQosPlan.model_json_schema()
    for part in [schema, *schema["$defs"].values()]:
        for name, field in part.get("properties", {}).items():
            assert "title" in field or "$ref" in field, name
    assert schema["$defs"]["TrialPart"]["properties"]["duration_s"]["unit"] == "s"
    assert schema["$defs"]["LinkPart"]["properties"]["rate_mbps"]["unit"] == "Mbit/s"


def test_every_criterion_has_a_limit_in_the_plan() -> None:
    from testplans.switch_qos.candidates import CANDIDATES

    assert set(CRITERIA) == set(CANDIDATES)
    assert {key for key, _ in CRITERIA.values()} == set(type(plan().criteria).model_fields)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)
)
PLACES = [
    "devices",
    "disciplines",
    "queues",
    "queues.priority_map",
    "traffic",
    "link",
    "link.rate_mbps",
    "load",
    "load.per_sender_mbps",
    "expect",
]


@given(st.sampled_from(PLACES), JSON | st.dictionaries(st.text(max_size=8), JSON, max_size=3))
def test_whatever_is_written_is_accepted_or_refused_but_never_breaks(path: str, value: Any) -> None:
    try:
        found = SwitchQosPlan.model_validate(changed(PAPER, path, value))
    except ValidationError as error:
        assert error.errors()
    else:
        assert SwitchQosPlan.model_validate(found.model_dump(mode="json")) == found


def test_a_plan_of_too_many_trials_is_refused_before_it_is_expanded() -> None:
    loads = [1.0 + step / 10 for step in range(101)]
    weighted = {"discipline": "wrr-bytes", "weights": [0.25, 0.25, 0.25, 0.25]}
    small: dict[str, Any] = {"devices": ["reference"], "disciplines": ["strict-priority", weighted], "repetitions": 100, "expect": []}
    assert plan(load__per_sender_mbps=loads[:100], **small).repetitions == 100
    with pytest.raises(ValidationError, match=r"at most 20000 trials in all .*found 20200"):
        plan(load__per_sender_mbps=loads, **small)
