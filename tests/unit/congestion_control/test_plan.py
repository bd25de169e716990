"""What may be asked, what is refused and where, which trials it makes, and what is said of them before anything runs."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from rackproof.errors import PlanError
from rackproof.model.topology import Endpoint
from rackproof.ports import Limits
from testplans.congestion_control import KIND, procedure
from testplans.congestion_control.expansion import expand, schemes_of
from testplans.congestion_control.path import OPPORTUNITY_BYTES, DirectionPart
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.congestion_control.schemes import registry
from testplans.congestion_control.traces.make import SPAN_MS, cellular
from testplans.submission import submission, submission_at

LIMITS = Limits(send_fps=1e6, receive_fps=1e6, link_rate_bps_max={"path": 5e8}, device_models={"path": ""}, options={"path": frozenset()})
TEXT = """
kind: congestion-control
name: a plan
schemes: [cubic, bbr]
mixes: [[cubic, bbr]]
flows: 2
flow_interval_s: 1
runtime_s: 10
repetitions: 2
path:
  forward: {rate_mbps: 40, buffer_bytes: 200000}
"""


def plan(*changes: tuple[str, str]) -> CongestionControlPlan:
    text = TEXT
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    made = submission(text.encode()).plan
    assert isinstance(made, CongestionControlPlan)
    return made


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("schemes: [cubic, bbr]\nmixes: [[cubic, bbr]]", "schemes: []", "schemes: expected at least one scheme, or a mix, found none"),
        ("[cubic, bbr]\nmixes", "[cubic, cubic]\nmixes", "line 4: schemes[1]: expected schemes that differ, found cubic again"),
        (
            "schemes: [cubic, bbr]",
            "schemes: [cubic, vega]",
            "schemes[1]: expected a scheme that `rackproof schemes` lists (such as vegas), found vega",
        ),
        ("mixes: [[cubic, bbr]]", "mixes: [[cubic]]", "line 5: mixes[0]: expected 2 to 8 schemes, found 1"),
        ("flow_interval_s: 1", "flow_interval_s: 10", "flow_interval_s: expected the last of 2 flows to start within the runtime of 10 s"),
        ("rate_mbps: 40, ", "", "path.forward: expected a rate_mbps or a trace, found neither"),
        ("rate_mbps: 40", "rate_mbps: 40, trace: cellular-40", "path.forward.trace: expected a rate or a trace, found both"),
        ("rate_mbps: 40", "trace: ../../etc/passwd", "expected a trace of the box (cellular-40), found ../../etc/passwd"),
        ("runtime_s: 10", "runtime_s: 10\nqdiscs: {vegas: fq}", "qdiscs.vegas: expected a scheme of the plan, found vegas"),
        ("runtime_s: 10", "runtime_s: 10\ncriteria: {utilisation_min: {vegas: 0.9}}", "expected a scheme of the plan, found vegas"),
        ("runtime_s: 10", "runtime_ms: 10", "expected runtime_s"),
    ],
)
def test_a_plan_is_refused_where_it_is_wrong(before: str, after: str, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        plan((before, after))
    assert said in str(refused.value)


def test_every_round_has_every_test_once_in_an_order_of_its_own() -> None:
    made = plan(("repetitions: 2", "repetitions: 20"))
    trials = expand(made)
    assert trials == expand(made)
    rounds = [[str(each.point["scheme"]) for each in trials if each.repetition == run] for run in range(1, 21)]
    assert all(sorted(each) == ["bbr", "cubic", "cubic+bbr"] for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1
    assert {schemes_of(each) for each in trials} == {("cubic", "cubic"), ("bbr", "bbr"), ("cubic", "bbr")}
    assert [each.index for each in trials] == list(range(1, 61))
    in_order = expand(plan(("runtime_s: 10", "runtime_s: 10\norder: plan")))
    assert [each.point["scheme"] for each in in_order] == ["cubic", "bbr", "cubic+bbr"] * 2


def test_each_flow_has_hosts_of_its_own_at_one_path() -> None:
    made = plan()
    setup = procedure.setup(made, expand(made)[0])
    assert [(host.name, host.address) for host in setup.topology.hosts] == [
        ("sender-1", "10.82.1.1/24"),
        ("receiver-1", "10.82.1.2/24"),
        ("sender-2", "10.82.2.1/24"),
        ("receiver-2", "10.82.2.2/24"),
    ]
    assert Endpoint(node="path", port="b2") in {link.b for link in setup.topology.links}
    (function,) = setup.functions["path"]
    assert function == made.path.emulated(expand(made)[0].seed)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"device_models": {}}, "expected a testbed that can emulate a path"),
        ({"device_models": {"path": "no rights"}}, "the path cannot be emulated here: no rights"),
        ({"link_rate_bps_max": {"path": 1e7}}, "path.forward: expected at most 10 Mbit/s, which can be emulated, found 40"),
    ],
)
def test_a_testbed_that_cannot_is_named(limits: dict[str, Any], said: str) -> None:
    rehearsal = KIND.rehearse(plan(), dataclasses.replace(LIMITS, **limits))
    assert any(said in refusal for refusal in rehearsal.refusals), rehearsal.refusals


def test_a_scheme_that_is_not_there_is_a_warning_and_no_refusal() -> None:
    rehearsal = KIND.rehearse(plan(), dataclasses.replace(LIMITS, schemes={"cubic": "", "bbr": "bbr in the kernel: modprobe tcp_bbr"}))
    assert rehearsal.refusals == ()
    assert [each for each in rehearsal.warnings if "bbr cannot run here" in each]
    assert not [each for each in rehearsal.warnings if "cubic cannot" in each]
    assert rehearsal.notes[1].endswith("on 40 Mbit/s, 20 ms, 200 kB; a full buffer adds 40 ms")


@pytest.mark.parametrize("file", sorted(KIND.folder.glob("*.yaml")), ids=lambda file: file.stem)
def test_plans_that_are_ready_to_run_can_be_run(file: Path) -> None:
    ready = submission_at(file)
    assert isinstance(ready.plan, CongestionControlPlan)
    assert KIND.rehearse(ready.plan, LIMITS).refusals == ()
    for trial in ready.trials:
        for scheme in schemes_of(trial):
            assert registry.scheme(scheme).id == scheme
    if file.stem == "demo":
        assert sum(trial.duration_s for trial in ready.trials) <= 60
    if file.stem == "pantheon":
        assert len(ready.trials) == 17 * 3


def test_the_trace_is_what_its_recipe_makes() -> None:
    part = DirectionPart(trace="cellular-40")
    assert list(part.trace_ms) == cellular()
    assert part.trace_ms[-1] == SPAN_MS
    assert part.capacity_bps == len(part.trace_ms) * OPPORTUNITY_BYTES * 8e3 / SPAN_MS
    assert math.isclose(part.capacity_bps, 40e6, rel_tol=0.02)
