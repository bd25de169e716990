import math

import pytest

from rackproof.model.verdict import Verdict
from testplans.xpfe_delay import published as paper
from testplans.xpfe_delay.budget import Holding, judge, reaches
from testplans.xpfe_delay.criteria import conclude
from testplans.xpfe_delay.decomposition import decompose
from testplans.xpfe_delay.prediction import check, model
from testplans.xpfe_delay.published import CHAIN, published
from testplans.xpfe_delay.view import Key

CPRI, OTHERS = published().plan.traffic_classes


def test_the_tables_are_all_there() -> None:
    seen = published()
    assert len(seen.points) == 45
    point = seen.points[Key(CHAIN, 4, 500, 500.0)]
    found = point.get("delay.p99")
    assert found is not None
    assert found.interval is not None
    assert (found.value, found.interval.low, found.interval.high) == (90.93, 90.57, 91.61)
    assert [each.name for record in point.valid if record.result for each in record.result.measurements] == [
        "delay.mean", "delay.p1", "delay.p99",
    ]  # fmt: skip


def test_an_end_that_is_illegible_is_not_known() -> None:
    found = published().points[Key(CHAIN, 3, 750, 500.0)].get("delay.p99")
    assert found is not None
    assert found.interval is not None
    assert math.isnan(found.interval.low)
    assert found.interval.high == 81.88


def test_at_four_hops_cpri_holds_as_the_paper_says() -> None:
    seen = published()
    held = {
        (point.key.frame_bytes, point.key.rate_mbps)
        for point in seen.of(CHAIN)
        if point.key.hops == 4 and judge(seen, point, CPRI) is Holding.HOLDS
    }
    assert held == {(500, 250.0), (500, 500.0)}


def test_other_classes_always_hold() -> None:
    seen = published()
    assert {judge(seen, point, OTHERS) for point in seen.of(CHAIN)} == {Holding.HOLDS}


def test_nothing_published_is_undecided_for_cpri() -> None:
    seen = published()
    assert Holding.UNDECIDED not in {judge(seen, point, CPRI) for point in seen.of(CHAIN)}


def test_the_finding_says_what_the_paper_says() -> None:
    first, second, *_ = conclude(paper.campaign())
    assert (first.criterion, first.verdict, first.value) == ("budget", Verdict.PASS, 4.0)
    assert first.subject == {"device": CHAIN, "class": "cpri"}
    assert first.statement.startswith(
        "CPRI (100 µs at the 99th percentile): at most 4 hops at 500 bytes and up to 500 Mbit/s; 5 are predicted"
    )
    assert "90.9 (90.6 to 91.6) µs" in first.statement
    assert second.statement.startswith(
        "Other functional splits (1 ms at the 99th percentile): at least 4 hops at every frame size and rate"
    )
    assert not [finding for finding in conclude(paper.campaign()) if finding.criterion == "loss"]


def test_store_and_forward_takes_at_least_what_the_wire_does() -> None:
    # 1 Gbit/s is 8 ns for a byte; the paper's PCs copy each frame over their bus twice as well.
    found = decompose(published(), CHAIN)
    assert found is not None
    per_byte, fixed, left = found.per_byte(), found.fixed(), found.element_per_byte()
    assert per_byte is not None
    assert fixed is not None
    assert left is not None
    assert per_byte.interval is not None
    assert found.link_ns == pytest.approx(8.0)
    assert per_byte.interval.low > 8.0
    assert 16 < per_byte.value < 22
    assert left.value == pytest.approx(per_byte.value - 8.0)
    assert 10 < fixed.value < 16


def test_hop_counts_that_are_left_out_are_predicted() -> None:
    # What came out, kept here so that it is seen when it changes: the intervals are rather wide than narrow.
    means, high = check(published(), CHAIN, "delay.mean"), check(published(), CHAIN, "delay.p99")
    assert (means.within, len(means.points)) == (44, 45)
    assert (high.within, len(high.points)) == (45, 45)
    assert high.error == pytest.approx(1.2, abs=0.01)
    sure = model(published(), CHAIN, "delay.p99")
    assert sure is not None
    assert sure.aside == ()


def test_five_hops_are_predicted_to_be_too_many_for_cpri() -> None:
    found = model(published(), CHAIN, "delay.p99")
    assert found is not None
    five = found.at(5, 500, 250.0)
    assert five is not None
    assert five.interval is not None
    assert five.interval.low > 100
    assert all(reach.predicted.get(5) in (None, Holding.FAILS) for reach in reaches(published(), CHAIN, CPRI))
