"""Charts of a campaign: what is compared within one chart, and in which colours."""

from collections.abc import Mapping
from typing import Any

from rackproof.model.measurement import Curve
from rackproof.model.verdict import Verdict
from rackproof.palette import scheme_place
from rackproof.store.pages_campaigns import Point, Quantity
from web.charts import curves, panels, timelines
from web.points import axes

THROUGHPUT = Quantity(name="throughput", unit="Mbit/s", of="")


def point(trial: int, at: Mapping[str, Any], value: float, **of: str) -> Point:
    return Point(trial=trial, point=at, verdict=Verdict.PASS, subject=of, unit="Mbit/s", value=value, low=None, high=None, n=10)


def test_schemes_are_compared_in_one_chart_each_in_its_colour() -> None:
    sweep = [{"scheme": name} for name in ("cubic", "bbr", "cubic", "bbr")]
    found = panels(THROUGHPUT, [point(index, at, 30.0 + index) for index, at in enumerate(sweep)], sweep)
    (panel,) = found["panels"]
    assert [(one["label"], one["colour"]) for one in panel["series"]] == [
        (name, f"scheme-{scheme_place(name)}") for name in ("cubic", "bbr")
    ]
    assert [[one["y"] for one in series["points"]] for series in panel["series"]] == [[30.0, 32.0], [31.0, 33.0]]
    assert found["x"]["name"] == "trial"


def test_a_flow_of_a_scheme_is_named_with_it_and_has_no_colour_of_its_own() -> None:
    sweep: list[dict[str, Any]] = [{"scheme": "cubic"}, {"scheme": "bbr"}]
    of_flows = Quantity(name="throughput", unit="Mbit/s", of="flow")
    found = panels(of_flows, [point(0, sweep[0], 1.0, flow="1"), point(1, sweep[1], 2.0, flow="1")], sweep)
    assert [(one["label"], one["colour"]) for one in found["panels"][0]["series"]] == [("cubic, flow 1", None), ("bbr, flow 1", None)]


def test_devices_have_a_chart_each_and_queues_their_colours() -> None:
    sweep = [{"device": name, "load_mbps": load} for name in ("a", "b") for load in (10, 20)]
    found = panels(THROUGHPUT, [point(index, at, 1.0, queue="9") for index, at in enumerate(sweep)], sweep)
    assert [panel["title"] for panel in found["panels"]] == ["a", "b"]
    assert [one["colour"] for panel in found["panels"] for one in panel["series"]] == ["queue-1", "queue-1"]


def curve(name: str, **of: str) -> Curve:
    return Curve(
        name=name, x_name="delay", x_unit="us", y_name="density", y_unit="1/us", x=(1.0, 2.0), y=(0.5, float("inf")), n=10, subject=of
    )


def test_fits_are_drawn_over_their_histogram_and_all_but_the_best_wait_to_be_asked_for() -> None:
    found = curves(
        [curve("histogram"), *(curve("fit", distribution=name) for name in ("mixture-2", "gaussian")), curve("delta-q", hop="1")]
    )
    assert [(one["name"], one["n"]) for one in found] == [("histogram", 10), ("delta-q", 10)]
    series = [(one["label"], one["bars"], one["off"]) for one in found[0]["series"]]
    assert series == [("measured", True, False), ("mixture-2", False, False), ("gaussian", False, True)]
    assert found[0]["x"] == {"name": "delay", "unit": "µs"}
    assert found[0]["series"][0]["points"] == [[1.0, 0.5]]


def test_a_fit_without_a_histogram_has_a_chart_of_its_own() -> None:
    assert [one["name"] for one in curves([curve("fit", distribution="gaussian")])] == ["fit"]


def line(name: str, y_name: str, x: tuple[float, ...], flap: str = "1") -> Curve:
    return Curve(
        name=f"timeline.{name}", x_name="time", x_unit="s", y_name=y_name, y_unit="us" if "delay" in name else "1", x=x,
        y=tuple(2 * at for at in x), n=len(x), subject={"flap": flap},
    )  # fmt: skip


def test_timelines_are_strips_over_one_axis_and_no_charts_of_their_own() -> None:
    found = [
        line("sent", "messages", (-0.5, 0.0, 1.0)),
        line("received", "messages", (-0.5, 0.0, 1.0)),
        line("delay", "mean delay", (0.25, 0.75)),
        line("delay.p99", "99th percentile of the delay", (0.75,)),
        line("sent", "messages", (0.0, 1.0), flap="2"),
    ]
    assert curves(found) == []
    first, second = timelines(found)
    assert (first["of"], first["from"], first["to"], second["of"]) == ("flap 1", -0.5, 1.0, "flap 2")
    assert [(strip["y"]["name"], [one["label"] for one in strip["series"]]) for strip in first["strips"]] == [
        ("messages", ["sent", "received"]),
        ("mean delay", ["delay", "delay p99"]),
    ]
    # Each strip spans the whole timeline, also where it has no value at its ends.
    delays = first["strips"][1]
    assert delays["at"] == [-0.5, 0.25, 0.75, 1.0]
    assert [one["values"] for one in delays["series"]] == [[None, 0.5, 1.5, None], [None, None, 1.5, None]]


def test_what_is_at_best_as_many_as_were_asked_for_is_held_against_that() -> None:
    sweep = [{"network": "a", "flapped": flapped} for flapped in (100, 200)]
    of_flaps = Quantity(name="flap.k", unit="1", of="flap")
    points = [point(index, at, 90.0, flap="1") for index, at in enumerate(sweep)]
    assert panels(of_flaps, points, sweep)["at_best"]
    assert not panels(THROUGHPUT, points, sweep)["at_best"]


def test_a_number_that_goes_along_with_the_one_across_makes_no_chart_of_its_own() -> None:
    as_many = [{"test": "2.1", "stable": each, "flapped": each} for each in (100, 200, 300)]
    assert (axes(as_many).across, axes(as_many).down) == ("flapped", ())
    with_others = [*as_many, *({"test": "1.1", "stable": 100, "flapped": each} for each in (100, 200, 300, 400))]
    assert (axes(with_others).across, axes(with_others).down) == ("flapped", ("test",))
    crossed = [{"hops": hops, "frame_bytes": size} for hops in (2, 3) for size in (500, 1000, 1500)]
    assert (axes(crossed).across, axes(crossed).down) == ("frame_bytes", ("hops",))
