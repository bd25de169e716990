import dataclasses
import math

import pytest

from rackproof.model.campaign import CampaignRecord, TrialRecord
from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from testplans.xpfe_delay.view import Key, View, view
from tests.unit.xpfe_delay.chains import number, ran

INVALID = TrialResult(verdict=Verdict.INVALID, reason="the host stalled", measurements=(number("delay.mean", 999.0, 1.0),))
ONE = Key("xpfe", 2, 500, 250.0)
SMALL = {"hops": [2], "frame_bytes": [500], "rates_mbps": [250]}


def test_points_come_in_the_order_of_the_trials_with_all_their_repetitions() -> None:
    seen = view(ran(lambda key, repetition: [number("delay.mean", 1.0)], repetitions=3, chains=["xpfe", "linux-bridge"]))
    assert seen.chains == ("xpfe", "linux-bridge")
    assert len(seen.points) == 90
    assert seen.points[ONE].indices == (1, 16, 31)
    assert (seen.hops("xpfe"), seen.sizes("xpfe")[0], seen.rates("xpfe")) == ((2, 3, 4), 500, (250.0, 500.0, 750.0))
    assert {point.key.chain for point in seen.of("linux-bridge")} == {"linux-bridge"}


def test_a_single_repetition_keeps_its_number() -> None:
    mine = number("delay.mean", 40.0, 0.5)
    assert view(ran(lambda *_: [mine], **SMALL)).points[ONE].get("delay.mean") == mine


def test_few_repetitions_are_pooled_and_n_is_their_sum() -> None:
    seen = view(ran(lambda key, repetition: [number("delay.mean", 40.0 + repetition, 0.6)], repetitions=2, **SMALL))
    pooled = seen.points[ONE].get("delay.mean")
    assert pooled is not None
    assert pooled.interval is not None
    assert (pooled.value, pooled.n) == (41.5, 2000)
    assert pooled.interval.half_width == pytest.approx(0.6 / math.sqrt(2))


def test_from_four_repetitions_on_the_spread_between_them_counts() -> None:
    seen = view(ran(lambda key, repetition: [number("delay.mean", 40.0 + repetition, 0.001)], repetitions=4, **SMALL))
    pooled = seen.points[ONE].get("delay.mean")
    assert pooled is not None
    assert pooled.interval is not None
    assert pooled.interval.half_width == pytest.approx(3.182 * math.sqrt(5 / 3) / 2, rel=1e-3)


@pytest.mark.parametrize("repetitions", [1, 2, 5])
def test_the_confidence_is_that_of_the_trials(repetitions: int) -> None:
    interval = Interval(low=39.0, high=41.0, confidence=0.99, method="made up")
    sure = Measurement(name="delay.mean", unit="us", value=40.0, n=10, interval=interval)
    pooled = view(ran(lambda *_: [sure], repetitions=repetitions, **SMALL)).points[ONE].get("delay.mean")
    assert pooled is not None
    assert pooled.interval is not None
    assert pooled.interval.confidence == 0.99


def _broken(key: Key, repetition: int) -> list[Measurement] | TrialResult | None:
    match repetition:
        case 1:
            return [number("delay.mean", 40.0, 0.5)]
        case 2:
            return INVALID
        case _:
            return None


def test_what_is_not_valid_counts_for_nothing_but_its_verdict() -> None:
    point = view(ran(_broken, repetitions=3, **SMALL)).points[ONE]
    found = point.get("delay.mean")
    assert found is not None
    assert found.value == 40.0
    assert len(point.valid) == 1
    assert point.missing == (Verdict.INVALID, Verdict.ABORTED)
    assert point.why_not == "the host stalled"


def test_numbers_are_told_apart_by_what_they_are_of() -> None:
    hops = [number("hop.lost", float(hop), n=10, unit="1", hop=str(hop)) for hop in (1, 2)]
    point = view(ran(lambda *_: hops, repetitions=2, **SMALL)).points[ONE]
    assert point.get("hop.lost") is None
    assert point.subjects("hop.lost") == ({"hop": "1"}, {"hop": "2"})
    assert point.total("hop.lost", hop="2") == 4.0


def test_curves_are_those_of_exactly_the_subject() -> None:
    whole = Curve(name="delta-q", x_name="delay", x_unit="us", y_name="arrived", y_unit="1", x=(1.0,), y=(1.0,), n=1)
    behind = dataclasses.replace(whole, subject={"hop": "1"})
    point = view(ran(lambda *_: [whole, behind], **SMALL)).points[ONE]
    assert point.curves("delta-q") == (whole,)
    assert point.curves("delta-q", hop="1") == (behind,)
    assert point.curves("histogram") == ()


def test_budgets_are_judged_by_the_percentile_of_the_plan() -> None:
    seen = view(ran(lambda *_: None, verdict={"percentile": 99.9, "confidence": 0.95}, **SMALL))
    assert seen.percentile == "delay.p99_9"


def test_what_is_made_of_a_view_is_made_once() -> None:
    made: list[str] = []

    def make(seen: View, chain: str) -> int:
        made.append(chain)
        return len(seen.hops(chain))

    seen = view(ran(lambda *_: None))
    assert [seen.once(make, chain) for chain in ("xpfe", "xpfe", "other")] == [3, 3, 0]
    assert made == ["xpfe", "other"]


def test_a_campaign_without_trials_has_no_points(campaign: CampaignRecord) -> None:
    assert view(dataclasses.replace(campaign, trials=())).points == {}


@pytest.fixture
def campaign() -> CampaignRecord:
    found = ran(lambda *_: None, **SMALL)
    assert all(isinstance(record, TrialRecord) for record in found.trials)
    return found
