"""Every criterion passes, fails or stays open as its interval says."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from rackproof.model.campaign import CampaignRecord, TrialRecord
from rackproof.model.finding import Finding
from rackproof.model.measurement import Interval, Measurement
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from testplans.congestion_control.criteria import conclude
from tests.unit.congestion_control import campaigns

#: Scheme -> throughput [Mbit/s] of 40, p95 delay [ms].
NUMBERS = {"cubic": (36.0, 60.0), "bbr": (34.4, 58.0), "vegas": (33.0, 30.0)}


def campaign(criteria: Mapping[str, Any], repetitions: int = 2, half: float = 0.01, **changes: Any) -> CampaignRecord:
    """Every run measures NUMBERS, with intervals of that half-width (a share of the value)."""
    made = campaigns.bare(schemes=list(NUMBERS), repetitions=repetitions, criteria=criteria, **changes)
    return dataclasses.replace(made, trials=tuple(_measured(each, half) for each in made.trials))


def _measured(record: TrialRecord, half: float) -> TrialRecord:
    rate, delay = NUMBERS[str(record.trial.point["scheme"])]
    numbers = [
        ("throughput", "Mbit/s", rate, half),
        ("utilisation", "1", rate / 40, None),
        ("delay.p95", "ms", delay, half),
        ("jain", "1", 0.8, half),
    ]
    measurements = tuple(
        Measurement(
            name=name,
            unit=unit,
            value=value,
            n=1000,
            interval=None if share is None else Interval(low=value * (1 - share), high=value * (1 + share), method="batch means"),
            subject={"flow": "all"},
        )
        for name, unit, value, share in numbers
    )
    return dataclasses.replace(record, result=TrialResult(verdict=Verdict.PASS, measurements=measurements))


def only(made: CampaignRecord) -> Finding:
    (found,) = conclude(made)
    return found


@pytest.mark.parametrize(("least", "verdict"), [(0.85, Verdict.PASS), (0.95, Verdict.FAIL), (0.9, Verdict.INVALID)])
def test_use_of_the_path_is_judged_by_the_interval_of_the_throughput(least: float, verdict: Verdict) -> None:
    found = only(campaign({"utilisation_min": {"cubic": least}}))
    assert found.verdict is verdict
    assert found.value == pytest.approx(0.9)
    assert found.interval is not None
    assert found.interval.half_width == pytest.approx(0.9 * 0.01 / 2**0.5)
    assert found.subject == {"scheme": "cubic"}
    assert found.n == 2


@pytest.mark.parametrize(("most", "verdict"), [(70, Verdict.PASS), (50, Verdict.FAIL), (60, Verdict.INVALID)])
def test_a_delay_is_judged_against_its_limit(most: float, verdict: Verdict) -> None:
    found = only(campaign({"delay_p95_ms_max": {"cubic": most}}))
    assert (found.verdict, found.unit, found.limit) == (verdict, "ms", f"at most {most} ms")


@pytest.mark.parametrize(("share", "verdict"), [(0.65, Verdict.PASS), (0.4, Verdict.FAIL), (0.5, Verdict.INVALID)])
def test_a_delay_is_judged_against_that_of_another_scheme_run_by_run(share: float, verdict: Verdict) -> None:
    found = only(campaign({"delay_ratio": [{"scheme": "vegas", "against": "cubic", "share_max": share}]}))
    assert found.verdict is verdict
    assert found.value == pytest.approx(0.5)
    assert found.subject == {"scheme": "vegas", "against": "cubic"}
    assert len(found.trials) == 4
    assert "by that of TCP Cubic" in found.statement


def test_fairness_is_judged_for_every_test_with_several_flows() -> None:
    found = conclude(campaign({"jain_min": 0.7}, flows=3))
    assert [(each.criterion, each.subject["scheme"], each.verdict) for each in found] == [
        ("fairness", scheme, Verdict.PASS) for scheme in NUMBERS
    ]
    assert conclude(campaign({"jain_min": 0.7})) == ()


def test_from_four_runs_on_their_spread_decides() -> None:
    made = campaign({"delay_p95_ms_max": {"cubic": 61}}, repetitions=4, half=0.2)
    found = only(made)
    assert found.verdict is Verdict.PASS
    assert found.interval is not None
    assert "Student" in found.interval.method


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.INVALID, Verdict.TIMEOUT])
def test_a_run_without_statistics_leaves_a_criterion_open(verdict: Verdict) -> None:
    made = _without(campaign({"utilisation_min": {"cubic": 0.85}}), "cubic", {1: TrialResult(verdict=verdict, reason="no luck")})
    found = only(made)
    assert found.verdict is verdict
    assert found.n == 1
    assert "1 run of TCP Cubic" in found.statement
    assert "no luck" in found.statement


def test_what_is_proven_wrong_stays_wrong_whatever_another_run_was() -> None:
    made = _without(campaign({"utilisation_min": {"cubic": 0.95}}), "cubic", {1: TrialResult(verdict=Verdict.ERROR, reason="no luck")})
    assert only(made).verdict is Verdict.FAIL


def test_without_any_run_nothing_is_judged() -> None:
    gone = TrialResult(verdict=Verdict.ERROR, reason="it is not installed")
    found = only(_without(campaign({"utilisation_min": {"cubic": 0.85}}), "cubic", {1: gone, 2: gone}))
    assert (found.verdict, found.n) == (Verdict.ERROR, 0)
    assert "could not be judged" in found.statement


def _without(made: CampaignRecord, scheme: str, results: Mapping[int, TrialResult]) -> CampaignRecord:
    trials = tuple(
        dataclasses.replace(each, result=results[each.trial.repetition])
        if each.trial.point["scheme"] == scheme and each.trial.repetition in results
        else each
        for each in made.trials
    )
    return dataclasses.replace(made, trials=trials)


def test_runs_too_short_for_an_interval_of_their_own_are_judged_by_what_differs_between_them() -> None:
    made = campaign({"delay_p95_ms_max": {"cubic": 70}})
    delays = iter((59.0, 61.0))

    def bare(record: TrialRecord) -> TrialRecord:
        if record.trial.point["scheme"] != "cubic":
            return record
        assert record.result is not None
        delay = next(delays)
        found = tuple(
            dataclasses.replace(each, value=delay, interval=None) if each.name == "delay.p95" else each
            for each in record.result.measurements
        )
        return dataclasses.replace(record, result=dataclasses.replace(record.result, measurements=found))

    found = only(dataclasses.replace(made, trials=tuple(map(bare, made.trials))))
    assert found.interval is not None
    # Student's t of one degree of freedom, 12.706, by 1 ms.
    assert found.value == 60.0
    assert found.interval.half_width == pytest.approx(12.706, abs=0.001)
    assert found.verdict is Verdict.INVALID
