"""What TRex is told to send, and what is made of what it counted."""

from dataclasses import replace

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from orchestrator.generators.trex.messages import COPY_DTYPE, Count, Reading, Run, Told
from orchestrator.generators.trex.orders import COUNTERS, runs
from orchestrator.generators.trex.records import lateness_us, records_of
from orchestrator.generators.trex.results import capture_of
from rackproof.errors import GeneratorError
from rackproof.model.traffic import Arrivals, FrameSize, Stream, Traffic

_MPLS = bytes.fromhex("0252500001000252500000008847000647ff")


def _stream(
    number: int, fps: float = 1000.0, sizes: tuple[FrameSize, ...] = (FrameSize(frame_bytes=512),), arrivals: Arrivals = Arrivals.CONSTANT
) -> Stream:
    return Stream(id=number, tx_port="0", rx_port="1", header=_MPLS, frame_sizes=sizes, rate_fps=fps, arrivals=arrivals)


def _traffic(*streams: Stream, warmup_s: float = 0.25, duration_s: float = 1.0) -> Traffic:
    return Traffic(streams=streams, campaign=1, trial=1, seed=7, warmup_s=warmup_s, duration_s=duration_s, drain_s=0.1, batches=10)


def test_the_gaps_go_through_from_the_warm_up_to_the_measured_span() -> None:
    (run,) = runs(_traffic(_stream(3)))
    warmup, measured = run.bursts
    assert (warmup.counted, measured.counted) == (False, True)
    assert measured.after_us == pytest.approx(warmup.after_us + warmup.frames * 1e6 / warmup.fps)
    assert 0.25e6 <= measured.after_us < 0.25e6 + 1e6 / measured.fps
    assert measured.after_us + (measured.frames - 1) * 1e6 / measured.fps < 1.25e6
    assert (warmup.frames, measured.frames) == (250, 1000)


def test_a_packet_is_the_header_and_the_frame_without_its_fcs() -> None:
    (run,) = runs(_traffic(_stream(3)))
    assert {len(burst.packet) for burst in run.bursts} == {508}
    assert all(burst.packet.startswith(_MPLS) for burst in run.bursts)


def test_frame_sizes_share_the_rate_by_their_weights() -> None:
    sizes = (FrameSize(frame_bytes=64, weight=7), FrameSize(frame_bytes=594, weight=4), FrameSize(frame_bytes=1518, weight=1))
    (run,) = runs(_traffic(_stream(1, 1200, sizes), warmup_s=0.0))
    assert [(len(burst.packet) + 4, burst.frames) for burst in run.bursts] == [(64, 700), (594, 400), (1518, 100)]


@pytest.mark.parametrize(("streams", "phases"), [(1, 100), (8, 16), (64, 2)])
def test_poisson_is_the_sum_of_as_many_bursts_as_there_are_counters_for(streams: int, phases: int) -> None:
    (run,) = runs(_traffic(*(_stream(number, arrivals=Arrivals.POISSON) for number in range(streams))))
    assert len(run.counted) == streams * phases <= COUNTERS
    assert sum(burst.frames for burst in run.counted) == pytest.approx(streams * 1000, rel=0.01)
    assert len({burst.after_us for burst in run.counted}) == len(run.counted)


def test_more_streams_than_counters_are_all_sent_in_every_run_and_counted_in_one() -> None:
    traffic = _traffic(*(_stream(number, 100) for number in range(300)))
    found = runs(traffic)
    assert len(found) == 3
    assert [{burst.stream for burst in run.bursts} for run in found] == [set(range(300))] * 3
    assert sorted(burst.stream for run in found for burst in run.counted) == list(range(300))
    assert {burst.after_us for burst in found[0].bursts} == {burst.after_us for burst in found[2].bursts}


