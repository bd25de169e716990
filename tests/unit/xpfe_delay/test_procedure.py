"""What stands between the generator's ports, what the elements know, and what is brought back?"""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

from rackproof.errors import GeneratorError, SignallingError
from rackproof.model.lsp import Signalling
from rackproof.model.topology import GENERATOR, Endpoint
from rackproof.model.traffic import Capture, Traffic
from rackproof.model.xcf import FIRST_LINK, ForwardingElement, Station
from rackproof.ports import Device, Generator, Host, Run, Signaller, Tap
from testplans.xpfe_delay import xcf
from testplans.xpfe_delay.expansion import expand
from testplans.xpfe_delay.procedure import header, run, setup, traffic
from tests.unit.xpfe_delay.records import Chain, observe, plan


def carried(elements: list[ForwardingElement], i_sid: int, source: int, destination: str, c_vlan: int) -> str:
    """The UNI port through which a frame leaves that comes in at element `source` (from 1): the tables followed by hand."""
    services = {each.i_sid: each for each in elements[source - 1].services}
    assert any(each.c_vlan == c_vlan for each in services[i_sid].attachments)
    station = next(each for each in elements[source - 1].stations if (each.i_sid, each.address) == (i_sid, destination))
    if station.port is not None:
        return f"{source}:{station.port}"
    at = source
    while elements[at - 1].address != station.element:
        route = next(each for each in elements[at - 1].routes if (each.address, each.b_vlan) == (station.element, services[i_sid].b_vlan))
        (port,) = route.ports
        assert port in elements[at - 1].nni
        at += 1 if port == xcf.EAST else -1
    there = next(each for each in elements[at - 1].stations if (each.i_sid, each.address) == (i_sid, destination))
    service = next(each for each in elements[at - 1].services if each.i_sid == i_sid)
    assert any((each.port, each.c_vlan) == (there.port, c_vlan) for each in service.attachments)
    return f"{at}:{there.port}"


@pytest.mark.parametrize("hops", range(1, 9))
@pytest.mark.parametrize("background", [False, True])
def test_tables_lead_both_services_to_where_they_belong(hops: int, background: bool) -> None:
    elements = [xcf.element(number, hops, background=background) for number in range(1, hops + 1)]
    assert carried(elements, xcf.I_SID, 1, xcf.mac(xcf.RX), xcf.C_VLAN) == f"{hops}:out"
    assert carried(elements, xcf.I_SID, hops, xcf.mac(xcf.TX), xcf.C_VLAN) == "1:uni"
    for hop in range(1, hops) if background else ():
        i_sid, c_vlan = xcf.BACKGROUND_I_SID + hop, xcf.BACKGROUND_C_VLAN + hop
        assert carried(elements, i_sid, hop, xcf.mac(xcf.background_port(hop + 1)), c_vlan) == f"{hop + 1}:bg"
        assert carried(elements, i_sid, hop + 1, xcf.mac(xcf.background_port(hop)), c_vlan) == f"{hop}:bg"
    for element in elements:
        assert all((station.port is None) != (station.element is None) for station in element.stations)
        assert all(station.element != element.address for station in element.stations)
        assert {station.i_sid for station in element.stations} <= {service.i_sid for service in element.services}


def test_transit_elements_know_no_service() -> None:
    found = xcf.element(2, 3, background=False)
    assert (found.services, found.stations, found.uni, found.nni) == ((), (), (), ("west", "east"))


def test_a_chain_of_one_delivers_locally() -> None:
    found = xcf.element(1, 1, background=False)
    assert (found.uni, found.nni, found.routes) == (("uni", "out"), (), ())
    assert found.stations[1] == Station(i_sid=0x10001, address="02:52:50:00:01:00", port="out")


def test_only_links_between_elements_are_wires() -> None:
    given = plan(hops=[3], planted=[{"hop": 2, "delay_us": 10}], background={"per_hop_mbps": 50})
    made = setup(given, expand(given)[0]).topology
    wires = [link.wire for link in made.links if link.wire is not None]
    assert [(wire.rate_bps, wire.queue_frames, wire.delay_us) for wire in wires] == [(1e9, 1000, 0), (1e9, 1000, 10)]
    ends = {(link.a, link.b.node, link.b.port) for link in made.links if link.wire is None}
    assert ends == {
        (Endpoint(node=GENERATOR, port="tx"), "xpfe-1", "uni"),
        (Endpoint(node=GENERATOR, port="rx"), "xpfe-3", "out"),
        *((Endpoint(node=GENERATOR, port=f"g{number}"), f"xpfe-{number}", "bg") for number in (1, 2, 3)),
    }
    assert [device.name for device in made.devices] == ["xpfe-1", "xpfe-2", "xpfe-3"]


