"""Two emulated label edge routers back to back on a veth: real sockets, real time, and Wireshark's dissector reads what they say."""

import re
import shutil
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rackproof_native as native

from orchestrator.bench import links
from orchestrator.bench.namespaces import Namespace
from rackproof.model.lsp import FIRST_EVENT, NO_LSP, PROBE, EventKind, Flaps, Ler, Pace, ProbeState, Probing, Signalling, Style
from tests.waiting import SOON_S, until

pytestmark = pytest.mark.netns

WEST = Ler(port="west", address="10.83.0.2", neighbour="10.83.0.1", router_id="10.83.254.1")
EAST = Ler(port="east", address="10.83.0.1", neighbour="10.83.0.2", router_id="10.83.254.2")
LSPS = Signalling(
    ingress=WEST,
    egress=EAST,
    stable=3,
    flapped=20,
    campaign=7,
    trial=9,
    seed=1,
    setup_s=5.0,
    pace=Pace(setups_per_s=20_000.0, teardowns_per_s=20_000.0),
    probing=Probing(fps=200.0),
)
Records = np.ndarray[Any, np.dtype[Any]]
RECORD = np.dtype(native.RECORD_DTYPE_DESCR)
LINKTYPE_ETHERNET = 1
SO_RCVBUFFORCE = 33
RSVP = 46
#: An Srefresh of an epoch that nobody has, without a checksum.
UNKNOWN_SREFRESH = bytes.fromhex("10 0f 0000 ff 00 0014  000c 19 01 00 00002a 00000007")
INJECTED = "Message Checksum: 0x0000"
COMPLAINT = re.compile(r"Expert Info|[Mm]alformed|incorrect|Unknown message|Object class: Unknown")
#: What the dissector notes of every packet with TTL 1, as HELLO has (RFC 3209, 5.1).
ONE_HOP = '"Time To Live" only 1'
KINDS = {"PATH", "RESV", "PATH TEAR", "CONFIRM", "ACK", "SREFRESH", "HELLO"}


@pytest.fixture
def wire() -> Iterator[Namespace]:
    with Namespace("lers") as namespace:
        links.cable(namespace, "west", namespace, "east")
        yield namespace


@contextmanager
def pair_on(wire: Namespace, signalling: Signalling) -> Iterator[native.LerPair]:
    """Both routers, not yet started."""
    pair = native.LerPair(netns_fd=wire.fd, signalling=signalling, ingress="west", egress="east")
    try:
        yield pair
    finally:
        pair.stop()


def taken(pair: native.LerPair) -> Records:
    fd, overflow = pair.take_records_fd()
    assert overflow == 0
    with open(fd, "rb") as memory:
        return np.fromfile(memory, dtype=RECORD)


def of(records: Records, kind: EventKind) -> Records:
    return np.asarray(records[records["port"] == FIRST_EVENT + kind])


def listening() -> socket.socket:
    """Sees every frame that comes in at either end."""
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    with suppress(PermissionError):  # a root of a user namespace has to do with less
        found.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    found.setblocking(False)
    return found


def heard(ear: socket.socket) -> Iterator[bytes]:
    """Frames with RSVP that came so far."""
    while True:
        try:
            frame = ear.recv(2048)
        except BlockingIOError:
            return
        if frame[12:14] == b"\x08\x00" and frame[23] == RSVP:
            yield frame


def from_west(frame: bytes, payload: bytes) -> bytes:
    """A frame of the ingress with another payload."""
    header = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0xC0, 20 + len(payload), 0, 0, 255, RSVP, 0, *map(socket.inet_aton, (WEST.address, EAST.address))
    )
    total = sum(struct.unpack("!10H", header))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return frame[:14] + header[:10] + struct.pack("!H", checksum) + header[12:] + payload


