"""What stands between the generator's ports, what do routers and signaller get, and what is brought back?"""

import socket
import struct
import time
from itertools import pairwise
from types import SimpleNamespace

import pytest

from rackproof.errors import GeneratorError
from rackproof.model.functions import Mpls
from rackproof.model.lsp import FIRST_EVENT, EventKind, LabelMode, Ler
from rackproof.model.topology import GENERATOR, Endpoint, Topology
from rackproof.model.traffic import Samples
from rackproof.units import Layer
from testplans.mpls_flap import addresses, configured
from testplans.mpls_flap.configured import FIRST_LABEL
from testplans.mpls_flap.expansion import expand
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.mpls_flap.procedure import run, setup, signalling
from testplans.mpls_flap.traffic import header, stable_streams, traffic
from tests.unit.mpls_flap.plans import FakeRig, events, plan, up

SHAPES = [("router", 1), *(("chain", routers) for routers in (2, 3, 8)), *(("ring", routers) for routers in (3, 4, 7, 8))]


def network(shape: str, routers: int, **changes: object) -> MplsFlapPlan:
    return plan(networks=[{"name": "net", "model": "soft-lsr", "shape": shape, "routers": routers}], **changes)


def routers_of(given: MplsFlapPlan) -> tuple[Topology, dict[str, Mpls]]:
    made = setup(given, expand(given)[-1])
    functions = {}
    for name, (function,) in made.functions.items():
        assert isinstance(function, Mpls)
        functions[name] = function
    return made.topology, functions


def beyond(topology: Topology, end: Endpoint) -> Endpoint:
    """Where a cable leads from a port."""
    (other,) = [two[1 - at] for two in ((link.a, link.b) for link in topology.links) for at in (0, 1) if two[at] == end]
    return other


@pytest.mark.parametrize(("shape", "routers"), SHAPES)
def test_both_ends_of_every_cable_are_in_one_network(shape: str, routers: int) -> None:
    topology, functions = routers_of(network(shape, routers))
    address = {Endpoint(node=name, port=each.port): each.address for name, function in functions.items() for each in function.interfaces}
    address |= {Endpoint(node=GENERATOR, port=ler.port): f"{ler.address}/30" for ler in (addresses.INGRESS, addresses.EGRESS)}
    assert sorted(end for link in topology.links for end in (link.a, link.b)) == sorted(address)
    assert len(set(address.values())) == len(address)
    for link in topology.links:
        one, other = (address[end].removesuffix("/30") for end in (link.a, link.b))
        assert sorted(_host(each) & 3 for each in (one, other)) == [1, 2]
        assert _host(one) >> 2 == _host(other) >> 2
    ends = {ler.port: beyond(topology, Endpoint(node=GENERATOR, port=ler.port)) for ler in (addresses.INGRESS, addresses.EGRESS)}
    assert address[ends["in"]] == f"{addresses.INGRESS.neighbour}/30"
    assert address[ends["out"]] == f"{addresses.EGRESS.neighbour}/30"
    assert len({function.router_id for function in functions.values()}) == routers


def _host(address: str) -> int:
    return int.from_bytes(socket.inet_aton(address))


