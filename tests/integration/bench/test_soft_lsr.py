"""Does a row of soft-lsr signal and forward as the RFCs say, with real packets, and show each defect that is switched on?"""

import struct
import time
from dataclasses import replace

import pytest

from orchestrator.bench import links
from orchestrator.bench.devices import soft_lsr
from orchestrator.bench.lsr.options import checked
from rackproof.errors import DeviceError
from rackproof.model.functions import Mpls, MplsInterface, StaticLabel
from testplans.mpls_flap import addresses
from testplans.mpls_flap.addresses import EAST, EGRESS, INGRESS
from tests.integration.bench.lsr import messages
from tests.integration.bench.lsr.lab import PAYLOAD, QUIET_S, WAIT_S, Row
from tests.waiting import SOON_S, until

pytestmark = pytest.mark.netns

EGRESS_LABEL = 3333
IPV4_BYTES, LABEL_BYTES = 20, 4


def entry(frame: bytes, depth: int = 0) -> tuple[int, int, int, int]:
    """Label, class, bottom of stack and TTL of what came out labelled; depth: how many labels are above."""
    (ethertype,), (word,) = struct.unpack_from("!H", frame), struct.unpack_from("!I", frame, 2 + 4 * depth)
    assert ethertype == 0x8847
    return word >> 12, word >> 9 & 7, word >> 8 & 1, word & 0xFF


def tell(device: soft_lsr.Model, function: Mpls) -> None:
    """Apply it; its labels forward as soon as the neighbours have said their addresses."""
    device.apply(function)
    until(lambda: device.counters()["labels.forwarding"] >= len(function.labels))
    device.check(function)


def first(row: Row, label: int) -> bytes:
    """What comes out as soon as the label forwards."""
    end = time.monotonic() + SOON_S
    while not (frame := row.labelled(label, wait_s=QUIET_S)):
        assert time.monotonic() < end
    return frame


@pytest.mark.parametrize("forwarding", ["auto", "native"])
def test_an_lsp_through_three_routers(forwarding: str) -> None:
    with Row(3, forwarding=forwarding) as row:
        row.path(7)
        path = row.message("out")
        assert (path.kind, path.source, path.destination) == (messages.PATH, INGRESS.router_id, EGRESS.router_id)
        assert path.alert
        assert path.ttl == path.rsvp_ttl == messages.TTL - 3
        assert path.hop == EGRESS.neighbour
        row.resv(7, EGRESS_LABEL)
        resv = row.message("in")
        assert (resv.kind, resv.source, resv.destination) == (messages.RESV, INGRESS.neighbour, INGRESS.address)
        assert resv.hop == INGRESS.neighbour
        assert not resv.alert
        assert entry(row.labelled(resv.label)) == (EGRESS_LABEL, 5, 1, 61)
        assert entry(row.labelled(resv.label, ttl=4, pcp=2)) == (EGRESS_LABEL, 2, 1, 1)
        assert not row.forwards(resv.label, ttl=3)
        assert not row.forwards(resv.label + 1)
        row.tear(7)
        assert row.message("out").kind == messages.PATH_TEAR
        assert not row.forwards(resv.label)
        assert row.establish(8, EGRESS_LABEL) != resv.label
        for number, device in enumerate(row.devices, 1):
            device.check(row.function(number))
            counters = device.counters()
            assert (counters["lsps"], counters["labels"], counters["labels.forwarding"]) == (1, 1, 1)
            assert counters["rsvp.path.received"] == counters["rsvp.path.sent"] == 2
        assert row.devices[0].counters()["drop.no_label"] == 2


def test_the_last_router_pops_where_the_egress_asks_for_it() -> None:
    with Row(2) as row:
        frame = row.labelled(row.establish(1, 3))
        assert frame[:2] == b"\x08\x00"
        assert frame[2 + 8] == 62
        assert messages.checksum(frame[2:22]) == 0
        assert frame.endswith(PAYLOAD)


def test_static_labels_change_while_others_stay() -> None:
    with Row(1) as row:
        (device,) = row.devices
        swap = StaticLabel(in_label=100, port="east", next_hop=EGRESS.address, out_label=200)
        pop = StaticLabel(in_label=101, port="east", next_hop=EGRESS.address)
        signalled = row.establish(1, EGRESS_LABEL)
        for labels in ((swap,), (swap, pop), (pop,)):
            device.apply(row.function(1, *labels))
            device.check(row.function(1, *labels))
            for label in (swap, pop):
                came = row.labelled(label.in_label, wait_s=WAIT_S if label in labels else QUIET_S)
                assert bool(came) == (label in labels)
            assert entry(row.labelled(signalled))[0] == EGRESS_LABEL
        device.restore()
        assert not row.forwards(signalled)
        assert device.counters() == {}


@pytest.mark.parametrize("forwarding", ["auto", "native"])
def test_a_static_label_pushes_another_on_top(forwarding: str) -> None:
    with Row(2, forwarding=forwarding) as row:
        first, last = row.devices
        between = addresses.ports(1, 2, ring=False)[EAST][1]
        swap = StaticLabel(in_label=100, port=EAST, next_hop=between, out_label=200)
        into = StaticLabel(in_label=101, port=EAST, next_hop=between, out_label=201, push=300)
        push = StaticLabel(in_label=200, port=EAST, next_hop=EGRESS.address, out_label=400, push=500)
        pop = StaticLabel(in_label=300, port=EAST, next_hop=EGRESS.address)
        tell(first, row.function(1, swap, into))
        tell(last, row.function(2, push, pop))
        assert "label 200 swap 400 push 500 via" in last.configuration()
        frame = row.labelled(100, pcp=3)
        assert [entry(frame, depth) for depth in (0, 1)] == [(500, 3, 0, 62), (400, 3, 1, 62)]
        assert frame.endswith(PAYLOAD)
        assert entry(row.labelled(101)) == (201, 5, 1, 62)
        room = b"." * (links.MTU - IPV4_BYTES - 2 * LABEL_BYTES)
        assert row.labelled(100, payload=room).endswith(room)
        assert not row.forwards(100, payload=room + b".")
        assert last.counters()["drop.too_long"] == 1
        assert last.counters()["forwarded"] == 3
        tell(last, row.function(2, replace(push, push=None), pop))
        assert entry(row.labelled(100)) == (400, 5, 1, 62)


