"""What changed between two runs of the same campaign?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rackproof.model.finding import Finding
from rackproof.store.suites import Outcome
from reports.campaign import finding_value


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Something that is not as it was. what: verdict, finding, value or plan; title: of what; before, after: in words."""

    what: str
    title: str
    before: str
    after: str

    def plain(self) -> dict[str, Any]:
        """As it is stored in a digest."""
        return {"what": self.what, "title": self.title, "before": self.before, "after": self.after}


def pairs(now: Sequence[Outcome], before: Sequence[Outcome]) -> list[tuple[Outcome, Outcome | None]]:
    """Each campaign with the one of its name in the run before; of several with one name, the first with the first."""
    left: dict[str, list[Outcome]] = {}
    for outcome in before:
        left.setdefault(outcome.name, []).append(outcome)
    return [(outcome, left[outcome.name].pop(0) if left.get(outcome.name) else None) for outcome in now]


def changes(now: Outcome, before: Outcome) -> list[Change]:
    """What changed: the plan, the verdict, what was found, and values whose intervals do not meet."""
    found = []
    if now.plan_sha256 != before.plan_sha256:
        found.append(Change(what="plan", title="the plan", before=before.plan_sha256[:12], after=now.plan_sha256[:12]))
    if now.verdict is not before.verdict:
        found.append(Change(what="verdict", title="the verdict", before=before.verdict.value, after=now.verdict.value))
    known = {_identity(finding): finding for finding in before.findings}
    for finding in now.findings:
        was = known.pop(_identity(finding), None)
        title = ", ".join([finding.title, *finding.subject.values()])
        if was is None:
            if now.plan_sha256 == before.plan_sha256:
                found.append(Change(what="finding", title=title, before="not judged", after=finding.verdict.value))
        elif finding.verdict is not was.verdict:
            found.append(Change(what="finding", title=title, before=_judged(was), after=_judged(finding)))
        elif moved(was, finding):
            found.append(Change(what="value", title=title, before=finding_value(was), after=finding_value(finding)))
    if now.plan_sha256 == before.plan_sha256:
        for finding in known.values():
            title = ", ".join([finding.title, *finding.subject.values()])
            found.append(Change(what="finding", title=title, before=finding.verdict.value, after="not judged"))
    return found


def moved(before: Finding, now: Finding) -> bool:
    """True where a value changed by more than its uncertainty: the two intervals have no value in common.

    What became infinite, or ceased to be, has changed. Where a value has no interval, nothing can be said.
    """
    if before.unit != now.unit:
        return False
    if math.isfinite(before.value) != math.isfinite(now.value):
        return True
    if before.interval is None or now.interval is None:
        return False
    return now.interval.low > before.interval.high or now.interval.high < before.interval.low


def _identity(finding: Finding) -> tuple[str, tuple[tuple[str, str], ...]]:
    return finding.criterion, tuple(sorted(finding.subject.items()))


def _judged(finding: Finding) -> str:
    return f"{finding.verdict.value} ({finding_value(finding)})"
