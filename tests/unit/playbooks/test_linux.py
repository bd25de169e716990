"""Do the templates of the Linux platform say what they should? The texts are in the folder linux/; RACKPROOF_RENDER=1 writes them anew."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.devices.platforms import PLAYBOOKS, playbooks_folder
from rackproof.model.functions import (
    DeviceFunction,
    Discipline,
    HostTuning,
    Mpls,
    MplsInterface,
    QosScheduler,
    StaticLabel,
    Vlan,
)
from tests.unit.playbooks.templating import rendered

TEXTS = Path(__file__).parent / "linux"
# Read when the module is loaded: tests do not see settings of the machine.
RENDER = os.environ.get("RACKPROOF_RENDER") == "1"

STRICT = QosScheduler(
    discipline=Discipline.STRICT_PRIORITY, port="eth2", link_rate_bps=100_000_000, priority_map=tuple(range(8)), queue_frames=200
)
WEIGHTED = QosScheduler(
    discipline=Discipline.WRR_BYTES,
    port="eth2",
    link_rate_bps=12_345_678,
    priority_map=(0, 0, 1, 1, 2, 2, 3, 3),
    queue_frames=100,
    weights=(0.1, 0.2, 0.3, 0.4),
)
VLAN = Vlan(vlan_id=10, tagged=("eth1", "eth2"), untagged=("eth3",))
LABELS = Mpls(
    router_id="10.0.0.1",
    interfaces=(MplsInterface(port="eth1", address="10.0.1.1/24", rsvp=False),),
    labels=(
        StaticLabel(in_label=100, port="eth1", next_hop="10.0.1.2", out_label=200),
        StaticLabel(in_label=101, port="eth1", next_hop="10.0.1.2"),
    ),
    routes={"10.9.0.0/16": "10.0.1.2"},
)
TUNING = HostTuning(
    sysctl={"net.ipv4.tcp_rmem": "4096\t131072  7000000", "net.core.default_qdisc": "x; reboot"},
    features={"eth1": {"tx-checksumming": False, "tx-udp-segmentation": True}},
)


@pytest.mark.parametrize("template", ["expected", "commands"])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("qos-scheduler-strict", STRICT),
        ("qos-scheduler-weighted", WEIGHTED),
        ("vlan", VLAN),
        ("mpls", LABELS),
        ("host-tuning", TUNING),
    ],
)
def test_text(name: str, function: DeviceFunction, template: str, tmp_path: Path) -> None:
    folder = {"qos-scheduler-strict": "qos-scheduler", "qos-scheduler-weighted": "qos-scheduler"}.get(name, name)
    (tmp_path / "configuration").write_text("eth2: qdisc fq_codel 0: root limit 10240p\n")
    text = rendered("linux", f"functions/{folder}/{template}.j2", function, rackproof_state=str(tmp_path))
    assert text == _kept(f"{name}.{template}.txt", text)
    if template == "commands":
        subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_scheduler_that_could_not_be_brought_back_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "configuration").write_text("eth2: qdisc htb 8001: root r2q 10\n")
    text = rendered("linux", "functions/qos-scheduler/commands.j2", STRICT, rackproof_state=str(tmp_path))
    done = subprocess.run(["sh"], input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert "eth2 has a scheduler of its own, which could not be brought back exactly (eth2: qdisc htb 8001: root r2q 10)" in done.stderr


def test_restore_takes_away_what_is_new_and_brings_back_what_is_gone() -> None:
    captured = [
        "bridge br0 vlan_filtering 0",
        "vlan br0 1 PVID Egress Untagged",
        "vlan eth1 1 PVID Egress Untagged",
        "address eth1 10.0.0.1/24",
        "eth2: qdisc noqueue 0: root",
        "feature eth1 tx-checksumming on",
        "feature eth1 generic-receive-offload off",
        "sysctl net.ipv4.tcp_rmem 4096 131072 6291456",
    ]
    found = [
        "bridge br0 vlan_filtering 1",
        "vlan eth1 10",
        "address eth1 10.0.1.1/24",
        "label 100 via inet 10.0.1.2 dev eth1",
        "eth2: class htb 1:1 root",
        "eth2: qdisc htb 1: root",
        "eth2: qdisc pfifo 10: parent 1:10",
        "feature eth1 tx-checksumming off",
        "feature eth1 generic-receive-offload on",
        "sysctl net.ipv4.tcp_rmem 4096 131072 7000000",
    ]
    text = rendered("linux", "templates/restore.j2", captured=captured, found=found, bridges=["br0"])
    assert text == _kept("restore.txt", text)
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_playbooks_are_playbooks() -> None:
    books = [str(playbooks_folder() / "linux" / f"{name}.yml") for name in PLAYBOOKS]
    program = Path(sys.executable).parent / "ansible-playbook"
    done = subprocess.run([program, "--syntax-check", "-i", "switch,", *books], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _kept(name: str, text: str) -> str:
    if RENDER:
        (TEXTS / name).write_text(text)
    return (TEXTS / name).read_text()
