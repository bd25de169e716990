"""Switches that are configured by OpenFlow 1.3: Open vSwitch with frames through its tables, and what it refuses, in its own words."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.runner import Ansible
from orchestrator.openflow import crosshaul, switch
from orchestrator.openflow.session import Place, Session
from rackproof.errors import DeviceError
from rackproof.model.functions import Flow, OpenFlowPipeline
from rackproof.model.inventory import Credentials
from rackproof.model.xcf import AccessRule, Attachment, ForwardingElement, Priority, Route, Service, Station
from tests.lab.soft import SoftDevice, openflow_switch
from tests.lab.wire import Wire, customer, xcf

T = TypeVar("T")
LONG = os.environ.get("RACKPROOF_LONG") == "1"
PORTS = ("uni", "out", "west", "east")
ONE, TWO, THREE = (f"02:52:50:00:00:{number:02x}" for number in (1, 2, 3))
OWN, NEXT = "02:52:50:01:00:01", "02:52:50:01:00:02"
I_SID = 0x010001
#: Hosts that are connected to one element: local delivery, access and priority, without a network behind.
LOCAL = ForwardingElement(
    address=OWN,
    uni=("uni", "out"),
    nni=(),
    services=(
        Service(i_sid=I_SID, tenant=1, b_vlan=101, attachments=(Attachment(port="uni", c_vlan=10), Attachment(port="out", c_vlan=10))),
        Service(i_sid=I_SID + 1, tenant=77, b_vlan=101, attachments=(Attachment(port="uni", c_vlan=20), Attachment(port="out", c_vlan=20))),
    ),
    priorities=(Priority(i_sid=I_SID, pcp=5, b_pcp=6),),
    access=(AccessRule(i_sid=I_SID, permit=True, source=ONE), AccessRule(i_sid=I_SID, permit=False, ethertype=0x88B5)),
    stations=(Station(i_sid=I_SID, address=TWO, port="out"), Station(i_sid=I_SID + 1, address=THREE, port="out")),
)
#: An element that others' traffic passes through.
TRANSIT = ForwardingElement(address=OWN, uni=(), nni=("west", "east"), routes=(Route(address=NEXT, b_vlan=101, ports=("east",)),))


@pytest.fixture(scope="module")
def device() -> Iterator[SoftDevice]:
    with openflow_switch(ports=PORTS) as device:
        yield device


@pytest.fixture(scope="module")
def ansible() -> Iterator[Ansible]:
    with Ansible() as ansible:
        yield ansible


def test_an_element_is_applied_read_back_and_taken_back(device: SoftDevice, ansible: Ansible, tmp_path: Path) -> None:
    configured = AnsibleDevice(device.entry, ansible, state=tmp_path / "state", heard=lambda _: None)
    device.run(
        "ovs-ofctl", "-O", "OpenFlow13", "add-group", "br0", "group_id=7,type=select,bucket=weight:3,output:1,bucket=weight:1,output:2"
    )
    device.run(
        "ovs-ofctl", "-O", "OpenFlow13", "add-flow", "br0", "cookie=5,idle_timeout=900,table=9,tcp,tp_dst=80,actions=dec_ttl,group:7"
    )
    before = _dumped(device)

    configured.apply(LOCAL)
    with Wire(device, ("uni", "out")) as wire:
        for pcp, c_vlan, target, source in (
            (5, 10, TWO, ONE),
            (5, 10, TWO, THREE),
            (1, 20, THREE, TWO),
            (1, 20, TWO, ONE),
            (0, 10, ONE, ONE),
        ):
            wire.send("uni", customer(target, source, c_vlan, pcp))
        assert wire.received("out", least=2) == [customer(TWO, ONE, 10, 5), customer(THREE, TWO, 20, 1)]
        wire.send("uni", customer("ff:ff:ff:ff:ff:ff", ONE, 20, 0))
        assert wire.received("out") == [customer("ff:ff:ff:ff:ff:ff", ONE, 20, 0)]
        assert wire.received("uni", least=0, wait_s=0) == []
    counters = _asked(device, switch.counters)
    assert counters["flow.table=9,priority=10,metadata=0x10001/0xffffff,vlan_vid=0x100a,vlan_pcp=0x5.frames"] == 2
    assert counters["flow.table=10,priority=99,metadata=0x10001/0xffffff,eth_type=0x88b5.frames"] == 1
    assert counters["group.2.frames"] == 1

    device.run("ovs-ofctl", "-O", "OpenFlow13", "del-flows", "br0", "table=10")
    device.run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", "br0", "table=200,actions=drop")
    with pytest.raises(DeviceError, match="flow that was not asked for: table=200") as found:
        configured.check(LOCAL)
    assert "missing flow: table=10,priority=100,metadata=0x10001/0xffffff,eth_src=02:52:50:00:00:01 actions=goto_table:11" in str(
        found.value
    )

    configured.restore()
    assert _dumped(device) == before


def test_what_open_vswitch_does_not_know_it_says(device: SoftDevice) -> None:
    with_network = replace(LOCAL, nni=("west",), stations=(Station(i_sid=I_SID, address=TWO, element=NEXT),))
    with _session(device) as session:
        before = switch.read(session)
        wanted = switch.wanted(crosshaul.tables(with_network), switch.ports(session))
        with pytest.raises(DeviceError, match=r"OFPET_BAD_ACTION\(2\), OFPBAC_BAD_TYPE\(0\): table=15,.*push_pbb:0x88e7") as found:
            switch.change(session, wanted, before)
        assert "OFPET_BAD_MATCH(4), OFPBMC_BAD_FIELD(6): table=3," in str(found.value)
        switch.change(session, before, switch.read(session))
        assert switch.read(session) == before


def test_frames_of_the_network_pass_an_element(device: SoftDevice) -> None:
    with _session(device) as session:
        before = switch.read(session)
        wanted = switch.wanted(crosshaul.tables(TRANSIT), switch.ports(session))
        switch.change(session, wanted, before)
        with Wire(device, ("west", "east")) as wire:
            passing = xcf(NEXT, 101, 3, I_SID, customer(TWO, ONE, 10, 5))
            for frame in (passing, xcf(NEXT, 102, 3, I_SID, customer(TWO, ONE, 10, 5)), customer(TWO, ONE, 10, 5)):
                wire.send("west", frame)
            assert wire.received("east") == [passing]
        switch.change(session, before, switch.read(session))
        assert switch.read(session) == before


@pytest.mark.skipif(not LONG, reason="takes long")
def test_flows_of_a_pipeline_change_frames(device: SoftDevice, ansible: Ansible, tmp_path: Path) -> None:
    pipeline = OpenFlowPipeline(
        ports=("uni", "out"),
        flows=(
            Flow(table=0, priority=10, match="in_port=uni,dl_vlan=10", actions="goto_table:1"),
            Flow(table=1, priority=1, match="dl_vlan=10", actions="set_field:5->vlan_pcp,output:out"),
        ),
    )
    heard: list[str] = []
    configured = AnsibleDevice(device.entry, ansible, state=tmp_path / "state", heard=heard.append)
    configured.apply(pipeline)
    assert any("missing flow: table=1,priority=1,vlan_vid=0x100a actions=" in line for line in heard)
    heard.clear()
    configured.apply(pipeline)
    assert any("nothing to change" in line for line in heard)
    configured.check(pipeline)
    with Wire(device, ("uni", "out")) as wire:
        wire.send("uni", customer(TWO, ONE, 10, 0))
        wire.send("uni", customer(TWO, ONE, 11, 0))
        assert wire.received("out") == [customer(TWO, ONE, 10, 5)]
    assert configured.counters()["flow.table=1,priority=1,vlan_vid=0x100a.frames"] == 1
    assert "Open vSwitch" in configured.facts()["model"]
    configured.restore()


@pytest.mark.skipif(not LONG, reason="takes long")
def test_a_switch_comes_to_its_controller_by_tls(device: SoftDevice, ansible: Ansible, tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
        subprocess.run([*made, "-keyout", tmp_path / f"{name}.key", "-out", tmp_path / f"{name}.pem"], check=True, capture_output=True)
    here = device.box.address.rpartition(".")
    address = f"{here[0]}.{int(here[2]) - 1}"
    with socket.create_server((address, 0)) as free:
        port = free.getsockname()[1]
    device.run("ovs-vsctl", "set-ssl", *(str(tmp_path / name) for name in ("theirs.key", "theirs.pem", "ours.pem")))
    device.run("ovs-vsctl", "set-controller", "br0", f"ssl:{address}:{port}")
    options = {"listen": port, "tls": True, "ca": str(tmp_path / "theirs.pem"), "certificate": str(tmp_path / "ours.pem"), "timeout_s": 20}
    key = Credentials(private_key=f"file:{tmp_path / 'ours.key'}")
    entry = device.entry.model_copy(update={"options": options, "credentials": key})
    configured = AnsibleDevice(entry, ansible, state=tmp_path / "state", heard=lambda _: None)
    configured.apply(LOCAL)
    configured.check(LOCAL)
    configured.restore()
    stranger = entry.model_copy(update={"options": {**options, "ca": str(tmp_path / "ours.pem")}})
    with pytest.raises(DeviceError, match=r"no TLS with .*CERTIFICATE_VERIFY_FAILED"):
        AnsibleDevice(stranger, ansible, state=tmp_path / "other", heard=lambda _: None).facts()
    device.run("ovs-vsctl", "set-controller", "br0", "ptcp:6653")


def test_what_does_not_answer_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        with (
            pytest.raises(DeviceError, match=r"the switch did not answer within 0\.2 s"),
            Session(Place(address="127.0.0.1", port=silent.getsockname()[1], timeout_s=0.2)),
        ):
            pass
        assert time.monotonic() - begun < 10  # which is how long others are waited for
    with pytest.raises(DeviceError, match=r"no OpenFlow connection at 127\.0\.0\.1, port 1"), Session(Place(address="127.0.0.1", port=1)):
        pass
    with (
        pytest.raises(DeviceError, match=r"no OpenFlow connection on port .* of this machine: timed out"),
        Session(Place(address="127.0.0.1", port=0, listen=0, timeout_s=0.1)),
    ):
        pass


def test_another_version_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as old:

        def answer() -> None:
            connection, _ = old.accept()
            with connection:
                connection.sendall(bytes.fromhex("0100000800000001"))
                connection.recv(64)

        thread = threading.Thread(target=answer)
        thread.start()
        with (
            pytest.raises(DeviceError, match=r"expected OpenFlow 1\.3 \(version 4\), the switch offers version 1"),
            Session(Place(address="127.0.0.1", port=old.getsockname()[1])),
        ):
            pass
        thread.join()


def _dumped(device: SoftDevice) -> Sequence[str]:
    """Flows and groups by the switch's own tool."""
    both = [device.run("ovs-ofctl", "-O", "OpenFlow13", "--no-stats", what, "br0") for what in ("dump-flows", "dump-groups")]
    return sorted(line.replace("reset_counts ", "").strip() for text in both for line in text.splitlines() if "xid=" not in line)


def _asked(device: SoftDevice, what: Callable[[Session], T]) -> T:
    with _session(device) as session:
        return what(session)


def _session(device: SoftDevice) -> Session:
    return Session(Place(address=device.entry.address, port=device.entry.port or 0))
