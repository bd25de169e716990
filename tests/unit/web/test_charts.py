"""Charts of a campaign: what is compared within one chart, and in which colours."""

from collections.abc import Mapping
from typing import Any

from rackproof.model.verdict import Verdict
from rackproof.palette import scheme_place
from rackproof.store.pages_campaigns import Point, Quantity
from web.charts import panels

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