def test_a_path_without_a_way_is_refused() -> None:
    with Row(2) as row:
        wrong = row.function(2)
        row.devices[1].apply(Mpls(router_id=wrong.router_id, interfaces=wrong.interfaces))
        row.path(1)
        error = row.message("in")
        assert (error.kind, error.source) == (messages.PATH_ERR, INGRESS.neighbour)
        assert error.of(6)[5:8] == bytes((24, 0, 5))


def test_tears_are_dropped() -> None:
    with Row(1, drop_tears=1.0) as row:
        label = row.establish(1, EGRESS_LABEL)
        row.tear(1)
        assert row.silent("out")
        assert row.labelled(label)
        until(lambda: row.devices[0].counters()["rsvp.defect.tears"] == 1)


def test_frames_leave_with_another_label_and_do_so_after_the_tear() -> None:
    with Row(1, stale_label=True, wrong_label=1.0) as row:
        label = row.establish(1, EGRESS_LABEL)
        assert entry(row.labelled(label))[0] == EGRESS_LABEL + 1
        row.tear(1)
        assert row.message("out").kind == messages.PATH_TEAR
        assert entry(row.labelled(label))[0] == EGRESS_LABEL + 1


def test_resv_is_early() -> None:
    early_s = 0.4
    with Row(1, early_resv_ms=early_s * 1e3) as row:
        begun = time.monotonic()
        label = row.establish(1, EGRESS_LABEL)
        assert entry(first(row, label))[0] == EGRESS_LABEL
        assert time.monotonic() - begun > early_s


def test_router_alert_is_ignored() -> None:
    with Row(3, ignore_router_alert=True) as row:
        row.path(1)
        path = row.message("out")
        assert path.hop == INGRESS.address
        assert (path.ttl, path.rsvp_ttl) == (messages.TTL - 3, messages.TTL)
        assert not any(device.counters()["lsps"] for device in row.devices)


def test_control_steals_from_forwarding() -> None:
    with Row(1, steal_us=1000.0, path_us=200_000) as row:
        label = row.establish(1, EGRESS_LABEL)
        # Whoever stands still here for long comes when the message has been dealt with.
        assert any(taken_beside_control_s(row, label, lsp) > 0.0009 for lsp in range(2, 12))
        row.path(12)
        assert row.message("out").kind == messages.PATH
        assert row.devices[0].facts()["forwarding"] == "native engine, user space"


def test_a_memory_forwards_so_much_and_no_more() -> None:
    with Row(1, memory_fps=1000.0) as row:
        label = row.establish(1, EGRESS_LABEL)
        assert min(taken_s(row, label) for _ in range(5)) > 0.0009


def taken_beside_control_s(row: Row, label: int, lsp: int) -> float:
    """How long a labelled packet takes while a PATH is being dealt with."""
    row.path(lsp)
    time.sleep(0.01)
    return taken_s(row, label)


def taken_s(row: Row, label: int) -> float:
    """How long a labelled packet takes, and what there is to do for it."""
    start = time.perf_counter()
    assert row.labelled(label)
    return time.perf_counter() - start


def test_what_makes_no_sense_is_refused() -> None:
    port = MplsInterface(port="east", address="10.83.1.1/30")
    assert "next hops" in soft_lsr.objection(Mpls(router_id="10.0.0.1", interfaces=(port,), routes={"10.0.0.0/8": "10.99.0.1"}))
    assert "labels from 16" in soft_lsr.objection(
        Mpls(router_id="10.0.0.1", interfaces=(port,), labels=(StaticLabel(in_label=3, port="east", next_hop="10.83.1.2"),))
    )
    pushing = StaticLabel(in_label=100, port="east", next_hop="10.83.1.2", push=300)
    for label, why in (
        (pushing, "expected an out_label below the label 300 that label 100 pushes"),
        (replace(pushing, out_label=200, push=3), "labels from 16"),
        (replace(pushing, out_label=200), ""),
    ):
        said = soft_lsr.objection(Mpls(router_id="10.0.0.1", interfaces=(port,), labels=(label,)))
        assert why in said if why else not said
    assert "no LDP" in soft_lsr.objection(
        Mpls(router_id="10.0.0.1", interfaces=(MplsInterface(port="east", address="10.83.1.1/30", ldp=True),))
    )
    assert not soft_lsr.objection(Mpls(router_id="10.0.0.1", interfaces=(port,), routes={"10.0.0.0/8": "10.83.1.2"}))
    nonsense: tuple[dict[str, float | bool | str], ...] = (
        {"path_ms": 1},
        {"drop_tears": 1.5},
        {"drop": "middle"},
        {"stale_label": 1},
        {"forwarding": "xdp", "steal_us": 1.0},
    )
    for options in nonsense:
        with pytest.raises(DeviceError, match="expected"):
            checked("r1", options)
