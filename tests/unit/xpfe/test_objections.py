"""Which tables of a forwarding element are refused, and how those that are not are written out."""

import random
import re
from dataclasses import replace

import pytest

from orchestrator.bench.devices import xpfe
from orchestrator.bench.xpfe.objections import objection
from orchestrator.bench.xpfe.words import text
from rackproof.model.functions import DeviceFunction, Vlan
from rackproof.model.xcf import AccessRule, Attachment, ForwardingElement, Group, Policer, Priority, Route, Service, Station
from tests.integration.bench.xpfe import fuzz

ALICE = "02:00:00:00:00:0a"
NEXT = "02:52:50:01:00:02"
SERVICE = Service(i_sid=7, tenant=1, b_vlan=101, attachments=(Attachment(port="uni", c_vlan=10),))
ELEMENT = ForwardingElement(address="02:52:50:01:00:01", uni=("uni",), nni=("nni",), services=(SERVICE,))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (replace(ELEMENT, address="01:52:50:01:00:01"), "one station"),
        (replace(ELEMENT, nni=("uni",)), "port uni: expected once"),
        (replace(ELEMENT, services=(SERVICE, SERVICE)), "I-SID 7: expected once"),
        (replace(ELEMENT, services=(SERVICE, replace(SERVICE, i_sid=8))), "attachment .*expected once"),
        (replace(ELEMENT, services=(replace(SERVICE, i_sid=2**24),)), "I-SID 16777216: expected 1 to"),
        (replace(ELEMENT, services=(replace(SERVICE, b_vlan=4095),)), "b_vlan of I-SID 7: expected 1 to 4094"),
        (replace(ELEMENT, services=(replace(SERVICE, attachments=(Attachment(port="nni", c_vlan=1),)),)), "expected a UNI port"),
        (replace(ELEMENT, priorities=(Priority(i_sid=7, pcp=0, b_pcp=8),)), "expected 0 to 7"),
        (replace(ELEMENT, priorities=(Priority(i_sid=9, pcp=0, b_pcp=1),)), "Priority of I-SID 9: expected a service"),
        (replace(ELEMENT, access=(AccessRule(i_sid=7, permit=True),) * 33), "at most 32 rules, found 33"),
        (replace(ELEMENT, access=(AccessRule(i_sid=7, permit=True, source="alice"),)), "found 'alice'"),
        (replace(ELEMENT, access=(AccessRule(i_sid=7, permit=True, ethertype=1 << 16),)), "16 bits"),
        (replace(ELEMENT, policers=(Policer(i_sid=7, rate_bps=0, burst_bytes=1),)), "above 0"),
        (replace(ELEMENT, stations=(Station(i_sid=7, address=ALICE),)), "a port or an element, one of them"),
        (replace(ELEMENT, stations=(Station(i_sid=7, address=ALICE, port="nni"),)), "expected a UNI port"),
        (replace(ELEMENT, stations=(Station(i_sid=7, address=ALICE, element=ELEMENT.address),)), "another element"),
        (replace(ELEMENT, stations=(Station(i_sid=7, address=ALICE, port="uni"),) * 2), "station .*expected once"),
        (replace(ELEMENT, groups=(Group(i_sid=7, address=NEXT),)), "expected a group address"),
        (replace(ELEMENT, routes=(Route(address=NEXT, b_vlan=101, ports=("uni",)),)), "expected an NNI port"),
        (replace(ELEMENT, nni=("nni", "nni2"), routes=(Route(address=NEXT, b_vlan=101, ports=("nni", "nni2")),)), "one port, found 2"),
        (Vlan(vlan_id=1), "xpfe cannot do Vlan"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tables_that_make_no_sense_are_named(wrong: DeviceFunction, why: str) -> None:
    assert re.search(why, xpfe.objection(wrong))


def test_tables_without_a_contradiction_are_taken() -> None:
    assert [objection(fuzz.tables(random.Random(seed))) for seed in range(200)] == [""] * 200


def test_every_entry_is_a_line() -> None:
    element = replace(
        ELEMENT,
        priorities=(Priority(i_sid=7, pcp=3, b_pcp=6),),
        access=(AccessRule(i_sid=7, permit=False, ethertype=0x0806), AccessRule(i_sid=7, permit=True)),
        policers=(Policer(i_sid=7, rate_bps=10**6, burst_bytes=3000),),
        stations=(Station(i_sid=7, address=ALICE, port="uni"), Station(i_sid=7, address="02:00:00:00:00:0b", element=NEXT)),
        groups=(Group(i_sid=7, address="01:52:50:01:00:01"),),
        routes=(Route(address=NEXT, b_vlan=101, ports=("nni",)),),
    )

    assert text(element).splitlines() == [
        "address 02:52:50:01:00:01",
        "table 0: uni uni; nni nni",
        "table 3: i-sid 7 b-vlan 101 -> tables of tenant 1",
        "table 1,1: port uni c-vlan 10 -> i-sid 7",
        "table 1,0: i-sid 7 pcp 3 -> 6",
        "table 1,2: i-sid 7 rule 0 deny ethertype 0x0806",
        "table 1,2: i-sid 7 rule 1 permit all",
        "table 1,3: i-sid 7 rate 1000000 bit/s burst 3000 bytes",
        "table 1,4: i-sid 7 02:00:00:00:00:0a -> port uni",
        "table 1,7: i-sid 7 02:00:00:00:00:0b -> element 02:52:50:01:00:02",
        "table 1,7: i-sid 7 multicast -> 01:52:50:01:00:01",
        "table 253: 02:52:50:01:00:02 b-vlan 101 -> nni",
    ]
