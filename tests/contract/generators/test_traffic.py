"""What every generator must do with traffic, the same for each, between two ports that are cabled to each other."""

import statistics
import struct
import time

import numpy as np
import pytest

from orchestrator.generators.driver import Session
from rackproof.errors import GeneratorError
from rackproof.model.traffic import Arrivals, Capture, Traffic
from tests.contract.generators.beds import Bed
from tests.contract.generators.frames import DURATION_S, PLAIN, asked_for, received, stalled_s, stream, traffic

pytestmark = pytest.mark.netns

VLAN = struct.pack("!HH", 0x8100, 5 << 13 | 7)
MPLS = b"\x88\x47" + struct.pack("!II", 100 << 12 | 3 << 9 | 64, 2000 << 12 | 4 << 9 | 1 << 8 | 63)


def test_it_says_what_it_is_and_how_its_ports_are(bed: Bed, session: Session) -> None:
    assert session.facts()["generator"]
    assert [(port.name, port.link_up) for port in session.ports()] == [(name, True) for name in bed.ports]


def test_a_port_that_was_not_taken_is_refused_by_name(bed: Bed, session: Session) -> None:
    with pytest.raises(GeneratorError, match="98"):
        session.start(traffic(stream(0, (bed.ports[0], "98"))))


def test_as_many_frames_are_sent_as_were_asked_for(bed: Bed, session: Session) -> None:
    rates = {0: 200.0, 1: 4000.0}
    capture = session.start(traffic(*(stream(each, bed.ports, rate_fps=rate) for each, rate in rates.items()), duration_s=1.0)).wait()
    assert capture.sent.keys() == rates.keys()
    for each, rate in rates.items():
        assert capture.sent[each].frames == asked_for(rate, capture, rate)
    assert {each: sent.intended_frames for each, sent in capture.sent.items()} == pytest.approx(rates, rel=0.005)


def test_no_frame_is_lost_back_to_back_in_both_directions(bed: Bed, session: Session) -> None:
    there, back = stream(0, bed.ports, rate_fps=2000), stream(1, bed.ports[::-1], rate_fps=3000)
    capture = session.start(traffic(there, back)).wait()
    assert capture.sent[0].frames == asked_for(800, capture, 2000, rel=0.1)
    assert {number: received(capture, number) for number in (0, 1)} == {number: capture.sent[number].frames for number in (0, 1)}


@pytest.mark.parametrize("tags", [VLAN + PLAIN, MPLS, VLAN + MPLS], ids=["vlan", "mpls", "vlan-mpls"])
def test_tags_and_labels_arrive_intact(bed: Bed, session: Session, tags: bytes) -> None:
    seen = bed.witness(bed.ports[1])
    if seen is None:
        pytest.skip("the ports are no interfaces of this machine: nobody here sees the frames")
    asked = stream(9, bed.ports, tags=tags)
    with seen as witness:
        capture = session.start(traffic(asked)).wait()
        frames = [frame for frame in witness.frames() if frame[6:12] == asked.header[6:12] and frame[12:14] != b"\x90\x00"]
    assert len(frames) >= capture.sent[9].frames == asked_for(400, capture, rel=0.1)
    assert {frame[: len(asked.header)] for frame in frames} == {asked.header}
    assert {len(frame) + 4 for frame in frames} == {512}
    assert received(capture, 9) == capture.sent[9].frames


def test_priorities_are_told_where_frames_are_kept(bed: Bed, session: Session) -> None:
    if not session.abilities().samples:
        pytest.skip("this generator counts, and keeps no frame")
    samples = session.start(traffic(stream(3, bed.ports, tags=VLAN + PLAIN))).wait().samples
    assert set(samples.pcp.tolist()) == {5}
    assert set(samples.stream.tolist()) == {3}


def test_frame_sizes_come_by_their_weights(bed: Bed, session: Session) -> None:
    asked = stream(0, bed.ports, rate_fps=4000, sizes=((64, 5.0), (512, 3.0), (1518, 2.0)))
    capture = session.start(traffic(asked)).wait()
    sent = capture.sent[0]
    assert (sent.octets[-1] - sent.octets[0]) / sent.frames == pytest.approx(asked.mean_frame_bytes, rel=0.1)
    if capture.tallies:
        tally = capture.tallies[0]
        assert tally.rx_octets.sum() / tally.rx_frames.sum() == pytest.approx(asked.mean_frame_bytes, rel=0.1)
    else:
        sizes, counts = np.unique(capture.samples.frame_bytes, return_counts=True)
        assert sizes.tolist() == [64, 512, 1518]
        assert counts / counts.sum() == pytest.approx([0.5, 0.3, 0.2], abs=0.05)


def test_streams_are_told_apart(bed: Bed, session: Session) -> None:
    asked = [stream(number, bed.ports, rate_fps=rate) for number, rate in ((4, 500), (11, 1000), (60000, 2000))]
    capture = session.start(traffic(*asked)).wait()
    assert set(capture.sent) == {4, 11, 60000}
    for each in asked:
        assert received(capture, each.id) == capture.sent[each.id].frames
        assert capture.sent[each.id].frames == asked_for(each.rate_fps * DURATION_S, capture, each.rate_fps, rel=0.02)


