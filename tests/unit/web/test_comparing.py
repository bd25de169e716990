"""Are the same points put beside each other, pooled as they should be, and told apart only where their intervals do not meet?"""

from collections.abc import Sequence
from typing import Any

from rackproof.store.pages_compare import Reading
from web.comparing import compare, differences, flat
from web.small_charts import HEIGHT, WIDTH, charts


def reading(value: float, half: float | None = 1.0, *, device: str = "a", load: float = 10, queue: str = "0") -> Reading:
    ends = (None, None) if half is None else (value - half, value + half)
    point = {"device": device, "discipline": "strict-priority", "scheduler": "SP", "load_mbps": load}
    return Reading(
        point=point,
        subject={"queue": queue},
        values=[value],
        n=100,
        lows=ends[:1],
        highs=ends[1:],
        confidence=0.95,
        method="batch means",
    )


def values(found: Any) -> list[list[float | None]]:
    return [[None if cell is None else cell.value for cell in row.cells] for row in found.rows]


def test_two_campaigns_stand_beside_each_other_point_by_point() -> None:
    found = compare({1: [reading(10), reading(20, load=20)], 2: [reading(11.5), reading(26, load=20)]}, None)
    assert [column.label for column in found.columns] == ["1", "2"]
    assert found.x_name == "load_mbps"
    assert [row.x for row in found.rows] == [10, 20]
    assert values(found) == [[10, 11.5], [20, 26]]
    assert [row.cells[1].differs for row in found.rows if row.cells[1]] == [False, True]
    assert found.rows[1].cells[1] is not None
    assert found.rows[1].cells[1].change == 0.3
    assert (found.matched, found.differing) == (2, 1)


def test_the_devices_of_one_campaign_stand_beside_each_other() -> None:
    found = compare({7: [reading(10), reading(12, device="b")]}, None)
    assert (found.by, [column.label for column in found.columns]) == ("device", ["a", "b"])
    assert values(found) == [[10, 12]]


def test_campaigns_of_different_devices_are_compared_by_device() -> None:
    found = compare({1: [reading(10)], 2: [reading(12, device="b")]}, None)
    assert found.by == "device"
    assert [column.label for column in found.columns] == ["1, a", "2, b"]
    assert values(found) == [[10, 12]]
    assert values(compare({1: [reading(10)], 2: [reading(12, device="b")]}, "")) == [[10, None], [None, 12]]


def test_repetitions_are_one_number_with_its_own_interval() -> None:
    several = [reading(value) for value in (9.0, 10.0, 11.0, 10.0)]
    cell = compare({1: several}, "").rows[0].cells[0]
    assert cell is not None
    assert (cell.value, cell.repetitions, cell.n) == (10.0, 4, 400)
    assert cell.interval is not None
    assert cell.interval.method == "Student's t over 4 repetitions"


def test_what_has_no_interval_or_no_end_is_never_said_to_differ() -> None:
    found = compare({1: [reading(1, None)], 2: [reading(99)], 3: [reading(float("inf"), None)]}, None)
    assert [cell.differs for cell in found.rows[0].cells if cell] == [False, False, False]
    assert found.rows[0].cells[2] is not None
    assert found.rows[0].cells[2].change is None


def test_nothing_to_compare_is_no_error() -> None:
    assert compare({}, None).rows == ()
    assert compare({1: []}, None).rows == ()
    assert charts(compare({1: []}, None), "Mbit/s") == []


def _sweep(factor: float, loads: Sequence[float] = (10, 20, 40)) -> list[Reading]:
    return [reading(load * factor, load=load, queue=queue) for load in loads for queue in ("0", "3")]


def test_a_chart_holds_all_its_points() -> None:
    drawn = charts(compare({1: _sweep(1), 2: _sweep(1000)}, None), "us")
    assert [(chart.title, chart.colour) for chart in drawn] == [("queue 0", "queue-0"), ("queue 3", "queue-3")]
    assert all(chart.logarithmic for chart in drawn)
    marks = [mark for chart in drawn for series in chart.series for mark in series.marks]
    assert len(marks) == 12
    for mark in marks:
        assert all(0 <= at <= WIDTH for at in (mark.x,))
        assert all(0 <= at <= HEIGHT for at in (mark.y, mark.low, mark.high) if at is not None)


def test_a_chart_of_nothing_but_zero_or_infinity_is_drawn() -> None:
    infinite = [reading(float("inf"), None, load=load) for load in (10, 20)]
    zero = [reading(0, 0.0, load=load) for load in (10, 20)]
    (chart,) = charts(compare({1: infinite, 2: zero}, None), "us")
    assert [series.label for series in chart.series] == ["2"]


def test_what_differs_is_found_in_nested_data() -> None:
    one = flat({"a": {"b": [1, 2]}, "devices": [{"name": "x"}], "same": 1, "empty": {}})
    other = flat({"a": {"b": [1, 3]}, "devices": [{"name": "x"}, {"name": "y"}], "same": 1, "empty": {}})
    assert differences([one, other]) == [("a.b", ("[1, 2]", "[1, 3]"), True), ("devices[1].name", (None, "y"), True)]
    assert len(differences([one, other], all_of_them=True)) == 5
