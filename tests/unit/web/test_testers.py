"""Is tester disagreement told where two generators ran the same plan on the same devices, and nowhere else?"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rackproof.store.pages_compare import Reading
from web.comparing import Comparison, compare
from web.testers import Ran, disagreements

NATIVE = Ran(plan_sha256="a", tester="here: native engine", devices=("sw-1",), delay_floor_us=3.0)
TREX = replace(NATIVE, tester="trex-1: TRex 3.08", delay_floor_us=110.0)


def side_by_side(*values: Sequence[float]) -> Comparison:
    """One campaign each, whose values are those of a sweep, plus or minus 1."""
    readings = {
        campaign: [
            Reading(
                point={"load_mbps": 10 * place},
                subject={"queue": "0"},
                values=[value],
                n=100,
                lows=[value - 1],
                highs=[value + 1],
                confidence=0.95,
                method="batch means",
            )
            for place, value in enumerate(of, start=1)
        ]
        for campaign, of in enumerate(values, start=1)
    }
    return compare(readings, None)


def test_the_differences_have_intervals_and_the_farthest_comes_first() -> None:
    (found,) = disagreements(side_by_side([10, 20, 30], [11, 23, 35]), {1: NATIVE, 2: TREX})
    assert (found.campaigns, found.testers, found.devices) == ((1, 2), (NATIVE.tester, TREX.tester), ("sw-1",))
    assert (found.compared, found.differing_all) == (3, 2)
    assert found.by_chance == pytest.approx(0.15)
    assert [(each.row.x, each.value) for each in found.differing] == [(30, 5), (20, 3)]
    # Two half widths of 1 make one of the square root of 2: 10 and 11 do not disagree.
    assert found.differing[0].interval.half_width == pytest.approx(2**0.5)
    assert found.differing[0].share == pytest.approx(5 / 30)
    assert found.share_max == pytest.approx(5 / 30)
    assert found.delay_floors_us == (3.0, 110.0)


@pytest.mark.parametrize(
    "other",
    [
        NATIVE,
        replace(TREX, plan_sha256="b"),
        replace(TREX, devices=("sw-2",)),
        replace(TREX, tester=""),
    ],
    ids=["same tester", "another plan", "another device", "unknown tester"],
)
def test_it_is_said_of_nothing_else(other: Ran) -> None:
    assert disagreements(side_by_side([10], [20]), {1: NATIVE, 2: other}) == []


def test_each_other_tester_is_held_against_the_first() -> None:
    third = replace(TREX, tester="otg-1: Ixia-c")
    found = disagreements(side_by_side([10], [20], [10.5]), {1: NATIVE, 2: TREX, 3: third})
    assert [(one.campaigns, one.differing_all) for one in found] == [((1, 2), 1), ((1, 3), 0)]


def test_what_a_campaign_wrote_down_says_who_tested_what() -> None:
    provenance = {
        "Testbed": {"name": "lab1", "generator": "here: native engine 0.1"},
        "dut": {"name in the rack": "sw-1", "model": "x"},
        "Host": {"name": "h"},
    }
    ran = Ran.of("a", provenance, None)
    assert ran == Ran(plan_sha256="a", tester="here: native engine 0.1", devices=("sw-1",), delay_floor_us=None)
    assert Ran.of("a", {}, None).tester == ""
