"""What a generator is asked to send, and what it says came back."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Self

import numpy as np
import numpy.typing as npt

#: One received frame. Times are CLOCK_REALTIME in ns; frame_bytes includes FCS and tags; pcp 255: untagged.
RECORD_DTYPE = np.dtype(
    {
        "names": ["tx_ns", "rx_ns", "sequence", "stream", "frame_bytes", "port", "pcp", "flags"],
        "formats": ["<i8", "<i8", "<u4", "<u2", "<u2", "<u2", "u1", "u1"],
        "itemsize": 32,
    }
)

Records = npt.NDArray[np.void]


@dataclass(frozen=True, kw_only=True, slots=True)
class Samples:
    """Received frames as columns of equal length, in order of arrival: the raw observations that are kept.

    From a generator they are views into its records (no copy); from the store they are the columns of a Parquet file.
    """

    tx_ns: npt.NDArray[np.int64]
    rx_ns: npt.NDArray[np.int64]
    sequence: npt.NDArray[np.uint32]
    stream: npt.NDArray[np.uint16]
    frame_bytes: npt.NDArray[np.uint16]
    port: npt.NDArray[np.uint16]
    pcp: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, records: Records) -> Self:
        """The columns of records (dtype RECORD_DTYPE), as views."""
        return cls(**{column.name: records[column.name] for column in fields(cls)})

    def __len__(self) -> int:
        return len(self.tx_ns)


class Arrivals(StrEnum):
    """The law of the gaps between frames: constant with a random phase, exponential, or as fast as the generator can."""

    CONSTANT = "constant"
    POISSON = "poisson"
    FLAT_OUT = "flat_out"


@dataclass(frozen=True, kw_only=True, slots=True)
class FrameSize:
    """A frame size (FCS and tags included) and its share among the frames of a stream; shares need not sum to 1."""

    frame_bytes: int
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """One flow of frames from one port to another.

    id: 0 to 65535, unique within the traffic. header: every byte from the destination MAC to the last EtherType or label; the generator's
    signature follows it. rate_fps: frames per second.
    """

    id: int
    tx_port: str
    rx_port: str
    header: bytes
    frame_sizes: tuple[FrameSize, ...]
    rate_fps: float
    arrivals: Arrivals

    @property
    def mean_frame_bytes(self) -> float:
        """Mean frame size [byte] over the frames of the stream."""
        total = sum(size.weight for size in self.frame_sizes)
        return sum(size.frame_bytes * size.weight for size in self.frame_sizes) / total


@dataclass(frozen=True, kw_only=True, slots=True)
class Traffic:
    """All that is sent in one trial. Every frame carries campaign and trial, so that a late frame is never counted in another trial.

    Frames are sent for warmup_s + duration_s; only those sent in the last duration_s are measured, cut into `batches` equal spans of
    sending time. The receiver listens drain_s longer.
    """

    streams: tuple[Stream, ...]
    campaign: int
    trial: int
    seed: int
    warmup_s: float
    duration_s: float
    drain_s: float
    batches: int = 20

    @property
    def span_s(self) -> float:
        """Wall time from the first frame to the end of listening [s]."""
        return self.warmup_s + self.duration_s + self.drain_s

    @property
    def rate_fps(self) -> float:
        """Frames per second over all streams."""
        return sum(stream.rate_fps for stream in self.streams)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What left the generator for one stream.

    first_sequence and octets have batches + 1 entries: the sequence number that was next, and the octets (FCS included) sent so far, when
    each batch began; the last entry is where the last batch ended. intended_frames is what the schedule asked for within the measured span.
    """

    first_sequence: npt.NDArray[np.int64]
    octets: npt.NDArray[np.int64]
    intended_frames: int

    @property
    def frames(self) -> int:
        """Frames sent within the measured span."""
        return int(self.first_sequence[-1] - self.first_sequence[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """What a generator that counts, and cannot keep every frame, says of one stream.

    rx_frames, rx_octets (FCS included): batches entries, what arrived while each batch lasted, from the receiver's counters read then.
    received: frames of the measured span that arrived, counted after the drain, so that what was under way is not called lost.
    delays_us, delay_frames: a histogram of the one-way delay, ascending upper edges and counts of equal length; empty: not measured.
    duplicates, reordered: as the generator counts them.
    """

    rx_frames: npt.NDArray[np.int64]
    rx_octets: npt.NDArray[np.int64]
    received: int
    delays_us: npt.NDArray[np.float64]
    delay_frames: npt.NDArray[np.int64]
    duplicates: int = 0
    reordered: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """What one run of traffic gave.

    samples: every frame of this campaign and trial that arrived, in order of arrival, warm-up included; empty where only tallies are there.
    tallies: by stream, from a generator that counts (empty: the samples are all that there is).
    batch_starts_ns: batches + 1 instants of sending time (CLOCK_REALTIME). health: the generator's own counters by name
    (lateness_p99_us, foreign_frames, ring_drops, ...), kept with the trial.
    """

    samples: Samples
    sent: Mapping[int, Sent]
    batch_starts_ns: npt.NDArray[np.int64]
    health: Mapping[str, float] = field(default_factory=dict)
    tallies: Mapping[int, Tally] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """What the generator is worth, measured on a loopback before the first trial.

    delay_floor_us: median delay of the loopback, which every measured delay contains; timestamp_error_us_p99: spread above it. honest_fps:
    the highest frame rate that was sent and recorded without a loss. detail: whatever else was measured, by name.
    """

    delay_floor_us: float
    timestamp_error_us_p50: float
    timestamp_error_us_p99: float
    honest_fps: float
    frames: int
    detail: Mapping[str, Any] = field(default_factory=dict)
