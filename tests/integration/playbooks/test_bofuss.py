"""A switch that knows push_pbb: frames are encapsulated and taken out again, as tshark sees them."""

import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from orchestrator.openflow import crosshaul, switch
from orchestrator.openflow.session import Place, Session
from rackproof.model.xcf import Attachment, ForwardingElement, Group, Priority, Route, Service, Station
from tests.lab.soft import SoftDevice, bofuss
from tests.lab.wire import UDP, Wire, customer, xcf

PORTS = ("uni", "bg", "west", "east")
ONE, TWO = "02:52:50:00:00:01", "02:52:50:00:00:02"
OWN, NEXT, MANY = "02:52:50:01:00:01", "02:52:50:01:00:02", "03:52:50:00:00:01"
#: BOFUSS writes the second octet of an I-SID into the first as well: here they are the same.
I_SID = 0x010101
ELEMENT = ForwardingElement(
    address=OWN,
    uni=("uni", "bg"),
    nni=("west", "east"),
    services=(
        Service(i_sid=I_SID, tenant=1, b_vlan=101, attachments=(Attachment(port="uni", c_vlan=10), Attachment(port="bg", c_vlan=10))),
    ),
    priorities=(Priority(i_sid=I_SID, pcp=5, b_pcp=6),),
    stations=(Station(i_sid=I_SID, address=ONE, port="uni"), Station(i_sid=I_SID, address=TWO, element=NEXT)),
    groups=(Group(i_sid=I_SID, address=MANY),),
    routes=(Route(address=NEXT, b_vlan=101, ports=("east",)), Route(address=MANY, b_vlan=101, ports=("west", "east"))),
)
FIELDS = (
    *("eth.dst", "eth.src", "ieee8021ad.id", "ieee8021ad.priority", "ieee8021ah.isid"),
    *("ieee8021ah.cdst", "ieee8021ah.csrc", "vlan.id", "vlan.priority"),
)


@pytest.fixture(scope="module")
def device() -> Iterator[SoftDevice]:
    with bofuss(ports=PORTS) as device:
        yield device


def test_frames_are_encapsulated_and_taken_out(device: SoftDevice, tmp_path: Path) -> None:
    with Session(Place(address=device.entry.address, port=device.entry.port or 0)) as session:
        before = switch.read(session)
        wanted = switch.wanted(crosshaul.tables(ELEMENT), switch.ports(session))
        switch.change(session, wanted, before)
        assert switch.differences(wanted, switch.read(session)) == []
        inner = customer(TWO, ONE, 10, 5, UDP)
        with Wire(device, PORTS) as wire:
            wire.send("uni", inner)
            (encapsulated,) = wire.received("east")
            wire.send("west", xcf(OWN, 101, 6, I_SID, customer(ONE, TWO, 10, 5, UDP)))
            delivered = wire.received("uni")
            wire.send("west", xcf(NEXT, 101, 6, I_SID, inner))
            passed = wire.received("east")
            wire.send("west", xcf(MANY, 101, 6, I_SID, customer("ff:ff:ff:ff:ff:ff", TWO, 10, 0, UDP)))
            copies = {port: wire.received(port, least=port != "west") for port in PORTS}
        assert encapsulated[22:] == inner
        assert delivered == [customer(ONE, TWO, 10, 5, UDP)]
        assert passed == [xcf(NEXT, 101, 6, I_SID, inner)]
        assert {port: len(frames) for port, frames in copies.items()} == {"uni": 1, "bg": 1, "west": 0, "east": 1}
        switch.change(session, before, switch.read(session))
        assert switch.read(session) == before
    assert _dissected(encapsulated, tmp_path) == [NEXT, OWN, "101", "6", str(I_SID), TWO, ONE, "10", "5"]


def _dissected(frame: bytes, folder: Path) -> Sequence[str]:
    """What tshark finds in the frame, by FIELDS."""
    if shutil.which("tshark") is None:
        pytest.skip("no tshark here")
    path = folder / "frame.pcap"
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
    wanted = [word for name in FIELDS for word in ("-e", name)]
    said = subprocess.run(["tshark", "-r", path, "-T", "fields", *wanted, "-E", "occurrence=f"], check=True, capture_output=True, text=True)
    return said.stdout.strip("\n").split("\t")
