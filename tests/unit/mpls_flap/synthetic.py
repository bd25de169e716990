"""Trials of the kind mpls-flap that never ran: what generator and signaller would have seen of a device whose truth is known."""

from collections.abc import Iterable
from dataclasses import fields as columns

import numpy as np
import numpy.typing as npt

from rackproof.model.traffic import Calibration, Capture, Samples, Sent
from rackproof.model.trial import Observation, Trial
from testplans.mpls_flap.expansion import expand
from testplans.mpls_flap.plan import BATCHES, WARMUP_S, MplsFlapPlan
from tests.unit.mpls_flap.devices import Network, Truth, stalled

BEGAN_NS = 1_790_000_000_000_000_000
CALIBRATION = Calibration(delay_floor_us=1.1, timestamp_error_us_p50=0.2, timestamp_error_us_p99=1.4, honest_fps=200e3, frames=90000)


def observe(truth: Truth) -> Observation:
    """What a trial would have brought back."""
    rng = np.random.default_rng(truth.seed)
    network = Network(truth)
    network.run()
    network.probes(rng)
    signals = sorted(network.rows)
    table = np.array([row[2:] for row in signals], np.int64).reshape(-1, 5)
    tx, rx = (np.array([row[at] for row in signals]) for at in (0, 1))
    seen = Samples(
        tx_ns=_ns(tx),
        rx_ns=np.where(rx > 0, _ns(rx), 0),
        sequence=table[:, 0].astype(np.uint32),
        stream=table[:, 1].astype(np.uint16),
        frame_bytes=table[:, 2].astype(np.uint16),
        port=table[:, 3].astype(np.uint16),
        pcp=table[:, 4].astype(np.uint8),
    )
    frames, sent = _frames(truth, network.busy, rng)
    return Observation(
        capture=Capture(
            samples=together([frames, seen]),
            sent=sent,
            batch_starts_ns=_ns(np.linspace(0.0, truth.flaps_s[-1], BATCHES + 1)),
            health={"lateness_p99_us": 5.0, "lsp.up": float(truth.stable + truth.flapped)},
        )
    )


def _frames(truth: Truth, busy: Iterable[tuple[float, float]], rng: np.random.Generator) -> tuple[Samples, dict[int, Sent]]:
    """Frames of the stable LSPs, and what was sent of each."""
    gap_s = truth.stable / truth.fps
    numbers = np.arange(int((WARMUP_S + truth.flaps_s[-1]) / gap_s) - 1)
    stream = np.tile(np.arange(truth.stable), len(numbers))
    number = np.repeat(numbers, truth.stable)
    tx = -WARMUP_S + (number + (stream + 0.5) / truth.stable) * gap_s
    delay_s = rng.normal(truth.delay_us, truth.jitter_us, len(tx)) / 1e6 + truth.growth_us_per_s / 1e6 * (tx + WARMUP_S)
    if truth.stolen_us:
        edges = np.array(list(busy)).reshape(-1, 2)
        at = np.searchsorted(edges[:, 0], tx, "right") - 1
        within = (at >= 0) & (tx < edges[at, 1])
        delay_s += np.where(within, rng.exponential(truth.stolen_us / 1e6, len(tx)), 0.0)
    gone = rng.random(len(tx)) < truth.lost + np.where(tx >= truth.prior_s, truth.lost_flapping, 0.0)
    rx = stalled(truth, tx + delay_s)
    kept = np.flatnonzero(~gone)[np.argsort(rx[~gone], kind="stable")]
    marks = np.linspace(0.0, truth.flaps_s[-1], BATCHES + 1)
    first = np.ceil((marks[None, :] + WARMUP_S) / gap_s - (np.arange(truth.stable)[:, None] + 0.5) / truth.stable - 1e-9)
    firsts = first.clip(0, len(numbers)).astype(np.int64)
    sent = {
        lsp: Sent(first_sequence=mine, octets=mine * truth.frame_bytes, intended_frames=int(mine[-1] - mine[0]))
        for lsp, mine in enumerate(firsts)
    }
    return Samples(
        tx_ns=_ns(tx[kept]),
        rx_ns=_ns(rx[kept]),
        sequence=number[kept].astype(np.uint32),
        stream=stream[kept].astype(np.uint16),
        frame_bytes=np.full(len(kept), truth.frame_bytes, np.uint16),
        port=np.ones(len(kept), np.uint16),
        pcp=np.full(len(kept), 255, np.uint8),
    ), sent


def together(parts: Iterable[Samples]) -> Samples:
    """One after the other."""
    every = list(parts)
    return Samples(**{column.name: np.concatenate([getattr(part, column.name) for part in every]) for column in columns(Samples)})


def _ns(seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return BEGAN_NS + np.rint(seconds * 1e9).astype(np.int64)


def plan(truth: Truth, **changes: object) -> MplsFlapPlan:
    """A plan whose only trial is of this truth, with some keys changed."""
    values = {
        "kind": "mpls-flap", "name": "made up",
        "networks": [{"name": "soft-lsr", "shape": "chain" if truth.routers > 1 else "router", "routers": truth.routers}],
        "tests": [
            {
                "name": "1.1", "stable": truth.stable, "flapped": [truth.flapped], "frame_bytes": truth.frame_bytes,
                "rate_mbps": truth.fps * truth.frame_bytes * 8 / 1e6,
            }
        ],
        "phases": {"prior_s": truth.prior_s, "windows_s": truth.windows_s, "drain_s": truth.drain_s},
    }  # fmt: skip
    return MplsFlapPlan.model_validate({**values, **changes})


def trial(plan: MplsFlapPlan) -> Trial:
    """The first trial of a plan."""
    return expand(plan)[0]
