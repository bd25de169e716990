"""The emulated path with real packets: what it does to them, and what its tap says of them."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.bench.testbed import Bench
from rackproof.errors import DeviceError
from rackproof.model.path import BACKWARD, DROPPED, FORWARD, IN_FLIGHT, Direction, EmulatedPath, Packets
from rackproof.model.program import Command
from rackproof.model.topology import GENERATOR, DeviceSpec, Endpoint, HostSpec, Link, Topology
from rackproof.model.traffic import Arrivals, Capture, FrameSize, Stream, Traffic
from rackproof.ports import Device, Rig
from tests.bench_plans import one_device
from tests.waiting import SOON_S, until

pytestmark = pytest.mark.netns

FLOWS = (1, 2)
#: Ethernet header and FCS, which the path does not count.
FRAMING_BYTES = 18
FRAME_BYTES = 1018
PACKET_BYTES = FRAME_BYTES - FRAMING_BYTES
IP, EXPERIMENT = b"\x08\x00", b"\x88\xb5"
ENDS = [(f"{ours}{flow}", f"{theirs}{flow}") for flow in FLOWS for ours, theirs in (("s", "a"), ("r", "b"))]
TOPOLOGY = Topology(
    devices=(DeviceSpec(name="path", model="path"),),
    links=tuple(Link(a=Endpoint(node=GENERATOR, port=ours), b=Endpoint(node="path", port=theirs)) for ours, theirs in ENDS),
)
#: 8 Mbit/s: a packet of 1000 bytes a millisecond.
SLOW = Direction(rate_bps=8e6, delay_ms=20.0)
SLOW_PATH = EmulatedPath(forward=SLOW, backward=SLOW, seed=1)


@pytest.fixture
def topology() -> Topology:
    return TOPOLOGY


def stream(number: int, tx_port: str, rx_port: str, rate_fps: float, kind: bytes = IP) -> Stream:
    return Stream(
        id=number,
        tx_port=tx_port,
        rx_port=rx_port,
        header=bytes([2, 0x52, 0x50, 0, 1, number, 2, 0x52, 0x50, 0, 0, number]) + kind,
        frame_sizes=(FrameSize(frame_bytes=FRAME_BYTES),),
        rate_fps=rate_fps,
        arrivals=Arrivals.POISSON,
    )


def both_ways(rate_fps: float, kind: bytes = IP) -> tuple[Stream, ...]:
    """Streams 1 and 2 forward as flows 1 and 2, streams 3 and 4 backward as flows 1 and 2."""
    forward = [stream(flow, f"s{flow}", f"r{flow}", rate_fps, kind) for flow in FLOWS]
    return (*forward, *(stream(flow + 2, f"r{flow}", f"s{flow}", rate_fps, kind) for flow in FLOWS))


def python(script: str, *arguments: str) -> Command:
    return Command(arguments=(sys.executable, "-I", "-S", "-c", script, *arguments))


def wait_for_packets(device: Device, more: int) -> None:
    enough = device.counters()["forward.received"] + more
    until(lambda: device.counters()["forward.received"] >= enough)


def passage(rig: Rig, path: EmulatedPath, streams: tuple[Stream, ...], duration_s: float = 0.5) -> tuple[Capture, Capture]:
    """What the path saw, and what came out of it."""
    rig.device("path").apply(path)
    run = rig.tap("path").start()
    traffic = Traffic(streams=streams, campaign=1, trial=1, seed=3, warmup_s=0.0, duration_s=duration_s, drain_s=0.3)
    received = rig.generator.start(traffic).wait()
    run.stop()
    return run.wait(), received


def test_every_packet_is_written_down_with_flow_direction_and_size(rig: Rig) -> None:
    seen, received = passage(rig, SLOW_PATH, both_ways(200.0))
    samples = seen.samples
    assert len(samples) == len(received.samples) > 200
    assert set(samples.frame_bytes.tolist()) == {PACKET_BYTES}
    assert set(samples.pcp.tolist()) == {255}
    assert (np.diff(samples.tx_ns) >= 0).all()
    for number in (1, 2, 3, 4):
        direction, flow = (FORWARD, number) if number <= 2 else (BACKWARD, number - 2)
        mine = (samples.port == direction) & (samples.stream == flow)
        assert mine.sum() == (received.samples.stream == number).sum()
    for direction in (FORWARD, BACKWARD):
        numbers = samples.sequence[samples.port == direction]
        assert list(numbers) == list(range(len(numbers)))
    start_ns, end_ns = seen.batch_starts_ns
    assert start_ns <= samples.tx_ns[0]
    assert samples.rx_ns.max() <= end_ns
    assert seen.sent == {}
    assert seen.health["ring_drops"] == seen.health["overflow"] == seen.health["send_errors"] == 0


def test_packets_leave_when_the_queue_is_served_and_the_delay_is_over(rig: Rig) -> None:
    seen, received = passage(rig, SLOW_PATH, both_ways(200.0))
    for direction in (FORWARD, BACKWARD):
        packets = Packets.of(seen.samples, direction)
        free_ns = 0
        due_ns = np.empty(len(packets), np.int64)
        for row, ingress_ns in enumerate(packets.ingress_ns):
            free_ns = max(free_ns, int(ingress_ns)) + 1_000_000
            due_ns[row] = free_ns + 20_000_000
        late_us = (packets.egress_ns - due_ns) / 1e3
        # Never early; how late a busy host makes them is measured, not tested.
        assert late_us.min() > -0.01
        assert np.median(late_us) < 5_000
    # What the path calls leaving comes before what the next kernel calls arriving; packets of one system call are told apart by guess.
    left, came = np.sort(seen.samples.rx_ns), np.sort(received.samples.rx_ns)
    assert np.mean(came >= left) > 0.9
    assert np.percentile((came - left) / 1e3, 1) > -200


def test_a_full_buffer_drops_the_tail_of_what_comes(rig: Rig) -> None:
    bounded = replace(SLOW, buffer_bytes=20 * PACKET_BYTES)
    seen, received = passage(rig, EmulatedPath(forward=bounded, backward=SLOW, seed=1), both_ways(1500.0)[:2])
    packets = Packets.of(seen.samples, FORWARD)
    assert len(received.samples) == packets.delivered.sum()
    assert set(packets.egress_ns[~packets.delivered].tolist()) == {DROPPED}
    # 3000 packets a second into 1000; at most 20 wait, the one in service among them. A sender that stood still catches up with a burst.
    stalled_share = received.health["stalled_ms"] / 1e3 / 0.5
    assert packets.delivered.mean() == pytest.approx(1 / 3, abs=0.06 + stalled_share)
    passed = packets.egress_ns[packets.delivered]
    assert np.median(np.diff(passed)) / 1e3 == pytest.approx(1000.0, abs=50.0)
    delay_ms = (passed - packets.ingress_ns[packets.delivered]) / 1e6
    assert 39.0 < np.median(delay_ms) <= 41.0
    counters = rig.device("path").counters()
    assert counters["forward.received"] == len(packets)
    assert counters["forward.dropped_buffer"] == (~packets.delivered).sum()
    assert counters["backward.received"] == counters["forward.in_flight"] == 0


def test_random_loss_hits_its_share_of_one_direction(rig: Rig) -> None:
    lossy = Direction(rate_bps=1e9, delay_ms=1.0, loss=0.1)
    seen, received = passage(rig, EmulatedPath(forward=lossy, backward=replace(lossy, loss=0.0), seed=5), both_ways(2000.0))
    forward, backward = Packets.of(seen.samples, FORWARD), Packets.of(seen.samples, BACKWARD)
    assert backward.delivered.all()
    assert 1 - forward.delivered.mean() == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / len(forward)))
    assert len(received.samples) == forward.delivered.sum() + len(backward)
    assert rig.device("path").counters()["forward.dropped_loss"] == (~forward.delivered).sum()


def test_a_trace_lets_packets_go_at_its_moments_from_the_start_of_recording(rig: Rig) -> None:
    traced = Direction(rate_bps=None, delay_ms=5.0, trace_ms=(10, 20, 40))
    seen, _ = passage(rig, EmulatedPath(forward=traced, backward=SLOW, seed=1), both_ways(40.0)[:1])
    packets = Packets.of(seen.samples, FORWARD)
    since_ms = (packets.egress_ns - seen.batch_starts_ns[0]) / 1e6 - 5.0
    late_ms = since_ms[:, None] % 40 - np.array([0, 10, 20])
    late_ms = np.where(late_ms < 0, np.inf, late_ms).min(axis=1)
    assert len(packets) > 5
    assert np.median(late_ms) < 1.0


def test_what_has_not_left_at_the_end_is_in_flight(rig: Rig) -> None:
    device = rig.device("path")
    far = replace(SLOW, rate_bps=1e9, delay_ms=700.0)
    seen, received = passage(rig, EmulatedPath(forward=far, backward=far, seed=1), both_ways(100.0)[:1])
    # All of the last 0.6 s, unless the recording ended late.
    has_not_left = seen.samples.tx_ns + 700_000_000 > seen.batch_starts_ns[1]
    assert set(seen.samples.rx_ns[has_not_left].tolist()) <= {IN_FLIGHT}
    assert set(seen.samples.rx_ns[seen.samples.rx_ns <= 0].tolist()) <= {IN_FLIGHT}
    assert len(received.samples) <= len(seen.samples)
    until(lambda: device.counters()["forward.in_flight"] == 0)
    counters = device.counters()
    assert counters["forward.sent"] == counters["forward.received"] == len(seen.samples)


def test_frames_without_ip_pass_with_the_delay_and_leave_no_record(rig: Rig) -> None:
    streams = both_ways(1500.0, EXPERIMENT)
    seen, received = passage(rig, SLOW_PATH, streams)
    assert len(seen.samples) == 0
    counters = rig.device("path").counters()
    # The generator announces every address that it sends to.
    assert counters["forward.other"] + counters["backward.other"] == len(received.samples) + len(streams) > 1000
    # Six times what the link could serve: they do not queue.
    assert np.median(received.samples.rx_ns - received.samples.tx_ns) / 1e6 < 22.0


def test_recordings_follow_one_another_while_packets_flow(rig: Rig) -> None:
    device, tap = rig.device("path"), rig.tap("path")
    device.apply(SLOW_PATH)
    traffic = Traffic(streams=both_ways(200.0)[:1], campaign=1, trial=1, seed=3, warmup_s=0.0, duration_s=60.0, drain_s=0.2)
    sending = rig.generator.start(traffic)
    captures = []
    for _ in range(2):
        run = tap.start()
        with pytest.raises(DeviceError, match="records already"):
            tap.start()
        wait_for_packets(device, 20)
        run.stop()
        run.stop()
        captures.append(run.wait())
    sending.stop()
    received = sending.wait()
    first, second = captures
    assert first.batch_starts_ns[1] <= second.batch_starts_ns[0]
    assert min(len(first.samples), len(second.samples)) >= 20
    assert first.samples.sequence[0] == second.samples.sequence[0] == 0
    assert len(first.samples) + len(second.samples) <= len(received.samples)


SENT_BYTES = 300_000
RECEIVE = """
import socket
with socket.create_server(("", 5000)) as server:
    print("ready", flush=True)
    connection, _ = server.accept()
    print(sum(map(len, iter(lambda: connection.recv(65536), b""))))
