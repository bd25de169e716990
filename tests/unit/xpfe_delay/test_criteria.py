import math
from collections.abc import Iterable

import pytest

from rackproof.model.campaign import CampaignRecord
from rackproof.model.finding import Finding
from rackproof.model.measurement import Measurement
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from testplans.verdict import campaign_verdict
from testplans.xpfe_delay.criteria import conclude
from testplans.xpfe_delay.view import Key
from tests.unit.xpfe_delay.campaigns import bare, made_up
from tests.unit.xpfe_delay.chains import delays, number, ran, store_and_forward

INVALID = TrialResult(verdict=Verdict.INVALID, reason="the host stalled")


def _of(campaign: CampaignRecord, criterion: str) -> list[Finding]:
    return [finding for finding in conclude(campaign) if finding.criterion == criterion]


def _budget(campaign: CampaignRecord, traffic_class: str = "cpri") -> Finding:
    return next(finding for finding in _of(campaign, "budget") if finding.subject["class"] == traffic_class)


def test_the_number_of_hops_is_said_with_what_it_rests_on() -> None:
    # 10 us and for each hop 27 us at 1500 bytes and 750 Mbit/s.
    found = _budget(delays(store_and_forward, frame_bytes=[1500], rates_mbps=[750]))
    assert (found.verdict, found.value, found.unit) == (Verdict.PASS, 3.0, "hops")
    assert found.subject == {"device": "xpfe", "class": "cpri"}
    assert found.statement == (
        "CPRI (100 µs at the 99th percentile): at most 3 hops at 1500 bytes and 750 Mbit/s. "
        "The slowest 99th percentile of these is 91.00 ± 0.10 µs, at 3 hops, 1500 bytes, 750 Mbit/s. The rates are the plan's own."
    )
    assert found.limit == "at most 100 µs at the 99th percentile"
    assert found.trials == (1, 2, 3)


def test_predictions_that_do_not_stand_their_check_are_said_to_be_unreliable() -> None:
    crooked = delays(lambda key: 20.0 if key.hops < 4 else 80.0)
    doubt = "Predictions did not stand their check (0 of 45): do not rely on them."
    assert _budget(crooked).statement.endswith(doubt)
    assert _of(crooked, "prediction")[0].statement.endswith("beyond the hop counts that were measured, nothing is to be relied on.")
    assert "did not stand" not in _budget(delays(store_and_forward)).statement


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        (
            lambda key: 20.0 * key.hops + 0.08 * (key.frame_bytes - 500),
            "at most 4 hops at 500 bytes and every rate; 5 are predicted not to hold",
        ),
        (lambda key: 20.0 * key.hops, "at most 4 hops at every frame size and rate; 5 are predicted not to hold"),
        (lambda key: 10.0 * key.hops, "at least 4 hops at every frame size and rate; predicted to hold over up to 9 hops there"),
        (lambda key: 1e-3 * key.hops, "at least 4 hops at every frame size and rate; predicted to hold over 64 hops or more there"),
        (lambda key: 200.0, "not even 2 hops, at no frame size and rate"),
        (lambda key: 95.0, "not shown to hold over 2 hops: the intervals do not settle it"),
        (
            lambda key: 95.0 if key.hops > 2 else 50.0,
            "2 hops at every frame size and rate; 3 hops are undecided at every frame size and rate",
        ),
        (
            lambda key: 5.0 * key.hops + (100.0 if key.rate_mbps > 500 or key.frame_bytes in (750, 1500) else 0.0),
            "4 hops at 500, 1000 and 1250 bytes and up to 500 Mbit/s; whether 5 hold was not measured, and the prediction does not",
        ),
        (
            lambda key: 5.0 * key.hops + (100.0 if key.frame_bytes == 1500 and key.rate_mbps != 500 and key.hops == 4 else 0.0),
            "4 hops at 500, 750, 1000 and 1250 bytes and every rate, at 1500 bytes and 500 Mbit/s;",
        ),
    ],
)  # fmt: skip
def test_reach_in_words(delay, expected: str) -> None:  # type: ignore[no-untyped-def]
    assert expected in _budget(delays(delay)).statement


def test_one_hop_count_is_not_extrapolated() -> None:
    found = _budget(delays(store_and_forward, hops=[2], rate_scale=0.1))
    assert found.statement.startswith(
        "CPRI (100 µs at the 99th percentile, rates scaled by 0.1): 2 hops at every frame size and rate; whether 3"
    )


def test_every_chain_and_class_has_its_finding() -> None:
    found = _of(delays(store_and_forward, chains=["xpfe", "linux-bridge"], classes=["crosshaul", "ecpri"], frame_bytes=[500]), "budget")
    assert len(found) == 16
    assert len({(each.subject["device"], each.subject["class"]) for each in found}) == 16
    assert found[-1].statement.startswith("linux-bridge: eCPRI Low (100 ms at the 99th percentile): at least 4 hops")


def test_a_campaign_that_did_not_run_says_nothing() -> None:
    found = conclude(bare())
    assert {(each.criterion, each.verdict) for each in found} == {("budget", Verdict.ABORTED)}
    assert all(math.isnan(each.value) for each in found)


# ---- what is required


def _required(delay_us: float, **asked: object) -> Finding:
    [found] = _of(delays(lambda key: delay_us, require=[{"class": "cpri", "hops": 3, **asked}]), "required")
    return found


def test_what_is_required_and_holds_passes() -> None:
    found = _required(50.0)
    assert found.verdict is Verdict.PASS
    assert found.statement == (
        "CPRI over 3 hops is required at every frame size and rate (100 µs at the 99th percentile): the 99th percentile reaches "
        "55.00 ± 0.10 µs, at 2 hops, 500 bytes, 250 Mbit/s."
    )
    assert len(found.trials) == 30


