"""The pipeline of the forwarding element in the native engine, without ports: what holds for all tables and all frames."""

import random
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from rackproof_native import ElementPipeline

from rackproof.model.xcf import ENCAPSULATION_BYTES, Attachment, ForwardingElement, Policer, Route, Service, Station
from tests.integration.bench.xpfe import fuzz
from tests.integration.bench.xpfe.lab import customer, mac

seeds = st.integers(0, 2**32 - 1)
FRAMES = 10
I_SID = 0x10001
NEAR, FAR = "02:52:50:01:00:01", "02:52:50:01:00:02"
STATION = "02:00:00:00:00:01"


def edge(address: str, station: Station, *, out: str = "uni") -> ForwardingElement:
    """One end of a service."""
    service = Service(i_sid=I_SID, tenant=1, b_vlan=101, attachments=(Attachment(port=out, c_vlan=10),))
    routes = (Route(address=FAR, b_vlan=101, ports=("nni",)),)
    return ForwardingElement(address=address, uni=(out,), nni=("nni",), services=(service,), stations=(station,), routes=routes)


def some(seed: int) -> tuple[ForwardingElement, Sequence[tuple[str, bytes]]]:
    """Tables, and frames that come in at ports."""
    rng = random.Random(seed)
    return fuzz.tables(rng), [fuzz.frame(rng, number) for number in range(FRAMES)]


def counted(pipeline: ElementPipeline, *prefixes: str) -> int:
    return sum(value for name, value in pipeline.counters().items() if name.startswith(prefixes))


@given(pcp=st.integers(0, 7), ethertype=st.integers(0, 0xFFFF).filter(lambda kind: kind != 0x8902), payload=st.binary(max_size=1970))
def test_what_enters_the_network_leaves_it_unchanged(pcp: int, ethertype: int, payload: bytes) -> None:
    frame = customer(STATION, pcp=pcp, ethertype=ethertype, octets=18) + payload
    into = ElementPipeline(edge(NEAR, Station(i_sid=I_SID, address=STATION, element=FAR)))
    out_of = ElementPipeline(edge(FAR, Station(i_sid=I_SID, address=STATION, port="uni")))
    ((port, carried),) = into.forward("uni", frame, 1)
    assert (port, len(carried)) == ("nni", len(frame) + ENCAPSULATION_BYTES)
    assert carried[:12] == mac(FAR) + mac(NEAR)
    assert out_of.forward("nni", carried, 2) == [("uni", frame)]


def only(element: ForwardingElement, i_sid: int | None) -> ForwardingElement:
    """The tables without what belongs to other services."""
    return replace(
        element,
        services=tuple(entry for entry in element.services if entry.i_sid == i_sid),
        priorities=tuple(entry for entry in element.priorities if entry.i_sid == i_sid),
        access=tuple(entry for entry in element.access if entry.i_sid == i_sid),
        policers=tuple(entry for entry in element.policers if entry.i_sid == i_sid),
        stations=tuple(entry for entry in element.stations if entry.i_sid == i_sid),
        groups=tuple(entry for entry in element.groups if entry.i_sid == i_sid),
    )


def service_of(element: ForwardingElement, port: str, frame: bytes) -> Service | None:
    """The service that a frame says it belongs to: by port and C-VLAN from customers, by I-SID from the network."""
    if port in element.nni:
        known = [service for service in element.services if service.i_sid == int.from_bytes(frame[19:22])]
    else:
        place = Attachment(port=port, c_vlan=int.from_bytes(frame[14:16]) & 0xFFF)
        known = [service for service in element.services if place in service.attachments]
    return known[0] if known else None


@settings(max_examples=60)
@given(seeds)
def test_what_becomes_of_a_frame_depends_on_its_own_service_alone(seed: int) -> None:
    element, frames = some(seed)
    everything = ElementPipeline(element)
    for port, frame in frames:
        service = service_of(element, port, frame)
        alone = ElementPipeline(only(element, service.i_sid if service else None))
        left = everything.forward(port, frame, 1)
        assert left == alone.forward(port, frame, 1)
        for egress, what in left:
            if egress in element.uni:
                assert service is not None
                assert Attachment(port=egress, c_vlan=int.from_bytes(what[14:16]) & 0xFFF) in service.attachments
            elif port in element.uni:
                assert service is not None
                assert int.from_bytes(what[19:22]) == service.i_sid


@settings(max_examples=60)
@given(seeds)
def test_a_frame_leaves_or_its_end_is_counted_once(seed: int) -> None:
    element, frames = some(seed)
    for port, frame in frames:
        pipeline = ElementPipeline(element)
        left = pipeline.forward(port, frame, 1)
        ends = counted(pipeline, "drop.", "oam.local")
        assert counted(pipeline, f"table.0.{port}.frames") == 1
        assert all(egress != port for egress, _ in left)
        if frame[0] & 1 and not counted(pipeline, "oam.local"):
            assert ends <= 1  # a group may have no other member, and one here while the network has none
        elif frame[22:23] > b"" and frame[22] & 1:
            assert ends == (not left)
        else:
            assert ends + len(left) == 1


@settings(max_examples=60)
@given(seeds)
def test_tenants_that_share_tables_fare_as_those_with_their_own(seed: int) -> None:
    element, frames = some(seed)
    shared = replace(element, services=tuple(replace(service, tenant=service.tenant + 30) for service in element.services))
    own, all_in_one = ElementPipeline(element), ElementPipeline(shared)
    assert [own.forward(*came, 1) for came in frames] == [all_in_one.forward(*came, 1) for came in frames]
    assert sum(own.counters().values()) == sum(all_in_one.counters().values())
    assert not any(name.startswith("table.1,") for name in all_in_one.counters())


@settings(max_examples=60)
@given(seeds, seeds)
def test_changed_tables_are_like_new_ones(first: int, second: int) -> None:
    (before, early), (after, late) = some(first), some(second)
    changed, new = ElementPipeline(before), ElementPipeline(after)
    for came in early:
        changed.forward(*came, 1)
    changed.change(after)
    assert changed.counters().keys() == new.counters().keys()
    policed = {policer.i_sid for policer in (*before.policers, *after.policers)}
    for port, frame in late:
        service = service_of(after, port, frame)
        if service is None or service.i_sid not in policed:
            assert changed.forward(port, frame, 1) == new.forward(port, frame, 1)


@settings(max_examples=50)
@given(
    rate_bps=st.integers(10**3, 10**10),
    burst_bytes=st.integers(64, 100_000),
    arrivals=st.lists(st.tuples(st.integers(0, 10**7), st.integers(64, 1522)), min_size=1, max_size=40),
)
def test_a_policer_is_a_token_bucket(rate_bps: int, burst_bytes: int, arrivals: list[tuple[int, int]]) -> None:
    element = edge(NEAR, Station(i_sid=I_SID, address=STATION, element=FAR))
    pipeline = ElementPipeline(replace(element, policers=(Policer(i_sid=I_SID, rate_bps=rate_bps, burst_bytes=burst_bytes),)))
    bits, now, before = burst_bytes * 8.0, 0, 0
    for gap_ns, frame_bytes in arrivals:
        now += gap_ns
        bits = min(burst_bytes * 8.0, bits + (now - before) * rate_bps / 1e9)
        before = now
        passed = len(pipeline.forward("uni", customer(STATION, octets=frame_bytes - 4), now))
        slack = 1 + rate_bps * 1e-9  # whole parts of a nanosecond
        if passed:
            assert bits >= frame_bytes * 8 - slack
            bits = max(0.0, bits - frame_bytes * 8)
        else:
            assert bits < frame_bytes * 8 + slack
