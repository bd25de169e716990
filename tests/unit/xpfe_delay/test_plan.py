"""What may a plan of the kind xpfe-delay ask for, and how is the rest refused?"""

from pathlib import Path
from typing import Any

import pytest

from rackproof.errors import PlanError
from rackproof.planfile import parse_plan, read_plan, validate
from testplans.xpfe_delay import classes
from testplans.xpfe_delay.parts import Forwarding
from testplans.xpfe_delay.plan import XpfeDelayPlan, percentile_name
from tests.unit.xpfe_delay.records import plan

FOLDER = Path(classes.__file__).parent
HEAD = "kind: xpfe-delay\nname: x\n"


def refused(text: str) -> str:
    with pytest.raises(PlanError) as caught:
        validate(XpfeDelayPlan, parse_plan((HEAD + text).encode(), "plan.yaml"))
    return str(caught.value)


@pytest.mark.parametrize("name", ["paper", "paper_bench", "demo", "hardware"])
def test_ready_plans_are_plans_and_outlive_the_database(name: str) -> None:
    found = validate(XpfeDelayPlan, read_plan(FOLDER / f"{name}.yaml"))
    assert XpfeDelayPlan.model_validate(found.model_dump(mode="json")) == found


def test_the_papers_campaign_has_its_45_points() -> None:
    for name in ("paper", "paper_bench"):
        found = validate(XpfeDelayPlan, read_plan(FOLDER / f"{name}.yaml"))
        assert (found.hops, found.frame_bytes, found.rates_mbps) == ((2, 3, 4), (500, 750, 1000, 1250, 1500), (250, 500, 750))
        assert (found.link.rate_mbps, found.arrivals) == (1000, "constant")


def test_a_name_stands_for_a_chain_of_that_model() -> None:
    found = plan(chains=["xpfe", "linux-bridge", {"name": "ovs", "model": "openvswitch"}, {"name": "rack", "devices": ["a", "b", "c"]}])
    assert [(each.spec(2).name, each.spec(2).model, each.forwarding) for each in found.chains] == [
        ("xpfe-2", "xpfe", Forwarding.MAC_IN_MAC),
        ("linux-bridge-2", "linux-bridge", Forwarding.PLAIN),
        ("ovs-2", "openvswitch", Forwarding.PLAIN),
        ("rack-2", "b", Forwarding.MAC_IN_MAC),
    ]
    assert [each.overhead_bytes for each in found.chains] == [22, 0, 0, 22]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("chains: []", "chains: expected at least one"),
        ("chains: [xpfe, xpfe]", "expected names that differ, found xpfe again"),
        ("chains: [xpfe]\nhops: [3, 2]", "hops[1]: expected ascending values: more than 3, found 2"),
        ("chains: [xpfe]\nhops: [9]", "hops[0]"),
        ("chains: [xpfe]\nframe_bytes: [2000]", "frame_bytes[0]"),
        ("chains: [xpfe]\nrates_mbps: [250, 990]", "rates_mbps[1]: expected at most what a link of 1000 Mbit/s (layer 1) takes"),
        ("chains: [xpfe]\nclasses: [cpri]", "expected a set of classes (crosshaul, 802.1cm, ecpri) or a name with a budget_us, found cpri"),
        ("chains: [xpfe]\nclasses: [crosshaul, {name: cpri, budget_us: 90}]", "classes[1]: expected names that differ, found cpri again"),
        (
            "chains: [xpfe]\nrequire: [{class: high, hops: 2}]",
            "require[0].class: expected a class of the plan (cpri, other-splits), found high",
        ),
        ("chains: [xpfe]\nrequire: [{class: cpri, hops: 5}]", "require[0].hops: expected what the plan measures (2, 3, 4), found 5"),
        ("chains: [xpfe]\nrequire: [{class: cpri, hop: 4}]", "hops"),
        ("chains: [xpfe]\nplanted: [{hop: 4, delay_us: 10}]", "planted[0].hop: expected a link between two elements: at most hop 3"),
        ("chains: [xpfe]\ntestbed: lab1\nplanted: [{hop: 1, delay_us: 10}]", "only the bench can plant them"),
        ("chains: [{name: r, devices: [a, b]}]", "chains[0].devices: expected 4 devices, as many as hops, found 2"),
        ("chains: [linux-bridge]\nbackground: {per_hop_mbps: 10}", "linux-bridge forwards plainly, and floods"),
        ("chains: [xpfe]\nrate_scale: 0", "rate_scale"),
    ],
)
def test_refusals_say_where_and_why(text: str, said: str) -> None:
    assert said in " ".join(refused(text).split())


def test_every_budget_has_a_source_and_every_name_is_there_once() -> None:
    found = [each for group in classes.SETS.values() for each in group]
    assert all(each.source and each.budget_us > 0 for each in found)
    assert len({each.name for each in found}) == len(found)
    assert [each.budget_us for each in classes.SETS["crosshaul"]] == [100, 1000]


def test_classes_are_those_of_the_sets_and_the_plans_own() -> None:
    entries: list[Any] = ["crosshaul", {"name": "mine", "budget_us": 40, "title": "My own"}]
    assert [(each.name, each.title, each.budget_us) for each in classes.resolve(entries)] == [
        ("cpri", "CPRI", 100),
        ("other-splits", "Other functional splits", 1000),
        ("mine", "My own", 40),
    ]
    assert plan(classes=entries).traffic_classes == classes.resolve(entries)


def test_percentiles_of_the_verdict_are_measured_whatever_the_plan_lists() -> None:
    assert plan(percentiles=[10], verdict={"percentile": 99.9}).all_percentiles == (1, 10, 50, 99, 99.9)
    assert percentile_name(99.9) == "p99_9"


def test_scaled_rates_keep_their_names() -> None:
    found = plan(rates_mbps=[750], frame_bytes=[500], rate_scale=0.4)
    assert found.offered_mbps(750) == pytest.approx(300)
    assert found.fps(750, 500) == pytest.approx(75_000)
