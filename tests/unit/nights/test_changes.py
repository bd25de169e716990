"""Is a change between two nights told, and noise not?"""

import math
from typing import Any

import pytest

from orchestrator.service.changes import changes, moved, pairs
from rackproof.model.finding import Finding
from rackproof.model.measurement import Interval
from rackproof.model.verdict import Verdict
from rackproof.store.suites import Outcome
from tests.integration.nights.suites import a_finding


def an_outcome(**changes: Any) -> Outcome:
    values: dict[str, Any] = {
        "id": 1,
        "name": "night",
        "testbed": "nothing",
        "verdict": Verdict.PASS,
        "reason": "",
        "started": None,
        "ended": None,
        "plan_sha256": "a" * 64,
        "trials": 3,
        "report": "ready",
        "findings": (a_finding(),),
    }
    return Outcome(**{**values, **changes})


def interval(low: float, high: float) -> Interval:
    return Interval(low=low, high=high, method="batch means")


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ((10.0, interval(9, 11)), (12.0, interval(11.1, 12.9)), True),
        ((10.0, interval(9, 11)), (12.0, interval(10.9, 13.1)), False),
        ((10.0, interval(9, 11)), (8.0, interval(7.1, 8.9)), True),
        ((10.0, None), (1000.0, interval(999, 1001)), False),
        ((10.0, None), (1000.0, None), False),
        ((10.0, interval(9, 11)), (math.inf, None), True),
        ((math.inf, None), (10.0, interval(9, 11)), True),
        ((math.inf, None), (math.inf, None), False),
    ],
)
def test_a_value_has_changed_where_the_intervals_do_not_meet(
    before: tuple[float, Interval | None], now: tuple[float, Interval | None], expected: bool
) -> None:
    assert moved(*(a_finding(value=value, interval=of) for value, of in (before, now))) is expected


def test_nothing_is_told_where_nothing_changed() -> None:
    assert changes(an_outcome(id=2), an_outcome()) == []


def test_verdicts_findings_values_and_plans_are_told_with_what_they_were() -> None:
    def findings(verdict: Verdict, value: float) -> tuple[Finding, ...]:
        return (
            a_finding(verdict=verdict),
            a_finding(criterion="share", title="Share", unit="1", value=value, interval=interval(value - 0.01, value + 0.01)),
            a_finding(criterion="same", title="Same"),
        )

    before = an_outcome(findings=findings(Verdict.PASS, 0.25))
    now = an_outcome(verdict=Verdict.FAIL, findings=findings(Verdict.FAIL, 0.5), plan_sha256="b" * 64)
    assert [(change.what, change.title, change.before, change.after) for change in changes(now, before)] == [
        ("plan", "the plan", "a" * 12, "b" * 12),
        ("verdict", "the verdict", "PASS", "FAIL"),
        ("finding", "Delay of the best queue, reference", "PASS (10.0 ± 1.0 µs)", "FAIL (10.0 ± 1.0 µs)"),
        ("value", "Share, reference", "25.0 ± 1.0 %", "50.0 ± 1.0 %"),
    ]


def test_criteria_that_come_or_go_are_told_unless_the_plan_says_why() -> None:
    other = a_finding(criterion="other", title="Other")
    for now, before, words in ((an_outcome(findings=(other,)), an_outcome(findings=()), ("not judged", "PASS")),):
        (change,) = changes(now, before)
        assert (change.before, change.after) == words
        (change,) = changes(before, now)
        assert (change.after, change.before) == words
    assert [change.what for change in changes(an_outcome(findings=(other,), plan_sha256="b"), an_outcome(findings=()))] == ["plan"]


def test_campaigns_of_one_name_are_compared_in_their_order() -> None:
    now = [an_outcome(id=11), an_outcome(id=12), an_outcome(id=13, name="new"), an_outcome(id=14)]
    before = [an_outcome(id=1), an_outcome(id=2, name="gone"), an_outcome(id=3)]
    found = [(one.id, None if other is None else other.id) for one, other in pairs(now, before)]
    assert found == [(11, 1), (12, 3), (13, None), (14, None)]
