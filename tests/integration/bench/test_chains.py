"""Chains of forwarding elements with emulated links between them: what goes in comes out, and every hop's part of the delay is known."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import psutil
import pytest

from orchestrator.bench.devices import models
from orchestrator.bench.devices.openvswitch import MODEL as OPENVSWITCH
from orchestrator.bench.testbed import Bench
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction
from rackproof.model.trial import Observation
from rackproof.model.xcf import ENCAPSULATION_BYTES, FIRST_LINK
from testplans.xpfe_delay import procedure
from testplans.xpfe_delay.expansion import expand
from testplans.xpfe_delay.flow import flow
from testplans.xpfe_delay.plan import XpfeDelayPlan

pytestmark = pytest.mark.netns

HOPS, FRAME_BYTES = 3, 500
PLAIN = ("linux-bridge", OPENVSWITCH)
#: Behind the link of this hop frames take longer than its rate says.
PLANTED_HOP, PLANTED_US = 2, 10


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One trial over a chain of a model, and what its second element said of itself."""

    model: str
    seen: Observation
    facts: Mapping[str, str]
    configuration: str

    @property
    def sent(self) -> int:
        return int(self.seen.capture.sent[procedure.MEASURED].first_sequence[-1])

    @property
    def link_bytes(self) -> int:
        """What a frame has on the links."""
        return FRAME_BYTES + (0 if self.model in PLAIN else ENCAPSULATION_BYTES)


def plan_of(model: str) -> XpfeDelayPlan:
    """2 kpps: what every model carries on a busy machine."""
    return XpfeDelayPlan.model_validate(
        {
            "kind": "xpfe-delay",
            "name": "a chain",
            "testbed": "bench",
            "chains": [model],
            "hops": [HOPS],
            "frame_bytes": [FRAME_BYTES],
            "rates_mbps": [8],
            "trial": {"duration_s": 0.25, "warmup_s": 0.05, "drain_s": 0.2, "batches": 10},
            "planted": [{"hop": PLANTED_HOP, "delay_us": PLANTED_US}],
        }
    )


@pytest.fixture(scope="module", params=["xpfe", *PLAIN])
def measured(request: pytest.FixtureRequest, bench: Bench) -> Measured:
    model: str = request.param
    if why := bench.limits_of_models()[model]:
        pytest.skip(f"{model}: {why}")
    plan = plan_of(model)
    (trial,) = expand(plan)
    setup = procedure.setup(plan, trial)
    with bench.assemble(setup.topology) as rig:
        for name, functions in setup.functions.items():
            for function in functions:
                rig.device(name).apply(function)
        second = rig.device(f"{model}-2")
        with pytest.raises(DeviceError, match="cannot do DeviceFunction"):
            second.apply(DeviceFunction())
        return Measured(model=model, seen=procedure.run(plan, trial, 1, rig), facts=second.facts(), configuration=second.configuration())


def test_every_frame_passes_every_link_once_in_order(measured: Measured) -> None:
    samples, health = measured.seen.capture.samples, measured.seen.capture.health
    assert measured.sent > 400
    for port in (*range(FIRST_LINK, FIRST_LINK + HOPS - 1), 0):
        here = samples.port == port
        assert list(samples.sequence[here]) == list(range(measured.sent))
    assert set(samples.frame_bytes[samples.port >= FIRST_LINK].tolist()) == {measured.link_bytes}
    assert set(samples.frame_bytes[samples.port < FIRST_LINK].tolist()) == {FRAME_BYTES}
    assert health["wires.ring_drops"] == health["wires.overflow"] == health["wires.foreign_frames"] == 0


def test_links_take_their_time_and_elements_theirs(measured: Measured) -> None:
    samples = measured.seen.capture.samples
    came_ns, went_ns = samples.tx_ns[samples.port == 0], samples.rx_ns[samples.port == 0]
    behind_ns = came_ns
    for number in range(HOPS - 1):
        here = samples.port == FIRST_LINK + number
        assert (samples.rx_ns[here] - samples.tx_ns[here]).min() >= int((measured.link_bytes + 20) * 8)  # at 1 Gbit/s
        assert np.median(samples.tx_ns[here] - behind_ns) > 0
        behind_ns = samples.rx_ns[here]
    assert np.median(went_ns - behind_ns) > 0


def test_a_planted_delay_is_found_at_its_hop_in_the_records_alone(measured: Measured) -> None:
    if measured.model == OPENVSWITCH:
        pytest.skip("it takes the processor from the links, whose lateness is then in the records too")
    blind = replace(measured.seen.capture, health={})
    for hop, wire in enumerate(flow(plan_of(measured.model), blind, HOPS - 1).path.wires, start=1):
        assert wire.excess_ns / 1e3 == pytest.approx(PLANTED_US if hop == PLANTED_HOP else 0.0, abs=1.0)


def test_elements_count_what_they_forward(measured: Measured) -> None:
    counted = [value for name, value in measured.seen.counters.items() if name.startswith(f"{measured.model}-2.")]
    assert max(counted) >= measured.sent


def test_an_element_says_what_it_is(measured: Measured) -> None:
    assert measured.facts["model"] == measured.model
    if measured.model in PLAIN:
        assert measured.configuration == "bridge br0 west east"
        assert models()[measured.model].objection(DeviceFunction()).startswith(f"{measured.model} cannot do DeviceFunction")


def test_no_element_leaves_a_process_behind(measured: Measured, bench: Bench) -> None:
    assert psutil.Process(bench.pid).children(recursive=True) == []


def test_the_bench_says_what_its_links_carry(bench: Bench) -> None:
    carried = bench.request("wires_fps")
    assert set(carried) == {"xpfe", *PLAIN}
    assert carried[OPENVSWITCH] < carried["linux-bridge"]
