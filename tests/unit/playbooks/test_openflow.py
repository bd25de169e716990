"""Are the tables of an XPFE the same as OpenFlow flows? And what is read and said in the words of flows."""

import json
import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from rackproof_native import ElementPipeline

from orchestrator.devices.platforms import objection, platforms
from orchestrator.openflow import crosshaul, entries, switch
from orchestrator.openflow.flows import Tables, instructions_of, match_of
from rackproof.errors import DeviceError
from rackproof.model.functions import Flow
from rackproof.model.xcf import AccessRule, Attachment, ForwardingElement, Group, Policer, Priority, Route, Service, Station
from tests.unit.playbooks.openflow_interpreter import Interpreter

TEXTS = Path(__file__).parent / "openflow"
FRAMES = 100_000 if os.environ.get("RACKPROOF_LONG") == "1" else 10_000
RENDER = os.environ.get("RACKPROOF_RENDER") == "1"
OWN, NEXT, PREVIOUS = (f"02:52:50:01:00:{number:02x}" for number in (2, 3, 1))
MANY, FEW = "03:52:50:00:00:01", "03:52:50:00:00:02"
UNI, NNI = ("u1", "u2", "u3"), ("west", "east")
#: Two services of a tenant with its own tables, one of tenant 30, and two of tenants that share tables.
TENANTS = (1, 1, 30, 31, 500)
I_SIDS = (0x010001, 0x010002, 0x020001, 0x030001, 0x030002)
C_VLANS = (10, 20, 30, 31, 32)
STATION = "02:52:50:00:00:{:02x}"
SMALL = ForwardingElement(
    address=OWN,
    uni=("uni",),
    nni=("west", "east"),
    services=(Service(i_sid=0x010001, tenant=1, b_vlan=101, attachments=(Attachment(port="uni", c_vlan=10),)),),
    priorities=(Priority(i_sid=0x010001, pcp=5, b_pcp=6),),
    access=(AccessRule(i_sid=0x010001, permit=False, ethertype=0x88B5),),
    policers=(Policer(i_sid=0x010001, rate_bps=2_000_000, burst_bytes=10_000),),
    stations=(
        Station(i_sid=0x010001, address=STATION.format(1), port="uni"),
        Station(i_sid=0x010001, address=STATION.format(2), element=NEXT),
    ),
    groups=(Group(i_sid=0x010001, address=MANY),),
    routes=(Route(address=NEXT, b_vlan=101, ports=("east",)), Route(address=MANY, b_vlan=101, ports=("west", "east"))),
)


def whole() -> ForwardingElement:
    """An element with something in every table."""
    services = tuple(
        Service(i_sid=i_sid, tenant=tenant, b_vlan=101 + number % 2, attachments=_attachments(number))
        for number, (i_sid, tenant) in enumerate(zip(I_SIDS, TENANTS, strict=True))
    )
    stations = [
        Station(i_sid=i_sid, address=STATION.format(port), port=UNI[port]) for i_sid in I_SIDS for port in range(3) if i_sid != I_SIDS[4]
    ]
    stations += [Station(i_sid=i_sid, address=STATION.format(7), element=NEXT) for i_sid in I_SIDS]
    stations += [Station(i_sid=i_sid, address=STATION.format(8), element=PREVIOUS) for i_sid in I_SIDS[:3]]
    return ForwardingElement(
        address=OWN,
        uni=UNI,
        nni=NNI,
        services=services,
        priorities=tuple(Priority(i_sid=i_sid, pcp=pcp, b_pcp=7 - pcp) for i_sid in (I_SIDS[0], I_SIDS[3]) for pcp in (0, 2, 5, 7)),
        access=(
            AccessRule(i_sid=I_SIDS[0], permit=True, source=STATION.format(0), ethertype=0x88B5),
            AccessRule(i_sid=I_SIDS[0], permit=False, ethertype=0x88B5),
            AccessRule(i_sid=I_SIDS[3], permit=False, destination=STATION.format(1)),
        ),
        stations=tuple(stations),
        groups=(Group(i_sid=I_SIDS[0], address=MANY), Group(i_sid=I_SIDS[3], address=FEW), Group(i_sid=I_SIDS[2], address=MANY)),
        routes=(
            Route(address=NEXT, b_vlan=101, ports=("east",)),
            Route(address=NEXT, b_vlan=102, ports=("east",)),
            Route(address=PREVIOUS, b_vlan=101, ports=("west",)),
            Route(address=MANY, b_vlan=101, ports=("west", "east")),
        ),
    )


