"""Does a Linux switch that Ansible reaches over SSH do what it is asked, say so, and come back to what it was?"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.devices import together
from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.runner import Ansible
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction, Discipline, HostTuning, Mpls, MplsInterface, OpenFlowPipeline, QosScheduler, Vlan
from rackproof.ports import Device
from tests.lab.sshd import LinuxBox, linux_box

LONG = os.environ.get("RACKPROOF_LONG") == "1"
WEIGHTED = QosScheduler(
    discipline=Discipline.WRR_BYTES,
    port="eth2",
    link_rate_bps=100_000_000,
    priority_map=(0, 0, 1, 1, 2, 2, 3, 3),
    queue_frames=100,
    weights=(0.1, 0.2, 0.3, 0.4),
)
STRICT = QosScheduler(
    discipline=Discipline.STRICT_PRIORITY, port="eth2", link_rate_bps=100_000_000, priority_map=tuple(range(8)), queue_frames=100
)


@pytest.fixture(scope="module")
def box() -> Iterator[LinuxBox]:
    with linux_box("switch-1", ports=("eth1", "eth2")) as box:
        yield box


@pytest.fixture(scope="module")
def ansible(box: LinuxBox) -> Iterator[Ansible]:
    with Ansible() as ansible:
        yield ansible


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def device(box: LinuxBox, ansible: Ansible, tmp_path: Path, told: list[str]) -> AnsibleDevice:
    return AnsibleDevice(box.entry, ansible, state=tmp_path / "state", heard=told.append)


def test_a_scheduler_from_before_to_after(device: AnsibleDevice, box: LinuxBox, ansible: Ansible, tmp_path: Path, told: list[str]) -> None:
    keeps_the_port: Device = device
    found = keeps_the_port.configuration()
    assert "eth2: qdisc noqueue 0: root" in found
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state/configuration").stat().st_mode & 0o777 == 0o600
    assert device.counters() == {}

    device.apply(WEIGHTED)
    assert "+ eth2: qdisc htb 1: root overhead 28" in "\n".join(told)
    assert len(re.findall(r"^class htb 1:1[0-3] ", box.run("tc", "class", "show", "dev", "eth2"), re.MULTILINE)) == 4
    device.check(WEIGHTED)
    told.clear()
    device.apply(WEIGHTED)
    assert told[-1] == "switch-1: nothing to change"
    assert {f"queue.{queue}.dropped" for queue in range(4)} < device.counters().keys()

    planted = "rate 8kbit ceil 50mbit burst 4000 cburst 4000 prio 0 quantum 4554"
    box.run("tc", "class", "change", "dev", "eth2", "classid", "1:12", "htb", *planted.split())
    with pytest.raises(DeviceError, match=r"switch-1 is not configured as asked:\n  found eth2: class htb 1:12 .* ceil 50Mbit"):
        device.check(WEIGHTED)

    # Whoever comes after a worker's death has nothing but what is kept on the disk.
    box.run("ip", "link", "set", "eth1", "mtu", "1900")
    heir = AnsibleDevice(box.entry, ansible, state=tmp_path / "state", heard=told.append)
    assert heir.left_configured
    with pytest.raises(DeviceError, match=r"(?s)switch-1 is not as it was found:.*-link eth1 up mtu 2000.*\+link eth1 up mtu 1900"):
        heir.restore()
    assert heir.left_configured
    box.run("ip", "link", "set", "eth1", "mtu", "2000")
    heir.restore()
    heir.restore()  # nothing is left to do
    assert not AnsibleDevice(box.entry, ansible, state=tmp_path / "state", heard=told.append).left_configured
    assert device.configuration() == found


@pytest.mark.skipif(not LONG, reason="needs many plays; RACKPROOF_LONG=1 runs it")
def test_what_was_configured_before_is_not_replaced(device: AnsibleDevice, box: LinuxBox) -> None:
    box.run("tc", "qdisc", "add", "dev", "eth2", "root", "handle", "7:", "pfifo", "limit", "10")
    try:
        with pytest.raises(
            DeviceError, match=r"eth2 has a scheduler of its own, which could not be brought back exactly \(eth2: qdisc pfifo 7:"
        ):
            device.apply(STRICT)
        device.restore()
        assert "qdisc pfifo 7: root" in box.run("tc", "qdisc", "show", "dev", "eth2")
    finally:
        box.run("tc", "qdisc", "del", "dev", "eth2", "root")


def test_plans_are_data_and_settings_come_back(device: AnsibleDevice, box: LinuxBox) -> None:
    before = box.run("sysctl", "-n", "net.ipv4.tcp_rmem")
    ran = device.kept.folder / "ran"
    with pytest.raises(DeviceError, match=r"sysctl: setting key \"net.ipv4.tcp_congestion_control\""):
        device.apply(
            HostTuning(
                sysctl={
                    "net.ipv4.tcp_congestion_control": f"{{{{ lookup('pipe', 'touch {ran}') }}}}'; touch {ran}; $(touch {ran})",
                    "net.ipv4.tcp_rmem": "4096 131072 7000000",
                }
            )
        )
    assert not ran.exists()
    tuning = HostTuning(sysctl={"net.ipv4.tcp_rmem": "4096 131072 7000000"})
    device.apply(tuning)
    assert box.run("sysctl", "-n", "net.ipv4.tcp_rmem").split() == ["4096", "131072", "7000000"]
    device.restore()
    assert box.run("sysctl", "-n", "net.ipv4.tcp_rmem") == before


def test_what_the_platform_cannot_do_is_refused_without_a_play(device: AnsibleDevice, told: list[str]) -> None:
    with pytest.raises(DeviceError, match="switch-1: Linux over SSH cannot do openflow-pipeline"):
        device.apply(OpenFlowPipeline(ports=("eth1",), flows=()))
    assert told == []
    assert not device.left_configured


@pytest.mark.skipif(not LONG, reason="needs many plays; RACKPROOF_LONG=1 runs it")
@pytest.mark.parametrize(
    "function",
    [
        STRICT,
        Vlan(vlan_id=10, tagged=("eth1",), untagged=("eth2",)),
        Mpls(router_id="10.0.0.1", interfaces=(MplsInterface(port="eth1", address="10.0.1.1/24", rsvp=False),)),
        HostTuning(features={"eth1": {"tx-checksumming": True, "generic-receive-offload": True}}),
    ],
    ids=lambda function: type(function).__name__,
)
def test_every_function_or_a_clear_word_of_the_kernel(device: AnsibleDevice, function: DeviceFunction) -> None:
    found = device.configuration()
    try:
        device.apply(function)
    except DeviceError as error:
        assert re.search("the kernel has no (bridge VLAN filtering|MPLS routing)", str(error)), error
    else:
        device.check(function)
    device.restore()
    assert device.configuration() == found


@pytest.mark.skipif(not LONG, reason="needs many plays; RACKPROOF_LONG=1 runs it")
def test_devices_side_by_side(ansible: Ansible, box: LinuxBox, tmp_path: Path, told: list[str]) -> None:
    with linux_box("switch-2", ports=("eth1", "eth2")) as other:
        absent = box.entry.model_copy(update={"name": "switch-3", "port": 1})
        entries = (box.entry, other.entry, absent)
        devices = [AnsibleDevice(entry, ansible, state=tmp_path / entry.name, heard=told.append) for entry in entries]
        functions = {device.name: WEIGHTED for device in devices}
        assert isinstance(together.facts(devices)["switch-3"], DeviceError)
        texts = together.configurations(devices)
        for step in (together.apply, together.check):
            ended = step(devices, functions)
            assert ended["switch-1"] is ended["switch-2"] is None
            assert isinstance(ended["switch-3"], DeviceError)
        together.restore(devices)
        after = together.configurations(devices)
        for name in ("switch-1", "switch-2"):
            assert after[name] == texts[name]
        assert not devices[2].left_configured  # never captured, so never touched
