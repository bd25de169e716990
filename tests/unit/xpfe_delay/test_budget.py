import math
from typing import Any

import pytest

from rackproof.model.measurement import Interval, Measurement
from testplans.xpfe_delay.budget import HOPS_MAX, Holding, Reach, holds, judge, reaches
from testplans.xpfe_delay.classes import SETS, TrafficClass
from testplans.xpfe_delay.decomposition import decompose
from testplans.xpfe_delay.view import Key, view
from testplans.xpfe_delay.waterfall import Part, waterfall
from tests.unit.xpfe_delay.campaigns import made_up
from tests.unit.xpfe_delay.chains import delays, number, ran, store_and_forward

CPRI, OTHERS = SETS["crosshaul"]
ONE = Key("xpfe", 2, 500, 250.0)
SMALL: dict[str, Any] = {"hops": [2], "frame_bytes": [500], "rates_mbps": [250]}


def _delay(low: float, high: float) -> Measurement:
    return Measurement(name="delay.p99", unit="us", value=100.0, n=1, interval=Interval(low=low, high=high, method="made up"))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (90, 100, Holding.HOLDS),
        (99, 101, Holding.UNDECIDED),
        (100, 101, Holding.UNDECIDED),
        (101, 102, Holding.FAILS),
        (math.nan, 99, Holding.HOLDS),
        (math.nan, 101, Holding.UNDECIDED),
        (101, math.nan, Holding.FAILS),
        (99, math.nan, Holding.UNDECIDED),
    ],
)
def test_a_budget_is_judged_by_the_end_of_the_interval_that_decides(low: float, high: float, expected: Holding) -> None:
    assert holds(_delay(low, high), 100.0) is expected


def test_nothing_is_judged_without_an_interval() -> None:
    assert holds(None, 100.0) is Holding.UNDECIDED
    assert holds(number("delay.p99", 50.0), 100.0) is Holding.UNDECIDED


@pytest.mark.parametrize(
    ("lost", "half", "expected"),
    [
        (0.0, 0.02, Holding.HOLDS),
        (0.005, 0.002, Holding.HOLDS),
        (0.008, 0.004, Holding.UNDECIDED),
        (0.02, 0.004, Holding.FAILS),
    ],
)
def test_lost_frames_count_as_late(lost: float, half: float, expected: Holding) -> None:
    seen = view(ran(lambda *_: [number("delay.p99", 50.0, 1.0), number("loss", lost, half, unit="1")], **SMALL))
    assert judge(seen, seen.points[ONE], CPRI) is expected


def _reach(found: tuple[Reach, ...], size: int, rate: float) -> Reach:
    return next(reach for reach in found if (reach.frame_bytes, reach.rate_mbps) == (size, rate))


def test_the_largest_measured_number_of_hops_is_found_for_each_size_and_rate() -> None:
    found = reaches(view(delays(store_and_forward)), "xpfe", CPRI)
    assert len(found) == 15
    # 10 us at the ends and for the percentile; a hop takes 9, 21 and 27 us.
    assert {hops: str(each) for hops, each in _reach(found, 1500, 750.0).measured.items()} == {
        2: "holds", 3: "holds", 4: "does not hold",
    }  # fmt: skip
    assert _reach(found, 1500, 750.0).hops == 3
    assert _reach(found, 1500, 750.0).predicted == {}


def test_beyond_what_was_measured_it_is_predicted() -> None:
    found = reaches(view(delays(store_and_forward)), "xpfe", CPRI)
    near, far = _reach(found, 1500, 250.0), _reach(found, 500, 250.0)
    assert (near.hops, near.predicted_hops, far.hops) == (4, 0, 4)
    assert near.predicted[5] is Holding.FAILS
    # 10 hops take 100 us exactly: that is not certain.
    assert far.predicted_hops == 9
    assert far.predicted[10] is Holding.UNDECIDED
    assert list(far.predicted.values())[-1] is Holding.FAILS


def test_predictions_end_somewhere() -> None:
    wide = TrafficClass(name="wide", title="Wide", budget_us=1e9)
    found = reaches(view(delays(store_and_forward)), "xpfe", wide)
    assert {reach.predicted_hops for reach in found} == {HOPS_MAX}


def test_a_hop_count_behind_one_that_does_not_hold_does_not_count() -> None:
    seen = view(delays(lambda key: {2: 50.0, 3: 150.0, 4: 60.0}[key.hops], frame_bytes=[500], rates_mbps=[250]))
    [found] = reaches(seen, "xpfe", CPRI)
    assert found.hops == 2


def test_the_waterfall_of_measured_hops_adds_up_to_the_budget() -> None:
    seen = view(made_up(like="bench", planted=[{"hop": 2, "delay_us": 10.0}], frame_bytes=[1000], rates_mbps=[500]))
    point = seen.points[Key("xpfe", 4, 1000, 500.0)]
    found = waterfall(seen, point, CPRI, decompose(seen, "xpfe"))
    assert found is not None
    assert found.measured
    assert sum(step.us for step in found.steps) == pytest.approx(100.0)
    assert found.steps[-1].part is Part.LEFT
    assert found.steps[-1].before_us == pytest.approx(100.0 - found.left_us)
    assert found.total(Part.EXCESS) == pytest.approx(10.06, abs=0.01)
    assert found.total(Part.SERIALISATION) == pytest.approx(3 * 1042 * 0.008)
    assert abs(found.total(Part.ENDS)) < 0.1
    assert [step.hop for step in found.steps if step.part is Part.ELEMENT] == [1, 2, 3, 4]


def test_without_records_the_waterfall_follows_from_the_sweep() -> None:
    seen = view(delays(store_and_forward))
    point = seen.points[Key("xpfe", 3, 1000, 750.0)]
    found = waterfall(seen, point, CPRI, decompose(seen, "xpfe"))
    assert found is not None
    assert not found.measured
    assert sum(step.us for step in found.steps) == pytest.approx(100.0)
    assert found.total(Part.SERIALISATION) == pytest.approx(3 * 1042 * 0.008)
    assert found.total(Part.ELEMENT) == pytest.approx(3 * 15.0 - 3 * 1042 * 0.008)
    assert found.total(Part.QUEUEING) == pytest.approx(18.0)
    assert found.total(Part.ENDS) == pytest.approx(5.0)
    assert found.total(Part.SPREAD) == pytest.approx(5.0)
    assert found.left_us == pytest.approx(27.0)


def test_a_budget_may_be_overdrawn() -> None:
    seen = view(delays(lambda key: 150.0, **SMALL))
    found = waterfall(seen, seen.points[ONE], CPRI, None)
    assert found is not None
    assert found.left_us == pytest.approx(-55.0)


def test_without_numbers_there_is_no_waterfall() -> None:
    seen = view(ran(lambda *_: None, **SMALL))
    assert waterfall(seen, seen.points[ONE], CPRI, None) is None
