"""Captures at both ends of a path for real: every packet as the emulated path between the hosts has written it down itself."""

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from orchestrator.bench.captures import capture_of
from orchestrator.lab.clocks import Reading
from orchestrator.lab.hosts import LabHost, opened
from orchestrator.lab.taps import Clock, HostTap
from rackproof.errors import LabError
from rackproof.model.path import BACKWARD, DROPPED, FORWARD, IN_FLIGHT, Direction, EmulatedPath, Packets
from rackproof.model.program import Command
from rackproof.model.traffic import Capture
from rackproof.ports import Run
from tests.integration.bench.test_hosts import processes_with, python
from tests.lab.pair import Pair, host_pair
from tests.waiting import SOON_S, until

pytestmark = pytest.mark.netns

PORT = 5201
#: What a capture of the test is known by.
CAPTURE = "ip and (tcp or udp) and host 10.82.1.1"
#: A hundred packets wait; of three hundred that come at once the path drops what has no room.
TIGHT = Direction(rate_bps=20e6, delay_ms=10.0, buffer_packets=100)
WIDE = Direction(rate_bps=500e6, delay_ms=10.0)

#: Bursts of datagrams, each with its number, at most so many answered.
SEND = """
import socket, sys, time
peer, port, bursts, size = sys.argv[1], *map(int, sys.argv[2:5])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
    out.connect((peer, port))
    for burst in range(bursts):
        for number in range(size):
            out.send((burst * size + number).to_bytes(8, "big") + bytes(1192))
        time.sleep(0.1)
"""
ANSWER = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as come:
    come.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
    come.bind(("", int(sys.argv[1])))
    print("ready", flush=True)
    while True:
        message, whom = come.recvfrom(2048)
        come.sendto(message[:100], whom)
"""


@dataclass(frozen=True)
class Ends:
    pair: Pair
    sender: LabHost
    receiver: LabHost


@pytest.fixture(scope="module")
def ends() -> Iterator[Ends]:
    with host_pair() as pair, opened(pair.entries[0]) as sender, opened(pair.entries[1]) as receiver:
        yield Ends(pair, sender, receiver)


def told(**offsets_ms: float) -> Clock:
    """A clock whose offset is told, not asked for: the hosts of the test share one, and nothing keeps it."""
    return lambda host: Reading(offset_ms=offsets_ms.get(host.name.partition("-")[0], 0.0), bound_ms=0.2, source="told by the test")


def recording(ends: Ends, clock: Clock, ports: range = range(PORT, PORT + 1)) -> Run:
    return HostTap((ends.sender, ends.receiver), link_mbps=1000.0, ports=ports, clock=clock).start()


def bursts(ends: Ends, number: int = 5, size: int = 300, port: int = PORT) -> None:
    answering = ends.receiver.start(python(ANSWER, str(port)))
    listening = Command(arguments=("ss", "-Hlun", f"sport = :{port}"))
    until(lambda: ends.receiver.call(listening, SOON_S).output != "")
    sent = ends.sender.call(python(SEND, ends.receiver.address, str(port), str(number), str(size)), SOON_S)
    assert sent.exit_status == 0, sent.output
    until(lambda: _all_answered(ends.pair.path.counters()))
    answering.stop()


def _all_answered(path: Mapping[str, int]) -> bool:
    return path["forward.in_flight"] == path["backward.in_flight"] == 0 and path["backward.received"] == path["forward.sent"]


def compared(seen: Capture, native: Capture, direction: int) -> tuple[Packets, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The packets of one direction, and by how much the delay of each differs from what the path itself says [us]."""
    ours, theirs = Packets.of(seen.samples, direction), Packets.of(native.samples, direction)
    assert len(ours) == len(theirs)
    assert np.array_equal(ours.packet_bytes, theirs.packet_bytes)
    assert np.array_equal(ours.delivered, theirs.delivered)
    both = ours.delivered
    differ_ns = (ours.egress_ns - ours.ingress_ns)[both] - (theirs.egress_ns - theirs.ingress_ns)[both]
    return ours, differ_ns / 1e3


def test_every_packet_its_delay_and_its_loss_are_those_of_the_path(ends: Ends) -> None:
    path = ends.pair.path
    path.apply(EmulatedPath(forward=TIGHT, backward=WIDE, seed=1))
    run = recording(ends, told())
    path.tap_start()
    bursts(ends)
    run.stop()
    path.tap_stop()
    seen, outcome = run.wait(), path.tap_collect()
    native = capture_of(outcome, outcome.fd)
    there, differ_us = compared(seen, native, FORWARD)
    back, _ = compared(seen, native, BACKWARD)
    assert len(there) == 1500
    assert (there.egress_ns == DROPPED).sum() == path.counters()["forward.dropped_buffer"] > 500
    assert len(back) == there.delivered.sum() == back.delivered.sum()
    # Captures hold what the hosts' kernels take to the port and from it: some microseconds, and more on a busy machine.
    assert -20 < np.median(differ_us) < 2000
    assert set(there.flow.tolist()) == {1}
    health = seen.health
    assert {health[name] for name in health if name.partition(".")[0] in {"capture_drops", "aggregated", "fragments"}} == {0.0}
    assert (health["unpaired"], health["duplicated"], health["unassigned"], health["link_speed_mbps"]) == (0, 0, 0, 1000)
    # The worker and the hosts share a clock: what is left is what the message took.
    assert -1.0 < -health["worker_ahead_ms"] < 10_000.0


