"""Open vSwitch with its user-space datapath, configured by Ansible over SSH: applied, read back and taken back, with frames."""

import os
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.runner import Ansible
from rackproof.errors import DeviceError
from rackproof.model.functions import Discipline, Flow, OpenFlowPipeline, QosScheduler, Vlan
from tests.lab.soft import SoftDevice, openvswitch

LONG = os.environ.get("RACKPROOF_LONG") == "1"
PORTS = ("p1", "p2", "p3")
FRAME_BYTES = 1000
#: What must come is waited for so long [s].
COMES_S = 30.0
SCHEDULER = QosScheduler(
    discipline=Discipline.STRICT_PRIORITY, port="p2", link_rate_bps=2_000_000, priority_map=(0, 0, 0, 0, 1, 1, 1, 1), queue_frames=10
)
PIPELINE = OpenFlowPipeline(
    ports=("p1", "p2"),
    flows=(
        Flow(table=0, priority=10, match="in_port=p1,dl_vlan=10", actions="goto_table:1"),
        Flow(table=1, priority=1, match="dl_vlan=10", actions="set_field:5->vlan_pcp,output:p2"),
    ),
)
SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING = 263, 8, 4


@pytest.fixture(scope="module")
def switch() -> Iterator[SoftDevice]:
    with openvswitch(ports=PORTS) as switch:
        switch.run("ovs-vsctl", "add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev")
        for port in PORTS:
            switch.run("ovs-vsctl", "add-port", "br0", port)
        yield switch


@pytest.fixture(scope="module")
def ansible() -> Iterator[Ansible]:
    with Ansible() as ansible:
        yield ansible


@pytest.fixture
def device(switch: SoftDevice, ansible: Ansible, tmp_path: Path) -> AnsibleDevice:
    return AnsibleDevice(switch.entry, ansible, state=tmp_path / "state", heard=lambda _: None)


def test_queues_and_flows_are_applied_read_back_and_taken_back(switch: SoftDevice, ansible: Ansible, tmp_path: Path) -> None:
    heard: list[str] = []
    device = AnsibleDevice(switch.entry, ansible, state=tmp_path / "state", heard=heard.append)
    switch.run("ovs-ofctl", "add-flow", "br0", "in_port=p3,actions=drop")

    device.apply(SCHEDULER)
    _a_full_queue_takes_nothing_from_the_one_above(switch, device)
    switch.box.run("tc", "qdisc", "replace", "dev", "p2", "parent", "1:1", "handle", "a0:", "pfifo_head_drop", "limit", "11")
    with pytest.raises(DeviceError, match=r"expected qdisc pfifo_head_drop a0: parent 1:1 limit 10p"):
        device.check(SCHEDULER)

    device.apply(PIPELINE)
    with _Wire(switch, "p1", "p2") as wire:
        wire.send(vlan=11, priority=0)
        wire.send(vlan=10, priority=0)
        assert wire.received() == {(10, 5): 1}
    heard.clear()
    device.apply(PIPELINE)
    assert any("nothing to change" in line for line in heard)
    switch.run("ovs-ofctl", "-O", "OpenFlow13", "del-flows", "br0", "table=1")
    switch.run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", "br0", "table=3,actions=drop")
    with pytest.raises(DeviceError, match="missing flow: table=1") as found:
        device.check(PIPELINE)
    assert "flow that was not asked for: table=3" in str(found.value)

    device.restore()
    flows = switch.run("ovs-ofctl", "-O", "OpenFlow13", "--no-stats", "--names", "dump-flows", "br0").splitlines()
    assert [flow.replace("reset_counts ", "").strip() for flow in flows] == ["in_port=p3 actions=drop", "priority=0 actions=NORMAL"]
    assert "htb" not in switch.box.run("tc", "qdisc", "show", "dev", "p2")


@pytest.mark.skipif(not LONG, reason="takes long")
def test_what_cannot_be_is_refused_in_the_device_s_words(device: AnsibleDevice) -> None:
    with pytest.raises(DeviceError, match="OFPBAC_MATCH_INCONSISTENT"):
        device.apply(OpenFlowPipeline(ports=("p1",), flows=(Flow(table=0, priority=1, match="", actions="set_field:5->vlan_pcp"),)))
    with pytest.raises(DeviceError, match="2000000 frames are to wait in the queues, but the user-space datapath can hold"):
        device.apply(replace(SCHEDULER, queue_frames=1_000_000))
    device.restore()


