"""Traffic between the two ports of a bed, and what came of it."""

import itertools
from typing import Any

import numpy as np
import pytest

from rackproof.model.traffic import Arrivals, Capture, FrameSize, Stream, Traffic

#: A trial has its own number, so that a late frame is never another one's.
_trials = itertools.count(1)
PLAIN = b"\x88\xb5"
DURATION_S = 0.4


def stream(
    number: int,
    ports: tuple[str, str],
    *,
    rate_fps: float = 1000.0,
    sizes: tuple[tuple[int, float], ...] = ((512, 1.0),),
    tags: bytes = PLAIN,
    arrivals: Arrivals = Arrivals.CONSTANT,
) -> Stream:
    """From the first to the second port; tags: what stands between the addresses and the payload."""
    return Stream(
        id=number,
        tx_port=ports[0],
        rx_port=ports[1],
        header=bytes.fromhex("0252500000b0") + bytes([2, 0x52, 0x50, 0, number >> 8, number & 0xFF]) + tags,
        frame_sizes=tuple(FrameSize(frame_bytes=size, weight=weight) for size, weight in sizes),
        rate_fps=rate_fps,
        arrivals=arrivals,
    )


def traffic(*streams: Stream, duration_s: float = DURATION_S, warmup_s: float = 0.1, drain_s: float = 0.1, batches: int = 2) -> Traffic:
    return Traffic(
        streams=streams,
        campaign=77,
        trial=next(_trials),
        seed=5,
        warmup_s=warmup_s,
        duration_s=duration_s,
        drain_s=drain_s,
        batches=batches,
    )


def stalled_s(capture: Capture) -> float:
    """How long the generator says that it stood still."""
    return capture.health.get("stalled_ms", 0.0) / 1e3


def asked_for(frames: float, capture: Capture, fps: float = 1000.0, rel: float = 0.005) -> Any:
    """So many frames, but for what is due in the time that the generator stood still: nothing is sent after the end."""
    return pytest.approx(frames, abs=rel * frames + fps * stalled_s(capture))


def received(capture: Capture, number: int) -> int:
    """Frames of the measured span that arrived, each counted once."""
    if capture.tallies:
        return capture.tallies[number].received
    first, last = capture.sent[number].first_sequence[[0, -1]]
    mine = capture.samples.sequence[capture.samples.stream == number].astype(np.int64)
    return len(np.unique(mine[(mine >= first) & (mine < last)]))
