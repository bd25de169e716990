"""How a plan becomes trials, traffic and a topology; what a rehearsal says; how the kind is found."""

import dataclasses
import itertools
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from rackproof.errors import GeneratorError, NotFound, SignallingError
from rackproof.model.functions import Discipline, QosScheduler
from rackproof.model.lsp import Signalling
from rackproof.model.topology import GENERATOR, Endpoint
from rackproof.model.traffic import Capture, Traffic
from rackproof.ports import Device, Generator, Host, Limits, Run, Signaller, Tap
from testplans import registry
from testplans.switch_qos import KIND, procedure
from testplans.switch_qos.expansion import expand
from testplans.switch_qos.rehearsal import rehearse
from tests.unit.switch_qos.plans import PAPER, plan, shipped
from tests.unit.switch_qos.simulator import simulate

LIMITS = Limits(
    send_fps=200_000,
    receive_fps=200_000,
    link_rate_bps_max={"linux-htb": 200e6, "reference": 1e9},
    device_models={"linux-htb": "", "reference": "", "linux-ets": "the kernel has no ets"},
    options={"reference": frozenset({"leak", "unfair"})},
)


def test_trials_of_a_device_and_discipline_are_neighbours() -> None:
    trials = expand(plan(shipped("demo"), repetitions=2))
    assert [trial.index for trial in trials] == list(range(1, 61))
    groups = [(trial.point["device"], trial.point["scheduler"]) for trial in trials]
    assert len([1 for before, after in itertools.pairwise(groups) if before != after]) == 5
    assert trials == expand(plan(shipped("demo"), repetitions=2))
    assert trials[0].label == "linux-htb, SP, 10 Mbit/s, repetition 1"
    assert trials[0].point == {"device": "linux-htb", "discipline": "strict-priority", "scheduler": "SP", "load_mbps": 10.0}


def test_devices_see_the_same_frames_and_repetitions_do_not() -> None:
    trials = expand(plan(shipped("demo"), repetitions=2))
    seeds: dict[tuple[Any, int], set[int]] = {}
    for trial in trials:
        seeds.setdefault((trial.point["load_mbps"], trial.repetition), set()).add(trial.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 10
    assert all(0 <= trial.seed < 2**31 for trial in trials)


def test_the_demo_takes_less_than_50_seconds() -> None:
    rehearsal = rehearse(plan(shipped("demo")), LIMITS)
    assert 40 < rehearsal.duration_s < 50
    assert rehearsal.refusals == ()
    assert rehearsal.warnings == ()


def test_notes_say_what_saturates() -> None:
    rehearsal = rehearse(plan(shipped("demo")), LIMITS)
    assert rehearsal.notes[1].startswith("80 Mbit/s offered in all (80 % of the link); no queue saturates;")
    assert "saturated: q0 starves, q1 starves, q2;" in rehearsal.notes[4]
    assert "ideal throughput q0 10, q1 20, q2 30, q3 40 Mbit/s" in rehearsal.notes[10]


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        ({"traffic__frame_bytes": 64}, "expected at most 200000 frames/s in all, which the generator can pace, found 714286 frames/s"),
        ({"link__rate_mbps": 400}, "expected a link of at most 200 Mbit/s for linux-htb, found 400 Mbit/s"),
        ({"devices": ["linux-ets"], "expect": []}, "the model linux-ets cannot be used here: the kernel has no ets"),
        ({"devices": ["cisco"], "expect": []}, "expected a device model of this testbed (linux-ets, linux-htb, reference), found cisco"),
        (
            {"devices": [{"name": "x", "model": "reference", "options": {"leek": 1}}], "expect": []},
            "devices[0] x: expected options of reference (leak, unfair), found leek",
        ),
        (
            {"devices": [{"name": "x", "model": "linux-htb", "options": {"leak": 1}}], "expect": []},
            "expected options of linux-htb (it has none), found leak",
        ),
    ],
)
def test_refusals(paths: dict[str, Any], text: str) -> None:
    assert any(text in refusal for refusal in rehearse(plan(shipped("demo"), **paths), LIMITS).refusals)


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        ({"load__per_sender_mbps": [5, 10]}, "SP: the highest load, 10 Mbit/s, stays below D (50 Mbit/s)"),
        ({"load__per_sender_mbps": [12.4, 60]}, "SP: 12.4 Mbit/s lies at A, where chance decides"),
        ({"traffic__arrivals": "constant"}, "constant streams that share a queue can lock phase"),
        ({"traffic__senders": 6}, "no sender uses q3"),
        ({"queues__length_frames": 5000}, "a full queue takes 0.615 s to empty, long against the measured span of 1 s"),
    ],
)
def test_warnings(paths: dict[str, Any], text: str) -> None:
    assert any(text in warning for warning in rehearse(plan(shipped("demo"), **paths), LIMITS).warnings)


def test_headers() -> None:
    found = procedure.header(plan(PAPER, traffic__vlan_id=7), 6)
    assert found.hex(":") == "02:52:50:00:01:00:02:52:50:00:00:06:81:00:c0:07:88:b5"
    addresses = {procedure.mac(port) for port in [*(procedure.sender_port(sender) for sender in range(64)), procedure.RECEIVER]}
    assert len(addresses) == 65