def test_an_offset_of_a_clock_is_taken_out_and_flows_go_by_their_ports(ends: Ends) -> None:
    """The readings are planted; the clocks are one. What is corrected by them is therefore off by just as much."""
    path = ends.pair.path
    path.apply(EmulatedPath(forward=WIDE, backward=WIDE, seed=1))
    run = recording(ends, told(sender=3.0, receiver=-4.0), range(PORT, PORT + 2))
    path.tap_start()
    bursts(ends, number=1, size=10, port=PORT)
    bursts(ends, number=1, size=20, port=PORT + 1)
    path.tap_stop()
    bursts(ends, number=1, size=40, port=PORT + 7)
    seen, outcome = run.wait(), path.tap_collect()
    native = capture_of(outcome, outcome.fd)
    # The sender's clock was said to be 3 ms ahead, the receiver's 4 ms behind: packets left earlier and arrived later than they said.
    for direction, planted_us in ((FORWARD, 7000.0), (BACKWARD, -7000.0)):
        packets, differ_us = compared(seen, native, direction)
        assert np.median(differ_us) == pytest.approx(planted_us, abs=2000.0)
        assert np.bincount(packets.flow).tolist() == [0, 10, 20]
    assert (seen.health["clock_offset.sender_ms"], seen.health["clock_offset.receiver_ms"]) == (3.0, -4.0)
    assert seen.health["clock_bound.sender_ms"] == 0.2
    assert seen.health["unassigned"] == 2 * 40


def test_what_is_on_its_way_at_the_end_is_not_lost(ends: Ends) -> None:
    """Neither what arrives while the captures linger, nor what would have arrived after them."""
    ends.pair.path.apply(EmulatedPath(forward=dataclasses.replace(WIDE, delay_ms=1000.0), backward=WIDE, seed=1))
    run = recording(ends, told())
    for _ in range(2):
        until(lambda: ends.pair.path.counters()["forward.in_flight"] == 0)
        sent = ends.sender.call(python(SEND, ends.receiver.address, str(PORT), "1", "60"), SOON_S)
        assert sent.exit_status == 0, sent.output
    run.stop()
    capture = run.wait()
    packets = Packets.of(capture.samples, FORWARD)
    assert len(packets) == 120
    assert packets.delivered[:60].all()
    # All of them, unless this process stood still before it said that this is the end.
    too_late = packets.ingress_ns + 1_000_000_000 > capture.batch_starts_ns[1]
    assert set(packets.egress_ns[60:][too_late[60:]].tolist()) <= {IN_FLIGHT}
    assert not np.any(packets.egress_ns == DROPPED)


def test_a_capture_that_cannot_begin_says_why(ends: Ends) -> None:
    tap = HostTap((ends.sender, ends.receiver), link_mbps=1000.0, ports=range(PORT, PORT + 1), clock=told())
    ends.sender.port, kept = "test9", ends.sender.port
    try:
        with pytest.raises(
            LabError, match=r"sender-1: packets of test9 cannot be captured: tcpdump: test9: (SIOCGIFHWADDR: )?No such device"
        ):
            tap.start()
    finally:
        ends.sender.port = kept


_HOLDER = """
import sys, time
from orchestrator.lab.clocks import Reading
from orchestrator.lab.hosts import opened
from orchestrator.lab.taps import HostTap
from rackproof.model.inventory import HostEntry
sender, receiver = map(HostEntry.model_validate_json, sys.argv[1:])
with opened(sender) as one, opened(receiver) as other:
    clock = lambda host: Reading(offset_ms=0.0, bound_ms=0.0, source="told by the test")
    run = HostTap((one, other), link_mbps=1000.0, ports=range(5201, 5202), clock=clock).start()
    print("recording", flush=True)
    time.sleep(60)
"""


def test_two_clocks_that_follow_nothing_but_themselves_are_refused(ends: Ends) -> None:
    with pytest.raises(LabError, match="sender-1 and receiver-1: expected clocks that follow the same time"):
        recording(ends, lambda _: Reading(offset_ms=0.0, bound_ms=0.0, source="told by the test", own=True))


def test_nothing_of_a_capture_is_left_when_this_process_is_killed(ends: Ends) -> None:
    """In the middle, without a chance to say anything."""
    arguments = [sys.executable, "-c", _HOLDER, *(entry.model_dump_json() for entry in ends.pair.entries)]
    holder = subprocess.Popen(arguments, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == b"recording\n"
        assert len(processes_with(CAPTURE)) >= 4  # on each host tcpdump and what started it
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    until(lambda: processes_with(CAPTURE) == [])