"""
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 5000), 20) as connection:
    connection.sendall(bytes(int(sys.argv[2])))
"""


def test_tcp_between_hosts_sees_nothing_but_the_path(bench: Bench) -> None:
    ends = [("sender-1", "a1"), ("receiver-1", "b1")]
    hosts = tuple(HostSpec(name=name, port="eth0", address=f"10.82.1.{number}/24") for number, (name, _) in enumerate(ends, 1))
    links = tuple(Link(a=Endpoint(node=name, port="eth0"), b=Endpoint(node="path", port=port)) for name, port in ends)
    with bench.assemble(Topology(devices=TOPOLOGY.devices, links=links, hosts=hosts)) as rig:
        rig.device("path").apply(SLOW_PATH)
        run = rig.tap("path").start()
        receiver = rig.host("receiver-1")
        receiving = receiver.start(python(RECEIVE))
        until(lambda: receiver.call(Command(arguments=("ss", "-Hltn", "sport = 5000")), SOON_S).output != "")
        assert rig.host("sender-1").call(python(SEND, receiver.address, str(SENT_BYTES)), SOON_S).exit_status == 0
        until(lambda: receiving.poll() is not None)
        run.stop()
        counters, samples, ended = rig.device("path").counters(), run.wait().samples, receiving.poll()
    assert ended is not None
    assert ended.output.split() == ["ready", str(SENT_BYTES)]
    assert counters["forward.other"] == counters["backward.other"] == 0
    assert counters["forward.received"] == (samples.port == FORWARD).sum()
    data = samples.frame_bytes[samples.port == FORWARD].astype(int)
    assert samples.frame_bytes.max() == 1500
    assert samples.frame_bytes.min() >= 40
    # What TCP moved, and at least 40 bytes of headers for every packet of at most 1460; what it thought lost it moved twice.
    assert SENT_BYTES + 40 * SENT_BYTES // 1460 <= data.sum() < 2 * SENT_BYTES
    assert set(samples.stream.tolist()) == {1}


