"""A path between two real hosts: what may be asked, what it needs of a testbed, when a trial counts, and what the report says of it."""

import dataclasses
import math
from collections.abc import Mapping

import pytest

from rackproof.errors import PlanError
from rackproof.model.functions import HostTuning
from rackproof.model.path import BETWEEN_HOSTS
from rackproof.model.traffic import Calibration
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from rackproof.ports import Limits
from testplans.congestion_control import KIND, procedure
from testplans.congestion_control.analysis import analyse
from testplans.congestion_control.expansion import expand
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.submission import submission
from tests.unit.congestion_control import campaigns
from tests.unit.congestion_control.packets import Row, observation, packets, trial
from tests.unit.congestion_control.test_sections import found, report, words

HOSTS = {"hosts": ["sender-1", "receiver-1"]}
LIMITS = Limits(
    send_fps=0.0,
    receive_fps=0.0,
    link_rate_bps_max={},
    device_models={},
    options={},
    hosts={"sender-1": "", "receiver-1": "", "old": "it burnt"},
)
TEXT = """
kind: congestion-control
name: between hosts
testbed: lab1
schemes: [cubic, bbr]
mixes: [[cubic, bbr]]
runtime_s: 1
path: {hosts: [sender-1, receiver-1]}
"""
CALIBRATION = Calibration(
    delay_floor_us=math.nan, timestamp_error_us_p50=math.nan, timestamp_error_us_p99=math.nan, honest_fps=math.nan, frames=0
)
#: What captures of a trial say where nothing is wrong.
HEALTH = {
    "link_speed_mbps": 100.0,
    "clock_offset.sender_ms": 0.5,
    "clock_offset.receiver_ms": -0.25,
    "clock_bound.sender_ms": 0.3,
    "clock_bound.receiver_ms": 0.2,
    "clock_moved.sender_ms": 0.1,
    "clock_moved.receiver_ms": 0.0,
    "capture_drops.sender": 0.0,
    "capture_drops.receiver": 0.0,
}


