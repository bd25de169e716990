"""Whole campaigns, judged: good devices pass, planted defects fail for the right reason, and what is missing is never a PASS."""

import dataclasses
import datetime as dt
import functools
from collections.abc import Sequence
from typing import Any

import pytest

from rackproof.model.campaign import CampaignRecord, CampaignState, TrialRecord
from rackproof.model.finding import Finding
from rackproof.model.measurement import Interval
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from testplans.switch_qos import KIND
from testplans.switch_qos.analysis import analyse
from testplans.switch_qos.criteria import conclude, verdict_of
from testplans.switch_qos.evidence import Number
from testplans.switch_qos.expansion import expand
from testplans.switch_qos.plan import SwitchQosPlan
from tests.unit.switch_qos.plans import changed, shipped
from tests.unit.switch_qos.simulator import CALIBRATION, Defects, simulate


def campaign(plan: SwitchQosPlan, records: Sequence[TrialRecord]) -> CampaignRecord:
    return CampaignRecord(
        id=1,
        name=plan.name,
        kind=plan.kind,
        testbed=plan.testbed,
        plan=plan.model_dump(mode="json"),
        plan_text="",
        plan_sha256="",
        state=CampaignState.DONE,
        created=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        trials=tuple(records),
    )


def simulated(data: dict[str, Any]) -> tuple[SwitchQosPlan, list[TrialRecord]]:
    plan = SwitchQosPlan.model_validate(data)

    @functools.cache
    def result(options: tuple[tuple[str, Any], ...], scheduler: str, load: float, repetition: int) -> TrialResult:
        trial = next(t for t in expand(plan) if (t.point["scheduler"], t.point["load_mbps"], t.repetition) == (scheduler, load, repetition))
        return analyse(plan, trial, simulate(plan, trial, Defects(**dict(options))), CALIBRATION)

    records = []
    for trial in expand(plan):
        options = tuple(plan.device(str(trial.point["device"])).options.items())
        found = result(options, str(trial.point["scheduler"]), float(trial.point["load_mbps"]), trial.repetition)
        records.append(TrialRecord(trial=trial, result=found))
    return plan, records


@pytest.fixture(scope="module")
def demo() -> tuple[SwitchQosPlan, list[TrialRecord]]:
    """The shipped demo on simulated switches."""
    return simulated(shipped("demo"))


def failed(findings: Sequence[Finding], device: str) -> set[str]:
    return {finding.criterion for finding in findings if finding.subject["device"] == device and finding.verdict is Verdict.FAIL}


def test_the_demo_comes_out_as_its_plan_expects(demo: tuple[SwitchQosPlan, list[TrialRecord]]) -> None:
    plan, records = demo
    findings = conclude(campaign(plan, records))
    for device in plan.devices:
        expected = {criterion for entry in plan.expect if entry.device == device.name for criterion in entry.criteria}
        assert failed(findings, device.name) == expected
    assert {finding.verdict for finding in findings} == {Verdict.PASS, Verdict.FAIL}
    judged = {(finding.subject["device"], finding.subject["discipline"], finding.criterion) for finding in findings}
    assert len(judged) == len(findings) == 3 * (6 + 5)


def test_statements_say_what_a_vendor_must_know(demo: tuple[SwitchQosPlan, list[TrialRecord]]) -> None:
    findings = conclude(campaign(*demo))
    leak = next(f for f in findings if f.criterion == "sp.leak" and f.verdict is Verdict.FAIL)
    assert leak.subject == {"device": "reference-faulty", "discipline": "strict-priority", "scheduler": "SP"}
    assert leak.value == pytest.approx(0.05, abs=0.01)
    assert leak.interval is not None
    assert leak.interval.low > 0.01
    assert leak.limit == "at most 1 %"
    assert leak.statement.startswith("reference-faulty under SP: the share of q0, q1, q2 in the throughput, which strict priority starves,")
    assert "at 60 Mbit/s per sender; at most 1 % is asked. It fails at 22 Mbit/s, 40 Mbit/s as well." in leak.statement
    assert leak.detail["load_mbps"] == 60
    assert set(leak.trials) == {23, 24, 25}


def without(records: Sequence[TrialRecord], index: int, verdict: Verdict | None) -> list[TrialRecord]:
    result = None if verdict is None else TrialResult(verdict=verdict, reason="the host was busy")
    return [dataclasses.replace(record, result=result) if record.trial.index == index else record for record in records]