def test_plain_forwarders_are_given_no_tables() -> None:
    given = plan(chains=["linux-bridge"])
    assert set(setup(given, expand(given)[0]).functions.values()) == {()}


def test_frames_are_of_the_service_that_the_tables_know() -> None:
    assert header("tx", "rx", 10).hex(":") == "02:52:50:00:01:00:02:52:50:00:00:00:81:00:00:0a:88:b5"
    given = plan(hops=[3], background={"per_hop_mbps": 50, "frame_bytes": 200})
    found = traffic(given, expand(given)[0], 17)
    assert [(each.id, each.tx_port, each.rx_port) for each in found.streams] == [(0, "tx", "rx"), (1, "g1", "g2"), (2, "g2", "g3")]
    assert found.streams[0].rate_fps * 1000 * 8 == pytest.approx(80e6)
    assert found.streams[2].rate_fps * 200 * 8 == pytest.approx(50e6)
    assert found.streams[2].header[12:16] == bytes([0x81, 0, 0, 22])


class FakeRig:
    """A rig; it writes down what is asked of its parts, in order."""

    def __init__(self, generated: Capture, wires: Capture | None, fails: bool = False) -> None:
        self._generated, self._wires, self.fails = generated, wires, fails
        self.asked: list[str] = []

    @property
    def generator(self) -> Generator:
        return _Part(self, "generator", self._generated)

    def wires(self) -> Tap | None:
        return None if self._wires is None else _Part(self, "wires", self._wires)

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        raise SignallingError("nothing signals here")

    def device(self, name: str) -> Device:
        return _Element(self, name)

    def host(self, name: str) -> Host:
        raise KeyError(name)

    def tap(self, device: str) -> Tap:
        raise KeyError(device)

    def withdraw(self, device: str, why: str) -> None: ...

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class _Element:
    """An element with one counter that moves whenever something is asked, and one that does not."""

    def __init__(self, rig: FakeRig, name: str) -> None:
        self._rig, self.name = rig, name

    def facts(self) -> Mapping[str, str]:
        return {}

    def configuration(self) -> str:
        return ""

    def apply(self, function: Any) -> None: ...

    def check(self, function: Any) -> None: ...

    def restore(self) -> None: ...

    def counters(self) -> Mapping[str, int]:
        self._rig.asked.append("counters")
        return {"oam.local": 7, "moved": len(self._rig.asked)}


class _Part:
    """The generator or the tap of the rig, and its run."""

    def __init__(self, rig: FakeRig, name: str, capture: Capture) -> None:
        self._rig, self._name, self._capture = rig, name, capture

    def start(self, traffic: Traffic | None = None) -> Run:
        self._rig.asked.append(f"{self._name} starts")
        return self

    def stop(self) -> None:
        self._rig.asked.append(f"{self._name} stops")

    def wait(self) -> Capture:
        if self._rig.fails and self._name == "generator":
            raise GeneratorError("gone")
        self._rig.asked.append(f"{self._name} ends")
        return self._capture


def _captures() -> tuple[Capture, Capture]:
    given = plan(hops=[2])
    generated = observe(given, Chain(hops=2, fps=1000), taps=False).capture
    both = observe(given, Chain(hops=2, fps=1000)).capture
    wires = Capture(samples=both.samples, sent={}, batch_starts_ns=np.zeros(2, np.int64), health={"ring_drops": 3.0})
    return generated, wires


def test_links_record_from_before_the_first_frame_to_after_the_last() -> None:
    given = plan(hops=[2])
    rig = FakeRig(*_captures())
    found = run(given, expand(given)[0], 17, rig)
    assert rig.asked[2:-2] == ["wires starts", "generator starts", "generator ends", "wires stops", "wires ends"]
    assert set(found.capture.samples.port.tolist()) == {1, FIRST_LINK}
    assert found.capture.health["wires.ring_drops"] == 3
    assert found.counters == {"xpfe-1.moved": 7, "xpfe-2.moved": 7}


def test_where_the_generator_fails_nothing_goes_on() -> None:
    given = plan(hops=[2])
    rig = FakeRig(*_captures(), fails=True)
    with pytest.raises(GeneratorError):
        run(given, expand(given)[0], 17, rig)
    assert rig.asked[-2:] == ["generator stops", "wires stops"]


def test_without_emulated_links_the_generator_is_all_there_is() -> None:
    given = plan(hops=[2])
    generated, _ = _captures()
    found = run(given, expand(given)[0], 17, FakeRig(generated, None))
    assert found.capture is generated
