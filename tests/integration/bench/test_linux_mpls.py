"""The kernel as a label switching router: label switched paths come and go by configuration, and frames follow.

Where the kernel has no MPLS routing, only that it says so is seen.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from orchestrator.bench import links
from orchestrator.bench.devices import linux_mpls
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import BenchError, DeviceError
from rackproof.model.functions import DeviceFunction, Mpls, MplsInterface, StaticLabel
from tests.lab.cables import until_running
from tests.waiting import SOON_S

pytestmark = pytest.mark.netns

has_mpls = pytest.mark.skipif(not Path("/proc/sys/net/mpls").exists(), reason="the kernel has no MPLS routing (module mpls_router)")
WEST = MplsInterface(port="west", address="10.83.0.1/30", rsvp=False)
EAST = MplsInterface(port="east", address="10.83.250.1/30", rsvp=False)
FAR = "10.83.250.2"
SWAP = StaticLabel(in_label=100, port="east", next_hop=FAR, out_label=200)
POP = StaticLabel(in_label=101, port="east", next_hop=FAR)
ROUTER = Mpls(router_id="10.83.253.1", interfaces=(WEST, EAST), labels=(SWAP, POP), routes={"10.83.254.2/32": FAR})
#: An IPv4 header from 10.83.254.1 to 10.83.254.2 without a payload, its checksum right.
PACKET = bytes.fromhex("4500001400004000401128e10a53fe010a53fe02")


@dataclass(frozen=True, kw_only=True)
class Wired:
    """The router between two namespaces; near: a socket that sends to it; far: one that hears what it sends on."""

    router: linux_mpls.Model
    namespace: Namespace
    near: socket.socket
    far: socket.socket
    destination: bytes

    def through(self, label: int, wait_s: float = SOON_S) -> bytes:
        """What came of a labelled frame of class 5, from its EtherType on; nothing where none came."""
        entry = (label << 12 | 5 << 9 | 1 << 8 | 64).to_bytes(4, "big")
        self.near.send(self.destination + bytes.fromhex("025250000001") + b"\x88\x47" + entry + PACKET)
        end = time.monotonic() + wait_s
        while (left := end - time.monotonic()) > 0:
            self.far.settimeout(left)
            try:
                frame = self.far.recv(2048)
            except TimeoutError:
                break
            if frame[12:14] in (b"\x88\x47", b"\x08\x00"):
                return frame[12:]
        return b""


@pytest.fixture
def wired() -> Iterator[Wired]:
    try:
        router = Namespace("router")
    except BenchError as error:
        pytest.skip(f"needs root: {error}")
    with router, Namespace("near") as near, Namespace("far") as far:
        links.cable(near, "in", router, "west")
        links.cable(router, "east", far, "out")
        until_running(near, "in")
        until_running(router, "east", "west")
        far.route.addr("add", index=links.index(far, "out"), address=FAR, prefixlen=30)
        with closing(near.run(lambda: _raw("in"))) as sends, closing(far.run(lambda: _raw("out"))) as hears:
            yield Wired(
                router=linux_mpls.Model(name="r1", namespace=router, ports=("west", "east"), options={}),
                namespace=router,
                near=sends,
                far=hears,
                destination=bytes.fromhex(links.hardware_address(router, "west").replace(":", "")),
            )


def _raw(port: str) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind((port, 0))
    return sock


@has_mpls
def test_labels_are_swapped_and_popped_with_a_ttl_one_less_and_without_a_class(wired: Wired) -> None:
    wired.router.apply(ROUTER)
    wired.router.check(ROUTER)
    assert wired.through(100) == b"\x88\x47" + (200 << 12 | 1 << 8 | 63).to_bytes(4, "big") + PACKET
    popped = wired.through(101)
    assert (popped[:2], popped[14:22]) == (b"\x08\x00", PACKET[12:])
    assert wired.through(102, wait_s=0.3) == b""
    assert wired.router.counters()["labels_in_use"] == 2


@has_mpls
def test_paths_come_and_go_by_configuration_and_the_others_are_not_touched(wired: Wired) -> None:
    many = tuple(replace(SWAP, in_label=1000 + number, out_label=2000 + number) for number in range(900))
    wired.router.apply(ROUTER)
    with_them = replace(ROUTER, labels=(*ROUTER.labels, *many))
    wired.router.apply(with_them)
    wired.router.check(with_them)
    assert wired.through(1899).startswith(b"\x88\x47" + (2899 << 4 | 1).to_bytes(3, "big"))
    wired.router.apply(ROUTER)
    assert wired.through(1899, wait_s=0.3) == b""
    assert wired.through(100)
    with pytest.raises(DeviceError, match=r"r1: expected as asked, found 900 differences: label 1000 to 10\.83\.250\.2 by east as 2000;"):
        wired.router.check(with_them)


@has_mpls
def test_what_another_hand_changed_is_found_and_restore_takes_all_away(wired: Wired) -> None:
    before = wired.router.configuration()
    wired.router.apply(ROUTER)
    wired.namespace.route.flush_routes(family=28)
    with pytest.raises(DeviceError, match="2 differences"):
        wired.router.check(ROUTER)
    wired.router.restore()
    assert wired.router.configuration() == before
    assert not [each for each in wired.namespace.route.get_addr(family=2) if each.get_attr("IFA_ADDRESS").startswith("10.83.")]
    wired.router.apply(ROUTER)
    wired.router.check(ROUTER)


@pytest.mark.skipif(Path("/proc/sys/net/mpls").exists(), reason="the kernel has MPLS routing")
def test_a_kernel_without_mpls_says_so(wired: Wired) -> None:
    why = "the kernel has no MPLS routing (module mpls_router)"
    assert linux_mpls.probe() == why
    with pytest.raises(DeviceError) as found:
        wired.router.apply(ROUTER)
    assert str(found.value) == f"r1: {why}"
    wired.router.restore()


def test_what_it_cannot_do_is_said_before_anything_is_built() -> None:
    assert linux_mpls.objection(ROUTER) == ""
    signalled = replace(ROUTER, interfaces=(replace(WEST, rsvp=True),))
    assert linux_mpls.objection(signalled) == "linux-mpls has neither RSVP nor LDP; its label switched paths are made by configuration"
    pushing = replace(ROUTER, labels=(replace(SWAP, push=300), POP))
    assert linux_mpls.objection(pushing) == "linux-mpls swaps and pops labels; it pushes none"
    assert linux_mpls.objection(DeviceFunction()) == "linux-mpls cannot do DeviceFunction"