@pytest.mark.parametrize("verdict", [Verdict.INVALID, Verdict.ERROR, Verdict.TIMEOUT, None])
def test_missing_trials_are_never_a_pass(demo: tuple[SwitchQosPlan, list[TrialRecord]], verdict: Verdict | None) -> None:
    plan, records = demo
    last = next(r.trial.index for r in records if r.trial.point["device"] == "reference" and r.trial.point["load_mbps"] == 60)
    findings = [f for f in conclude(campaign(plan, without(records, last, verdict))) if f.subject["device"] == "reference"]
    by_id = {f.criterion: f for f in findings if f.subject["discipline"] == "strict-priority"}
    for criterion in ("sp.leak", "sp.top_share", "waste", "fairness", "throughput.deviation"):
        assert by_id[criterion].verdict is (verdict or Verdict.ABORTED)
        assert "No valid trial at 60 Mbit/s" in by_id[criterion].statement
    assert by_id["loss.below_saturation"].verdict is Verdict.PASS


def test_a_proven_fault_stands_whatever_is_missing(demo: tuple[SwitchQosPlan, list[TrialRecord]]) -> None:
    plan, records = demo
    findings = conclude(campaign(plan, without(records, 25, Verdict.ERROR)))
    assert "sp.leak" in failed(findings, "reference-faulty")


def test_nothing_ran() -> None:
    plan = SwitchQosPlan.model_validate(shipped("demo"))
    findings = conclude(campaign(plan, []))
    assert {finding.verdict for finding in findings} == {Verdict.ABORTED}


@pytest.mark.parametrize(
    ("low", "high", "at_most", "verdict"),
    [
        (0.001, 0.009, True, Verdict.PASS),
        (0.005, 0.015, True, Verdict.INVALID),
        (0.011, 0.02, True, Verdict.FAIL),
        (0.011, 0.02, False, Verdict.PASS),
        (0.005, 0.015, False, Verdict.INVALID),
        (0.001, 0.009, False, Verdict.FAIL),
        (0.0, 0.01, True, Verdict.PASS),
    ],
)
def test_the_rule(low: float, high: float, at_most: bool, verdict: Verdict) -> None:
    number = Number(value=(low + high) / 2, interval=Interval(low=low, high=high, method="m"), n=10)
    assert verdict_of(number, 0.01, at_most) is verdict


def test_without_an_interval_nothing_is_proven() -> None:
    assert verdict_of(Number(value=0.0, interval=None, n=1), 0.01, True) is Verdict.INVALID
    assert verdict_of(Number(value=float("inf"), interval=None, n=0), 100.0, True) is Verdict.FAIL


SMALL = {
    **shipped("demo"),
    "devices": ["reference"],
    "expect": [],
    "trial": {"duration_s": 0.6, "warmup_s": 0.2},
    "load": {"per_sender_mbps": [10, 60]},
}


def test_the_terminal_gets_one_table_a_discipline(demo: tuple[SwitchQosPlan, list[TrialRecord]]) -> None:
    plan, _ = demo
    tables = KIND.comparison(campaign(*demo))
    assert len(tables) == len(plan.disciplines)
    for table in tables:
        assert [row[0].text for row in table.rows] == ["Ideal", *(device.name for device in plan.devices)]
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_waste_is_found_and_nothing_else_is_called_a_leak() -> None:
    data = changed(SMALL, "devices", [{"name": "slow", "model": "reference", "options": {"waste": 0.05}}])
    findings = conclude(campaign(*simulated(data)))
    assert failed(findings, "slow") == {"waste", "sp.top_share", "throughput.deviation"}


def test_repetitions_are_pooled() -> None:
    data = changed(changed(SMALL, "repetitions", 4), "disciplines", ["strict-priority"])
    findings = {finding.criterion: finding for finding in conclude(campaign(*simulated(data)))}
    waste = findings["waste"]
    assert waste.verdict is Verdict.PASS
    assert waste.interval is not None
    assert waste.interval.method == "Student's t over 4 repetitions"
    assert len(waste.trials) == 4


def test_criteria_can_be_taken_out() -> None:
    plan, records = simulated(changed(changed(SMALL, "criteria.waste_share_max", None), "criteria.delay_p99_top_us_max", 5000.0))
    found = {finding.criterion for finding in conclude(campaign(plan, records))}
    assert "waste" not in found
    assert "delay.top" in found