def test_what_is_required_and_does_not_hold_fails_the_campaign() -> None:
    campaign = delays(lambda key: 96.0 if key.hops == 3 else 50.0, require=[{"class": "cpri", "hops": 3, "frame_bytes": [500]}])
    found = conclude(campaign)
    assert found[0].verdict is Verdict.FAIL
    assert found[0].value == pytest.approx(101.0)
    assert "at 500 bytes and every rate" in found[0].statement
    assert campaign_verdict(found, campaign.trials, {})[0] is Verdict.FAIL


def test_more_hops_than_required_may_fail() -> None:
    campaign = delays(lambda key: 200.0 if key.hops == 4 else 50.0, require=[{"class": "cpri", "hops": 3}])
    assert campaign_verdict(conclude(campaign), campaign.trials, {}) == (Verdict.PASS, "")


def test_what_is_not_settled_is_invalid() -> None:
    found = _required(95.05, rates_mbps=[250])
    assert found.verdict is Verdict.INVALID
    assert found.statement.endswith("That does not settle it: measure longer or repeat.")


def test_a_requirement_needs_all_its_points() -> None:
    def trial(key: Key, _repetition: int) -> Iterable[Measurement] | TrialResult:
        return INVALID if key == Key("xpfe", 3, 750, 500.0) else [number("delay.p99", 50.0, 1.0)]

    [found] = _of(ran(trial, require=[{"class": "cpri", "hops": 3}]), "required")
    assert found.verdict is Verdict.INVALID
    assert found.statement.endswith("No valid trial at 3 hops, 750 bytes, 500 Mbit/s (the host stalled).")


def test_loss_breaks_a_requirement() -> None:
    lossy = [number("delay.p99", 50.0, 1.0), number("loss", 0.05, 0.01, unit="1")]
    [found] = _of(ran(lambda *_: lossy, require=[{"class": "cpri", "hops": 2}]), "required")
    assert found.verdict is Verdict.FAIL
    assert "where 5 % of the frames were lost" in found.statement


# ---- remarks


def test_a_planted_delay_is_found_at_its_hop() -> None:
    [found] = _of(made_up(like="bench", planted=[{"hop": 2, "delay_us": 10.0}], frame_bytes=[500], rates_mbps=[250, 500]), "planted")
    assert (found.verdict, found.subject["hop"]) == (Verdict.PASS, "2")
    assert found.value == pytest.approx(10.0, abs=0.1)
    assert found.statement.startswith("10 µs are planted at hop 2: hop 2 takes 10")


def _links(hop_2_us: float) -> CampaignRecord:
    def trial(key: Key, _repetition: int) -> list[Measurement]:
        return [number("hop.excess.p50", hop_2_us if hop == 2 else 0.0, 0.1, hop=str(hop)) for hop in range(1, key.hops)]

    return ran(trial, planted=[{"hop": 2, "delay_us": 10.0}])


@pytest.mark.parametrize(
    ("found_us", "verdict"), [(9.2, Verdict.PASS), (8.5, Verdict.INVALID), (11.5, Verdict.INVALID), (0.0, Verdict.INVALID)]
)
def test_a_planted_delay_that_is_not_found_makes_the_analysis_invalid(found_us: float, verdict: Verdict) -> None:
    [found] = _of(_links(found_us), "planted")
    assert found.verdict is verdict


def test_a_hop_that_stands_out_is_said() -> None:
    def trial(key: Key, _repetition: int) -> list[Measurement]:
        return [number("hop.excess.p50", 7.0 if hop == 3 else 0.0, 0.1, hop=str(hop)) for hop in range(1, key.hops)]

    [found] = _of(ran(trial), "outstanding")
    assert (found.subject["hop"], found.value, found.verdict) == ("3", 7.0, Verdict.PASS)
    assert found.statement == "Hop 3 takes 7 ± 0 µs more than the others, behind its element."


def test_loss_is_counted_and_placed() -> None:
    def trial(key: Key, _repetition: int) -> list[Measurement]:
        counts = {"sent": 1000.0, "received": 998.0, "duplicates": 0.0, "reordered": 3.0}
        return [*(number(name, value, unit="1") for name, value in counts.items()), number("hop.lost", 2.0, unit="1", hop="2")]

    [found] = _of(ran(trial, hops=[3], frame_bytes=[500]), "loss")
    assert found.statement == "Of 3\u202f000 frames 6 were lost (hop 2: 6), none came twice, 9 out of order."
    assert found.value == pytest.approx(0.002)
    assert found.interval is not None
    assert found.interval.contains(0.002)


def test_what_the_delay_is_made_of_is_said() -> None:
    [found] = _of(delays(store_and_forward, rates_mbps=[250]), "decomposition")
    assert found.value == pytest.approx(3.0)
    assert found.detail["per_byte_ns"] == pytest.approx(12.0)
    assert "of which the link's serialisation is 8 ns" in found.statement


def test_points_that_the_decomposition_leaves_out_are_counted() -> None:
    [found] = _of(delays(lambda key: store_and_forward(key) + 500.0 * (key == Key("xpfe", 3, 500, 250.0))), "decomposition")
    assert found.statement.endswith("8 ns (without 1 point of 45 far off what all others agree on).")


def test_how_far_predictions_go_is_said() -> None:
    [sure] = _of(delays(store_and_forward), "prediction")
    [unsure] = _of(delays(store_and_forward, hops=[2, 3]), "prediction")
    assert (sure.value, sure.n) == (1.0, 45)
    assert "45 of 45 points" in sure.statement
    assert unsure.statement.endswith("The prediction cannot be checked: 2 hop counts were measured, 3 are needed.")
