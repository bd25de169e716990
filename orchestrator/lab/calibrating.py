"""What is a lab's generator worth now? Measured on a cable between two of its ports; without one, that is said and nothing is made up.

A generator that keeps every frame and can send flat out is calibrated as on the bench. One that counts is sent through the same loopback:
the floor is the median of its histogram, and a rate is honest where it was sent as intended and counted whole.
"""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from orchestrator.calibration import CALIBRATION_TRIAL, HEADER, calibrated
from orchestrator.generators.driver import Abilities
from rackproof.errors import GeneratorError
from rackproof.model.traffic import Arrivals, Calibration, Capture, FrameSize, Stream, Traffic
from rackproof.ports import Generator

SLOW_FPS = 1000.0
SLOW_S = 1.0
FAST_S = 1.0
#: Parts of what the driver says the generator can send that are tried, the highest first.
STEPS = (1.0, 0.8, 0.5, 0.25, 0.1)
FRAME_BYTES = 512
#: A rate was sent as intended where so little of it is missing.
BEHIND_MAX = 0.005

NO_LOOPBACK = (
    "not measured: the inventory has no cable between two ports of the generator; delays contain its own delay, and how much that is is "
    "not known"
)
NO_DELAYS = "not measured: the generator counts frames and tells no delays"
AS_STATED = "as its driver states: nothing was measured"


def with_loopback(generator: Generator, abilities: Abilities, speed_mbps: float, campaign: int) -> Calibration:
    """Calibrate on the loopback, whose ports are cal0 and cal1 and whose cable runs at speed_mbps. Raises LabError."""
    if abilities.samples and Arrivals.FLAT_OUT in abilities.arrivals:
        return calibrated(generator, campaign=campaign)
    slow = _run(generator, campaign, SLOW_FPS, SLOW_S)
    sent, received, delays_us = slow.sent[0].frames, _received(slow), _delays_us(slow)
    if received < sent or not sent:
        raise GeneratorError(f"calibration: {sent} frames were sent over the loopback, and {received} of them counted as received")
    floor, p99 = _percentiles(delays_us, 50, 99)
    ceiling = min(abilities.fps, speed_mbps * 1e6 / (8 * (FRAME_BYTES + 20)))
    honest = next((ceiling * step for step in STEPS if _whole(_run(generator, campaign, ceiling * step, FAST_S))), 0.0)
    if honest == 0.0:
        lowest = ceiling * STEPS[-1]
        raise GeneratorError(f"calibration: no rate from {ceiling:.0f} down to {lowest:.0f} frames/s came over the loopback as intended")
    return Calibration(
        delay_floor_us=floor,
        timestamp_error_us_p50=_percentiles(np.abs(delays_us - floor), 50)[0],
        timestamp_error_us_p99=p99 - floor,
        honest_fps=honest,
        frames=received,
        detail={
            "frame_bytes": FRAME_BYTES,
            "slow_fps": SLOW_FPS,
            "measured_by": "counters and a histogram of delays" if len(delays_us) else "counters",
            **({} if len(delays_us) else {"delay_floor": NO_DELAYS}),
            **abilities.notes,
        },
    )


def without_loopback(abilities: Abilities) -> Calibration:
    """What is known of a generator that has no loopback: what its driver says."""
    detail: Mapping[str, str] = {"delay_floor": NO_LOOPBACK, "honest_frame_rate": AS_STATED, **abilities.notes}
    return Calibration(
        delay_floor_us=math.nan,
        timestamp_error_us_p50=math.nan,
        timestamp_error_us_p99=math.nan,
        honest_fps=abilities.fps,
        frames=0,
        detail=detail,
    )


def _run(generator: Generator, campaign: int, rate_fps: float, duration_s: float) -> Capture:
    stream = Stream(
        id=0,
        tx_port="cal0",
        rx_port="cal1",
        header=HEADER,
        frame_sizes=(FrameSize(frame_bytes=FRAME_BYTES),),
        rate_fps=rate_fps,
        arrivals=Arrivals.CONSTANT,
    )
    traffic = Traffic(
        streams=(stream,),
        campaign=campaign,
        trial=CALIBRATION_TRIAL,
        seed=1,
        warmup_s=0.0,
        duration_s=duration_s,
        drain_s=0.1,
        batches=1,
    )
    return generator.start(traffic).wait()


def _whole(capture: Capture) -> bool:
    sent = capture.sent[0]
    return sent.frames >= sent.intended_frames * (1 - BEHIND_MAX) and _received(capture) >= sent.frames > 0


def _received(capture: Capture) -> int:
    """Frames of the measured span that arrived: as counted, else as kept."""
    if capture.tallies:
        return capture.tallies[0].received
    sequence, first = capture.samples.sequence, capture.sent[0].first_sequence
    return int(np.count_nonzero((sequence >= first[0]) & (sequence < first[-1])))


def _percentiles(values: npt.NDArray[np.float64], *percents: float) -> list[float]:
    """Percentiles that are values themselves; nan of nothing."""
    if not len(values):
        return [math.nan] * len(percents)
    return [float(value) for value in np.percentile(values, percents, method="inverted_cdf")]


def _delays_us(capture: Capture) -> npt.NDArray[np.float64]:
    """One delay for each frame whose delay is known."""
    if capture.tallies:
        tally = capture.tallies[0]
        return np.repeat(tally.delays_us, tally.delay_frames)
    return (capture.samples.rx_ns - capture.samples.tx_ns) / 1e3
