"""Many tenants, policing, and tables that change while frames run."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from orchestrator.bench.xpfe.element import XdpElement
from orchestrator.bench.xpfe.native import NativeElement
from rackproof.model.xcf import Attachment, ForwardingElement, Policer, Priority, Route, Service, Station
from tests.integration.bench.xpfe.lab import ALICE, BOB, CAROL, NEXT, OWN, Lab, backbone, customer

pytestmark = pytest.mark.netns

PORTS = ("uni1", "uni2", "nni1", "nni2")
#: Thirty with tables of their own, and ten more.
TENANTS = range(1, 41)
CHANGES = 30
EMPTY = ForwardingElement(
    address=OWN, uni=("uni1", "uni2"), nni=("nni1", "nni2"), routes=(Route(address=NEXT, b_vlan=101, ports=("nni1",)),)
)


both = pytest.mark.parametrize("lab", [XdpElement, NativeElement], indirect=True)


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with Lab(PORTS, getattr(request, "param", XdpElement)) as lab:
        yield lab


def of_tenants(*tenants: int) -> ForwardingElement:
    """Each tenant has the same customers behind its own C-VLAN: Alice at uni1, Bob at uni2, Carol behind the next element."""
    services = tuple(
        Service(
            i_sid=1000 + tenant,
            tenant=tenant,
            b_vlan=101,
            attachments=(Attachment(port="uni1", c_vlan=tenant), Attachment(port="uni2", c_vlan=tenant)),
        )
        for tenant in tenants
    )
    stations = tuple(
        station
        for service in services
        for station in (
            Station(i_sid=service.i_sid, address=ALICE, port="uni1"),
            Station(i_sid=service.i_sid, address=BOB, port="uni2"),
            Station(i_sid=service.i_sid, address=CAROL, element=NEXT),
        )
    )
    return replace(EMPTY, services=services, stations=stations)


@both
def test_forty_tenants_with_the_same_addresses_stay_apart(lab: Lab) -> None:
    lab.apply(of_tenants(*TENANTS))
    frames = [customer(CAROL, vlan=tenant) for tenant in TENANTS]

    sent = lab.pass_through("uni1", *frames)
    back = lab.pass_through("nni1", *(backbone(customer(ALICE, CAROL, vlan=tenant), i_sid=1000 + tenant) for tenant in TENANTS))
    wrong = lab.pass_through("nni1", *(backbone(customer(ALICE, CAROL, vlan=tenant), i_sid=1001 + tenant) for tenant in TENANTS))

    assert sent == {"nni1": [backbone(frame, NEXT, OWN, i_sid=1000 + tenant) for frame, tenant in zip(frames, TENANTS, strict=True)]}
    assert back == {"uni1": [customer(ALICE, CAROL, vlan=tenant) for tenant in TENANTS]}
    assert wrong == {}
    assert lab.counted("drop") == {"drop.c_vlan": 39, "drop.no_service": 1}
    own, shared = (lab.counted(f"table.{tenant},7") for tenant in ("30", "shared"))
    assert own == {f"table.30,7.1030/{CAROL}.frames": 1, f"table.30,7.1030/{CAROL}.octets": 104}
    assert {name for name in shared if name.endswith(".frames")} == {
        f"table.shared,7.{1000 + tenant}/{CAROL}.frames" for tenant in TENANTS[30:]
    }


def test_a_policer_passes_its_rate_and_nothing_of_others(lab: Lab) -> None:
    rate_bps, burst_bytes = 40_000_000, 20_000
    tables = replace(of_tenants(1, 2), policers=(Policer(i_sid=1001, rate_bps=rate_bps, burst_bytes=burst_bytes),))
    lab.apply(tables)
    policed, free = customer(CAROL, vlan=1, octets=1000), customer(CAROL, vlan=2, octets=1000)

    times_ns: list[int] = []
    end_ns = time.monotonic_ns() + 400_000_000
    while not times_ns or times_ns[-1] < end_ns:
        for _ in range(2):
            times_ns.append(time.monotonic_ns())
            lab.send("uni1", policed)
        lab.send("uni1", free)
    lab.received()
    counted = lab.counted()

    passed, exceeded = counted["table.1,3.1001.frames"], counted["table.1,3.1001.exceeded"]
    assert passed == pytest.approx(bucket(times_ns, len(policed) + 4, rate_bps, burst_bytes), rel=0.02)
    assert passed + exceeded == len(times_ns)
    assert counted["drop.policer"] == exceeded > 0
    assert counted["table.252.1002.frames"] == len(times_ns) / 2


def bucket(times_ns: list[int], octets: int, rate_bps: int, burst_bytes: int) -> int:
    """How many frames of this size a token bucket passes."""
    tokens, last_ns, passed = float(burst_bytes), times_ns[0], 0
    for now_ns in times_ns:
        tokens = min(burst_bytes, tokens + (now_ns - last_ns) * rate_bps / 8e9)
        last_ns = now_ns
        if tokens >= octets:
            tokens -= octets
            passed += 1
    return passed


@both
def test_tables_change_under_traffic_without_a_lost_frame(lab: Lab) -> None:
    """Tenants come and go, priorities change, and the route moves to the other port; the first tenant's frames go on."""
    lab.apply(of_tenants(1))
    changed = threading.Event()
    sent: list[int] = []
    sender = threading.Thread(target=lambda: sent.append(_send_until(changed, lab)))

    sender.start()
    for change in range(CHANGES):
        lab.device.apply(
            replace(
                of_tenants(1, *range(2, 2 + change % 7)),
                priorities=(Priority(i_sid=1001, pcp=0, b_pcp=change % 8),),
                routes=(Route(address=NEXT, b_vlan=101, ports=(f"nni{1 + change % 2}",)),),
            )
        )
    changed.set()
    sender.join()
    arrived = {port: len(those) for port, those in lab.received().items()}

    assert arrived.keys() == {"nni1", "nni2"}
    assert sum(arrived.values()) == sum(sent)
    assert lab.counted("drop") == {}


def _send_until(changed: threading.Event, lab: Lab) -> int:
    """Send frames of the first tenant until then; how many."""
    burst = [customer(CAROL, vlan=1)] * 50
    frames = 0
    while not changed.wait(0.001):
        lab.send("uni1", *burst)
        frames += len(burst)
    return frames
