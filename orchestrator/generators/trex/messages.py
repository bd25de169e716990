"""What the campaign's process and the client's process tell each other: plain values, pickled over a socket pair."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: A copy of a counted frame: its burst and number there, when it left (ticks of the server's clock), when it came (CLOCK_REALTIME). pcp
#: 255: untagged.
COPY_DTYPE = np.dtype(
    [
        ("burst", "<i8"),
        ("number", "<i8"),
        ("ticks", "<i8"),
        ("at_ns", "<i8"),
        ("port", "<u2"),
        ("frame_bytes", "<u2"),
        ("pcp", "u1"),
    ]
)
Copies = npt.NDArray[np.void]


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """A server and what is wanted of it. rpc_port: requests; the publisher is one port below. user: the owner that ports will
    name, "" for this process.
    """

    host: str
    rpc_port: int
    user: str
    ports: tuple[int, ...]
    take_over: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PortNow:
    """A port as the server tells it. owner: "" where nobody has it."""

    number: int
    link_up: bool
    speed_mbps: float
    owner: str
    driver: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """The server that was connected to. counters: how many of its counters with delays nobody else uses."""

    facts: Mapping[str, str]
    counters: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Burst:
    """One stream of TRex: so many equal packets (without FCS) at equal gaps, the first after_us behind the start.

    stream: the stream of the traffic that it is a part of. Counted bursts have a counter of their own; warm-up and what another run
    counts have none.
    """

    stream: int
    tx_port: int
    rx_port: int
    packet: bytes
    fps: float
    frames: int
    after_us: float
    counted: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of traffic. announcements: port and frame, sent before. readings_s: when counters are read, after the start.

    trial: what captured frames carry. captured: copies of all that arrive are wanted.
    """

    bursts: tuple[Burst, ...]
    announcements: tuple[tuple[int, bytes], ...]
    readings_s: tuple[float, ...]
    sending_s: float
    drain_s: float
    trial: int
    captured: bool

    @property
    def counted(self) -> tuple[Burst, ...]:
        """The bursts that are counted, in the order of their counters."""
        return tuple(burst for burst in self.bursts if burst.counted)


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """What was sent of a burst on its sending port and received on its receiving port. Octets include the FCS."""

    tx_frames: int = 0
    tx_octets: int = 0
    rx_frames: int = 0
    rx_octets: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The counters of all counted bursts at an instant (CLOCK_REALTIME)."""

    at_ns: int
    counts: tuple[Count, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What a run gave, by counted burst.

    started_ns: when the server was to begin; ended_ns: when the end of sending was seen. readings: while it sent and a little longer;
    final: after the drain. histograms: HDR histograms of the
    delay in us, as the server encodes them ("": none). complete: every frame was sent. stopped: somebody asked for the end.
    copies: in the order of time, where the run was captured.
    """

    started_ns: int
    ended_ns: int
    readings: tuple[Reading, ...]
    final: Reading
    histograms: tuple[str, ...]
    duplicates: tuple[int, ...]
    reordered: tuple[int, ...]
    complete: bool
    stopped: bool
    health: Mapping[str, float]
    copies: Copies | None = None
