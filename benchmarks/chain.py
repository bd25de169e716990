"""How good are chains of forwarding elements with emulated links on this machine? Prints one JSON row per target.

Four elements, three links of 1 Gbit/s (layer 1), constant gaps. Needs root. Run alone: a busy machine makes worse links.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from benchmarks.engine import Row, rounded, row
from orchestrator.bench.testbed import Bench
from rackproof.model.traffic import Capture
from rackproof.ports import Rig
from testplans.xpfe_delay import procedure
from testplans.xpfe_delay.expansion import expand
from testplans.xpfe_delay.flow import flow
from testplans.xpfe_delay.links import Path
from testplans.xpfe_delay.plan import XpfeDelayPlan

HOPS = 4
LINKS = HOPS - 1
LINK_MBPS = 1000
DURATION_S = 2.0
REPETITIONS = 3
PLANTED_HOP, PLANTED_US = 2, 10
#: Model, the rate at which its delay is measured, and rates of which the highest without a loss is looked for [kpps].
MODELS = (
    ("xpfe", 20.0, (160, 140, 120, 110, 100, 90, 80)),
    ("linux-bridge", 20.0, (160, 140, 120, 110, 100, 90, 80)),
    ("openvswitch", 2.0, (8, 6, 5, 4, 3, 2)),
)
#: It takes the processor from the links while it forwards: they are late by as much, and their records alone do not say so.
IN_USER_SPACE = "openvswitch"
TARGET_KPPS = 100.0
ADDED_US = 1.5
FOUND_US = 1.0

_trial = count(1)


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Four elements that stand and forward."""

    model: str
    planted: bool
    rig: Rig

    def plan(self, kpps: float, frame_bytes: int) -> XpfeDelayPlan:
        return plan_of(self.model, kpps, frame_bytes, planted=self.planted)

    def passage(self, kpps: float, frame_bytes: int) -> tuple[Capture, Path]:
        """One run of traffic, and the way of its frames from the records alone: of what the links say of themselves nothing is used."""
        plan = self.plan(kpps, frame_bytes)
        (trial,) = expand(plan)
        capture = procedure.run(plan, trial, next(_trial), self.rig).capture
        return capture, flow(plan, replace(capture, health={}), LINKS).path

    def lost(self, kpps: float, frame_bytes: int) -> tuple[int, Capture]:
        """Frames that did not arrive."""
        capture, _ = self.passage(kpps, frame_bytes)
        received = int(np.count_nonzero(capture.samples.port < LINKS))
        return int(capture.sent[procedure.MEASURED].first_sequence[-1]) - received, capture


def plan_of(model: str, kpps: float, frame_bytes: int, *, planted: bool) -> XpfeDelayPlan:
    return XpfeDelayPlan.model_validate(
        {
            "kind": "xpfe-delay",
            "name": "speed of a chain",
            "testbed": "bench",
            "chains": [model],
            "hops": [HOPS],
            "frame_bytes": [frame_bytes],
            "rates_mbps": [kpps * frame_bytes * 8 / 1e3],
            "link": {"rate_mbps": LINK_MBPS, "layer": "L2"},
            "trial": {"duration_s": DURATION_S, "warmup_s": 0.0, "drain_s": 0.3, "batches": 10},
            "planted": [{"hop": PLANTED_HOP, "delay_us": PLANTED_US}] if planted else [],
        }
    )


@contextmanager
def chain(bench: Bench, model: str, *, planted: bool = False) -> Iterator[Chain]:
    plan = plan_of(model, 1.0, 500, planted=planted)
    (trial,) = expand(plan)
    setup = procedure.setup(plan, trial)
    with bench.assemble(setup.topology) as rig:
        for name, functions in setup.functions.items():
            for function in functions:
                rig.device(name).apply(function)
        yield Chain(model=model, planted=planted, rig=rig)


def without_loss(made: Chain) -> Iterator[Row]:
    """100 kpps of small and of large frames."""
    for frame_bytes in (64, 500, 1000):
        runs = [made.lost(TARGET_KPPS, frame_bytes) for _ in range(REPETITIONS)]
        lost = [lost for lost, _ in runs]
        best, wanted = min(lost), made.model == "xpfe"
        yield row(f"chain of 4 {made.model}, 100 kpps of {frame_bytes} B: frames lost, best run", best, "frames", "0" if wanted else "",
                  best == 0 if wanted else None, runs=lost, link_mbps=LINK_MBPS,
                  lateness_us_p50=rounded(capture.health["wires.lateness_p50_us"] for _, capture in runs),
                  lateness_us_p99=rounded(capture.health["wires.lateness_p99_us"] for _, capture in runs))  # fmt: skip


def highest(made: Chain, rates_kpps: tuple[int, ...]) -> Row:
    """The highest of the rates that comes through whole in two runs in a row."""
    found = next((kpps for kpps in rates_kpps if not any(made.lost(kpps, 500)[0] for _ in range(2))), 0)
    return row(f"chain of 4 {made.model}, 500 B: most without a loss", found, "kpps", "", None, over_all_links_kfps=found * LINKS)


def added(made: Chain, kpps: float, cable_us: float) -> Row:
    """What each element adds at the median: from the handing over before it to the arrival behind it, less what a bare cable takes."""
    runs = [made.passage(kpps, 500)[1] for _ in range(REPETITIONS)]
    medians = np.array([[float(np.nanmedian(way.element_us(hop))) for hop in range(1, HOPS + 1)] for way in runs]).min(axis=0)
    worst, wanted = float(medians.max()) - cable_us, made.model == "xpfe"
    return row(f"chain of 4 {made.model}, {kpps:g} kpps: added by the slowest element, median, best run", worst, "us",
               f"< {ADDED_US:g}" if wanted else "", worst < ADDED_US if wanted else None, bare_cable_us=round(cable_us, 3),
               with_the_cable_us=rounded(medians))  # fmt: skip


def found(made: Chain, kpps: float) -> Row:
    """A planted delay, as it is found in the records; 0 at the other hops."""
    errors = []
    for _ in range(REPETITIONS):
        _, way = made.passage(kpps, 500)
        truth = [PLANTED_US if hop == PLANTED_HOP else 0.0 for hop in range(1, HOPS)]
        errors.append(max(abs(wire.excess_ns / 1e3 - planted) for wire, planted in zip(way.wires, truth, strict=True)))
    worst = max(errors)
    return row(f"chain of 4 {made.model}, {PLANTED_US} us planted at one hop: largest error at any hop, worst run", worst, "us",
               f"< {FOUND_US:g}", worst < FOUND_US, runs=rounded(errors))  # fmt: skip


def main() -> None:
    """Run all."""
    with Bench() as bench:
        cable_us = bench.calibrate(0).delay_floor_us
        for model, kpps, rates_kpps in MODELS:
            if why := bench.limits_of_models()[model]:
                print(json.dumps(row(f"chain of 4 {model}", None, "", "", None, note=why)), flush=True)
                continue
            with chain(bench, model) as made:
                rows = [added(made, kpps, cable_us), highest(made, rates_kpps)]
                rows += without_loss(made) if model != IN_USER_SPACE else []
            if model != IN_USER_SPACE:
                with chain(bench, model, planted=True) as made:
                    rows.append(found(made, kpps))
            for each in rows:
                print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()
