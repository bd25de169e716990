"""Charts of a campaign: what is compared within one chart, and in which colours."""

from collections.abc import Mapping
from typing import Any

from rackproof.model.measurement import Curve
from rackproof.model.verdict import Verdict
from rackproof.palette import scheme_place
from rackproof.store.pages_campaigns import Point, Quantity
from web.charts import curves, panels

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