def write_pcap(path: Path, frames: list[bytes]) -> None:
    with path.open("wb") as file:
        file.write(struct.pack("!IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, LINKTYPE_ETHERNET))
        for number, frame in enumerate(frames):
            file.write(struct.pack("!IIII", number, 0, len(frame), len(frame)) + frame)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark (Debian package tshark)")
@pytest.mark.parametrize("style", Style)
def test_a_dissector_complains_of_nothing_that_is_sent(wire: Namespace, style: Style, tmp_path: Path) -> None:
    # State whose refreshes stand still for half a second lives on.
    signalling = replace(LSPS, style=style, flapped=2, refresh_s=1.0, hello_s=0.1, bandwidth_bps=1e6)
    with wire.run(listening) as ear, pair_on(wire, signalling) as pair:
        pair.start()
        until(lambda: pair.state().up == 5 and all(pair.report().counters[name] > 3 for name in ("srefreshes_tx", "hellos_rx")))
        frames = list(heard(ear))
        own = next(frame for frame in frames if frame[26:30] == socket.inet_aton(WEST.address))
        ear.sendto(from_west(own, UNKNOWN_SREFRESH), ("west", 0))
        pair.tear()
        until(lambda: pair.standing == 0 and pair.report().counters["nacks_tx"] >= 1)
        assert pair.report().counters["malformed"] == 0
        frames += heard(ear)
    write_pcap(tmp_path / "said.pcap", frames)
    shown = subprocess.run(
        ["tshark", "-n", "-r", str(tmp_path / "said.pcap"), "-V"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    packets = re.split(r"(?m)^Frame (?=\d+: )", shown)[1:]
    sent = [packet for packet in packets if INJECTED not in packet]
    assert len(sent) == len(packets) - 1
    assert set(re.findall(r"Message Type: (.*) Message\.", "".join(sent))) == KINDS
    assert "MESSAGE-ID NACK: 7" in shown
    for packet in sent:
        complaints = [line for line in packet.splitlines() if COMPLAINT.search(line) and ONE_HOP not in line]
        assert not complaints, packet
        assert re.search(r"Message Checksum: .*\[correct\]", packet), packet


def labelled(pair: native.LerPair, label: int) -> bytes:
    """Everything before the signature of a stream that takes an LSP."""
    state = pair.state()
    assert state.destination_mac is not None
    macs = bytes.fromhex((state.destination_mac + state.source_mac).replace(":", ""))
    udp_bytes = 128 - 4 - 18 - 20
    ip = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 20 + udp_bytes, 0, 0, 64, 17, 0, socket.inet_aton(WEST.router_id), socket.inet_aton(EAST.router_id)
    )
    return macs + b"\x88\x47" + struct.pack("!I", label << 12 | 0x140) + ip + struct.pack("!HHHH", 7, 7, udp_bytes, 0)


def test_flaps_and_probes_beside_labelled_traffic(wire: Namespace) -> None:
    with pair_on(wire, LSPS) as pair:
        pair.start()
        until(lambda: pair.state().up == 23)
        established = taken(pair)
        assert len(of(established, EventKind.PATH_SENT)) == len(of(established, EventKind.RESV_RECEIVED)) == 23
        header = labelled(pair, pair.state().labels[0])
        stream = native.Stream(stream=0, port=0, header=header, frame_sizes=[(128, 1.0)], rate_fps=5000.0, arrivals="constant")
        sender = native.Sender(ports=[native.Port("west", wire.fd)], streams=[stream], campaign=7, trial=9, seed=1, duration_s=0.9)
        receiver = native.Receiver(ports=[native.Port("east", wire.fd)], campaign=7, trial=9, capacity=10_000)
        receiver.start()
        sender.start()
        pair.flap(Flaps(prior_s=0.2, windows_s=(0.3, 0.3), drain_s=0.1))
        until(lambda: not pair.flapping)
        assert sender.join(SOON_S)
        until(lambda: receiver.received() >= sum(sender.report().frames))
        receiver.stop()
        assert receiver.report().records == sender.report().frames
        until(lambda: pair.state().up == 23)
        records, report = taken(pair), pair.report()
        pair.tear()
        until(lambda: pair.standing == 0)
    begins = of(records, EventKind.FLAP_BEGIN)
    assert list(begins["sequence"]) == [1, 2]
    assert set(begins["stream"]) == {NO_LSP}
    # The second flap is of those that are up again by then: all, unless the machine stood still meanwhile.
    again = of(records, EventKind.RESV_RECEIVED)
    flapped = LSPS.flapped + len(set(again["stream"][again["tx_ns"] < begins["tx_ns"][1]]))
    for sent, came in ((EventKind.TEAR_SENT, EventKind.TEAR_RECEIVED), (EventKind.PATH_SENT, EventKind.RESV_RECEIVED)):
        assert set(of(records, sent)["stream"]) == set(range(3, 23))
        instances = set(of(records, sent)["frame_bytes"])
        assert instances == set(of(records, came)["frame_bytes"])
        assert len(instances) == flapped
    probes = records[records["port"] == PROBE]
    came = probes[probes["rx_ns"] > 0]
    assert len(came) == len(probes) > 0
    assert (came["rx_ns"] > came["tx_ns"]).all()
    # As they left: traffic class, bottom of stack, TTL.
    assert (came["sequence"] & 0xFFF == (came["stream"].astype(np.uint32) % 8) << 9 | 0x100 | 64).all()
    assert ProbeState.FRESH in came["pcp"]
    assert report.ring_drops == report.send_errors == 0
    assert report.counters["lsp_flap_count"] == flapped


def test_what_still_stands_is_torn_down_at_the_end_and_by_the_next_pair(wire: Namespace) -> None:
    with wire.run(listening) as ear:
        with pair_on(wire, LSPS) as pair:
            pair.start()
            until(lambda: pair.state().up == 23)
            left = pair.standing_lsps()
        tears: list[bytes] = []

        def all_heard() -> bool:
            tears.extend(frame for frame in heard(ear) if frame[14 + 24 + 1] == 5)
            return len(tears) >= 23

        until(all_heard)
    assert len(left) == len(tears) == 23
    with pair_on(wire, LSPS) as pair:
        pair.tear_left(left)
        pair.start()
        until(lambda: pair.state().up == 23 and pair.report().counters["left_tears_rx"] >= 23)
        assert not set(left) & set(pair.standing_lsps())
        pair.tear()
        until(lambda: pair.standing == 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (partial(replace, stable=60_000, flapped=6_000), "stable \\+ flapped"),
        (partial(replace, refresh_s=0.0), "refresh_s"),
        (partial(replace, pace=Pace(setups_per_s=0.0)), "setups_per_s"),
        (partial(replace, ingress=replace(WEST, address="west")), "IPv4 address"),
        (partial(replace, probing=Probing(frame_bytes=64)), "frame_bytes"),
    ],
)
def test_what_cannot_be_is_refused(wire: Namespace, change: Callable[[Signalling], Signalling], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        native.LerPair(netns_fd=wire.fd, signalling=change(LSPS), ingress="west", egress="east")


def test_one_start_and_one_run_at_a_time(wire: Namespace) -> None:
    with pytest.raises(OSError, match="No such device") as error:
        native.LerPair(netns_fd=wire.fd, signalling=LSPS, ingress="west", egress="nowhere")
    assert error.value.filename == "nowhere"
    with pair_on(wire, LSPS) as pair:
        with pytest.raises(RuntimeError):
            pair.state()
        pair.start()
        with pytest.raises(RuntimeError):
            pair.start()
        flaps = Flaps(prior_s=60.0, windows_s=(), drain_s=0.0)
        pair.flap(flaps)
        with pytest.raises(RuntimeError):
            pair.flap(flaps)
        pair.halt()
        assert not pair.flapping