def test_a_learning_switch_hears_of_every_receiver_in_its_vlan() -> None:
    header = bytes.fromhex("0252500001000252500000008100a00588b5")
    tagged = Stream(
        id=1,
        tx_port="0",
        rx_port="1",
        header=header,
        frame_sizes=(FrameSize(frame_bytes=128),),
        rate_fps=10,
        arrivals=Arrivals.CONSTANT,
    )
    (run,) = runs(_traffic(tagged))
    assert [(port, frame[:18].hex()) for port, frame in run.announcements] == [(1, "ffffffffffff0252500001008100a0059000")]


def test_frames_without_room_for_what_is_counted_by_are_refused() -> None:
    smallest = len(_MPLS) + 16 + 4
    with pytest.raises(GeneratorError, match=f"stream 5: frames of {smallest - 1} bytes .* the smallest is {smallest}"):
        runs(_traffic(_stream(5, sizes=(FrameSize(frame_bytes=smallest - 1),))))
    assert runs(_traffic(_stream(5, sizes=(FrameSize(frame_bytes=smallest),))))


def test_sending_as_fast_as_it_can_is_refused() -> None:
    with pytest.raises(GeneratorError, match="stream 4: TRex has no honest flat_out"):
        runs(_traffic(_stream(4, arrivals=Arrivals.FLAT_OUT)))


_START_NS = 1_800_000_000_000_000_000


def _told(run: Run, *, speed: float = 1.0, lost: int = 0, delays_us: tuple[int, ...] = (), late_ns: int = 0) -> Told:
    """What a server tells that sends the run's first burst at so many times its speed. Frames take no time."""
    (burst,) = run.counted
    begin_ns = _START_NS + late_ns + round(burst.after_us * 1e3)

    def count(at_ns: int) -> Count:
        frames = int(np.clip((at_ns - begin_ns) / 1e9 * burst.fps * speed, 0, burst.frames))
        return Count(tx_frames=frames, tx_octets=512 * frames, rx_frames=max(0, frames - lost), rx_octets=512 * max(0, frames - lost))

    histogram = HdrHistogram(1, 10_000_000, 3)
    for delay in delays_us:
        histogram.record_value(delay)
    times = [_START_NS + round(at * 1e9) for at in (*run.readings_s, *np.arange(run.sending_s + 0.003, 1.5 * run.sending_s, 0.005))]
    readings = tuple(Reading(at_ns=at, counts=(count(at),)) for at in times)
    return Told(
        started_ns=_START_NS,
        ended_ns=times[-1],
        readings=readings,
        final=Reading(at_ns=times[-1] + 10**8, counts=(count(times[-1] + 10**8),)),
        histograms=(histogram.encode().decode(),) if delays_us else ("",),
        duplicates=(0,),
        reordered=(0,),
        complete=True,
        stopped=False,
        health={"ring_drops": 0.0},
    )


def test_batches_begin_when_the_server_really_sent() -> None:
    traffic = _traffic(_stream(1))
    (run,) = runs(traffic)
    late_ns = 30_000_000
    capture = capture_of(traffic, [(run, _told(run, late_ns=late_ns))])
    assert capture.batch_starts_ns[0] == pytest.approx(_START_NS + 250_000_000 + late_ns, abs=2_000_000)
    assert np.diff(capture.batch_starts_ns) == pytest.approx([1e8] * 10, rel=0.001)
    assert capture.tallies[1].rx_frames.tolist() == pytest.approx([100] * 10, abs=3)
    assert capture.health["stalled_ms"] == pytest.approx(0, abs=0.5)


def test_readings_that_all_say_the_same_tell_nothing_of_when_batches_begin() -> None:
    traffic = _traffic(_stream(1))
    (run,) = runs(traffic)
    told = _told(run)
    counts = told.readings[5].counts
    assert 0 < counts[0].tx_frames < 1000
    standing = replace(told, readings=tuple(replace(reading, counts=counts) for reading in told.readings))
    capture = capture_of(traffic, [(run, standing)])
    assert capture.batch_starts_ns[0] == pytest.approx(_START_NS + 250_000_000, abs=1000)
    assert np.diff(capture.batch_starts_ns) == pytest.approx([1e8] * 10, abs=1000)


