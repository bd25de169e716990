"""What would a plan do on its testbed? What the kind foresees here and now, and what a worker says of the testbed when it has looked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackproof.errors import NotFound, RackproofError
from rackproof.model.service import JobState, TestbedState
from rackproof.store import Store
from rackproof.store.jobs import Job
from rackproof.store.testbeds import TestbedRecord
from web.drafts import Draft
from web.points import title

KIND = "rehearsal"
#: So many different lines are shown.
LINES_MAX = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """Trials that will do the same. point: what tells them from others, in words."""

    point: str
    trials: int
    duration_s: float
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Foresight:
    """What is foreseen. by: "worker", "published" (limits), or "plan" (no limits are known); unknown: why it is not by a worker."""

    trials: int
    duration_s: float
    lines: tuple[Line, ...]
    more: int
    warnings: tuple[str, ...]
    refusals: tuple[str, ...]
    by: str
    unknown: str
    testbed: TestbedRecord | None
    testbed_name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    index: int
    duration_s: float
    note: str
    point: Mapping[str, Any]


def foresee(store: Store, draft: Draft, rehearsal: int | None) -> Foresight:
    """What the draft would do; `rehearsal`: the job in which a worker looked at it."""
    assert draft.plan is not None
    assert draft.kind is not None
    name = draft.plan.testbed
    testbed = _testbed(store, name)
    limits = testbed.carries if testbed is not None else None
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: Mapping[int, str] = {}
    if limits is None:
        trials = draft.kind.expand(draft.plan)
    else:
        found = draft.kind.rehearse(draft.plan, limits)
        trials, notes, warnings, refusals = found.trials, found.notes, found.warnings, found.refusals
    by, unknown = "plan" if limits is None else "published", _unknown(testbed, name)
    held = store.devices.of(name, testbed.resources) if testbed is not None else []
    job = _job(store, rehearsal)
    if job is not None and job.input.get("plan_text") == draft.text:
        if job.state is JobState.DONE and job.output is not None:
            by, unknown = "worker", ""
            notes = {int(index): str(note) for index, note in dict(job.output.get("notes", {})).items()} or notes
            refusals, warnings = tuple(job.output.get("refusals", ())), tuple(job.output.get("warnings", ()))
        elif job.state is JobState.FAILED:
            unknown = f"the worker could not tell: {job.error}"
    shown = [_Found(index=one.index, duration_s=one.duration_s, note=notes.get(one.index, ""), point=one.point) for one in trials]
    lines = _lines(shown)
    return Foresight(
        trials=len(trials),
        duration_s=sum(one.duration_s for one in trials),
        lines=tuple(lines[:LINES_MAX]),
        more=max(len(lines) - LINES_MAX, 0),
        warnings=(*(f"{one.device} is offline until somebody clears it: {one.reason}" for one in held), *warnings),
        refusals=refusals,
        by=by,
        unknown=unknown,
        testbed=testbed,
        testbed_name=name,
    )


def worth_asking(foresight: Foresight) -> bool:
    """True where a worker lives that can say more."""
    return foresight.by != "worker" and foresight.testbed is not None and bool(foresight.testbed.workers)


def _lines(found: Sequence[_Found]) -> list[Line]:
    """Trials with the same note and the same point, devices and repetitions apart, in one line each; in the order in which they run."""
    keys = _telling(found)
    groups: dict[tuple[Any, ...], list[_Found]] = {}
    for one in found:
        groups.setdefault((one.note, *((key, str(one.point.get(key))) for key in keys)), []).append(one)
    return [
        Line(
            point=title(members[0].point, keys) or "all trials",
            trials=len(members),
            duration_s=sum(one.duration_s for one in members),
            note=members[0].note,
        )
        for members in groups.values()
    ]


def _telling(found: Sequence[_Found]) -> list[str]:
    """The keys of the points on which the note depends: those without which one note would stand for trials that have another."""
    names = list(dict.fromkeys(key for one in found for key in one.point))
    keys = [key for key in names if len({str(one.point.get(key)) for one in found}) > 1]
    if not any(one.note for one in found):
        return keys[:1] if len(keys) > 1 else keys
    for key in list(keys):
        rest = [other for other in keys if other != key]
        notes: dict[tuple[str, ...], set[str]] = {}
        for one in found:
            notes.setdefault(tuple(str(one.point.get(other)) for other in rest), set()).add(one.note)
        if rest and all(len(said) == 1 for said in notes.values()):
            keys = rest
    return keys


def _testbed(store: Store, name: str) -> TestbedRecord | None:
    try:
        return store.testbeds.get(name)
    except NotFound:
        return None


def _unknown(testbed: TestbedRecord | None, name: str) -> str:
    if testbed is None:
        return f"No worker has ever announced the testbed {name}: what it can carry is not known, and the plan cannot be submitted to it."
    if not testbed.workers:
        return f"No worker serves {name} at the moment: what the testbed itself says against the plan is not known."
    if testbed.limits is None:
        return f"{name} has not yet said what it can carry."
    return ""


def _job(store: Store, rehearsal: int | None) -> Job | None:
    if rehearsal is None:
        return None
    try:
        job = store.jobs.get(rehearsal)
    except RackproofError:
        return None
    return job if job.kind == KIND else None


def offline(testbed: TestbedRecord | None) -> bool:
    """True where nothing starts on the testbed for now."""
    return testbed is not None and testbed.state is TestbedState.OFFLINE
