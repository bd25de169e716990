"""Harm at random points of running campaigns, and whether everything that must hold afterwards does."""

import json
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import select

from orchestrator.bench.leftovers import orphans
from rackproof.model.campaign import CampaignRecord, CampaignState
from rackproof.model.verdict import Verdict
from rackproof.store import Event, Store, schema_service
from testplans.submission import submission
from tests.chaos.faults import FAULTS
from tests.chaos.tree import TESTBED, Tree, has_own_disk, tree, until
from tests.e2e.plans import PLAN
from tests.kinds.launch import extend

_ENDED = {CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED}
_TRIALS = 10
#: What a fault may do to the trial that was under way, beside nothing: its samples may find no room.
_MAY_ERR = frozenset({"fill the disk"})
#: Faults after which the campaign that ran must show a seam, where the worker that ran it was the one that was hit.
_SEAMS = frozenset({"kill all workers", "power cut"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One fault. recovery_s: from its end to the next result that was stored; None where nothing was left to do."""

    fault: str
    plan: str
    after_s: float
    recovery_s: float | None
    repeated: int
    resumed: int
    violations: tuple[str, ...]


@dataclass(kw_only=True, slots=True)
class Outcome:
    """All points of a run."""

    seed: int
    took_s: float = 0.0
    points: list[Point] = field(default_factory=list)

    @property
    def violations(self) -> list[str]:
        return [f"point {number} ({point.fault}): {text}" for number, point in enumerate(self.points, 1) for text in point.violations]

    def figures(self) -> dict[str, Any]:
        """What goes into build/chaos.json."""
        faults = {}
        for name in FAULTS:
            mine = [point for point in self.points if point.fault == name]
            times = sorted(point.recovery_s for point in mine if point.recovery_s is not None)
            faults[name] = {
                "points": len(mine),
                "campaigns on the bench": sum(point.plan == "switch-qos" for point in mine),
                "trials repeated": sum(point.repeated for point in mine),
                "seams": sum(point.resumed for point in mine),
                "violations": sum(len(point.violations) for point in mine),
                **({} if not times else {"recovery_s": _summary(times)}),
            }
        everything = sorted(point.recovery_s for point in self.points if point.recovery_s is not None)
        return {
            "seed": self.seed,
            "points": len(self.points),
            "took_s": round(self.took_s, 1),
            "violations": self.violations,
            "recovery_s": _summary(everything) if everything else {},
            "faults": faults,
        }


def run(points: int, seed: int, folder: Path | None = None, *, bench_every: int = 0, faults: Sequence[str] = ()) -> Outcome:
    """Do harm so many times. bench_every: each so manieth point is in a real campaign on the bench; 0: none is."""
    extend()
    dice = random.Random(seed)
    outcome = Outcome(seed=seed)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rackproof-chaos-") as made:
        home = folder or Path(made)
        with tree(home, (f"{TESTBED}=nothing", *(("bench",) if bench_every else ()))) as (service, store):
            names = [name for name in faults or FAULTS if name != "fill the disk" or has_own_disk(service.data_dir)]
            deck: list[str] = []
            for number in range(1, points + 1):
                deck = deck or dice.sample(names, len(names))
                on_bench = bench_every > 0 and number % bench_every == 0
                point = _point(service, store, dice, deck.pop(), on_bench)
                outcome.points.append(point)
                print(
                    f"{number:4} {point.plan:10} {point.fault:30} after {point.after_s:4.1f} s  "
                    f"recovery {'-' if point.recovery_s is None else f'{point.recovery_s:.2f} s':>8}  "
                    f"repeated {point.repeated}  seams {point.resumed}  {'; '.join(point.violations) or 'ok'}",
                    flush=True,
                )
    outcome.took_s = time.monotonic() - began
    return outcome


def _point(service: Tree, store: Store, dice: random.Random, fault: str, on_bench: bool) -> Point:
    service.start()
    until("the API answers", service.answers)
    # Others may still be starting after the last point: harm does not wait for them either.
    until("a worker lives", lambda: any(worker.alive for worker in store.workers.list()))
    device = service.folder / "device.json"
    marked = _lines(service.marker)
    sleep_s = round(dice.uniform(0.05, 0.25), 3)
    texts = [_bench_plan()] if on_bench else [_plan(service, device, sleep_s)] * 2
    # Two at once on the same testbed: the second must not begin before the first has ended, whatever happens.
    campaigns = [store.queue.submit(**submission(text.encode()).columns()) for text in texts]
    until("the first campaign begins", lambda: store.campaign(campaigns[0]).state is not CampaignState.PENDING)
    after_s = dice.uniform(0.0, 5.0 if on_bench else 2 * _TRIALS * sleep_s)
    time.sleep(after_s)
    begun = datetime.now(UTC)
    FAULTS[fault](service, dice)
    over = datetime.now(UTC)
    violations: list[str] = []
    try:
        service.start()
        for each in campaigns:
            until(f"campaign {each} ends", lambda each=each: store.campaign(each).state in _ENDED)  # type: ignore[misc]
        until("the API answers", service.answers)
    except AssertionError as error:
        violations.append(str(error))
    records = [until("the campaign can be read", lambda each=each: store.campaign(each)) for each in campaigns]  # type: ignore[misc]
    events = {each: until("its events can be read", lambda each=each: store.events(each, limit=100_000)) for each in campaigns}  # type: ignore[misc]
    for record in records:
        violations += _check_campaign(record, events[record.id], fault, on_bench)
    if not on_bench:
        violations += _check_executions(_lines(service.marker)[len(marked) :], records)
        violations += _check_device(device)
    violations += _check_house(store, campaigns)
    if fault in _SEAMS:
        violations += [f"campaign {each.id} went on without a seam" for each in records if _cut(each, begun, over) and not each.resumed]
    repeated = 0 if on_bench else len(_lines(service.marker)) - len(marked) - sum(len(record.trials) for record in records)
    return Point(
        fault=fault,
        plan="switch-qos" if on_bench else "nothing",
        after_s=after_s,
        recovery_s=_recovery_s(events, over),
        repeated=max(0, repeated),
        resumed=sum(len(record.resumed) for record in records),
        violations=tuple(violations),
    )


def _plan(service: Tree, device: Path, sleep_s: float) -> str:
    return json.dumps(
        {
            "kind": "nothing",
            "name": "chaos",
            "testbed": TESTBED,
            "trials": _TRIALS,
            "sleep_s": sleep_s,
            "setups": 3,
            "rows": 2000,
            "marker": str(service.marker),
            "device_file": str(device),
        }
    )


def _bench_plan() -> str:
    return PLAN.format(name="chaos", devices="reference", loads="2, 12", duration_s=0.5)


# --- what must hold afterwards ---


def _check_campaign(record: CampaignRecord, events: Sequence[Event], fault: str, on_bench: bool) -> list[str]:
    found = []
    if record.state is not CampaignState.DONE:
        found.append(f"campaign {record.id} is {record.state.value}: {record.reason}")
    allowed = {Verdict.PASS} | ({Verdict.ERROR} if fault in _MAY_ERR else set()) | ({Verdict.INVALID} if on_bench else set())
    stored = Counter(int(event.data["trial"]) for event in events if event.kind == "trial_ended")
    for trial in record.trials:
        index = trial.trial.index
        if trial.result is None:
            found.append(f"trial {index} of campaign {record.id} has no result")
        elif trial.result.verdict not in allowed:
            found.append(f"trial {index} of campaign {record.id} is {trial.result.verdict.value}: {trial.result.reason}")
        if stored[index] != 1:
            found.append(f"trial {index} of campaign {record.id} was stored {stored[index]} times")
    ends = sum(event.kind == "campaign_ended" for event in events)
    if ends != 1:
        found.append(f"campaign {record.id} ended {ends} times")
    return found


def _check_executions(lines: Sequence[str], records: Sequence[CampaignRecord]) -> list[str]:
    found = []
    order = [int(line.split()[0]) for line in lines]
    runs = [campaign for campaign, _ in groupby(order)]
    if len(runs) != len(set(runs)):
        found.append(f"two campaigns were on the testbed at once: {runs}")
    done = Counter((int(line.split()[0]), int(line.split()[1])) for line in lines)
    for record in records:
        for trial in record.trials:
            if done[record.id, trial.trial.index] < 1:
                found.append(f"trial {trial.trial.index} of campaign {record.id} has a result, but was never executed")
            if done[record.id, trial.trial.index] > 3:
                found.append(f"trial {trial.trial.index} of campaign {record.id} was executed {done[record.id, trial.trial.index]} times")
    return found


def _check_device(device: Path) -> list[str]:
    state = json.loads(device.read_text()) if device.exists() else {"running": "level 0", "saved": ""}
    return [] if state == {"running": "level 0", "saved": ""} else [f"the device was not restored: {state}"]


def _check_house(store: Store, campaigns: Sequence[int]) -> list[str]:
    lease = schema_service.Lease

    def free() -> bool:
        with store.transactions.step("the leases could not be read") as connection:
            return not connection.scalars(select(lease.resource).where(lease.campaign_id.in_(campaigns))).all()

    found = []
    for what, happened in (("no lease is left", free), ("the bench is clean", lambda: not orphans())):
        try:
            until(what, happened)
        except AssertionError as error:
            found.append(str(error))
    return found


def _cut(record: CampaignRecord, begun: datetime, over: datetime) -> bool:
    """True where the campaign has results from before the fault and from after it."""
    ended = [trial.ended for trial in record.trials if trial.ended is not None]
    return any(at < begun for at in ended) and any(at > over for at in ended)


def _recovery_s(events: dict[int, list[Event]], over: datetime) -> float | None:
    later = [event.at for each in events.values() for event in each if event.kind in ("trial_ended", "campaign_ended") and event.at > over]
    return (min(later) - over).total_seconds() if later else None


def _lines(marker: Path) -> list[str]:
    return marker.read_text().splitlines() if marker.exists() else []


def _summary(times: Sequence[float]) -> dict[str, float]:
    last = len(times) - 1
    return {"median": round(statistics.median(times), 3), "p95": round(times[round(0.95 * last)], 3), "max": round(times[-1], 3)}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {"processors": psutil.cpu_count(), "memory_GB": round(psutil.virtual_memory().total / 1e9, 1)}
