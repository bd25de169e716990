"""Which port of the rack is which port of the plan, and what is said where that cannot be."""

from typing import Any

import pytest

from orchestrator.lab.translating import translated
from orchestrator.lab.wiring import driving, loopback, wire
from rackproof.errors import DeviceError
from rackproof.model.functions import Discipline, Flow, Mpls, MplsInterface, OpenFlowPipeline, QosScheduler, Vlan
from rackproof.model.inventory import Inventory
from rackproof.model.topology import GENERATOR, DeviceSpec, Endpoint, Link, Topology

LINKS = [
    {"a": "trex:0", "b": "sw1:Ethernet1/1", "speed_mbps": 10_000},
    {"a": "sw1:Ethernet1/2", "b": "trex:1", "speed_mbps": 1000},
    {"a": "trex:2", "b": "trex:3", "speed_mbps": 10_000},
]


def inventory(**changes: Any) -> Inventory:
    """One TRex of four ports and one switch, two cables between them and one loopback."""
    return Inventory.model_validate(
        {
            "name": "lab1",
            "devices": [{"name": "sw1", "platform": "eos", "address": "192.0.2.1"}],
            "generators": [{"name": "trex", "kind": "trex", "address": "192.0.2.2", "ports": ["0", "1", "2", "3"]}],
            "links": LINKS,
            "roles": {"switch-qos": {"sw1": {"p*": "Ethernet1/1", "out": "Ethernet1/2"}}},
            **changes,
        }
    )


def topology(*, senders: int = 3, rate_mbps: float = 500, egress_mbps: float = 1000, model: str = "sw1") -> Topology:
    """So many senders and a receiver around the switch."""
    ends = [(f"s{sender}", f"p{sender}", rate_mbps) for sender in range(senders)] + [("r0", "out", egress_mbps)]
    return Topology(
        kind="switch-qos",
        devices=(DeviceSpec(name="switch", model=model),),
        links=tuple(
            Link(a=Endpoint(node=GENERATOR, port=ours), b=Endpoint(node="switch", port=theirs), rate_bps=rate * 1e6)
            for ours, theirs, rate in ends
        ),
    )


def test_ports_are_found_by_roles_and_cables() -> None:
    wiring = wire(topology(), inventory())
    assert wiring.objections == ()
    assert wiring.generator is not None
    assert wiring.generator.name == "trex"
    assert wiring.generator_ports == {"s0": "0", "s1": "0", "s2": "0", "r0": "1"}
    assert wiring.device_ports == {"switch": {"p0": "Ethernet1/1", "p1": "Ethernet1/1", "p2": "Ethernet1/1", "out": "Ethernet1/2"}}
    assert wiring.devices["switch"].name == "sw1"


def test_a_role_by_name_counts_before_a_pattern() -> None:
    links = [*LINKS[:2], {"a": "trex:2", "b": "sw1:Ethernet1/3", "speed_mbps": 1000}]
    roles = {"switch-qos": {"sw1": {"p*": "Ethernet1/1", "p1": "Ethernet1/3", "out": "Ethernet1/2"}}}
    wiring = wire(topology(), inventory(links=links, roles=roles))
    assert wiring.objections == ()
    assert wiring.generator_ports == {"s0": "0", "s1": "2", "s2": "0", "r0": "1"}


def test_the_loopback_and_who_drives() -> None:
    found = inventory()
    assert loopback(found, found.generators[0]) == ("2", "3")
    assert loopback(inventory(links=LINKS[:2]), found.generators[0]) is None
    two = inventory(generators=[{"name": name, "kind": "trex", "ports": ["0", "1", "2", "3"]} for name in ("spare", "trex")])
    assert [entry.name for entry in driving(two)] == ["trex"]
    assert [entry.name for entry in driving(inventory(roles={}))] == ["trex"]


