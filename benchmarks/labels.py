"""How good are rows of soft-lsr on this machine? Prints one JSON row per target.

Trials of the kind mpls-flap on the bench: labelled frames over stable LSPs while others flap. Needs root. Run alone: a busy machine makes
worse routers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

import numpy as np

from benchmarks.engine import Row, prefer_this_session, rounded, row
from orchestrator.bench.testbed import Bench
from rackproof.model.lsp import FIRST_EVENT
from rackproof.model.measurement import Measurement
from rackproof.model.topology import GENERATOR, Endpoint, Link, Topology
from rackproof.model.traffic import Calibration
from testplans.mpls_flap import addresses, procedure
from testplans.mpls_flap.analysis import analyse
from testplans.mpls_flap.expansion import expand
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.mpls_flap.traffic import stable_streams, traffic

#: A control plane that takes no time.
QUICK: Mapping[str, float] = {"path_us": 0, "resv_us": 0, "tear_us": 0}
REPETITIONS = 3
FRAME_BYTES = 512
KPPS, LSPS, ROUTERS = 100.0, 500, 3
DELAY_KPPS, ADDED_US = 20.0, 1.5
#: Flapped LSPs that all come up again within 5 s by the model's defaults, and such that do not.
WITHIN, BEYOND = 300, 400
_number = count(1)


def plan_of(
    routers: int, stable: int, flapped: int, kpps: float, windows_s: tuple[float, ...], options: Mapping[str, float]
) -> MplsFlapPlan:
    """One trial through a row of routers."""
    return MplsFlapPlan.model_validate(
        {
            "kind": "mpls-flap",
            "name": "speed of routers",
            "networks": [{"name": "soft-lsr", "shape": "chain", "routers": routers, "options": dict(options)}],
            "tests": [
                {"name": "1", "stable": stable, "flapped": [flapped], "frame_bytes": FRAME_BYTES, "rate_mbps": kpps * FRAME_BYTES * 8e-3}
            ],
            "phases": {"prior_s": 1, "windows_s": windows_s, "drain_s": 1},
            "signalling": {"setup_s": 60},
            "seed": next(_number),
        }
    )


def measured(bench: Bench, calibration: Calibration, plan: MplsFlapPlan) -> Mapping[tuple[str, str], Measurement]:
    """Measurements by name and phase or flap; the least disturbed of some trials is up to the caller."""
    (trial,) = expand(plan)
    setup = procedure.setup(plan, trial)
    with bench.assemble(setup.topology) as rig:
        for device, functions in setup.functions.items():
            for function in functions:
                rig.device(device).apply(function)
        observation = procedure.run(plan, trial, next(_number), rig)
    result = analyse(plan, trial, observation, calibration)
    return {(each.name, next(iter(each.subject.values()), "")): each for each in result.measurements}


def lossless(bench: Bench, calibration: Calibration) -> Row:
    """Labelled frames through three routers while as many other LSPs flap."""
    runs = [measured(bench, calibration, plan_of(ROUTERS, LSPS, LSPS, KPPS, (1, 1), QUICK)) for _ in range(REPETITIONS)]
    lost = [sum(run["sent", phase].value - run["received", phase].value for phase in ("prior", "during")) for run in runs]
    up = min(run["established", ""].value for run in runs)
    name = f"{LSPS} LSPs at {KPPS:g} kpps through {ROUTERS} soft-lsr, {LSPS} others flap: frames lost, best run"
    return row(name, min(lost), "frames", "0",
               min(lost) == 0 and up == 2 * LSPS, runs=lost, up=up)  # fmt: skip


def added(bench: Bench, calibration: Calibration) -> Row:
    """What a router adds to the median delay: three of them against one."""
    delays = {}
    for routers in (1, ROUTERS):
        runs = [measured(bench, calibration, plan_of(routers, 100, 1, DELAY_KPPS, (1,), QUICK)) for _ in range(REPETITIONS)]
        delays[routers] = min(run["delay.p50", "prior"].value for run in runs)
    each = (delays[ROUTERS] - delays[1]) / (ROUTERS - 1)
    return row(f"soft-lsr at {DELAY_KPPS:g} kpps: added by a router, median, best runs", each, "us", f"< {ADDED_US:g}", each < ADDED_US,
               through_us={str(routers): round(delay, 2) for routers, delay in delays.items()})  # fmt: skip


def each_delay(bench: Bench, calibration: Calibration) -> Row:
    """The median delay of every LSP on a bare cable, and how far it lies from the delay that the calibration found there."""
    plan = plan_of(1, LSPS, LSPS, KPPS, (1, 1), QUICK)
    (trial,) = expand(plan)
    cable = Topology(
        devices=(), links=(Link(a=Endpoint(node=GENERATOR, port=addresses.IN), b=Endpoint(node=GENERATOR, port=addresses.OUT)),)
    )
    egress = replace(addresses.EGRESS, address=addresses.INGRESS.neighbour, neighbour=addresses.INGRESS.address)
    errors = []
    for _ in range(REPETITIONS):
        campaign = next(_number)
        with bench.assemble(cable) as rig:
            asked = replace(procedure.signalling(plan, trial, campaign), egress=egress, routes=())
            with rig.signaller(asked) as signaller:
                labelled = traffic(plan, trial, campaign, signaller.establish(), stable_streams(plan, trial))
                samples = procedure.flapped(rig.generator, signaller, labelled, procedure.flaps(plan)).samples
                signaller.release()
        delays_us = (samples.rx_ns - samples.tx_ns) / 1e3
        medians = [np.median(delays_us[(samples.stream == lsp) & (samples.port < FIRST_EVENT)]) for lsp in range(LSPS)]
        errors.append(np.abs(np.array(medians) - calibration.delay_floor_us))
    best, said = min(errors, key=np.max), calibration.timestamp_error_us_p99
    worst = float(best.max())
    name = f"{LSPS} LSPs at {KPPS:g} kpps on a cable, {LSPS} others flap: delay of the worst LSP against the calibration's, best run"
    return row(name, worst, "us", f"<= {said:.2f}", worst <= said,
               runs=rounded(float(each.max()) for each in errors), half_of_lsps=round(float(np.median(best)), 3),
               share_within=round(float(np.mean(best <= said)), 3), floor_us=calibration.delay_floor_us)  # fmt: skip


def again(bench: Bench, calibration: Calibration) -> Iterator[Row]:
    """K of N within 5 s, by the model's defaults."""
    for flapped in (WITHIN, BEYOND):
        run = measured(bench, calibration, plan_of(ROUTERS, 100, flapped, DELAY_KPPS, (5, 2), {}))
        up, whole = run["flap.k", "1"].value, flapped == WITHIN
        name, target = f"{flapped} LSPs flapped through {ROUTERS} soft-lsr: up again in 5 s", f"{flapped}" if whole else f"< {flapped}"
        yield row(name, up, "LSPs", target,
                  (up == flapped) == whole, paper=run["k.paper", ""].value)  # fmt: skip


def main() -> None:
    prefer_this_session()
    with Bench() as bench:
        calibration = bench.calibrate(0)
        for each in (lossless(bench, calibration), added(bench, calibration), each_delay(bench, calibration), *again(bench, calibration)):
            print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()
