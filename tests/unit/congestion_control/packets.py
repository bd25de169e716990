"""Packets that were made up, for tests of the analysis."""

from collections.abc import Sequence

import numpy as np

from rackproof.model.path import FORWARD, Packets
from rackproof.model.traffic import Capture, Samples
from rackproof.model.trial import Observation, Trial

#: When the made-up runs begin [ns].
T0 = 1_700_000_000_000_000_000
MS = 1_000_000

#: (ms of arrival, ms of departure or DROPPED or IN_FLIGHT, flow, bytes)
Row = tuple[float, float, int, int]


def packets(rows: Sequence[Row]) -> Packets:
    """Packets by ms since T0; a departure of 0 or -1 is DROPPED or IN_FLIGHT."""
    ordered = sorted(rows, key=lambda row: row[0])
    return Packets(
        ingress_ns=np.array([T0 + round(came * MS) for came, *_ in ordered], np.int64),
        egress_ns=np.array([round(left) if left in (0, -1) else T0 + round(left * MS) for _, left, *_ in ordered], np.int64),
        flow=np.array([flow for *_, flow, _ in ordered], np.uint16),
        packet_bytes=np.array([octets for *_, octets in ordered], np.uint16),
    )


def steady(flow: int, start_ms: float, end_ms: float, gap_ms: float, delay_ms: float = 20.0, octets: int = 1000) -> list[Row]:
    """A packet every gap_ms, all delivered after the same delay."""
    return [(float(at), float(at) + delay_ms, flow, octets) for at in np.arange(start_ms, end_ms, gap_ms)]


def samples(of: Packets, direction: int = FORWARD) -> Samples:
    """The rows that a tap writes."""
    count = len(of)
    return Samples(
        tx_ns=of.ingress_ns,
        rx_ns=of.egress_ns,
        sequence=np.arange(count, dtype=np.uint32),
        stream=of.flow,
        frame_bytes=of.packet_bytes,
        port=np.full(count, direction, np.uint16),
        pcp=np.full(count, 255, np.uint8),
    )


def observation(
    of: Packets, *, counters: dict[str, int] | None = None, notes: dict[str, str] | None = None, health: dict[str, float] | None = None
) -> Observation:
    """What a procedure brings back."""
    capture = Capture(samples=samples(of), sent={}, batch_starts_ns=np.empty(0, np.int64), health=health or {})
    return Observation(capture=capture, counters=counters or {}, notes=notes or {})


def trial(scheme: str = "cubic") -> Trial:
    return Trial(index=1, label=scheme, point={"scheme": scheme}, repetition=1, seed=1, duration_s=30.0)
