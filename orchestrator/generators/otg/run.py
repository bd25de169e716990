"""Traffic under way behind the Open Traffic Generator API: counters are read when each batch begins, and after the drain."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orchestrator.generators.otg.server import Count, Server
from orchestrator.interruption import Interruption
from rackproof.errors import GeneratorError
from rackproof.model.traffic import RECORD_DTYPE, Arrivals, Capture, Samples, Sent, Stream, Tally, Traffic

#: How long flows may go on after their time is up.
END_S = 5.0
POLL_S = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The counters of all streams at one instant (CLOCK_REALTIME, the middle of the call), and how long the server took to tell them."""

    time_ns: int
    took_s: float
    counts: Mapping[int, Count]


class OtgRun:
    """rackproof.ports.Run."""

    def __init__(self, server: Server, traffic: Traffic, names: Mapping[int, str], interruption: Interruption) -> None:
        self._server = server
        self._traffic = traffic
        self._names = names
        self._interruption = interruption
        self._stopped = self._over = False
        server.transmit("start")
        self._begin = time.monotonic()

    def stop(self) -> None:
        if not self._stopped and not self._over:
            self._server.transmit("stop")
            self._stopped = True

    def wait(self) -> Capture:
        traffic = self._traffic
        readings: list[Reading] = []
        for at_s in traffic.warmup_s + np.linspace(0, traffic.duration_s, traffic.batches + 1):
            if not self._stopped:
                self._interruption.wait(max(0.0, self._begin + float(at_s) - time.monotonic()))
            readings.append(self._read())
        if not self._stopped:
            in_time(readings, traffic)
            self._await_end()
        self._interruption.wait(traffic.drain_s)
        last = self._read()
        self._over = True
        return capture_of(traffic, readings, last)

    def _await_end(self) -> None:
        end = time.monotonic() + END_S
        while any(count.sending for count in self._read().counts.values()):
            if time.monotonic() > end:
                self.stop()
                raise GeneratorError(f"the generator still sends {END_S:.0f} s after its time was up; it was stopped")
            self._interruption.wait(POLL_S)

    def _read(self) -> Reading:
        before = time.monotonic()
        told = self._server.flows(self._names.values())
        took_s = time.monotonic() - before
        missing = sorted(set(self._names.values()) - told.keys())
        if missing:
            raise GeneratorError(f"the generator tells no counters of {', '.join(missing)}")
        return Reading(
            time_ns=time.time_ns() - int(took_s / 2 * 1e9),
            took_s=took_s,
            counts={stream: told[name] for stream, name in self._names.items()},
        )


def in_time(readings: list[Reading], traffic: Traffic) -> None:
    """Raise GeneratorError where the server tells its counters too slowly for the batches that were asked for."""
    slowest_s, batch_s = max(reading.took_s for reading in readings), traffic.duration_s / traffic.batches
    if slowest_s > batch_s:
        raise GeneratorError(
            f"the generator took {slowest_s:.2f} s to tell its counters, and a batch lasts {batch_s:.2f} s: a longer trial is needed"
        )


def capture_of(traffic: Traffic, readings: list[Reading], last: Reading) -> Capture:
    """From counters, at the beginning of each batch, at the end of the last one and after the drain, to a capture. Pure."""
    health = {"reading_ms_max": max(reading.took_s for reading in readings) * 1e3}
    sent, tallies = {}, {}
    for stream in traffic.streams:
        counts, final = [reading.counts[stream.id] for reading in readings], last.counts[stream.id]
        # What is sent when the last batch ends is told a moment later; nothing is sent after it.
        tx_frames = np.array([*(count.tx_frames for count in counts[:-1]), final.tx_frames], np.int64)
        rx_frames = np.array([count.rx_frames for count in counts], np.int64)
        sent[stream.id] = Sent(
            first_sequence=tx_frames,
            octets=_octets(stream, tx_frames, [*(count.tx_octets for count in counts[:-1]), final.tx_octets]),
            intended_frames=_intended(traffic, stream, tx_frames),
        )
        tallies[stream.id] = Tally(
            rx_frames=np.diff(rx_frames),
            rx_octets=np.diff(_octets(stream, rx_frames, [count.rx_octets for count in counts])),
            received=min(final.rx_frames - int(rx_frames[0]), sent[stream.id].frames),
            delays_us=np.empty(0, np.float64),
            delay_frames=np.empty(0, np.int64),
        )
        if final.delays_us is not None:
            for name, delay_us in zip(("min", "mean", "max"), final.delays_us, strict=True):
                health[f"delay_us_{name}.{stream.id}"] = delay_us
    return Capture(
        samples=Samples.of(np.empty(0, RECORD_DTYPE)),
        sent=sent,
        batch_starts_ns=np.array([reading.time_ns for reading in readings], np.int64),
        health=health,
        tallies=tallies,
    )


def _intended(traffic: Traffic, stream: Stream, tx_frames: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """What was still to be sent when measuring began: the schedule is the server's, and only its whole length is known."""
    if stream.arrivals is Arrivals.FLAT_OUT:
        return int(tx_frames[-1] - tx_frames[0])
    return round(stream.rate_fps * (traffic.warmup_s + traffic.duration_s)) - int(tx_frames[0])


def _octets(
    stream: Stream, frames: np.ndarray[tuple[int], np.dtype[np.int64]], told: list[int]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Octets, FCS included: of one size by counting frames; of several as the server counts them. Raises GeneratorError."""
    if len(stream.frame_sizes) == 1:
        return frames * stream.frame_sizes[0].frame_bytes
    if frames[-1] and not told[-1]:
        raise GeneratorError(f"stream {stream.id}: the generator counts no octets, and the stream has frames of several sizes")
    return np.array(told, np.int64)
