"""Are platforms found, are broken ones named, and are limits said before anything starts?"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.devices.platforms import PLAYBOOKS, entry_objections, objection, plain, platforms, playbooks_folder, read
from rackproof.model.functions import (
    DeviceFunction,
    Discipline,
    Flow,
    HostTuning,
    Mpls,
    MplsInterface,
    OpenFlowPipeline,
    QosScheduler,
    StaticLabel,
    Vlan,
)
from rackproof.model.inventory import DeviceEntry

PLATFORM = """
title: A switch of paper
proven: Never run.
variables: {ansible_connection: ansible.builtin.ssh}
port: 22
functions:
  qos-scheduler:
    disciplines: [strict-priority, wrr-bytes]
    queues_min: 4
    queues_max: 4
    weights: {sum: 100, step: 5, min: 10, max: 80}
    link_rate_bps: {min: 1000000, step: 1000}
    queue_frames: {max: 500}
    priority_map: [0, 0, 1, 1, 2, 2, 3, 3]
  vlan: {vlan_id: {min: 2, max: 1005}}
  mpls: {rsvp: false, routes: false, label: {min: 100, max: 199}}
  openflow-pipeline: {tables: 2, flows: 1}
  host-tuning: {sysctl: 'net\\.core\\..*', features: false}
"""
SCHEDULER = QosScheduler(
    discipline=Discipline.WRR_BYTES,
    port="1",
    link_rate_bps=100_000_000,
    priority_map=(0, 0, 1, 1, 2, 2, 3, 3),
    queue_frames=100,
    weights=(0.1, 0.2, 0.3, 0.4),
)
LABELS = Mpls(router_id="10.0.0.1", interfaces=(MplsInterface(port="1", address="10.0.1.1/24", rsvp=False),))
FLOW = Flow(table=1, priority=1, match="in_port=1", actions="output:2")


def _paper(folder: Path, text: str = PLATFORM) -> Path:
    folder.mkdir()
    (folder / "platform.yaml").write_text(text)
    for name in PLAYBOOKS:
        (folder / f"{name}.yml").touch()
    for name in ("qos-scheduler", "vlan", "mpls", "openflow-pipeline", "host-tuning"):
        (folder / "functions" / name).mkdir(parents=True)
    return folder


def test_every_platform_of_the_house_is_whole() -> None:
    assert {"linux"} <= platforms().keys() == {path.parent.name for path in playbooks_folder().glob("*/platform.yaml")}


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (SCHEDULER, ""),
        (replace(SCHEDULER, discipline=Discipline.WRR_PACKETS), "it has no wrr-packets (it has strict-priority, wrr-bytes)"),
        (replace(SCHEDULER, priority_map=(0,) * 8, weights=(1.0,)), "it has 4 to 4 queues; 1 are asked for"),
        (
            replace(SCHEDULER, priority_map=(3, 2, 1, 0, 3, 2, 1, 0)),
            "its map of priorities to queues is 0 0 1 1 2 2 3 3 and cannot be changed to 3 2 1 0 3 2 1 0",
        ),
        (
            replace(SCHEDULER, weights=(0.1, 0.2, 0.32, 0.38)),
            "the weight of queue 2 (of 100 in all) 32 is not a multiple of 5, the step it takes",
        ),
        (replace(SCHEDULER, weights=(0.05, 0.2, 0.35, 0.4)), "the weight of queue 0 (of 100 in all) 5 is below 10, the least it takes"),
        (replace(SCHEDULER, link_rate_bps=1_000_500), "the link rate [bit/s] 1000500 is not a multiple of 1000, the step it takes"),
        (replace(SCHEDULER, queue_frames=501), "the length of a queue [frames] 501 is above 500, the most it takes"),
        (Vlan(vlan_id=2), ""),
        (Vlan(vlan_id=1006), "VLAN 1006 is above 1005, the most it takes"),
        (LABELS, ""),
        (replace(LABELS, interfaces=(MplsInterface(port="1", address="10.0.1.1/24"),)), "it has no RSVP"),
        (replace(LABELS, routes={"10.0.0.0/8": "10.0.1.2"}), "it has no static routes to label switched paths"),
        (
            replace(LABELS, labels=(StaticLabel(in_label=99, port="1", next_hop="10.0.1.2"),)),
            "the incoming label 99 is below 100, the least it takes",
        ),
        (
            replace(LABELS, labels=(StaticLabel(in_label=100, port="1", next_hop="10.0.1.2", out_label=200, push=300),)),
            "it has no static labels that push another; label 100 pushes 300",
        ),
        (OpenFlowPipeline(ports=("1",), flows=(FLOW,)), ""),
        (OpenFlowPipeline(ports=("1",), flows=(replace(FLOW, table=2),)), "it has 2 tables, counted from 0; table 2 is asked for"),
        (OpenFlowPipeline(ports=("1",), flows=(FLOW, FLOW)), "it takes 1 flows; 2 are asked for"),
        (HostTuning(sysctl={"net.core.somaxconn": "1"}), ""),
        (HostTuning(sysctl={"net.ipv4.tcp_sack": "1"}), r"it does not set net.ipv4.tcp_sack (names match net\.core\..*)"),
        (HostTuning(features={"eth1": {"rx": True}}), "it does not set features of interfaces"),
    ],
)
def test_limits_are_said(function: DeviceFunction, why: str, tmp_path: Path) -> None:
    platform = read(_paper(tmp_path / "paper"))
    assert objection(platform, function) == (f"A switch of paper, {plain(function)['name']}: {why}" if why else "")


def test_what_a_platform_has_not_it_cannot(tmp_path: Path) -> None:
    text = PLATFORM[: PLATFORM.index("functions:")] + "functions: {}\n"
    assert objection(read(_paper(tmp_path / "paper", text)), Vlan(vlan_id=2)) == "A switch of paper cannot do vlan"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (PLATFORM + "colour: red\n", "colour: Extra inputs are not permitted"),
        (PLATFORM.replace("wrr-bytes", "fifo"), "functions.qos-scheduler.disciplines.1: Input should be"),
        (PLATFORM + "secrets: ['password .*']\n", "secrets.0: Value error, expected a regular expression with one group, the secret"),
        (PLATFORM + "noise: ['(']\n", "noise.0: "),
        ("title: [\n", "cannot be read"),
    ],
)
def test_what_is_broken_is_named(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as failure:
        read(_paper(tmp_path / "paper", text))
    assert str(tmp_path / "paper/platform.yaml") in str(failure.value)
    assert why in str(failure.value)


def test_missing_playbooks_are_named(tmp_path: Path) -> None:
    folder = _paper(tmp_path / "paper")
    (folder / "restore.yml").unlink()
    shutil.rmtree(folder / "functions/vlan")
    with pytest.raises(RuntimeError, match=r"a platform needs restore.yml, functions/vlan$"):
        read(folder)


def test_a_function_is_plain_data_for_playbooks() -> None:
    assert plain(OpenFlowPipeline(ports=("1",), flows=(FLOW,))) == {
        "name": "openflow-pipeline",
        "ports": ["1"],
        "flows": [{"table": 1, "priority": 1, "match": "in_port=1", "actions": "output:2"}],
    }
    assert plain(SCHEDULER)["discipline"] == "wrr-bytes"
    assert type(plain(SCHEDULER)["discipline"]) is str


def test_an_entry_is_checked_without_touching_anything() -> None:
    entry = DeviceEntry(name="s1", address="192.0.2.1", platform="linux", options={"bridge": "br1", "colour": "red"})
    assert entry_objections(entry) == (
        "s1: expected options of Linux over SSH (bridge, sudo), found colour",
        "s1: expected known_host, its host key (`ssh-keyscan 192.0.2.1`), found none",
    )
    (why,) = entry_objections(entry.model_copy(update={"platform": "paper"}))
    assert why.startswith("s1: expected a platform (")
    assert why.endswith("), found paper")