@pytest.mark.parametrize(
    ("changes", "of_plan", "said"),
    [
        ({}, {"model": "reference"}, "switch: expected a device of the inventory (sw1) as its model, found reference"),
        ({"roles": {}}, {}, "which port of sw1 is p0 of switch (roles of switch-qos for sw1: none)"),
        ({"links": LINKS[1:]}, {}, "sw1:Ethernet1/1, which is p0 of switch, has no cable; s0 of the generator must be at its end"),
        (
            {},
            {"senders": 21},
            "the cable trex:0 to sw1:Ethernet1/1 runs at 10000 Mbit/s, but 10500 Mbit/s are needed on it (generator:s0, ",
        ),
        ({}, {"egress_mbps": 2500}, "the cable sw1:Ethernet1/2 to trex:1 runs at 1000 Mbit/s, but 2500 Mbit/s are needed on it"),
        (
            {"roles": {"switch-qos": {"sw1": {"p*": "Ethernet1/1", "out": "Ethernet1/1"}}}},
            {},
            "sw1:Ethernet1/1 cannot be both p* and out",
        ),
        (
            {"links": [LINKS[0], {"a": "sw1:Ethernet1/2", "b": "sw2:1", "speed_mbps": 1000}]},
            {},
            "the cable of sw1:Ethernet1/2, which is out of switch, leads to sw2:1, which is no generator",
        ),
    ],
)
def test_what_is_missing_is_said(changes: dict[str, Any], of_plan: dict[str, Any], said: str) -> None:
    objections = wire(topology(**of_plan), inventory(**changes)).objections
    assert objections
    assert all(objection.startswith("testbed lab1: ") for objection in objections)
    assert any(said in objection for objection in objections), objections


def test_two_generators_or_one_device_twice() -> None:
    generators = [{"name": name, "kind": "trex", "ports": ["0", "1"]} for name in ("trex", "other")]
    links = [LINKS[0], {"a": "sw1:Ethernet1/2", "b": "other:1", "speed_mbps": 1000}]
    (objection,) = wire(topology(), inventory(generators=generators, links=links)).objections
    assert "several generators (other, trex)" in objection
    twice = Topology(kind="switch-qos", devices=(DeviceSpec(name="a", model="sw1"), DeviceSpec(name="b", model="sw1")), links=())
    (objection,) = wire(twice, inventory()).objections
    assert "a and b cannot both be sw1" in objection


def test_links_between_devices_need_their_cable() -> None:
    devices = [{"name": name, "platform": "frr", "address": "192.0.2.1"} for name in ("r1", "r2")]
    asked = Topology(
        kind="mpls-flap",
        devices=tuple(DeviceSpec(name=name, model=name) for name in ("r1", "r2")),
        links=(Link(a=Endpoint(node="r1", port="core"), b=Endpoint(node="r2", port="core")),),
    )
    roles = {"mpls-flap": {"r1": {"core": "eth1"}, "r2": {"core": "eth1"}}}
    cabled = inventory(devices=devices, roles=roles, links=[{"a": "r1:eth1", "b": "r2:eth1", "speed_mbps": 1000}])
    assert wire(asked, cabled).objections == ()
    assert wire(asked, cabled).device_ports == {"r1": {"core": "eth1"}, "r2": {"core": "eth1"}}
    (objection,) = wire(asked, inventory(devices=devices, roles=roles, links=[])).objections
    assert "no cable between r1:eth1 and r2:eth1" in objection


def test_functions_speak_of_the_devices_own_ports() -> None:
    ports = {"p0": "Ethernet1/1", "p1": "Ethernet1/1", "out": "Ethernet1/2"}
    scheduler = QosScheduler(discipline=Discipline.STRICT_PRIORITY, port="out", link_rate_bps=10**9, priority_map=(0,) * 8, queue_frames=64)
    assert getattr(translated(scheduler, ports), "port", "") == "Ethernet1/2"
    assert translated(Vlan(vlan_id=7, tagged=("p0", "p1", "out")), ports) == Vlan(vlan_id=7, tagged=("Ethernet1/1", "Ethernet1/2"))
    mpls = Mpls(router_id="10.0.0.1", interfaces=(MplsInterface(port="out", address="10.0.1.1/24"),))
    assert translated(mpls, ports) == Mpls(router_id="10.0.0.1", interfaces=(MplsInterface(port="Ethernet1/2", address="10.0.1.1/24"),))
    pipeline = OpenFlowPipeline(
        ports=("p0", "out"), flows=(Flow(table=0, priority=1, match="in_port=p0,dl_vlan=10", actions="output:out"),)
    )
    assert translated(pipeline, ports) == OpenFlowPipeline(
        ports=("Ethernet1/1", "Ethernet1/2"),
        flows=(Flow(table=0, priority=1, match="in_port=Ethernet1/1,dl_vlan=10", actions="output:Ethernet1/2"),),
    )
    with pytest.raises(DeviceError, match="which port p9 is"):
        translated(Vlan(vlan_id=7, tagged=("p9",)), ports)
