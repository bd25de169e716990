"""Is every planted defect of soft-lsr found and named, and a clean one never accused? Prints one JSON row per case.

Each run is a short trial of its own on a router of its own: 30 stable LSPs with labelled traffic, 30 others that flap twice. Defects and
clean routers take turns, so that what drifts on the host meets all alike. Needs root. Run alone: a busy machine says less.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from benchmarks.engine import Row, row
from orchestrator.bench.testbed import Bench
from rackproof.errors import RackproofError
from rackproof.model.campaign import CampaignRecord, CampaignState, TrialRecord
from rackproof.model.finding import Finding
from rackproof.model.traffic import Calibration
from rackproof.model.verdict import Verdict
from testplans.mpls_flap import procedure
from testplans.mpls_flap.analysis import analyse
from testplans.mpls_flap.criteria import conclude
from testplans.mpls_flap.expansion import expand
from testplans.mpls_flap.plan import MplsFlapPlan

ROUNDS = 20
#: A run that the host spoilt is done again, so often at most.
TRIES = 4
#: Forwarding in user space shares the processor with the LERs: what flaps may add to the delay.
DELAY_US = 50
CLEAN = "clean"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A router's options, and the criterion that it must fail; None: none."""

    options: Mapping[str, float | bool | str]
    criterion: str | None


CASES: Mapping[str, Case] = {
    CLEAN: Case(options={}, criterion=None),
    "drops tears": Case(options={"drop_tears": 0.2}, criterion="tears"),
    "stale label": Case(options={"stale_label": True}, criterion="stale-label"),
    "early RESV": Case(options={"early_resv_ms": 50}, criterion="early-forwarding"),
    "wrong label": Case(options={"wrong_label": 0.2}, criterion="wrong-label"),
    "past the router": Case(options={"ignore_router_alert": True}, criterion="router-alert"),
    "control steals": Case(options={"forwarding": "native", "steal_us": 40}, criterion="separation"),
    "growing queue": Case(options={"forwarding": "native", "memory_fps": 9000}, criterion="queue-growth"),
    "clean in user space": Case(options={"forwarding": "native"}, criterion=None),
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One run: what was accused, what was not settled, and why there was no result."""

    accused: frozenset[str]
    unsettled: frozenset[str]
    without: str
    findings: tuple[Finding, ...] = ()
    tries: int = 1


def plan_of(name: str, case: Case, seed: int, *, busy: bool) -> MplsFlapPlan:
    """One router, one trial. busy: count it whatever the host does."""
    return MplsFlapPlan.model_validate(
        {
            "kind": "mpls-flap",
            "name": "planted defects",
            "networks": [{"name": name, "model": "soft-lsr", "options": dict(case.options)}],
            "tests": [{"name": "1.2", "stable": 30, "flapped": [30], "frame_bytes": 512, "rate_mbps": 40}],
            "phases": {"prior_s": 1, "windows_s": [1, 1], "drain_s": 0.5},
            "signalling": {"setup_s": 10},
            "margins": {"delay_us": DELAY_US},
            "validity": {"stalled_share_max": 1.0, "lateness_p99_us_max": 1e6, "flap_late_ms_max": 1e3} if busy else {},
            "seed": seed,
        }
    )


def run(bench: Bench, calibration: Calibration, name: str, number: int, *, busy: bool) -> Outcome:
    """A trial of a case and its findings."""
    plan = plan_of(name, CASES[name], number, busy=busy)
    (trial,) = expand(plan)
    setup = procedure.setup(plan, trial)
    try:
        with bench.assemble(setup.topology) as rig:
            for device, functions in setup.functions.items():
                for function in functions:
                    rig.device(device).apply(function)
            observation = procedure.run(plan, trial, number, rig)
    except (RackproofError, RuntimeError) as error:
        return Outcome(accused=frozenset(), unsettled=frozenset(), without=str(error))
    result = analyse(plan, trial, observation, calibration)
    if result.verdict is not Verdict.PASS:
        return Outcome(accused=frozenset(), unsettled=frozenset(), without=result.reason)
    found = conclude(_campaign(plan, TrialRecord(trial=trial, result=result)))
    said = {verdict: frozenset(each.criterion for each in found if each.verdict is verdict) for verdict in (Verdict.FAIL, Verdict.INVALID)}
    return Outcome(accused=said[Verdict.FAIL], unsettled=said[Verdict.INVALID], without="", findings=found)


def _campaign(plan: MplsFlapPlan, record: TrialRecord) -> CampaignRecord:
    return CampaignRecord(
        id=0, name=plan.name, kind=plan.kind, testbed=plan.testbed, plan=plan.model_dump(mode="json"), plan_text="", plan_sha256="",
        state=CampaignState.DONE, created=datetime.now(UTC), trials=(record,),
    )  # fmt: skip


def counted(bench: Bench, calibration: Calibration, name: str, number: int, *, busy: bool) -> Outcome:
    """A run that has a result, or the last of TRIES."""
    for tries in range(1, TRIES + 1):
        outcome = replace(run(bench, calibration, name, number, busy=busy), tries=tries)
        if not outcome.without:
            break
    return outcome


def rows(outcomes: Mapping[str, list[Outcome]]) -> Iterator[Row]:
    """Of each case how often it was named, and nothing else; what has no result counts against it."""
    for name, mine in outcomes.items():
        wanted = frozenset({criterion} if (criterion := CASES[name].criterion) is not None else ())
        right = sum(not each.without and each.accused == wanted for each in mine)
        wrong = Counter(criterion for each in mine for criterion in each.accused - wanted)
        what, target = "nothing" if not wanted else f"{CASES[name].criterion} alone", f"{len(mine)} of {len(mine)}"
        yield row(
            f"soft-lsr, {name}: runs that accuse it of {what}", right, "runs", target, right == len(mine),
            missed=sum(not each.without and not wanted <= each.accused for each in mine), accused_of_others=dict(wrong),
            unsettled=dict(Counter(criterion for each in mine for criterion in each.unsettled)),
            without_result=[each.without for each in mine if each.without], done_again=sum(each.tries - 1 for each in mine),
        )  # fmt: skip


def main() -> None:
    """All cases in turn, so often."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    asked.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    asked.add_argument("--verbose", action="store_true", help="what is accused or not settled, as it comes")
    asked.add_argument("--busy", action="store_true", help="runs count whatever the host does: is a clean router accused even then?")
    given = asked.parse_args()
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    with Bench() as bench:
        calibration = bench.calibrate(0)
        number = 0
        for _ in range(given.rounds):
            for name in given.cases:
                number += 1
                outcome = counted(bench, calibration, name, number, busy=given.busy)
                outcomes[name].append(outcome)
                if given.verbose:
                    told = [each.statement for each in outcome.findings if each.verdict is not Verdict.PASS]
                    print(name, outcome.without or told, file=sys.stderr, flush=True)
    for each in rows(outcomes):
        print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()