def _attachments(number: int) -> tuple[Attachment, ...]:
    own = tuple(Attachment(port=port, c_vlan=C_VLANS[number]) for port in UNI[: 3 - number % 2])
    return (*own, Attachment(port="u3", c_vlan=40)) if number == 0 else own


def test_the_flows_of_an_element() -> None:
    tables = crosshaul.tables(SMALL)
    lines = [f"meter={meter.number} kbps={meter.rate_kbps} burst={meter.burst_kbits}" for meter in tables.meters]
    lines += [f"group={group.number} buckets={' '.join(group.buckets)}" for group in tables.groups]
    lines += [entries.text_of(flow) for flow in sorted(tables.flows, key=lambda flow: (flow.table, -flow.priority))]
    text = "\n".join(lines) + "\n"
    path = TEXTS / "crosshaul.txt"
    if RENDER:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_tables_are_numbered_as_the_paper_says() -> None:
    numbers = {(tenant, n): crosshaul.table(tenant, n) for tenant in range(1, 31) for n in (0, 1, 2, 3, 4, 5, 7)}
    shared = {crosshaul.table(31, n) for n in (0, 1, 2, 3, 4, 5, 7)}
    common = {crosshaul.CLASSIFY, crosshaul.TENANT, crosshaul.TUNNEL, crosshaul.ENCAPSULATE, crosshaul.FORWARD}
    assert len({*numbers.values()} | shared | common) == 30 * 7 + 7 + 5
    assert max(numbers.values()) == 247
    assert (crosshaul.CLASSIFY, crosshaul.TUNNEL, crosshaul.ENCAPSULATE, crosshaul.FORWARD) == (0, 3, 252, 253)
    assert crosshaul.table(31, 4) == crosshaul.table(9000, 4)


def test_random_frames_leave_as_the_native_engine_forwards_them() -> None:
    element, rng = whole(), random.Random(7)
    interpreter, native = Interpreter(crosshaul.tables(element)), ElementPipeline(element)
    left = Counter[int]()
    for _ in range(FRAMES):
        frame, port = _frame(rng)
        found = interpreter.run(frame, port)
        assert Counter(found) == Counter(native.forward(port, frame, 0)), (port, frame.hex())
        left[len(found)] += 1
    assert left[1] > FRAMES / 20
    assert left[2] > FRAMES / 200
    assert interpreter.seen == set(crosshaul.tables(element).flows), "every flow was used"


