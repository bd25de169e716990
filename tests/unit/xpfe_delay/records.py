"""A chain that never stood: what its generator and its links would have recorded, from delays that are known."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rackproof.model.path import DROPPED
from rackproof.model.traffic import Calibration, Capture, Samples, Sent
from rackproof.model.trial import Observation
from rackproof.model.xcf import FIRST_LINK
from testplans.xpfe_delay.plan import XpfeDelayPlan
from testplans.xpfe_delay.procedure import merged

BEGAN_NS = 1_790_000_000_000_000_000
CALIBRATION = Calibration(delay_floor_us=1.1, timestamp_error_us_p50=0.2, timestamp_error_us_p99=1.4, honest_fps=200e3, frames=90000)


def plan(**changes: object) -> XpfeDelayPlan:
    """A small plan with some keys changed."""
    values = {
        "kind": "xpfe-delay", "name": "made up", "chains": ["xpfe"], "hops": [3], "frame_bytes": [1000], "rates_mbps": [80],
        "trial": {"duration_s": 1.0, "warmup_s": 0.1, "batches": 20},
    }  # fmt: skip
    return XpfeDelayPlan.model_validate({**values, **changes})


@dataclass(kw_only=True)
class Chain:
    """What happens on the way.

    element_us: median that an element takes; jitter_us: its deviation; lags_us: what the first one needs from frame to frame; late_us: how
    late a link hands on (mean of an exponential law); stall, sent_late: from, to [s] while links hand nothing on, or nothing is sent.
    By hop, numbers of frames: that element `hop` loses (lose), doubles (copy), or lets pass behind the next one (late_order), and that the
    link behind it drops (drop).
    """

    hops: int = 3
    frame_bytes: int = 1000
    fps: float = 10_000.0
    element_us: float = 2.0
    jitter_us: float = 0.1
    late_us: float = 3.0
    stall: tuple[float, float] = (0.0, 0.0)
    sent_late: tuple[float, float] = (0.0, 0.0)
    lags_us: float = 0.0
    planted_us: dict[int, float] = field(default_factory=dict)
    lose: dict[int, tuple[int, ...]] = field(default_factory=dict)
    copy: dict[int, tuple[int, ...]] = field(default_factory=dict)
    late_order: dict[int, tuple[int, ...]] = field(default_factory=dict)
    drop: dict[int, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 1


def true_delay_us(chain: Chain) -> float:
    """Mean delay from end to end of a chain without queueing, lateness left out."""
    wire_us = (chain.frame_bytes + 22 + 20) * 8 / 1000
    return chain.hops * chain.element_us + (chain.hops - 1) * wire_us + sum(chain.planted_us.values())


def observe(plan: XpfeDelayPlan, chain: Chain, *, taps: bool = True) -> Observation:
    """What a trial of a second and a tenth would have brought back."""
    rng = np.random.default_rng(chain.seed)
    warm, count = round(0.1 * chain.fps), round(1.1 * chain.fps)
    numbers = np.arange(count)
    sent = numbers * 1e9 / chain.fps
    begin, end = (1e9 * each for each in chain.sent_late)
    held = (sent >= begin) & (sent < end)
    sent[held] = end + 10.0 * np.arange(np.count_nonzero(held))
    times, came, health = sent.copy(), sent, {}
    records: list[Samples] = []
    for hop in range(1, chain.hops + 1):
        came = times + 1e3 * np.abs(rng.normal(chain.element_us, chain.jitter_us, len(times)))
        if hop == 1 and chain.lags_us:
            needs = 1e3 * chain.lags_us * np.arange(len(came))
            came = np.maximum.accumulate(came - needs) + needs
        for number in chain.late_order.get(hop, ()):
            came[np.flatnonzero(numbers == number)] += 1.05e9 / chain.fps
        kept = ~np.isin(numbers, chain.lose.get(hop, ()))
        came, numbers = came[kept], numbers[kept]
        copies = np.flatnonzero(np.isin(numbers, chain.copy.get(hop, ())))
        came, numbers = np.concatenate([came, came[copies] + 500]), np.concatenate([numbers, numbers[copies]])
        order = np.argsort(came, kind="stable")
        came, numbers = came[order], numbers[order]
        if hop == chain.hops:
            break
        dropped = np.isin(numbers, chain.drop.get(hop, ()))
        takes = np.where(dropped, 0.0, (chain.frame_bytes + 22 + 20) * 8.0)
        served = np.cumsum(takes)
        leaves = served + np.maximum.accumulate(came - (served - takes)) + 1e3 * chain.planted_us.get(hop, 0.0)
        late = 1e3 * rng.exponential(chain.late_us, len(leaves)) if chain.late_us else np.zeros(len(leaves))
        handed = np.maximum.accumulate(leaves + late)
        begin, end = (1e9 * each for each in chain.stall)
        handed = np.where((handed >= begin) & (handed < end), end, handed)
        health[f"lateness_p50_us.{hop - 1}"] = float(np.median((handed - leaves)[~dropped])) / 1e3 if (~dropped).any() else 0.0
        gone = np.where(dropped, DROPPED - BEGAN_NS, handed)
        records.append(_samples(numbers, came, gone, chain.frame_bytes + 22, FIRST_LINK + hop - 1))
        times, numbers = handed[~dropped], numbers[~dropped]
    arrived = _samples(numbers, sent[numbers], came, chain.frame_bytes, 1)
    cuts = np.linspace(warm, count, plan.trial.batches + 1).round().astype(np.int64)
    capture = Capture(
        samples=arrived,
        sent={0: Sent(first_sequence=cuts, octets=cuts * chain.frame_bytes, intended_frames=count - warm)},
        batch_starts_ns=BEGAN_NS + np.linspace(0.1e9, 1.1e9, plan.trial.batches + 1).round().astype(np.int64),
        health={"lateness_p99_us": 5.0},
    )
    if not taps or not records:
        return Observation(capture=capture)
    wires = Capture(samples=_together(records), sent={}, batch_starts_ns=np.array([BEGAN_NS, BEGAN_NS + 2 * 10**9]), health=health)
    return Observation(capture=merged(capture, wires))


def _samples(numbers: npt.NDArray[np.int64], tx: npt.NDArray[Any], rx: npt.NDArray[Any], frame_bytes: int, port: int) -> Samples:
    count = len(numbers)
    return Samples(
        tx_ns=BEGAN_NS + np.rint(tx).astype(np.int64),
        rx_ns=BEGAN_NS + np.rint(rx).astype(np.int64),
        sequence=numbers.astype(np.uint32),
        stream=np.zeros(count, np.uint16),
        frame_bytes=np.full(count, frame_bytes, np.uint16),
        port=np.full(count, port, np.uint16),
        pcp=np.zeros(count, np.uint8),
    )


def _together(parts: list[Samples]) -> Samples:
    names = ("tx_ns", "rx_ns", "sequence", "stream", "frame_bytes", "port", "pcp")
    return Samples(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