def plan(before: str = "", after: str = "") -> CongestionControlPlan:
    assert before in TEXT
    made = submission(TEXT.replace(before, after).encode() if before else TEXT.encode()).plan
    assert isinstance(made, CongestionControlPlan)
    return made


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "[sender-1, receiver-1]",
            "[sender-1]",
            "line 8: path.hosts: expected two hosts that differ: the sender and the receiver, found sender-1",
        ),
        ("[sender-1, receiver-1]", "[sender-1, sender-1]", "expected two hosts that differ"),
        ("receiver-1]", "receiver-1], forward: {rate_mbps: 40}", "path.forward: expected nothing beside hosts"),
        ("hosts: [sender-1, receiver-1]", "", "path: expected forward (an emulated path) or hosts (two of a testbed), found neither"),
        ("hosts:", "host:", "path.host: expected hosts"),
        ("[sender-1, ", "['a b', ", "path.hosts[0]"),
        (
            "runtime_s: 1",
            "runtime_s: 1\nqdiscs: {cubic: fq, bbr: pfifo}",
            "qdiscs: expected one discipline for all flows of cubic+bbr, which leave by one port of sender-1, found fq and pfifo",
        ),
        ("cubic, bbr]\nm", "cubic, vega]\nm", "expected a scheme that `rackproof schemes` lists"),
    ],
)
def test_a_plan_is_refused_where_it_is_wrong(before: str, after: str, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        plan(before, after)
    assert said in str(refused.value)


def test_all_trials_have_one_setup_of_two_hosts_that_are_tuned() -> None:
    made = plan()
    setup, *others = (procedure.setup(made, each) for each in expand(made))
    assert all(other == setup for other in others)
    assert [host.name for host in setup.topology.hosts] == ["sender-1", "receiver-1"]
    (path,) = setup.topology.devices
    assert (path.model, path.options) == (BETWEEN_HOSTS, {"first_port": 5201, "flows": 2})
    for host in ("sender-1", "receiver-1"):
        (function,) = setup.functions[host]
        assert isinstance(function, HostTuning)
        assert function.features["eth0"]["generic-receive-offload"] is False
    assert procedure.ends(made, 1) == procedure.ends(made, 2) == ("sender-1", "receiver-1")


def test_a_testbed_without_these_hosts_is_named() -> None:
    assert KIND.rehearse(plan(), LIMITS).refusals == ()
    assert KIND.rehearse(plan("receiver-1]", "old]"), LIMITS).refusals == ("path.hosts[1]: old cannot be used here: it burnt",)
    (refusal,) = KIND.rehearse(plan("receiver-1]", "router]"), LIMITS).refusals
    assert refusal == "path.hosts[1]: expected a host of the testbed (sender-1, receiver-1, old), found router"
    on_bench = KIND.rehearse(plan(), dataclasses.replace(LIMITS, hosts={}, device_models={"path": ""}))
    assert "expected a host of the testbed (it has none), found sender-1" in on_bench.refusals[0]
    assert KIND.rehearse(plan(), LIMITS).notes[1].endswith("for 1 s from sender-1 to receiver-1")


def analysed(changes: Mapping[str, float], delay_ms: float = 10.0) -> TrialResult:
    rows: list[Row] = [(float(at), at + delay_ms + at % 3, 1, 1250) for at in range(1000)]
    seen = observation(packets(rows), notes={"algorithm.1": "cubic"}, health={**HEALTH, **changes})
    return analyse(plan(), trial(), seen, CALIBRATION)


def test_use_is_of_the_link_and_queueing_above_the_least_delay_seen() -> None:
    result = analysed({})
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    numbers = {each.name: each.value for each in result.measurements if each.subject["flow"] == "all"}
    assert numbers["capacity"] == 100
    assert numbers["utilisation"] == pytest.approx(0.1, rel=0.01)
    assert numbers["delay.floor"] == 10
    assert numbers["queueing.p95"] == 2


@pytest.mark.parametrize(
    ("changes", "delay_ms", "said"),
    [
        ({"capture_drops.receiver": 3.0}, 10.0, "receiver-1 could not capture 3 packets: what became of them is not known"),
        ({"aggregated.sender": 7.0}, 10.0, "sender-1 captured 7 packets larger than its port's MTU: segmentation or receive offload is on"),
        ({"fragments.sender": 2.0}, 10.0, "sender-1 captured 2 fragments"),
        ({}, -0.6, "a packet arrived 0.600 ms before it left, and the clocks are known to 0.500 ms: an offset is wrong"),
        ({"clock_moved.sender_ms": -0.7}, 10.0, "the clock of sender-1 moved by -0.700 ms against the time (known to 0.300 ms)"),
        ({"unpaired": 2.0}, 10.0, "2 packets arrived that were never seen to leave"),
        ({"unassigned": 2.0}, 10.0, "2 packets belong to no flow"),
    ],
)
def test_a_trial_that_cannot_be_trusted_says_why(changes: dict[str, float], delay_ms: float, said: str) -> None:
    result = analysed(changes, delay_ms)
    assert result.verdict is Verdict.INVALID
    assert said in result.reason


@pytest.mark.parametrize(("changes", "delay_ms"), [({"unpaired": 1.0}, 10.0), ({"duplicated": 500.0}, 10.0), ({}, -0.4)])
def test_what_may_be_is_no_reason(changes: dict[str, float], delay_ms: float) -> None:
    assert analysed(changes, delay_ms).verdict is Verdict.PASS


def test_the_report_shows_hosts_offsets_their_bounds_and_drops() -> None:
    made = campaigns.made_up(path=HOSTS, schemes=["cubic"], repetitions=2)
    trials = tuple(
        dataclasses.replace(each, result=dataclasses.replace(each.result, health={**each.result.health, **HEALTH}))
        for each in made.trials
        if each.result is not None
    )
    whole = report(dataclasses.replace(made, trials=trials))
    setup = words(found(whole, "What was compared").blocks)
    assert setup["Path"] == "from sender-1 to receiver-1"
    assert setup["Hosts"].startswith("sender-1 sends, receiver-1 receives")
    assert "the slower cable of the two hosts in the inventory" in setup["Utilisation is of"]
    assert setup["Queueing delay is above"] == "the least one-way delay that the run saw"
    assert "Way back" not in setup
    run = words(found(whole, "Run 1: Statistics of TCP Cubic").blocks)
    assert run["Sender clock offset"] == "0.500 ± 0.300 ms"
    assert run["Receiver clock offset"].endswith("0.250 ± 0.200 ms")
    assert run["Not captured by the sender"] == "0 packets"


def test_versions_of_this_machine_are_not_those_of_the_hosts() -> None:
    assert KIND.provenance(plan())["Scheme cubic"] == {"label": "TCP Cubic", "version": "as sender-1 and receiver-1 have it"}
