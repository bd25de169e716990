"""The paths through the pipeline of section III, with real frames."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.bench.xpfe.element import XdpElement
from orchestrator.bench.xpfe.native import NativeElement
from rackproof.errors import DeviceError
from rackproof.model.xcf import AccessRule, Attachment, ForwardingElement, Group, Priority, Route, Service, Station
from tests.integration.bench.xpfe.lab import ALICE, BOB, CAROL, GROUP, I_SID, NEXT, OWN, Lab, backbone, customer, pcap

pytestmark = pytest.mark.netns

PORTS = ("uni1", "uni2", "uni3", "nni1", "nni2")
BROADCAST = "ff:ff:ff:ff:ff:ff"

#: Alice at uni1, Bob at uni2, Carol behind the next element; uni3 is in the service with another C-VLAN.
ELEMENT = ForwardingElement(
    address=OWN,
    uni=("uni1", "uni2", "uni3"),
    nni=("nni1", "nni2"),
    services=(
        Service(
            i_sid=I_SID,
            tenant=1,
            b_vlan=101,
            attachments=(
                Attachment(port="uni1", c_vlan=10),
                Attachment(port="uni2", c_vlan=10),
                Attachment(port="uni3", c_vlan=11),
            ),
        ),
    ),
    priorities=(Priority(i_sid=I_SID, pcp=3, b_pcp=6),),
    access=(AccessRule(i_sid=I_SID, permit=False, ethertype=0x0806),),
    stations=(
        Station(i_sid=I_SID, address=ALICE, port="uni1"),
        Station(i_sid=I_SID, address=BOB, port="uni2"),
        Station(i_sid=I_SID, address=CAROL, element=NEXT),
    ),
    groups=(Group(i_sid=I_SID, address=GROUP),),
    routes=(Route(address=NEXT, b_vlan=101, ports=("nni1",)), Route(address=GROUP, b_vlan=101, ports=("nni1", "nni2"))),
)


@pytest.fixture(scope="module", params=[XdpElement, NativeElement])
def standing(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with Lab(PORTS, request.param) as lab:
        yield lab


@pytest.fixture
def lab(standing: Lab) -> Lab:
    return standing.apply(ELEMENT)


def test_a_customers_frame_is_encapsulated(lab: Lab) -> None:
    frame = customer(CAROL, pcp=5)

    assert lab.pass_through("uni1", frame) == {"nni1": [backbone(frame, NEXT, OWN, pcp=5, i_pcp=5)]}
    octets = {"frames": 1, "octets": len(frame) + 4}
    for entry in ("0.uni1", "1,1.uni1/10", f"1,7.{I_SID}/{CAROL}", f"252.{I_SID}", f"253.{NEXT}/101"):
        assert {name: lab.counted()[f"table.{entry}.{name}"] for name in octets} == octets


def test_the_operators_priority_is_in_the_outer_tag_and_the_frame_keeps_its_own(lab: Lab) -> None:
    frame = customer(CAROL, pcp=3)

    assert lab.pass_through("uni1", frame) == {"nni1": [backbone(frame, NEXT, OWN, pcp=6, i_pcp=3)]}
    assert lab.counted("table.1,0") == {f"table.1,0.{I_SID}/3.frames": 1, f"table.1,0.{I_SID}/3.octets": len(frame) + 4}


def test_a_frame_for_another_element_is_forwarded_as_it_is(lab: Lab) -> None:
    frame = backbone(customer(CAROL), NEXT, "02:52:50:01:00:03", pcp=2, i_sid=0xABCDEF)

    assert lab.pass_through("nni2", frame) == {"nni1": [frame]}
    assert lab.pass_through("nni1", frame) == {}
    assert lab.counted("drop") == {"drop.back": 1}


def test_a_frame_for_this_element_is_decapsulated(lab: Lab) -> None:
    inner = customer(BOB, CAROL, pcp=7)

    assert lab.pass_through("nni1", backbone(inner)) == {"uni2": [inner]}


def test_a_neighbour_at_the_same_element_gets_frames_without_a_header(lab: Lab) -> None:
    frame = customer(BOB)

    assert lab.pass_through("uni1", frame) == {"uni2": [frame]}
    assert lab.pass_through("uni2", frame) == {}
    assert lab.counted("drop") == {"drop.back": 1}


def test_multicast_of_a_customer_reaches_neighbours_plain_and_the_network_encapsulated(lab: Lab) -> None:
    frame = customer(BROADCAST)
    outer = backbone(frame, GROUP, OWN)

    assert lab.pass_through("uni1", frame) == {"uni2": [frame], "nni1": [outer], "nni2": [outer]}


def test_multicast_of_the_network_reaches_the_service_and_never_goes_back(lab: Lab) -> None:
    inner = customer(BROADCAST, CAROL)
    outer = backbone(inner, GROUP)

    assert lab.pass_through("nni1", outer) == {"uni1": [inner], "uni2": [inner], "nni2": [outer]}
    assert lab.pass_through("nni1", backbone(inner)) == {"uni1": [inner], "uni2": [inner]}


def test_access_control_decides_by_the_first_rule_that_matches(lab: Lab) -> None:
    first = AccessRule(i_sid=I_SID, permit=True, source=ALICE, ethertype=0x0806)
    lab.apply(replace(ELEMENT, access=(first, *ELEMENT.access)))
    arp, other = (customer(CAROL, source, ethertype=0x0806) for source in (ALICE, BOB))

    assert lab.pass_through("uni1", arp, other) == {"nni1": [backbone(arp, NEXT, OWN)]}
    assert lab.counted("drop") == {"drop.access": 1}
    assert [lab.counted()[f"table.1,2.{I_SID}/{rule}.frames"] for rule in (0, 1)] == [1, 1]
    assert "table 1,2: i-sid 65537 rule 0 permit source 02:00:00:00:00:0a ethertype 0x0806" in lab.device.configuration()


def test_oam_frames_are_counted_and_those_for_others_go_on(lab: Lab) -> None:
    by_address = customer("01:80:c2:00:00:35")
    for_another = backbone(customer(CAROL), NEXT, uca=1)

    assert lab.pass_through("uni1", customer(CAROL, ethertype=0x8902), by_address) == {}
    assert lab.pass_through("nni1", backbone(customer(BOB), uca=1)) == {}
    assert lab.pass_through("nni2", for_another) == {"nni1": [for_another]}
    assert lab.counted("oam") == {"oam.local": 3, "oam.forwarded": 1}
    assert lab.counted("drop") == {}


@pytest.mark.parametrize(
    ("port", "frame", "reason"),
    [
        ("uni1", bytes(17), "malformed"),
        ("uni1", customer(CAROL).replace(b"\x81\x00", b"\x88\xa8", 1), "no_c_tag"),
        ("uni1", customer(CAROL, vlan=12), "no_service"),
        ("uni1", customer("02:00:00:00:00:99"), "no_station"),
        ("uni3", customer(BOB, vlan=11), "c_vlan"),
        ("uni1", customer(CAROL, octets=1993), "too_long"),
        ("nni1", customer(BOB), "not_xcf"),
        ("nni1", backbone(customer(BOB))[:39], "malformed"),
        ("nni1", backbone(customer(BOB), i_sid=I_SID + 1), "no_service"),
        ("nni1", backbone(customer(BOB), vlan=102), "b_vlan"),
        ("nni1", backbone(customer(BOB, vlan=11)), "c_vlan"),
        ("nni1", backbone(customer(CAROL)), "no_station"),
        ("nni1", backbone(customer(BOB), NEXT, vlan=102), "no_route"),
        ("nni1", backbone(customer(BOB), NEXT, OWN), "loop"),
    ],
    ids=lambda value: value if isinstance(value, str) else "frame",
)
def test_what_matches_nothing_is_dropped_and_counted_by_reason(lab: Lab, port: str, frame: bytes, reason: str) -> None:
    assert lab.pass_through(port, frame) == {}
    assert lab.counted("drop") == {f"drop.{reason}": 1}


def test_the_longest_frame_fits(lab: Lab) -> None:
    frame = customer(CAROL, octets=1992)

    assert lab.pass_through("uni1", frame) == {"nni1": [backbone(frame, NEXT, OWN)]}


def test_without_tables_nothing_passes_and_a_check_says_so(standing: Lab) -> None:
    standing.device.restore()

    assert standing.pass_through("uni1", customer(CAROL)) == {}
    with pytest.raises(DeviceError, match="no tables"):
        standing.device.check(ELEMENT)


def test_tables_that_contradict_themselves_are_refused(lab: Lab) -> None:
    twice = replace(ELEMENT, services=(*ELEMENT.services, replace(ELEMENT.services[0], i_sid=7)))

    with pytest.raises(DeviceError, match=r"attachment .*'uni1', 10.* expected once"):
        lab.apply(twice)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_tshark_reads_the_headers_as_they_are_meant(lab: Lab, tmp_path: Path) -> None:
    frame = customer(CAROL, pcp=3)
    (outer,) = lab.pass_through("uni1", frame)["nni1"]
    (local,) = lab.pass_through("nni1", backbone(customer(BOB, CAROL, pcp=1)))["uni2"]
    capture = tmp_path / "frames.pcap"
    capture.write_bytes(pcap((outer, local)))

    encapsulated, plain = _dissect(capture)

    assert (encapsulated["eth.dst"], encapsulated["eth.src"]) == ([NEXT], [OWN])
    assert encapsulated["eth.type"][0] == "0x88a8"
    assert (encapsulated["ieee8021ad.id"], encapsulated["ieee8021ad.priority"]) == (["101"], ["6"])
    assert encapsulated["ieee8021ah.isid"] == [str(I_SID)]
    assert encapsulated["ieee8021ah.nca"] == ["0"]
    assert (plain["eth.dst"], plain["vlan.id"], plain["vlan.priority"]) == ([BOB], ["10"], ["1"])
    assert "ieee8021ah.isid" not in plain


def _dissect(capture: Path) -> list[dict[str, list[str]]]:
    fields = (
        "eth.dst",
        "eth.src",
        "eth.type",
        "vlan.id",
        "vlan.priority",
        "ieee8021ad.id",
        "ieee8021ad.priority",
        "ieee8021ah.isid",
        "ieee8021ah.nca",
    )
    asked = [word for field in fields for word in ("-e", field)]
    shown = subprocess.run(["tshark", "-r", str(capture), "-T", "json", *asked], check=True, capture_output=True, text=True, timeout=30)
    return [packet["_source"]["layers"] for packet in json.loads(shown.stdout)]