def test_nothing_crosses_from_one_service_to_another() -> None:
    element, rng = whole(), random.Random(11)
    interpreter = Interpreter(crosshaul.tables(element))
    of_port = {(at.port, at.c_vlan): service.i_sid for service in element.services for at in service.attachments}
    crossed = 0
    for _ in range(FRAMES // 4):
        frame, port = _frame(rng)
        mine = int.from_bytes(frame[19:22], "big") if port in NNI else of_port.get((port, int.from_bytes(frame[14:16], "big") & 0xFFF))
        for where, out in interpreter.run(frame, port):
            if where in UNI:
                assert of_port[where, int.from_bytes(out[14:16], "big") & 0xFFF] == mine
            elif port in UNI:
                assert int.from_bytes(out[19:22], "big") == mine
            crossed += 1
    assert crossed > FRAMES / 40


def _frame(rng: random.Random) -> tuple[bytes, str]:
    """A frame that is likely to get somewhere, and the port that it comes in at; ethertypes of tags are those of the port's kind."""
    targets = [*(STATION.format(number) for number in (0, 1, 2, 7, 8, 9)), "ff:ff:ff:ff:ff:ff", "01:80:c2:00:00:3f"]
    customer = _mac(rng.choice(targets)) + _mac(STATION.format(rng.randrange(3)))
    if rng.random() < 0.95:
        customer += b"\x81\x00" + (rng.randrange(8) << 13 | rng.choice((*C_VLANS, 10, 20, 40, 99, 0))).to_bytes(2, "big")
    customer += rng.choice((b"\x88\xb5", b"\x08\x00", b"\x08\x00", b"\x89\x02")) + rng.randbytes(46)
    if rng.random() < 0.5:
        return customer, rng.choice(UNI)
    source = rng.choice((NEXT, PREVIOUS, PREVIOUS, OWN)) if rng.random() < 0.3 else PREVIOUS
    outer = _mac(rng.choice((OWN, OWN, OWN, NEXT, PREVIOUS, MANY, MANY, FEW, "01:80:c2:00:00:31", "02:00:00:00:00:99"))) + _mac(source)
    outer += b"\x88\xa8" + (rng.randrange(8) << 13 | rng.choice((101, 102, 103))).to_bytes(2, "big")
    if rng.random() < 0.05:
        return outer + b"\x89\x02" + rng.randbytes(46), rng.choice(NNI)
    i_sid = rng.choice((*I_SIDS, 0x0F0000)).to_bytes(3, "big")
    return outer + b"\x88\xe7" + bytes([rng.randrange(8) << 5]) + i_sid + customer, rng.choice(NNI)


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def test_flows_become_octets_and_text_and_the_same_flows_again() -> None:
    ports = {name: number for number, name in enumerate(("uni", "west", "east"), 1)}
    asked = switch.wanted(crosshaul.tables(SMALL), ports)
    kept = switch.state_of(asked.text)
    assert kept == asked
    assert switch.differences(asked, kept) == []
    for plain in asked.flows.values():
        again = entries.flow_mod(json.loads(json.dumps(plain)))
        assert entries.plain_flow(again) == plain


def test_differences_are_said_in_words() -> None:
    flows = (Flow(table=0, priority=1, match="in_port=1", actions="output:2"), Flow(table=1, priority=1, match="", actions=""))
    asked = switch.wanted(Tables(flows=flows), {})
    other = (Flow(table=0, priority=1, match="in_port=1", actions="output:3"), Flow(table=2, priority=0, match="", actions="drop"))
    found = switch.wanted(Tables(flows=other), {})
    assert switch.differences(asked, found) == [
        "flow: expected table=0,priority=1,in_port=0x1 actions=output:2, found table=0,priority=1,in_port=0x1 actions=output:3",
        "missing flow: table=1,priority=1 actions=drop",
        "flow that was not asked for: table=2,priority=0 actions=drop",
    ]


def test_the_words_of_matches_and_actions() -> None:
    assert match_of("in_port=p1, dl_vlan=10,dl_vlan_pcp=3,metadata=0x5/0xff") == {
        "in_port": ("p1", None),
        "vlan_vid": (0x100A, None),
        "vlan_pcp": (3, None),
        "metadata": (5, 255),
    }
    done = instructions_of("meter:2,push_vlan:0x8100,set_field:10->dl_vlan,write_metadata:0x1/0x3,goto_table:7")
    assert (done.meter, done.metadata, done.table) == (2, (1, 3), 7)
    assert [(action.name, action.field, action.value) for action in done.actions] == [
        ("push_vlan", "", 0x8100),
        ("set_field", "vlan_vid", 0x100A),
    ]


@pytest.mark.parametrize(
    ("match", "actions", "said"),
    [
        ("in_port=p9", "drop", "the switch has no port p9 (it has p1)"),
        ("tcp", "drop", "expected FIELD=VALUE, found 'tcp'"),
        ("colour=3", "drop", "colour"),
        ("", "resubmit(,3)", "it does not know the action 'resubmit('"),
        ("", "group:many", "expected a number in 'group:many', found 'many'"),
    ],
)
def test_what_cannot_be_said_is_quoted(match: str, actions: str, said: str) -> None:
    with pytest.raises(DeviceError) as found:
        entries.flow(Flow(table=4, priority=3, match=match, actions=actions), {"p1": 1})
    assert said in str(found.value)
    assert "table=4,priority=3" in str(found.value)


def test_what_openflow_cannot_do_is_an_objection() -> None:
    platform = platforms()["openflow"]
    assert objection(platform, SMALL) == ""
    uneven = replace(SMALL, policers=(Policer(i_sid=0x010001, rate_bps=1500, burst_bytes=1000),))
    assert "meters count whole kbit/s" in objection(platform, uneven)
    stray = replace(SMALL, groups=(Group(i_sid=9, address=MANY),))
    assert "there is no service 0x9" in objection(platform, stray)
