"""Emulated links with real packets: what they do to frames, and what is written down of them."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import numpy.typing as npt
import pytest

from orchestrator.bench.testbed import Bench
from rackproof.errors import BenchError
from rackproof.model.path import DROPPED, IN_FLIGHT
from rackproof.model.topology import GENERATOR, DeviceSpec, Endpoint, Link, Topology, Wire
from rackproof.model.traffic import Arrivals, Capture, FrameSize, Samples, Stream, Traffic
from rackproof.model.xcf import ENCAPSULATION_BYTES, FIRST_LINK
from rackproof.ports import Rig, Tap
from rackproof.units import Layer, wire_bits

pytestmark = pytest.mark.netns

MBPS = 1_000_000
PLAIN = bytes.fromhex("025250000100 025250000000 8100600a 88b5")
BACK = bytes.fromhex("025250000000 025250000100 8100600a 88b5")
#: B-DA, B-SA, B-TAG (priority 5), I-TAG, and a customer's frame of priority 3 in it.
ENCAPSULATED = bytes.fromhex("025250010002 025250010001 88a8a065 88e760010001") + PLAIN


def joined(*wires: Wire) -> Topology:
    """Each wire between two ports of the generator: a0 to b0, a1 to b1, ..."""
    return Topology(
        devices=(),
        links=tuple(
            Link(a=Endpoint(node=GENERATOR, port=f"a{number}"), b=Endpoint(node=GENERATOR, port=f"b{number}"), wire=wire)
            for number, wire in enumerate(wires)
        ),
    )


def stream(number: int, ends: str, rate_fps: float, frame_bytes: int = 500, header: bytes = PLAIN) -> Stream:
    """Poisson traffic from one port to another ("a0 b0")."""
    tx, rx = ends.split()
    return Stream(
        id=number,
        tx_port=tx,
        rx_port=rx,
        header=header,
        frame_sizes=(FrameSize(frame_bytes=frame_bytes),),
        rate_fps=rate_fps,
        arrivals=Arrivals.POISSON,
    )


def traffic(streams: Sequence[Stream], duration_s: float = 0.3, trial: int = 1, drain_s: float = 0.1) -> Traffic:
    return Traffic(streams=tuple(streams), campaign=5, trial=trial, seed=trial, warmup_s=0.0, duration_s=duration_s, drain_s=drain_s)


def tap_of(rig: Rig) -> Tap:
    tap = rig.wires()
    assert tap is not None
    return tap


def passage(rig: Rig, *streams: Stream, duration_s: float = 0.3) -> tuple[Capture, Capture]:
    """What the wires saw, and what the generator received."""
    run = tap_of(rig).start()
    received = rig.generator.start(traffic(streams, duration_s)).wait()
    run.stop()
    return run.wait(), received


def of_wire(samples: Samples, number: int) -> Samples:
    mine = samples.port == FIRST_LINK + number
    return Samples(**{column.name: getattr(samples, column.name)[mine] for column in fields(Samples)})


def leaves_ns(samples: Samples, wire: Wire) -> npt.NDArray[np.int64]:
    """When each frame of one wire leaves it in virtual time [ns], 0 for those that find the queue full."""
    rate_bps = int(wire.rate_bps)
    under_way: deque[int] = deque()
    free = rest = 0
    found = np.zeros(len(samples), np.int64)
    for row, (came, octets) in enumerate(zip(samples.tx_ns.tolist(), samples.frame_bytes.tolist(), strict=True)):
        while under_way and under_way[0] <= came:
            under_way.popleft()
        if len(under_way) > wire.queue_frames:
            continue
        if free < came:
            free, rest = came, 0
        taken, rest = divmod(int(wire_bits(octets, Layer.L1)) * 10**9 + rest, rate_bps)
        free += taken
        under_way.append(free)
        found[row] = free + int(wire.delay_us * 1e3)
    return found


SLOW = Wire(rate_bps=50 * MBPS)
LATE = Wire(rate_bps=50 * MBPS, delay_us=300.0)


@pytest.fixture(scope="module")
def seen(bench: Bench) -> tuple[Capture, Capture]:
    """Wire 0 is two thirds full in both directions, with plain frames; wire 1 half full with encapsulated ones."""
    with bench.assemble(joined(SLOW, LATE)) as rig:
        return passage(
            rig,
            stream(1, "a0 b0", 8_000.0),
            stream(2, "b0 a0", 8_000.0, header=BACK),
            stream(3, "a1 b1", 6_000.0, frame_bytes=500 + ENCAPSULATION_BYTES, header=ENCAPSULATED),
        )


def test_every_frame_is_written_down_with_its_identity(seen: tuple[Capture, Capture]) -> None:
    wires, received = seen
    for wire, number, frame_bytes, pcp in ((0, 1, 500, 3), (1, 3, 500 + ENCAPSULATION_BYTES, 5)):
        mine = of_wire(wires.samples, wire)
        assert set(mine.stream.tolist()) == {number}
        assert set(mine.frame_bytes.tolist()) == {frame_bytes}
        assert set(mine.pcp.tolist()) == {pcp}
        numbers = mine.sequence
        assert list(numbers) == list(range(len(numbers)))
        assert list(numbers) == list(received.samples.sequence[received.samples.stream == number])
        assert len(numbers) > 1000
    start_ns, end_ns = wires.batch_starts_ns
    assert start_ns < wires.samples.tx_ns.min()
    assert wires.samples.rx_ns.max() < end_ns


def test_a_frame_takes_its_time_on_the_wire_and_waits_its_turn(seen: tuple[Capture, Capture]) -> None:
    for number, wire in enumerate((SLOW, LATE)):
        samples = of_wire(seen[0].samples, number)
        late_ns = samples.rx_ns - leaves_ns(samples, wire)
        assert late_ns.min() >= 0
        # How late a busy host hands frames over is measured, and not tested.
        said_us = seen[0].health[f"lateness_p50_us.{number}"]
        assert np.median(late_ns) / 1e3 == pytest.approx(said_us, rel=0.04, abs=0.05)


def test_times_agree_with_the_generators(seen: tuple[Capture, Capture]) -> None:
    wires, received = seen
    for wire, number in ((0, 1), (1, 3)):
        mine, theirs = of_wire(wires.samples, wire), received.samples.stream == number
        assert (mine.tx_ns > received.samples.tx_ns[theirs]).all()
        # Frames of one call are told apart by guess.
        behind_us = (received.samples.rx_ns[theirs] - mine.rx_ns) / 1e3
        assert np.percentile(behind_us, 1) > -200
        assert 0 < np.median(behind_us) < 2000


def test_directions_do_not_share_the_wire(seen: tuple[Capture, Capture]) -> None:
    wires, received = seen
    for number in (1, 2):
        assert (received.samples.stream == number).sum() == received.sent[number].first_sequence[-1]
    assert 2 not in wires.samples.stream


def test_the_engine_says_how_it_did(seen: tuple[Capture, Capture]) -> None:
    health = seen[0].health
    assert {name: health[name] for name in ("ring_drops", "overflow", "send_errors", "foreign_frames")} == {
        "ring_drops": 0,
        "overflow": 0,
        "send_errors": 0,
        "foreign_frames": 0,
    }
    assert health["lateness_p50_us"] <= health["lateness_p99_us"] <= health["lateness_max_us"]
    assert {"stalled_ms", "clock_step_us", "lateness_p50_us.0", "lateness_p50_us.1"} <= set(health)


def test_a_full_queue_drops_the_next_frame(bench: Bench) -> None:
    wire = Wire(rate_bps=20 * MBPS, queue_frames=20)
    with bench.assemble(joined(wire)) as rig:
        wires, received = passage(rig, stream(1, "a0 b0", 10_000.0))
    samples = wires.samples
    due_ns = leaves_ns(samples, wire)
    assert list(samples.rx_ns != DROPPED) == list(due_ns > 0)
    assert 0.1 < np.mean(due_ns > 0) < 0.6  # 41.6 Mbit/s into 20, and worse where a busy sender catches up
    assert list(received.samples.sequence) == list(samples.sequence[due_ns > 0])
    # 20 wait, one is under way, and the newest finds some of that one's time gone.
    each_us = wire_bits(500, Layer.L1) / wire.rate_bps * 1e6
    delay_us = (due_ns - samples.tx_ns)[due_ns > 0] / 1e3
    assert 20 * each_us < delay_us.max() <= 21 * each_us


def test_what_has_not_left_at_the_end_is_in_flight(bench: Bench) -> None:
    with bench.assemble(joined(Wire(rate_bps=100 * MBPS, delay_us=30e6))) as rig:
        run = tap_of(rig).start()
        sending = rig.generator.start(traffic([stream(1, "a0 b0", 2_000.0)], 0.1, drain_s=0.0))
        sending.wait()
        run.stop()
        samples = run.wait().samples
    assert len(samples) > 100
    assert set(samples.rx_ns.tolist()) == {IN_FLIGHT}


def test_late_frames_of_an_earlier_trial_are_not_written_down(bench: Bench) -> None:
    # What the first trial sends comes to the second wire of its way when the second trial is under way; where this process stood still so
    # long, it has to take longer.
    for delay_s in (0.8, 5.0):
        wires, received = second_trial(bench, delay_s)
        if wires.health["foreign_frames"]:
            break
    assert wires.health["foreign_frames"] > 50
    for number in (0, 1):
        numbers = of_wire(wires.samples, number).sequence
        assert list(numbers) == list(range(received.sent[1].first_sequence[-1]))


def second_trial(bench: Bench, delay_s: float) -> tuple[Capture, Capture]:
    """What two wires in a row saw of a trial and what was received, while frames of another one are on the first wire so long."""
    slow, fast = Wire(rate_bps=100 * MBPS, delay_us=delay_s * 1e6), Wire(rate_bps=1000 * MBPS)
    links = (
        Link(a=Endpoint(node=GENERATOR, port="a0"), b=Endpoint(node="sw", port="west"), wire=slow),
        Link(a=Endpoint(node="sw", port="east"), b=Endpoint(node=GENERATOR, port="b0"), wire=fast),
    )
    with bench.assemble(Topology(devices=(DeviceSpec(name="sw", model="linux-bridge"),), links=links)) as rig:
        rig.generator.start(traffic([stream(1, "a0 b0", 6_000.0)], 0.05, drain_s=0.0)).wait()
        run = tap_of(rig).start()
        received = rig.generator.start(traffic([stream(1, "a0 b0", 6_000.0)], 0.05, trial=2, drain_s=delay_s + 0.2)).wait()
        run.stop()
        return run.wait(), received


def test_recordings_follow_one_another(bench: Bench) -> None:
    with bench.assemble(joined(SLOW)) as rig:
        for _ in range(2):
            wires, received = passage(rig, stream(1, "a0 b0", 2_000.0), duration_s=0.05)
            assert list(wires.samples.sequence) == list(received.samples.sequence)
        run = tap_of(rig).start()
        with pytest.raises(BenchError, match="wires: the wires record already"):
            tap_of(rig).start()
        run.stop()
        begun = time.monotonic()
        assert len(run.wait().samples) == 0
        assert time.monotonic() - begun < 30


def test_without_an_emulated_link_there_is_nothing_to_tap(rig: Rig) -> None:
    assert rig.wires() is None


def test_a_wire_that_cannot_be_is_refused_and_nothing_is_left(bench: Bench) -> None:
    with (
        pytest.raises(BenchError, match=r"the emulated links do not start: rate_bps must be 1e3 to 1e12, got 10"),
        bench.assemble(joined(Wire(rate_bps=10.0))),
    ):
        pass
    with bench.assemble(joined(SLOW)):
        pass  # what was half built is gone
