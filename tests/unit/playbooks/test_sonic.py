"""What SONiC's configuration database is given for every function, and what is said of one that is not as asked.

The texts are in the folder sonic/; RACKPROOF_RENDER=1 writes them anew.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.devices.platforms import objection, platforms
from rackproof.model.functions import DeviceFunction, Discipline, QosScheduler, Vlan
from tests.unit.playbooks.templating import rendered

TEXTS = Path(__file__).parent / "sonic"
RENDER = os.environ.get("RACKPROOF_RENDER") == "1"
DATABASE: dict[str, Any] = {
    "PORT": {"Ethernet0": {"speed": "10000"}, "Ethernet4": {"speed": "10000"}},
    "QUEUE": {"Ethernet4|0-2": {"scheduler": "scheduler.0"}, "Ethernet40|0": {"scheduler": "scheduler.0"}},
}


def _scheduler(discipline: Discipline, weights: tuple[float, ...] = ()) -> QosScheduler:
    return QosScheduler(
        discipline=discipline,
        port="Ethernet4",
        link_rate_bps=1_000_000_000,
        priority_map=(0, 0, 0, 0, 1, 1, 1, 1),
        queue_frames=100,
        weights=weights,
    )


STRICT = _scheduler(Discipline.STRICT_PRIORITY)
BY_BYTES = _scheduler(Discipline.WRR_BYTES, (0.29, 0.71))
BY_PACKETS = _scheduler(Discipline.WRR_PACKETS, (0.5, 0.5))
VLAN = Vlan(vlan_id=10, tagged=("Ethernet0",), untagged=("Ethernet4",))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("qos-scheduler-strict", STRICT),
        ("qos-scheduler-wrr-bytes", BY_BYTES),
        ("qos-scheduler-wrr-packets", BY_PACKETS),
        ("vlan", VLAN),
    ],
)
def test_what_the_switch_is_told(name: str, function: DeviceFunction) -> None:
    text = _template(function)
    path = TEXTS / f"{name}.json"
    if RENDER:
        path.write_text(text)
    assert text == path.read_text()


def test_what_is_not_as_asked_is_told() -> None:
    asked = json.loads(_template(BY_BYTES))
    as_asked = {**DATABASE, **asked}
    assert _differences(as_asked, asked) == []
    as_asked["SCHEDULER"] = {**asked["SCHEDULER"], "rackproof.1": {"type": "STRICT"}}
    as_asked["QUEUE"] = {**DATABASE["QUEUE"], "Ethernet4|0": {"scheduler": "rackproof.0"}}
    assert _differences(as_asked, asked) == [
        "QUEUE|Ethernet4|1: expected, found nothing",
        "SCHEDULER|rackproof.1: expected type DWRR, found STRICT",
        "SCHEDULER|rackproof.1: expected weight 71, found none",
        "QUEUE|Ethernet4|0-2: not asked for",
    ]


def test_a_weight_between_two_percents_is_refused() -> None:
    assert objection(platforms()["sonic"], BY_BYTES) == ""
    assert "not a multiple of 1" in objection(platforms()["sonic"], _scheduler(Discipline.WRR_BYTES, (0.125, 0.875)))


def test_the_keys_of_servers_are_secrets() -> None:
    text = json.dumps({"TACPLUS": {"global": {"passkey": "hush", "timeout": "5"}}}, indent=2)
    assert [match[1] for pattern in platforms()["sonic"].secrets for match in re.finditer(pattern, text)] == ["hush"]


def _template(function: DeviceFunction) -> str:
    name = "vlan" if isinstance(function, Vlan) else "qos-scheduler"
    return rendered("sonic", f"functions/{name}/template.j2", function, rackproof_database=DATABASE)


def _differences(database: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    text = rendered("sonic", "tasks/differences.j2", rackproof_database=database, rackproof_asked=asked, rackproof_port="Ethernet4")
    return [] if text == "None" else text.splitlines()