def test_lost_frames_are_what_was_not_received_after_the_drain() -> None:
    traffic = _traffic(_stream(1))
    (run,) = runs(traffic)
    capture = capture_of(traffic, [(run, _told(run, lost=17))])
    assert capture.sent[1].frames - capture.tallies[1].received == 17
    assert capture.sent[1].intended_frames == capture.sent[1].frames == 1000


def test_an_overloaded_server_stretches_the_span_and_is_told() -> None:
    traffic = _traffic(_stream(1))
    (run,) = runs(traffic)
    capture = capture_of(traffic, [(run, _told(run, speed=0.97))])
    assert (capture.batch_starts_ns[-1] - capture.batch_starts_ns[0]) / 1e9 == pytest.approx(1 / 0.97, rel=0.003)
    assert capture.health["stalled_ms"] == pytest.approx(31, abs=4)


def test_delays_are_upper_edges_of_whole_microseconds() -> None:
    traffic = _traffic(_stream(1))
    (run,) = runs(traffic)
    tally = capture_of(traffic, [(run, _told(run, delays_us=(0, 7, 7, 1500, 5000)))]).tallies[1]
    assert tally.delays_us[:3].tolist() == [1, 8, 1501]
    assert 5001 <= tally.delays_us[3] <= 5001 * 1.001
    assert tally.delay_frames.tolist() == [1, 2, 1, 1]


def test_the_dispersion_of_equal_gaps_is_told_as_what_it_is() -> None:
    traffic = _traffic(_stream(1, arrivals=Arrivals.POISSON))
    (run,) = runs(traffic, 1)
    assert capture_of(traffic, [(run, _told(run))]).health["poisson_dispersion"] < 0.05


def test_captured_frames_tell_when_they_left_though_the_clock_of_the_server_tells_neither_rate_nor_origin() -> None:
    sizes = (FrameSize(frame_bytes=128), FrameSize(frame_bytes=512))
    (run,) = runs(_traffic(_stream(6, 2000, sizes)), capture_frames=5000)
    assert run.captured
    assert {burst.packet[-20:-16].hex() for burst in run.counted} == {"00010000", "00010001"}
    rng = np.random.default_rng(3)
    left, shortest_us = [], 9.0
    for at, burst in enumerate(run.counted):
        left += [(at, number, burst.after_us + number * 1e6 / burst.fps) for number in range(burst.frames)]
    delays_us = shortest_us + rng.exponential(300.0, len(left)) * (rng.random(len(left)) < 0.7)
    copies = np.zeros(len(left), COPY_DTYPE)
    for copy, (at, number, left_us), delay_us in zip(copies, left, delays_us, strict=True):
        copy["burst"], copy["number"], copy["port"], copy["pcp"] = at, number, 1, 255
        copy["ticks"] = 69_000_000_000_000 + round(left_us * 2594.2)
        copy["at_ns"] = _START_NS + round(1e3 * (left_us + delay_us))
    records = records_of(run, np.sort(copies, order="at_ns"), shortest_us)
    order = np.argsort(records["sequence"])
    assert records["sequence"][order].tolist() == list(range(2000))
    assert (np.diff(records["tx_ns"][order]) > -1000).all()
    assert lateness_us(run, np.sort(copies, order="at_ns"), records)["lateness_max_us"] < 3.0
    found_us = np.sort((records["rx_ns"] - records["tx_ns"]) / 1e3)
    assert found_us == pytest.approx(np.sort(delays_us), abs=1.0)


def test_more_frames_than_may_be_captured_are_counted() -> None:
    assert [run.captured for run in runs(_traffic(_stream(1)), capture_frames=1000)] == [False]
