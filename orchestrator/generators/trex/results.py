"""From what TRex counted to a capture.

The measured span has counters of its own, so what was received of it is exact once the drain is over. What arrived while each batch
lasted is read between two readings of the counters, on the wall clock of the client.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from orchestrator.generators.trex.messages import Run, Told
from orchestrator.generators.trex.orders import CAPTURE_FRAMES_MIN
from orchestrator.generators.trex.records import lateness_us, records_of
from rackproof.model.traffic import RECORD_DTYPE, Arrivals, Capture, Samples, Sent, Stream, Tally, Traffic

#: Different readings that a line is laid through, at least.
LINE_READINGS = 4

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


def capture_of(traffic: Traffic, runs: Sequence[tuple[Run, Told]]) -> Capture:
    """The capture of the runs, merged: each counted streams of its own."""
    sent: dict[int, Sent] = {}
    tallies: dict[int, Tally] = {}
    health: dict[str, float] = {}
    spans = [_Span(traffic, run, told) for run, told in runs]
    for span in spans:
        for stream in traffic.streams:
            if at := span.counters(stream.id):
                sent[stream.id] = span.sent(at)
                tallies[stream.id] = span.tally(at)
        for name, value in {**span.told.health, **span.pace()}.items():
            health[name] = max(health.get(name, value), value)
    for stream in traffic.streams:
        # A stream so slow that none of its frames falls into the measured span has no burst, and no counter.
        sent.setdefault(stream.id, spans[0].sent([]))
        tallies.setdefault(stream.id, spans[0].tally([]))
    health["runs"] = float(len(runs))
    (run, told), marks = runs[0], spans[0].marks
    shortest_us = [tally.delays_us[0] for tally in tallies.values() if len(tally.delays_us)]
    if told.copies is not None and len(told.copies) >= CAPTURE_FRAMES_MIN and shortest_us:
        records = records_of(run, told.copies, min(shortest_us))
        health |= lateness_us(run, told.copies, records)
        return Capture(samples=Samples.of(records), sent=sent, batch_starts_ns=marks, health=health)
    empty = np.empty(0, RECORD_DTYPE)
    return Capture(samples=Samples.of(empty), sent=sent, batch_starts_ns=marks, health=health, tallies=tallies)


class _Span:
    """The measured span of one run. marks: when its batches began, and the last one ended; none lies after the end of sending."""

    def __init__(self, traffic: Traffic, run: Run, told: Told) -> None:
        self.traffic, self.told = traffic, told
        self._bursts = run.counted
        self._intended = sum(burst.frames for burst in self._bursts)
        self._read_ns = np.array([reading.at_ns for reading in told.readings], float)
        self._spans = {port: self._port_span(port) for port in {burst.tx_port for burst in self._bursts}}
        firsts, lengths = zip(*(self._spans.values() or [self._nominal()]), strict=True)
        # All ports: from the mean of their beginnings, as long as the slowest takes.
        self.marks = self._marked(float(np.mean(firsts)), max(lengths))

    def _nominal(self) -> tuple[float, float]:
        return self.told.started_ns + self.traffic.warmup_s * 1e9, self.traffic.duration_s * 1e9

    def _marked(self, first_ns: float, span_ns: float) -> _Ints:
        marks = np.rint(first_ns + np.linspace(0, span_ns, self.traffic.batches + 1)).astype(np.int64)
        return np.minimum(marks, self.told.ended_ns) if self.told.stopped else marks

    def _port_span(self, port: int) -> tuple[float, float]:
        """Begin and length [ns]: a straight line through the readings of what a port sent. Time that was stretched shows in its slope."""
        counters = [at for at, burst in enumerate(self._bursts) if burst.tx_port == port]
        intended, sent = sum(self._bursts[at].frames for at in counters), self._series(counters, "tx_frames")
        first_ns, span_ns = self._nominal()
        under_way = (sent > 0) & (sent < intended)
        if len(np.unique(sent[under_way])) >= LINE_READINGS:  # through readings that all say the same there is no line
            slope, offset = np.polyfit(sent[under_way], self._read_ns[under_way] - first_ns, 1)
            # What was sent is known in whole frames only: no line is closer than one of them.
            exact = abs(slope * intended - span_ns) > span_ns / intended
            return first_ns + offset, slope * intended if exact else span_ns
        return first_ns, span_ns if self.told.complete else self.told.final.at_ns - first_ns

    def counters(self, stream: int) -> list[int]:
        """Which counters are a stream's."""
        return [at for at, burst in enumerate(self._bursts) if burst.stream == stream]

    def sent(self, counters: Sequence[int]) -> Sent:
        """What was sent of a stream: at equal gaps, so the marks share it equally until it was stopped."""
        intended = sum(self._bursts[at].frames for at in counters)
        frames = sum(self.told.final.counts[at].tx_frames for at in counters)
        octets = sum(self.told.final.counts[at].tx_octets for at in counters)
        share = np.linspace(0, 1, self.traffic.batches + 1)
        sequence = np.minimum(share * intended, frames) if self.told.stopped else share * frames
        return Sent(
            first_sequence=np.rint(sequence).astype(np.int64),
            octets=np.rint(sequence * octets / max(1, frames)).astype(np.int64),
            intended_frames=intended,
        )

    def tally(self, counters: Sequence[int]) -> Tally:
        """What was received of a stream."""
        edges, frames = _histogram([self.told.histograms[at] for at in counters])
        return Tally(
            rx_frames=self._batches(counters, "rx_frames"),
            rx_octets=self._batches(counters, "rx_octets"),
            received=sum(self.told.final.counts[at].rx_frames for at in counters),
            delays_us=edges,
            delay_frames=frames,
            duplicates=sum(self.told.duplicates[at] for at in counters),
            reordered=sum(self.told.reordered[at] for at in counters),
        )

    def _series(self, counters: Sequence[int], name: str) -> _Floats:
        return np.array([sum(getattr(reading.counts[at], name) for at in counters) for reading in self.told.readings], float)

    def _batches(self, counters: Sequence[int], name: str) -> _Ints:
        # Each port has batches of its own, should it begin or end apart. Nothing arrives before the first begins.
        marks = self._marked(*self._spans[self._bursts[counters[0]].tx_port]) if counters else self.marks
        later = self._read_ns > marks[0]
        at, counter = np.append(marks[0], self._read_ns[later]), np.append(0.0, self._series(counters, name)[later])
        arrived: _Floats = np.rint(np.interp(marks.astype(float), at, counter))
        return np.diff(arrived).astype(np.int64)

    def pace(self) -> dict[str, float]:
        """How well it kept its schedule. An overloaded server stretches time; one that was interrupted is behind, and makes up for it."""
        if self.told.stopped:
            return {}
        stretched_ns = float(self.marks[-1] - self.marks[0]) - self.traffic.duration_s * 1e9
        sent = sum(count.tx_frames for count in self.told.final.counts)
        poisson = [stream for stream in self.traffic.streams if stream.arrivals is Arrivals.POISSON]
        return {
            "stalled_ms": max(0.0, stretched_ns, *(self._behind_ns(port) for port in self._spans)) / 1e6,
            "unsent_frames": float(self._intended - sent),
            **self._dispersion(poisson),
        }

    def _behind_ns(self, port: int) -> float:
        """How late a port was at most when its counters were read, beyond what one frame makes."""
        counters = [at for at, burst in enumerate(self._bursts) if burst.tx_port == port]
        intended, sent = sum(self._bursts[at].frames for at in counters), self._series(counters, "tx_frames")
        first_ns, span_ns = self._spans[port]
        under_way = (self._read_ns > first_ns) & (self._read_ns < first_ns + span_ns)
        late_ns = self._read_ns - first_ns - (sent + 1) * span_ns / intended
        return float(late_ns[under_way].max(initial=0.0))

    def _dispersion(self, streams: Sequence[Stream]) -> dict[str, float]:
        """Index of dispersion of what was sent between two readings, as a mean over Poisson streams: 1 where arrivals are Poisson's."""
        found = []
        for stream in streams:
            sent = self._series(self.counters(stream.id), "tx_frames")
            within = (self._read_ns > self.marks[0]) & (self._read_ns < self.marks[-1])
            expected = np.diff(self._read_ns[within]) / 1e9 * stream.rate_fps
            if len(expected) >= LINE_READINGS and sent.any():
                found.append(float(np.mean((np.diff(sent[within]) - expected) ** 2 / expected)))
        lag_ms = float(np.median(np.diff(self._read_ns))) / 1e6 if len(self._read_ns) > 1 else 0.0
        return {"poisson_dispersion": float(np.mean(found)), "poisson_dispersion_lag_ms": lag_ms} if found else {}


def _histogram(encoded: Sequence[str]) -> tuple[_Floats, _Ints]:
    """Upper edges of the delay [us] and how many frames are below each and above the one before, over several HDR histograms."""
    histograms = [HdrHistogram.decode(text) for text in encoded if text]
    if not histograms:
        return np.empty(0), np.empty(0, np.int64)
    whole, *others = histograms
    for other in others:
        whole.add(other)
    # The library's own iterator looks at each of 15360 places; few of them hold anything.
    places = np.flatnonzero(np.ctypeslib.as_array(whole.counts))
    values = [whole.get_highest_equivalent_value(whole.get_value_from_index(int(place))) for place in places]
    # The server cuts delays to whole microseconds: what it calls v is less than v + 1.
    return np.array(values, float) + 1.0, np.array([whole.get_count_at_index(int(place)) for place in places], np.int64)