def test_configuration_is_read_back_and_restored(rig: Rig) -> None:
    device = rig.device("path")
    before = device.configuration()
    device.apply(SLOW_PATH)
    device.check(SLOW_PATH)
    during = device.configuration()
    assert "forward rate 8e+06 bit/s (IP)\nforward delay 20 ms\nforward buffer unbounded\nforward loss 0" in during
    traced = replace(SLOW_PATH, forward=Direction(rate_bps=None, delay_ms=5.0, trace_ms=(10, 20), buffer_packets=9))
    with pytest.raises(DeviceError, match="not running as it was asked for"):
        device.check(traced)
    device.apply(traced)
    assert "trace of 2 opportunities in 20 ms" in device.configuration()
    assert "buffer 9 packets" in device.configuration()
    device.restore()
    assert device.configuration() == before
    assert device.counters() == {}


def test_only_a_path_has_a_tap(bench: Bench, rig: Rig) -> None:
    with pytest.raises(KeyError):
        rig.tap("nobody")
    with pytest.raises(DeviceError, match="there is no path to record"):
        rig.tap("path").start()


def test_a_switch_has_none() -> None:
    with Bench() as bench, bench.assemble(one_device("reference")) as rig, pytest.raises(DeviceError, match=r"dut: .* has no tap"):
        rig.tap("dut")
