"""From traffic to what TRex is told to send: bursts of equal packets at equal gaps, each of a random phase.

A frame size of a stream is one burst for the warm-up and one for the measured span, both of the same phase, so that the gaps go through;
where arrivals are to be Poisson's, it is the sum of several such bursts. TRex counts each burst apart, and has COUNTERS for them: where
the traffic needs more, all of it is sent several times, and each run counts other streams.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orchestrator.generators.trex.messages import Burst, Run
from rackproof.errors import GeneratorError
from rackproof.model.traffic import Arrivals, Stream, Traffic

FCS_BYTES = 4
#: What TRex writes into the end of a packet that it counts.
SIGNATURE_BYTES = 16
#: What stands in front of it in frames that are captured: trial and burst.
MARK_BYTES = 4
#: Counters with delays that a server has, for all who use it.
COUNTERS = 128
#: Bursts whose sum stands for Poisson arrivals, at most; fewer where counters are short.
PHASES = 100
#: Counters are read at least so often in the measured span.
READINGS_MIN = 10
#: A capture of fewer frames does not show how fast the server's clock ticks.
CAPTURE_FRAMES_MIN = 100
_VLAN_TAGS = (b"\x81\x00", b"\x88\xa8")
_LOOPBACK_ETHERTYPE = b"\x90\x00"


def runs(traffic: Traffic, counters: int = COUNTERS, capture_frames: int = 0) -> tuple[Run, ...]:
    """The runs that count all streams of the traffic, each with so many counters at most. Raises GeneratorError.

    One run that sends at most capture_frames is captured.
    """
    for stream in traffic.streams:
        _check(stream, counters)
    phases = _phases(traffic, counters)
    groups: list[set[int]] = [set()]
    room = counters
    for stream in traffic.streams:
        need = _counters(stream, phases)
        if need > room:
            groups.append(set())
            room = counters
        groups[-1].add(stream.id)
        room -= need
    frames = traffic.rate_fps * (traffic.warmup_s + traffic.duration_s)
    captured = len(groups) == 1 and CAPTURE_FRAMES_MIN <= frames <= capture_frames
    if captured:
        for stream in traffic.streams:
            _check_room(stream, MARK_BYTES + SIGNATURE_BYTES)
    return tuple(_run(traffic, group, phases, captured) for group in groups)


def _check(stream: Stream, counters: int) -> None:
    if stream.arrivals is Arrivals.FLAT_OUT:
        raise GeneratorError(f"stream {stream.id}: TRex has no honest {stream.arrivals}: beyond its rate it stretches time; give a rate")
    if len(stream.frame_sizes) > counters:
        need = len(stream.frame_sizes)
        raise GeneratorError(f"stream {stream.id}: needs {need} of TRex's counters, one per frame size, but {counters} are free")
    _check_room(stream, SIGNATURE_BYTES)


def _check_room(stream: Stream, need: int) -> None:
    least = len(stream.header) + need + FCS_BYTES
    for size in stream.frame_sizes:
        if size.frame_bytes < least:
            raise GeneratorError(
                f"stream {stream.id}: frames of {size.frame_bytes} bytes have no room for a header of {len(stream.header)} bytes and what "
                f"TRex counts by; the smallest is {least}"
            )


def _phases(traffic: Traffic, counters: int) -> int:
    """How many bursts each frame size of a Poisson stream becomes, so that one run counts everything if it can."""
    poisson = sum(len(stream.frame_sizes) for stream in traffic.streams if stream.arrivals is Arrivals.POISSON)
    others = sum(len(stream.frame_sizes) for stream in traffic.streams) - poisson
    return max(1, min(PHASES, (counters - others) // max(1, poisson)))


def _counters(stream: Stream, phases: int) -> int:
    return len(stream.frame_sizes) * (phases if stream.arrivals is Arrivals.POISSON else 1)


def _run(traffic: Traffic, counted: set[int], phases: int, captured: bool) -> Run:
    rng = np.random.default_rng(traffic.seed)  # every run sends the same
    bursts = [
        burst for stream in traffic.streams for burst in _bursts(traffic, stream, stream.id in counted, _counters(stream, phases), rng)
    ]
    if captured:
        bursts = _marked(bursts, traffic.trial)
    marks = np.linspace(0, traffic.duration_s, traffic.batches * math.ceil(READINGS_MIN / traffic.batches) + 1)
    return Run(
        bursts=tuple(bursts),
        announcements=tuple(_announcements(traffic)),
        readings_s=tuple(float(traffic.warmup_s + mark) for mark in marks),
        sending_s=traffic.warmup_s + traffic.duration_s,
        drain_s=traffic.drain_s,
        trial=traffic.trial,
        captured=captured,
    )


def mark(trial: int, burst: int) -> bytes:
    """What tells the frames of a burst, and those of a trial from the last one's."""
    return (trial & 0xFFFF).to_bytes(2) + burst.to_bytes(2)


def _marked(bursts: list[Burst], trial: int) -> list[Burst]:
    numbers = itertools.count()
    tail = MARK_BYTES + SIGNATURE_BYTES
    return [
        replace(burst, packet=burst.packet[:-tail] + mark(trial, next(numbers)) + bytes(SIGNATURE_BYTES)) if burst.counted else burst
        for burst in bursts
    ]


def _bursts(traffic: Traffic, stream: Stream, counted: bool, count: int, rng: np.random.Generator) -> Iterator[Burst]:
    weights = sum(size.weight for size in stream.frame_sizes)
    each = count // len(stream.frame_sizes)
    for size in stream.frame_sizes:
        fps = stream.rate_fps * size.weight / weights / each
        for phase in rng.random(each):
            warmup = max(0, math.ceil(traffic.warmup_s * fps - phase))
            measured = math.ceil((traffic.warmup_s + traffic.duration_s) * fps - phase) - warmup
            for first, frames, has_counter in ((0, warmup, False), (warmup, measured, counted)):
                if frames > 0:
                    yield Burst(
                        stream=stream.id,
                        tx_port=int(stream.tx_port),
                        rx_port=int(stream.rx_port),
                        packet=stream.header.ljust(size.frame_bytes - FCS_BYTES, b"\0"),
                        fps=fps,
                        frames=frames,
                        after_us=1e6 * (first + float(phase)) / fps,
                        counted=has_counter,
                    )


def _announcements(traffic: Traffic) -> Iterator[tuple[int, bytes]]:
    """A frame from every address that streams go to, in the stream's VLAN, so that a learning switch floods nothing (RFC 2544, 23)."""
    seen = set()
    for stream in traffic.streams:
        tag = stream.header[12:16] if stream.header[12:14] in _VLAN_TAGS else b""
        frame = (b"\xff" * 6 + stream.header[:6] + tag + _LOOPBACK_ETHERTYPE).ljust(60, b"\0")
        if (stream.rx_port, frame) not in seen:
            seen.add((stream.rx_port, frame))
            yield int(stream.rx_port), frame
