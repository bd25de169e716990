"""What is said to Open vSwitch for every function, and how its database is read.

The texts are in the folder openvswitch/; RACKPROOF_RENDER=1 writes them anew.
"""

import json
import os
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orchestrator.devices.platforms import objection, platforms, playbooks_folder
from rackproof.model.functions import DeviceFunction, Discipline, Flow, OpenFlowPipeline, QosScheduler, Vlan
from tests.unit.playbooks.templating import rendered

TEXTS = Path(__file__).parent / "openvswitch"
RENDER = os.environ.get("RACKPROOF_RENDER") == "1"
OPTIONS = {"datapath": "netdev", "bridge": "br0"}

STRICT = QosScheduler(
    discipline=Discipline.STRICT_PRIORITY, port="p2", link_rate_bps=10_000_000, priority_map=(0, 0, 1, 1, 2, 2, 3, 3), queue_frames=50
)
WEIGHTED = QosScheduler(
    discipline=Discipline.WRR_BYTES,
    port="p2",
    link_rate_bps=12_345_678,
    priority_map=(0, 0, 0, 0, 1, 1, 1, 1),
    queue_frames=100,
    weights=(0.3, 0.7),
)
VLAN = Vlan(vlan_id=10, tagged=("p1", "p3"), untagged=("p2",))
PIPELINE = OpenFlowPipeline(
    ports=("p1", "p2"),
    flows=(
        Flow(table=0, priority=10, match="in_port=p1,dl_vlan=10", actions="goto_table:1"),
        Flow(table=1, priority=0, match="", actions="output:p2"),
    ),
)


@pytest.mark.parametrize(
    ("name", "template", "function"),
    [
        ("qos-scheduler-strict", "qos-scheduler/template.j2", STRICT),
        ("qos-scheduler-strict-tc", "qos-scheduler/tc.j2", STRICT),
        ("qos-scheduler-weighted", "qos-scheduler/template.j2", WEIGHTED),
        ("qos-scheduler-weighted-tc", "qos-scheduler/tc.j2", WEIGHTED),
        ("vlan", "vlan/template.j2", VLAN),
        ("openflow-pipeline", "openflow-pipeline/template.j2", PIPELINE),
        ("openflow-pipeline-ports", "openflow-pipeline/ports.j2", PIPELINE),
    ],
)
def test_what_the_switch_is_told(name: str, template: str, function: DeviceFunction) -> None:
    text = rendered("openvswitch", f"functions/{template}", function, rackproof_options=OPTIONS, rackproof_flows={})
    assert text == _kept(f"{name}.txt", text)


def test_a_bridge_that_is_there_keeps_its_datapath() -> None:
    text = rendered("openvswitch", "functions/vlan/template.j2", VLAN, rackproof_options=OPTIONS, rackproof_flows={"br0": []})
    assert "datapath_type" not in text


def test_round_robin_by_packets_is_refused() -> None:
    by_packets = QosScheduler(
        discipline=Discipline.WRR_PACKETS, port="p2", link_rate_bps=10_000_000, priority_map=(0,) * 8, queue_frames=50, weights=(1.0,)
    )
    assert "it has no wrr-packets" in objection(platforms()["openvswitch"], by_packets)
    assert objection(platforms()["openvswitch"], WEIGHTED) == ""


@pytest.mark.parametrize("first", ["5b", "c0"])
def test_the_text_of_a_database_does_not_hang_on_its_uuids(first: str) -> None:
    text = _plugin().text(_database(first), {"br0": ["priority=0 actions=NORMAL"]})
    assert text == _kept("configuration.txt", text)


def test_the_text_brings_the_database_back() -> None:
    plugin, kept = _plugin(), (TEXTS / "configuration.txt").read_text()
    name, *operations = plugin.operations(kept, {"Port": {}, "Bridge": {}})
    assert name == "Open_vSwitch"
    assert operations[:2] == [{"op": "delete", "table": "Port", "where": []}, {"op": "delete", "table": "Bridge", "where": []}]
    assert [json.dumps(operation, sort_keys=True) for operation in operations[2:]] == kept.splitlines()[: len(operations) - 2]
    assert plugin.kept_flows(kept) == {"br0": ["priority=0 actions=NORMAL"]}


def test_ports_are_read_with_their_scheduler() -> None:
    found = _plugin().ports(_database("5b"))
    assert found["p1"] == {
        "bridge": "br0",
        "tag": None,
        "trunks": [10, 20],
        "vlan_mode": "trunk",
        "qos": {"type": "linux-htb", "other_config": {"max-rate": "1000000"}, "queues": {"0": {"priority": "1"}, "2": {"priority": "0"}}},
    }
    assert found["p-1"]["tag"] == 7


def test_the_shared_key_of_a_tunnel_is_a_secret() -> None:
    found = [
        match[1]
        for pattern in platforms()["openvswitch"].secrets
        for match in re.finditer(pattern, (TEXTS / "configuration.txt").read_text())
    ]
    assert found == ["hush"]


def _kept(name: str, text: str) -> str:
    if RENDER:
        (TEXTS / name).write_text(text)
    return (TEXTS / name).read_text()


def _plugin() -> ModuleType:
    spec = spec_from_file_location("openvswitch_filters", playbooks_folder() / "openvswitch/filter_plugins/openvswitch.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _database(first: str) -> dict[str, Any]:
    """Two ports whose names differ by a dash, two queues, two controllers; where UUIDs begin with c0, they are in the opposite order."""
    names = ["root", "bridge", "port", "dashed", "i1", "i2", "qos", "q0", "q2", "c1", "c2"]
    uuids = {name: f"{first}-{number if first == '5b' else 99 - number:02d}" for number, name in enumerate(names)}

    def refer(*of: str) -> Any:
        members = [["uuid", uuids[name]] for name in (of if first == "5b" else reversed(of))]
        return members[0] if len(members) == 1 else ["set", members]

    none: Any = ["set", []]
    port = {"trunks": none, "tag": none, "vlan_mode": none, "qos": none}
    queues = ["map", [[0, refer("q0")], [2, refer("q2")]]]
    return {
        "Open_vSwitch": {uuids["root"]: {"bridges": refer("bridge"), "next_cfg": 7, "cur_cfg": 7, "ovs_version": "3.1.0"}},
        "Bridge": {uuids["bridge"]: {"name": "br0", "ports": refer("port", "dashed"), "controller": refer("c1", "c2"), "fail_mode": none}},
        "Port": {
            uuids["port"]: {
                **port,
                "name": "p1",
                "interfaces": refer("i1"),
                "trunks": ["set", [20, 10]],
                "vlan_mode": "trunk",
                "qos": refer("qos"),
            },
            uuids["dashed"]: {**port, "name": "p-1", "interfaces": refer("i2"), "tag": 7},
        },
        "Interface": {
            uuids["i1"]: {"name": "p1", "type": "", "ofport": 1, "options": ["map", []]},
            uuids["i2"]: {"name": "p-1", "type": "vxlan", "ofport": 2, "options": ["map", [["remote_ip", "192.0.2.1"], ["psk", "hush"]]]},
        },
        "QoS": {uuids["qos"]: {"type": "linux-htb", "other_config": ["map", [["max-rate", "1000000"]]], "queues": queues}},
        "Queue": {
            uuids["q0"]: {"other_config": ["map", [["priority", "1"]]], "dscp": none},
            uuids["q2"]: {"other_config": ["map", [["priority", "0"]]], "dscp": none},
        },
        "Controller": {uuids["c1"]: {"target": "tcp:192.0.2.1:6653"}, uuids["c2"]: {"target": "tcp:192.0.2.2:6653"}},
    }