@pytest.mark.skipif(not LONG, reason="takes long")
def test_a_vlan_is_tagged_and_untagged_where_it_was_asked_for(switch: SoftDevice, device: AnsibleDevice) -> None:
    switch.run("ovs-vsctl", "set", "Port", "p2", "tag=77")
    vlan = Vlan(vlan_id=10, tagged=("p1",), untagged=("p2",))
    device.apply(vlan)
    device.check(vlan)
    with _Wire(switch, "p1", "p2") as wire:
        wire.send(vlan=11, priority=0)
        wire.send(vlan=10, priority=0)
        assert wire.received() == {None: 1}
    switch.run("ovs-vsctl", "set", "Port", "p1", "trunks=11")
    with pytest.raises(DeviceError, match="p1: expected VLAN 10 tagged, found vlan_mode trunk, tag none, trunks 11"):
        device.check(vlan)
    device.restore()
    assert switch.run("ovs-vsctl", "get", "Port", "p2", "tag").strip() == "77"
    switch.run("ovs-vsctl", "clear", "Port", "p2", "tag")


def _a_full_queue_takes_nothing_from_the_one_above(switch: SoftDevice, device: AnsibleDevice) -> None:
    with _Wire(switch, "p1", "p2") as wire:
        for _ in range(8):  # 80 frames: the socket that the switch receives with holds about 90
            for priority in (0,) * 9 + (7,):
                wire.send(vlan=10, priority=priority)
        counters = _when_all_are_counted(device, 80)
        received = wire.received(least=counters["queue.0.sent"] + counters["queue.1.sent"])
    assert received[10, 7] == 8
    assert received[10, 0] == counters["queue.0.sent"] < 72
    assert counters["queue.0.dropped"] == 72 - received[10, 0]
    assert (counters["queue.1.sent"], counters["queue.1.dropped"]) == (8, 0)


def _when_all_are_counted(device: AnsibleDevice, frames: int) -> Mapping[str, int]:
    """The counters of two queues when all frames have left them: the switch may be slow to take them."""
    end = time.monotonic() + COMES_S
    while True:
        counters = device.counters()
        if sum(counters[f"queue.{queue}.{what}"] for queue in (0, 1) for what in ("sent", "dropped")) == frames:
            return counters
        assert time.monotonic() < end, counters


class _Wire:
    """Sends frames into one port of a switch, and sees those that leave by another."""

    def __init__(self, switch: SoftDevice, sending: str, receiving: str) -> None:
        self._out = switch.box.far.run(lambda: _socket(sending))
        self._in = switch.box.far.run(lambda: _socket(receiving))
        self._in.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)

    def __enter__(self) -> "_Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        self._in.close()

    def send(self, *, vlan: int, priority: int) -> None:
        header = bytes.fromhex("020000000002 020000000001 8100") + struct.pack("!HH", priority << 13 | vlan, 0x88B5)
        self._out.send(header.ljust(FRAME_BYTES, b"\0"))

    def received(self, least: int = 1) -> Counter[tuple[int, int] | None]:
        """How many frames came by (VLAN, priority), None: without a tag; waits for so many, then until nothing comes for 0.6 s."""
        found: Counter[tuple[int, int] | None] = Counter()
        end = time.monotonic() + COMES_S
        while time.monotonic() < end:
            self._in.settimeout(0.6 if found.total() >= least else max(0.01, end - time.monotonic()))
            try:
                frame, beside, _, where = self._in.recvmsg(2048, 64)
            except TimeoutError:
                break
            if where[2] == PACKET_OUTGOING or frame[12:14] not in (b"\x88\xb5", b"\x81\x00"):
                continue
            status, *_, tag, _ = struct.unpack("IIIHHHH", beside[0][2])
            found[(tag & 0xFFF, tag >> 13) if status & 0x10 else None] += 1
        return found


def _socket(port: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    opened.bind((port, 0))
    return opened