@pytest.mark.parametrize(("shape", "routers"), SHAPES)
@pytest.mark.parametrize(("to", "start", "port"), [(addresses.EGRESS, 1, "out"), (addresses.INGRESS, 0, "in")])
def test_routes_lead_to_both_ends(shape: str, routers: int, to: Ler, start: int, port: str) -> None:
    topology, functions = routers_of(network(shape, routers))
    at = beyond(topology, Endpoint(node=GENERATOR, port="in" if start else "out"))
    passed = 0
    while at.node != GENERATOR:
        passed += 1
        mine = functions[at.node]
        hop = mine.routes[f"{to.router_id}/32"]
        (out,) = [each.port for each in mine.interfaces if _host(each.address[:-3]) >> 2 == _host(hop) >> 2]
        at = beyond(topology, Endpoint(node=at.node, port=out))
    assert (at.port, passed) == (port, routers if shape != "ring" else 1 + routers // 2)


@pytest.mark.parametrize(("shape", "routers"), SHAPES)
@pytest.mark.parametrize("labels", LabelMode)
def test_static_labels_lead_every_lsp_to_the_egress(shape: str, routers: int, labels: LabelMode) -> None:
    given = network(shape, routers, signalling={"by": "configuration", "labels": labels})
    topology, functions = routers_of(given)
    assert not any(each.rsvp for function in functions.values() for each in function.interfaces)
    for lsp in range(10):
        at, ways = beyond(topology, Endpoint(node=GENERATOR, port="in")), []
        label: int | None = FIRST_LABEL + lsp
        while at.node != GENERATOR:
            entry = next(each for each in functions[at.node].labels if each.in_label == label)
            mine = next(each.address for each in functions[at.node].interfaces if each.port == entry.port)
            assert _host(entry.next_hop) ^ _host(mine[:-3]) == 3
            ways.append(at.node)
            at, label = beyond(topology, Endpoint(node=at.node, port=entry.port)), entry.out_label
        assert at.port == "out"
        assert label == {LabelMode.NEXT_FREE: FIRST_LABEL + lsp, LabelMode.IMPLICIT_NULL: None, LabelMode.EXPLICIT_NULL: 0}[labels]
        if shape == "ring":
            assert ways[1] == ("net-2" if lsp % 2 == 0 else f"net-{routers}")


@pytest.mark.parametrize(("shape", "routers"), SHAPES)
def test_explicit_routes_name_every_router_and_go_round_a_ring_both_ways(shape: str, routers: int) -> None:
    given = network(shape, routers)
    topology, functions = routers_of(given)
    owner = {each.address[:-3]: (name, each.port) for name, function in functions.items() for each in function.interfaces}
    routes = signalling(given, expand(given)[0], 1).routes
    passed = [1 + routers // 2, 1 + routers - routers // 2] if shape == "ring" else [routers]
    assert [len(route) - 1 for route in routes] == passed
    for route in routes:
        assert (route[0], route[-1]) == (addresses.INGRESS.neighbour, addresses.EGRESS.address)
        for before, hop in pairwise(route[:-1]):
            name, port = owner[hop]
            assert beyond(topology, Endpoint(node=name, port=port)).node == owner[before][0]


def test_links_say_what_they_carry_at_layer_1() -> None:
    topology, _ = routers_of(plan())
    assert [link.rate_bps for link in topology.links] == pytest.approx([40e6 * 532 / 512] * 2)


def test_a_labelled_frame_has_an_ip_packet_where_there_is_room() -> None:
    found = header(up(range(20)), 13, 512)
    assert found[:14].hex(":") == "02:00:00:00:00:02:02:00:00:00:00:01:88:47"
    assert int.from_bytes(found[14:18]) == (113 << 12 | 5 << 9 | 1 << 8 | 64)
    packet = found[18:]
    assert len(packet) == 28
    assert sum(struct.unpack(">10H", packet[:20])) % 0xFFFF == 0
    version, length, ttl, protocol = packet[0], int.from_bytes(packet[2:4]), packet[8], packet[9]
    assert (version, length, ttl, protocol) == (0x45, 512 - 22, 64, 17)
    assert (socket.inet_ntoa(packet[12:16]), socket.inet_ntoa(packet[16:20])) == ("10.83.254.1", "10.83.254.2")
    assert struct.unpack(">4H", packet[20:]) == (7, 7, 512 - 42, 0)
    assert len(header(up(range(20)), 13, 64)) == 18


def test_traffic_goes_over_the_stable_lsps_that_are_up() -> None:
    given = plan()
    trial = expand(given)[1]
    found = traffic(given, trial, 17, up(range(1, 10)), stable_streams(given, trial))
    assert [stream.id for stream in found.streams] == [1, 2, 3]
    assert {stream.rate_fps * 4 * 512 * 8 for stream in found.streams} == {40e6}
    assert (found.duration_s, found.drain_s, found.campaign, found.trial) == (1.6, 0.1, 17, 2)


def test_traffic_and_phases_begin_together_after_all_lsps_are_up() -> None:
    given = plan()
    rig = FakeRig(up(range(10), refused={"PATH_ERR 24/5": 2}), phases=events((1.0, EventKind.FLAP_BEGIN, 1)))
    found = run(given, expand(given)[1], 17, rig)
    assert rig.asked == [
        *("counters", "establish", "traffic starts", "phases start", "traffic ends", "phases ends", "release", "lers close", "counters"),
    ]
    (asked,) = rig.signalling
    assert (asked.stable, asked.flapped, asked.campaign, asked.trial) == (4, 6, 17, 2)
    assert asked.probing is not None
    assert found.capture.samples.port.tolist() == [FIRST_EVENT + EventKind.FLAP_BEGIN]
    health = {name: found.capture.health[name] for name in ("lateness_p99_us", "lsp.ring_drops", "lsp.stable_up", "lsp.established")}
    assert health == {"lateness_p99_us": 5, "lsp.ring_drops": 2, "lsp.stable_up": 4, "lsp.established": 10}
    assert found.counters == {"soft-lsr.forwarded": 8, "signaller.tears_tx": 12}
    assert found.notes == {"refused": "PATH_ERR 24/5: 2"}


def test_without_a_stable_lsp_the_others_flap_without_traffic() -> None:
    given = plan()
    rig = FakeRig(up(range(4, 10)), phases=events((1.0, EventKind.FLAP_BEGIN, 1)))
    found = run(given, expand(given)[1], 17, rig)
    assert "traffic starts" not in rig.asked
    assert rig.asked.index("phases start") < rig.asked.index("release")
    assert (found.capture.sent, len(found.capture.batch_starts_ns), len(found.capture.samples)) == ({}, 21, 1)


def test_where_the_generator_fails_nothing_goes_on() -> None:
    given = plan()
    rig = FakeRig(up(range(10)), fails=True)
    with pytest.raises(GeneratorError):
        run(given, expand(given)[1], 17, rig)
    assert rig.asked[-2:] == ["phases stops", "traffic stops"]


def test_by_configuration_routers_lose_the_flapped_lsps_and_get_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configured, "time", SimpleNamespace(monotonic=lambda: 0.0, time_ns=time.time_ns))  # what is paused takes no time
    given = network("chain", 2, signalling={"by": "configuration"}, phases={"prior_s": 1, "windows_s": [0.1, 0.1], "drain_s": 0})
    rig = FakeRig(up(range(0)))
    found = run(given, expand(given)[1], 17, rig)
    (asked,) = rig.signalling
    assert (asked.stable, asked.flapped, asked.probing) == (0, 0, None)
    assert [stream.id for stream in rig.traffic[0].streams] == list(range(10))
    assert {stream.rate_fps for stream in rig.traffic[0].streams[4:]} == {100.0}
    labels = [len(function.labels) for _, function in rig.applied if isinstance(function, Mpls)]
    assert [name for name, _ in rig.applied] == ["net-1", "net-2"] * 4
    assert labels == [4, 4, 10, 10] * 2
    assert rig.applied[-2][1] == setup(given, expand(given)[1]).functions["net-1"][0]
    kinds = [(EventKind(port - FIRST_EVENT), value) for port, value in zip(*_columns(found.capture.samples), strict=True)]
    one = [*[(EventKind.CONFIGURED, 0)] * 2, *[(EventKind.CONFIGURED, 1)] * 2]
    assert kinds == [
        *((EventKind.FLAP_BEGIN, 1), *one, (EventKind.FLAP_END, 1)),
        *((EventKind.FLAP_BEGIN, 2), *one, (EventKind.FLAP_END, 2)),
    ]
    assert [each for each in rig.asked if each.startswith("pause")] == ["pause 1.0", "pause 1.1", "pause 1.1", "pause 1.2"]


def _columns(samples: Samples) -> tuple[list[int], list[int]]:
    return samples.port.tolist(), samples.sequence.tolist()


def test_rates_of_layer_2_take_more_of_the_link() -> None:
    given = plan()
    (test,) = given.tests
    assert given.bits_per_second(test, Layer.L2) == pytest.approx(40e6)
