"""What the generator is worth: measured on a loopback of the testbed before the first trial of a campaign (design, decision 8).

Three short runs on a bare cable between two ports of the generator: a slow one for the delay floor and the timestamp error, one as fast as
possible for the ceiling, and paced Poisson traffic below that ceiling until one run comes through as intended and whole.
"""

import numpy as np

from rackproof.errors import GeneratorError
from rackproof.model.topology import GENERATOR, Endpoint, Link, Topology
from rackproof.model.traffic import Arrivals, Calibration, Capture, FrameSize, Stream, Traffic
from rackproof.ports import Generator, Testbed

#: Frames of the campaign's trials carry the trial's index, which begins at 1.
CALIBRATION_TRIAL = 0
LOOPBACK = Topology(devices=(), links=(Link(a=Endpoint(node=GENERATOR, port="cal0"), b=Endpoint(node=GENERATOR, port="cal1")),))

SLOW_FPS = 10_000.0
SLOW_S = 0.4
FAST_S = 0.3
STREAMS = 8
#: A rate counts as honest when the sender kept up with its schedule to within this share at the end, and nothing was lost. A sender that
#: is too slow falls behind for good; one that was disturbed for some milliseconds has caught up. Each trial's pacing is judged by its own,
#: closer rule.
BEHIND_MAX = 0.02
STEPS = (0.8, 0.65, 0.5, 0.35, 0.2, 0.1)
HEADER = bytes.fromhex("02525000fe01 02525000fe00 88b5".replace(" ", ""))


def calibrate(testbed: Testbed, *, campaign: int, frame_bytes: int = 512, seed: int = 1) -> Calibration:
    """Calibrate the testbed's generator with frames of one size. Raises LabError; GeneratorError where no rate is honest."""
    with testbed.assemble(LOOPBACK) as rig:
        return calibrated(rig.generator, campaign=campaign, frame_bytes=frame_bytes, seed=seed)


def calibrated(generator: Generator, *, campaign: int, frame_bytes: int = 512, seed: int = 1) -> Calibration:
    """Calibrate a generator that keeps every frame; its ports cal0 and cal1 are the loopback. Raises GeneratorError."""
    slow = _run(generator, campaign, seed, frame_bytes, SLOW_FPS, SLOW_S, Arrivals.CONSTANT)
    delay_us = (slow.samples.rx_ns - slow.samples.tx_ns) / 1e3
    if len(delay_us) < 100:
        expected = SLOW_FPS * SLOW_S
        raise GeneratorError(f"calibration: expected about {expected:.0f} frames on the loopback, found {len(delay_us)}")
    floor, p99 = np.percentile(delay_us, [50, 99])
    gaps_us = np.diff(slow.samples.tx_ns) / 1e3
    ceiling = _run(generator, campaign, seed, frame_bytes, 0.0, FAST_S, Arrivals.FLAT_OUT)
    ceiling_fps = sum(sent.frames for sent in ceiling.sent.values()) / FAST_S
    honest = 0.0
    for tried, step in enumerate(STEPS, start=1):
        if _honest(_run(generator, campaign, seed + tried, frame_bytes, ceiling_fps * step, FAST_S, Arrivals.POISSON)):
            honest = ceiling_fps * step
            break
    if honest == 0.0:
        raise GeneratorError(
            f"calibration: no rate from {ceiling_fps * STEPS[0]:.0f} down to {ceiling_fps * STEPS[-1]:.0f} frames/s was sent as "
            "intended and received whole; the host is overloaded"
        )
    return Calibration(
        delay_floor_us=float(floor),
        timestamp_error_us_p50=float(np.percentile(np.abs(delay_us - floor), 50)),
        timestamp_error_us_p99=float(p99 - floor),
        honest_fps=honest,
        frames=len(delay_us),
        detail={
            "frame_bytes": frame_bytes,
            "slow_fps": SLOW_FPS,
            "gap_p10_us": float(np.percentile(gaps_us, 10)),
            "gap_p90_us": float(np.percentile(gaps_us, 90)),
            "ceiling_fps": ceiling_fps,
            "ceiling_lost_frames": sum(sent.frames for sent in ceiling.sent.values()) - _within(ceiling),
            "delay_max_us": float(delay_us.max()),
        },
    )


def _run(
    generator: Generator, campaign: int, seed: int, frame_bytes: int, rate_fps: float, duration_s: float, arrivals: Arrivals
) -> Capture:
    count = 1 if arrivals is Arrivals.CONSTANT else STREAMS
    streams = tuple(
        Stream(
            id=number,
            tx_port="cal0",
            rx_port="cal1",
            header=HEADER,
            frame_sizes=(FrameSize(frame_bytes=frame_bytes),),
            rate_fps=rate_fps / count,
            arrivals=arrivals,
        )
        for number in range(count)
    )
    traffic = Traffic(
        streams=streams,
        campaign=campaign,
        trial=CALIBRATION_TRIAL,
        seed=seed,
        warmup_s=0.0,
        duration_s=duration_s,
        drain_s=0.02,
        batches=1,
    )
    return generator.start(traffic).wait()


def _within(capture: Capture) -> int:
    """Frames received of those that were sent within the measured span."""
    total = 0
    for stream, sent in capture.sent.items():
        sequence = capture.samples.sequence[capture.samples.stream == stream]
        total += int(np.count_nonzero((sequence >= sent.first_sequence[0]) & (sequence < sent.first_sequence[-1])))
    return total


def _honest(capture: Capture) -> bool:
    sent = sum(sent.frames for sent in capture.sent.values())
    intended = sum(sent.intended_frames for sent in capture.sent.values())
    return (
        intended > 0
        and sent >= intended * (1 - BEHIND_MAX)
        and _within(capture) == sent
        and not capture.health["ring_drops"]
        and not capture.health["overflow"]
    )
