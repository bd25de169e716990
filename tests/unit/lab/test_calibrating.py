"""What a generator that counts is worth, from tallies that are known; and what is said where nothing can be measured."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from orchestrator.generators.driver import Abilities
from orchestrator.lab.calibrating import AS_STATED, NO_DELAYS, NO_LOOPBACK, with_loopback, without_loopback
from rackproof.errors import GeneratorError
from rackproof.model.traffic import RECORD_DTYPE, Arrivals, Calibration, Capture, Samples, Sent, Tally, Traffic

COUNTS = Abilities(fps=100_000.0, samples=False, arrivals=frozenset(Arrivals), streams_max=128, notes={"delay": "of software"})


@dataclass(frozen=True, kw_only=True)
class Loopback:
    """A generator whose loopback delays every frame by 20 us, one in ten by 50 us more; at rates above honest_fps it falls behind."""

    honest_fps: float
    lost: int = 0
    delays: bool = True

    def start(self, traffic: Traffic) -> "Loopback._Run":
        return Loopback._Run(self, traffic)

    class _Run:
        def __init__(self, loopback: "Loopback", traffic: Traffic) -> None:
            self._loopback = loopback
            self._traffic = traffic

        def stop(self) -> None: ...

        def wait(self) -> Capture:
            (stream,) = self._traffic.streams
            assert (stream.tx_port, stream.rx_port) == ("cal0", "cal1")
            intended = round(stream.rate_fps * self._traffic.duration_s)
            sent = round(min(stream.rate_fps, self._loopback.honest_fps) * self._traffic.duration_s)
            received = sent - self._loopback.lost
            tally = Tally(
                rx_frames=np.array([received]),
                rx_octets=np.array([received * 512]),
                received=received,
                delays_us=np.array([20.0, 70.0] if self._loopback.delays else []),
                delay_frames=np.array([received - received // 10, received // 10] if self._loopback.delays else [], np.int64),
            )
            return Capture(
                samples=Samples.of(np.empty(0, RECORD_DTYPE)),
                sent={0: Sent(first_sequence=np.array([0, sent]), octets=np.array([0, sent * 512]), intended_frames=intended)},
                batch_starts_ns=np.array([0, 10**9]),
                tallies={0: tally},
            )


def calibrated(loopback: Loopback, *, speed_mbps: float = 10_000.0) -> Calibration:
    return with_loopback(loopback, COUNTS, speed_mbps, campaign=1)


def test_the_floor_is_the_median_of_the_histogram() -> None:
    found = calibrated(Loopback(honest_fps=1e9))
    assert (found.delay_floor_us, found.timestamp_error_us_p50, found.timestamp_error_us_p99) == (20.0, 0.0, 50.0)
    assert found.honest_fps == COUNTS.fps
    assert found.frames == 1000
    assert found.detail["delay"] == "of software"


def test_a_generator_that_tells_no_delays_has_an_honest_rate_and_no_floor() -> None:
    found = calibrated(Loopback(honest_fps=1e9, delays=False))
    assert math.isnan(found.delay_floor_us)
    assert (found.honest_fps, found.frames, found.detail["delay_floor"]) == (COUNTS.fps, 1000, NO_DELAYS)


def test_the_honest_rate_is_the_highest_that_was_sent_as_intended() -> None:
    assert calibrated(Loopback(honest_fps=60_000.0)).honest_fps == 50_000.0
    assert calibrated(Loopback(honest_fps=1e9), speed_mbps=100.0).honest_fps == pytest.approx(100e6 / (8 * 532)), "no cable carries more"


def test_what_loses_on_a_bare_cable_is_not_calibrated() -> None:
    with pytest.raises(GeneratorError, match="1000 frames were sent over the loopback, and 997 of them counted as received"):
        calibrated(Loopback(honest_fps=1e9, lost=3))
    with pytest.raises(GeneratorError, match="no rate from 100000 down to 10000 frames/s came over the loopback as intended"):
        calibrated(Loopback(honest_fps=5_000.0))


def test_without_a_loopback_nothing_is_made_up() -> None:
    found = without_loopback(COUNTS)
    assert math.isnan(found.delay_floor_us)
    assert math.isnan(found.timestamp_error_us_p99)
    assert (found.honest_fps, found.frames) == (100_000.0, 0)
    assert (found.detail["delay_floor"], found.detail["honest_frame_rate"]) == (NO_LOOPBACK, AS_STATED)