def test_traffic_is_the_plans_load() -> None:
    given = plan(shipped("demo"))
    trial = expand(given)[4]
    found = procedure.traffic(given, trial, 17)
    assert (found.campaign, found.trial, found.seed) == (17, trial.index, trial.seed)
    assert found.rate_fps * (1518 + 20) * 8 == pytest.approx(480e6)
    assert [stream.id for stream in found.streams] == list(range(8))
    assert {(stream.tx_port, stream.rx_port) for stream in found.streams} == {(f"s{sender}", "r0") for sender in range(8)}
    assert (found.warmup_s, found.duration_s, found.batches) == (0.25, 1.0, 20)


def test_setup_is_shared_by_neighbours_and_by_nobody_else() -> None:
    given = plan(shipped("demo"))
    setups = [procedure.setup(given, trial) for trial in expand(given)]
    assert setups[0] == setups[4]
    assert setups[4] != setups[5]
    assert Endpoint(node=GENERATOR, port="r0") in {link.a for link in setups[0].topology.links}
    assert len(setups[0].topology.links) == 9
    (function,) = setups[5].functions["linux-htb"]
    assert isinstance(function, QosScheduler)
    assert function.discipline is Discipline.WRR_BYTES
    assert (function.port, function.link_rate_bps, function.queues, function.queue_frames) == ("out", 100_000_000, 4, 100)
    assert setups[-1].topology.devices[0].options == {"leak": 0.05, "unfair": 0.5}


def test_a_generator_that_cannot_send_by_the_plans_law_refuses_it() -> None:
    limits = dataclasses.replace(LIMITS, arrivals={"poisson": "it knows constant gaps alone"})
    said = "traffic.arrivals: poisson cannot be sent here: it knows constant gaps alone"
    assert said in rehearse(plan(shipped("demo")), limits).refusals
    assert said not in rehearse(plan(shipped("demo"), traffic__arrivals="constant"), limits).refusals


class FakeRig:
    """A rig, its device, its generator and the traffic under way, all in one: the device counts, the generator gives what it is told to."""

    name = "linux-htb"

    def __init__(self, capture: Capture | None) -> None:
        self._capture = capture
        self._reads = 0
        self.stopped = False

    @property
    def generator(self) -> Generator:
        return self

    def device(self, name: str) -> Device:
        assert name == self.name
        return self

    def host(self, name: str) -> Host:
        raise KeyError(name)

    def tap(self, device: str) -> Tap:
        raise KeyError(device)

    def wires(self) -> None:
        return None

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        raise SignallingError("nothing signals here")

    def withdraw(self, device: str, why: str) -> None: ...

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def facts(self) -> Mapping[str, str]:
        return {}

    def configuration(self) -> str:
        return ""

    def apply(self, function: Any) -> None: ...

    def check(self, function: Any) -> None: ...

    def restore(self) -> None: ...

    def counters(self) -> Mapping[str, int]:
        self._reads += 1
        return {"queue.0.dropped": 5 * self._reads, "delivery_lateness_p99_ns": 900}

    def start(self, traffic: Traffic) -> Run:
        return self

    def wait(self) -> Capture:
        if self._capture is None:
            raise GeneratorError("gone")
        return self._capture

    def stop(self) -> None:
        self.stopped = True


def test_counters_are_those_of_the_trial_and_readings_are_as_read() -> None:
    given = plan(shipped("demo"))
    trial = expand(given)[0]
    capture = simulate(given, trial).capture
    observation = procedure.run(given, trial, 1, FakeRig(capture))
    assert observation.capture is capture
    assert observation.counters == {"queue.0.dropped": 5, "delivery_lateness_p99_ns": 900}


def test_traffic_is_stopped_when_the_trial_breaks() -> None:
    given = plan(shipped("demo"))
    rig = FakeRig(None)
    with pytest.raises(GeneratorError):
        procedure.run(given, expand(given)[0], 1, rig)
    assert rig.stopped


def test_the_registry_finds_the_kind() -> None:
    assert registry.kind("switch-qos") is KIND
    with pytest.raises(NotFound, match=r"no kind of plan 'qos'; there are: .*switch-qos"):
        registry.kind("qos")
    assert KIND.expectation(plan(shipped("demo"))) == {"reference-faulty": ("sp.leak", "sp.top_share", "fairness", "throughput.deviation")}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("import nothing_of_that_name", "cannot be imported: ModuleNotFoundError"),
        ("", "expected a KIND in its __init__.py, found none"),
        ("class K: name = 'x'\nKIND = K()", "found none of title, summary, folder, plan_model, translated, expand"),
    ],
)
def test_a_broken_kind_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, text: str) -> None:
    package = tmp_path / f"broken_{abs(hash(content))}"
    package.mkdir()
    (package / "__init__.py").write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(registry.BrokenKind) as caught:
        registry.load(package.name)
    assert str(caught.value).startswith(package.name)
    assert text in str(caught.value)
    sys.modules.pop(package.name, None)


def test_trials_are_plain_values() -> None:
    for trial in expand(plan(shipped("demo"))):
        assert all(isinstance(value, int | float | str) for value in trial.point.values())
        assert dataclasses.is_dataclass(trial)
