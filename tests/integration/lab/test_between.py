"""A comparison between two real hosts, by the kind's own procedure: schemes over SSH, packets by captures at both ends."""

import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from orchestrator.lab import between
from orchestrator.lab.clocks import Reading
from rackproof.errors import LabError, SignallingError
from rackproof.model.inventory import Inventory, LinkEntry
from rackproof.model.lsp import Signalling
from rackproof.model.path import Direction, EmulatedPath
from rackproof.model.verdict import Verdict
from rackproof.ports import Device, Generator, Host, Signaller, Tap
from testplans.congestion_control import KIND
from testplans.submission import submission
from tests.lab.pair import PORT, Pair, host_pair

pytestmark = [pytest.mark.netns, pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3 (Debian package iperf3)")]

PLAN = """
kind: congestion-control
name: side by side
testbed: lab1
mixes: [[cubic, reno]]
qdiscs: {cubic: pfifo}
runtime_s: 2
repetitions: 1
path: {hosts: [sender-1, receiver-1]}
"""
SLOW = Direction(rate_bps=20e6, delay_ms=10.0, buffer_bytes=60_000)


class Rig:
    """The hosts and taps of a lab, without any device."""

    def __init__(self, ends: between.Joined) -> None:
        self._ends = ends

    @property
    def generator(self) -> Generator:
        raise LabError("there is none")

    def device(self, name: str) -> Device:
        raise KeyError(name)

    def host(self, name: str) -> Host:
        return self._ends.hosts[name]

    def tap(self, device: str) -> Tap:
        return self._ends.taps[device]

    def wires(self) -> None:
        return None

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        raise SignallingError("nothing signals here")

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def withdraw(self, device: str, why: str) -> None:
        raise KeyError(device)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with host_pair() as pair:
        yield pair


def inventory(pair: Pair, *, speed_mbps: float = 1000.0) -> Inventory:
    """Both hosts at a switch; the receiver's cable is the slower one."""
    cables = (
        LinkEntry(a=f"sender-1:{PORT}", b="switch:1", speed_mbps=10 * speed_mbps),
        LinkEntry(a=f"receiver-1:{PORT}", b="switch:2", speed_mbps=speed_mbps),
    )
    return Inventory(name="lab1", hosts=pair.entries, links=cables)


def test_two_schemes_side_by_side(pair: Pair) -> None:
    made = submission(PLAN.encode())
    (trial,) = made.trials
    setup, lab = KIND.setup(made.plan, trial), inventory(pair)
    pair.path.apply(EmulatedPath(forward=SLOW, backward=SLOW, seed=1))
    with between.joined(setup.topology, lab, clock=lambda _: Reading(offset_ms=0.0, bound_ms=0.1, source="told by the test")) as ends:
        observation = KIND.run(made.plan, trial, 1, Rig(ends))
        assert "pfifo" not in pair.boxes[0].run("tc", "qdisc", "show", "dev", PORT)
    result = KIND.analyse(made.plan, trial, observation, between.calibration())
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    assert observation.notes == {"algorithm.1": "cubic", "algorithm.2": "reno"}
    numbers = {(each.name, each.subject["flow"]): each.value for each in result.measurements}
    assert numbers["capacity", "all"] == 1000
    assert 5 < numbers["throughput", "all"] <= 20.01
    # That of a flow is over its own time, which is shorter than that of both.
    flows = [numbers["throughput", flow] for flow in ("1", "2")]
    assert 0 < max(flows) <= 20.01
    assert sum(flows) >= 0.99 * numbers["throughput", "all"]
    assert 0.5 <= numbers["jain", "all"] <= 1
    assert numbers["delay.floor", "all"] == pytest.approx(10.0, abs=1.0)
    assert 0 < numbers["queueing.p95", "all"] < 400  # 24 ms make the buffer full, and a busy host adds to them
    assert numbers["cpu.sender", "1"] > 0
    assert result.health["unassigned"] == result.health["unpaired"] == 0


def test_hosts_and_cables_are_found_in_the_inventory(pair: Pair) -> None:
    made = submission(PLAN.encode())
    topology = KIND.setup(made.plan, made.trials[0]).topology
    lab = inventory(pair)
    found = between.wire(topology, lab)
    assert found.objections == ()
    assert {name: entry.platform for name, entry in found.devices.items()} == {"sender-1": "linux", "receiver-1": "linux"}
    assert found.device_ports["sender-1"] == {"eth0": PORT}
    wrong: dict[str, dict[str, Any]] = {
        "testbed lab1: receiver-1: expected a cable at its port test0, found none": {"links": lab.links[:1]},
        "testbed lab1: expected a host of the inventory (sender-1), found receiver-1": {"hosts": lab.hosts[:1]},
    }
    for said, changes in wrong.items():
        assert said in between.wire(topology, lab.model_copy(update=changes)).objections