def test_more_streams_than_there_are_counters_for(bed: Bed, session: Session) -> None:
    number = min(session.abilities().streams_max + 8, 300)
    capture = session.start(traffic(*(stream(each, bed.ports, rate_fps=50, sizes=((128, 1.0),)) for each in range(number)))).wait()
    assert len(capture.sent) == number
    assert sum(sent.frames for sent in capture.sent.values()) == asked_for(number * 50 * DURATION_S, capture, number * 50, rel=0.02)
    assert all(received(capture, each) == sent.frames for each, sent in capture.sent.items())


def test_flat_out_is_faster_than_a_paced_stream(bed: Bed, session: Session) -> None:
    if Arrivals.FLAT_OUT not in session.abilities().arrivals:
        pytest.skip("this generator has no way to send as fast as it can")
    capture = session.start(traffic(stream(0, bed.ports, rate_fps=0, arrivals=Arrivals.FLAT_OUT), duration_s=0.2)).wait()
    assert capture.sent[0].frames > 0.2 * 10_000


def test_laws_of_arrivals_that_it_lacks_are_refused(bed: Bed, session: Session) -> None:
    lacking = sorted(set(Arrivals) - session.abilities().arrivals)
    if not lacking:
        pytest.skip("this generator knows every law of arrivals")
    for law in lacking:
        with pytest.raises(GeneratorError, match=law):
            session.start(traffic(stream(0, bed.ports, arrivals=law)))


def test_overload_is_told(bed: Bed, session: Session) -> None:
    fps = 20 * session.abilities().fps
    capture = session.start(traffic(stream(0, bed.ports, rate_fps=fps, sizes=((64, 1.0),)), duration_s=0.2, warmup_s=0.0)).wait()
    assert capture.sent[0].intended_frames == pytest.approx(fps * 0.2, rel=0.05)
    assert capture.sent[0].frames < 0.9 * capture.sent[0].intended_frames


def test_stop_ends_sending(bed: Bed, session: Session) -> None:
    run = session.start(traffic(stream(0, bed.ports), duration_s=60.0))
    time.sleep(0.3)
    stopped = time.monotonic()
    run.stop()
    taken_s = time.monotonic() - stopped
    seen = bed.witness(bed.ports[1])
    if seen is not None:
        with seen as witness:
            time.sleep(max(0.0, 1.0 - taken_s))
            assert witness.arriving(0.3) == 0
    capture = run.wait()
    assert time.monotonic() - stopped < 30.0
    _shaped(capture, traffic(stream(0, bed.ports)))
    run.stop()  # after the end: nothing happens


def test_the_next_run_is_not_disturbed_by_the_last(bed: Bed, session: Session) -> None:
    first = session.start(traffic(stream(0, bed.ports, rate_fps=3000), drain_s=0.05))
    first.stop()
    first.wait()
    capture = session.start(traffic(stream(0, bed.ports))).wait()
    assert received(capture, 0) == capture.sent[0].frames == asked_for(400, capture)


def test_a_capture_has_the_shape_that_analysis_expects(bed: Bed, session: Session) -> None:
    asked = traffic(stream(0, bed.ports), stream(7, bed.ports[::-1]))
    capture = session.start(asked).wait()
    _shaped(capture, asked)
    assert np.diff(capture.batch_starts_ns) / 1e9 == pytest.approx([0.2] * 2, abs=0.05 + stalled_s(capture))
    assert (len(capture.samples) > 0) == session.abilities().samples
    assert set(capture.tallies) == (set() if session.abilities().samples else {0, 7})


def test_a_trial_takes_little_more_than_its_traffic(bed: Bed, session: Session) -> None:
    taken = []
    for _ in range(5):
        asked = traffic(stream(0, bed.ports), duration_s=0.1, warmup_s=0.05, drain_s=0.02)
        begun = time.monotonic()
        session.start(asked).wait()
        taken.append(time.monotonic() - begun - asked.span_s)
    print(f"\n{bed.entry.kind}: {statistics.median(taken) * 1e3:.0f} ms a trial beyond its traffic, {min(taken) * 1e3:.0f} at best")
    assert min(taken) < bed.overhead_s


def _shaped(capture: Capture, asked: Traffic) -> None:
    assert len(capture.batch_starts_ns) == asked.batches + 1
    assert (np.diff(capture.batch_starts_ns) >= 0).all()
    assert set(capture.sent) == {each.id for each in asked.streams} or len(capture.sent) == 1
    for sent in capture.sent.values():
        assert len(sent.first_sequence) == len(sent.octets) == asked.batches + 1
        assert (np.diff(sent.first_sequence) >= 0).all()
    for number, tally in capture.tallies.items():
        assert len(tally.rx_frames) == len(tally.rx_octets) == asked.batches
        assert len(tally.delays_us) == len(tally.delay_frames)
        assert (np.diff(tally.delays_us) > 0).all()
        assert (tally.delay_frames >= 0).all()
        assert 0 <= tally.received <= capture.sent[number].frames
    assert all(isinstance(value, float | int) for value in capture.health.values())
