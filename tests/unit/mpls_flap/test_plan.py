"""What may a plan of the kind mpls-flap ask for, and how is the rest refused?"""

import pytest

from rackproof.errors import PlanError
from rackproof.planfile import parse_plan, read_plan, validate
from rackproof.units import Layer
from testplans.mpls_flap.parts import Shape
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.registry import kind, ready_plans
from tests.unit.mpls_flap.plans import plan

HEAD = "kind: mpls-flap\nname: x\n"
NETWORKS = "networks: [soft-lsr]\n"
TESTS = "tests: [{name: a, stable: 100, flapped: [100], frame_bytes: 64, rate_mbps: 500}]\n"
READY = {path.stem: path for path in ready_plans(kind("mpls-flap"))}


def refused(text: str) -> str:
    with pytest.raises(PlanError) as caught:
        validate(MplsFlapPlan, parse_plan((HEAD + text).encode(), "plan.yaml"))
    return " ".join(str(caught.value).split())


@pytest.mark.parametrize("name", ["paper", "paper_bench", "demo", "defects", "hardware"])
def test_ready_plans_are_plans_and_outlive_the_database(name: str) -> None:
    found = validate(MplsFlapPlan, read_plan(READY[name]))
    assert MplsFlapPlan.model_validate(found.model_dump(mode="json")) == found


@pytest.mark.parametrize("name", ["paper", "paper_bench", "hardware"])
def test_the_papers_twelve_tests_are_those_of_its_tables(name: str) -> None:
    found = validate(MplsFlapPlan, read_plan(READY[name]))
    assert [(test.name, test.frame_bytes, found.rate_mbps(test)) for test in found.tests] == [
        *(("1.1", 64, 500), ("1.2", 512, 500), ("1.3", 1500, 500), ("2.1", 64, 500), ("2.2", 512, 500), ("2.3", 1500, 500)),
        *(("3.1", 64, 761.9), ("3.2", 512, 900), ("3.3", 1500, 900), ("4.1", 64, 761.9), ("4.2", 512, 900), ("4.3", 1500, 900)),
    ]
    for test in found.tests:
        stable = [test.stable_of(flapped) for flapped in test.sweep]
        if test.name[0] in "13":
            assert (test.sweep, stable) == (tuple(range(100, 901, 100)), [100] * 9)
        else:
            assert (test.sweep, tuple(stable)) == (tuple(range(100, 501, 50)),) * 2
    assert (found.phases.prior_s, found.phases.windows_s, found.link.rate_mbps) == (10, (5, 2), 1000)


def test_a_name_stands_for_one_router_of_that_model() -> None:
    chain = {"name": "row", "model": "soft-lsr", "shape": "chain"}
    rack = {"name": "rack", "shape": "ring", "devices": ["a", "b", "c", "d"]}
    found = plan(networks=["soft-lsr", chain, rack])
    assert [(each.shape, each.routers) for each in found.networks] == [(Shape.ROUTER, 1), (Shape.CHAIN, 3), (Shape.RING, 4)]
    assert [(each.spec(1).name, each.spec(1).model) for each in found.networks] == [
        ("soft-lsr", "soft-lsr"),
        ("row-1", "soft-lsr"),
        ("rack-1", "a"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("networks: []\n" + TESTS, "networks: expected at least one"),
        ("networks: [a, a]\n" + TESTS, "expected names that differ, found a again"),
        ("networks: [{name: a, shape: chain, routers: 2}, a-1]\n" + TESTS, "expected routers with names that differ, found a-1 twice"),
        ("networks: [{name: a, routers: 2}]\n" + TESTS, "networks[0].routers: expected 1, or the shape chain or ring, found 2"),
        ("networks: [{name: a, shape: ring, routers: 2}]\n" + TESTS, "networks[0].routers: expected at least 3 in a ring, found 2"),
        ("networks: [{name: a, shape: chain, routers: 9}]\n" + TESTS, "networks[0].routers"),
        ("networks: [{name: a, shape: chain, routers: 2, devices: [b]}]\n" + TESTS, "expected 2 devices, as many as routers, found 1"),
        (NETWORKS + "tests: []", "tests: expected at least one"),
        (NETWORKS + TESTS.replace("[100]", "[200, 100]"), "tests[0].flapped[1]: expected ascending values: more than 200, found 100"),
        (NETWORKS + TESTS.replace("[100]", "[]"), "tests[0].flapped: expected at least one number of LSPs"),
        (NETWORKS + TESTS + "phases: {windows_s: []}", "phases.windows_s"),
        (
            NETWORKS + TESTS + "signalling: {labels: implicit-null}",
            "tests[0].frame_bytes: expected at least 78 bytes: with implicit-null frames come without a label",
        ),
        (
            NETWORKS + TESTS.replace("[100]", "[20000]") + "signalling: {by: configuration}",
            "tests[0].flapped: expected at most 10000 LSPs in all by configuration, found 20100",
        ),
        (NETWORKS + TESTS + "expect: [{device: b, criteria: [loss]}]", "expect[0].device: expected a network of the plan (soft-lsr)"),
        (
            NETWORKS + TESTS + "expect: [{device: soft-lsr, criteria: [los]}]",
            "expect[0].criteria[0]: expected a criterion (separation, loss",
        ),
        (NETWORKS + TESTS + "margins: {delay: 5}", "expected delay_us"),
        (NETWORKS + TESTS + "rate_scale: 0", "rate_scale"),
    ],
)
def test_refusals_say_where_and_why(text: str, said: str) -> None:
    assert said in refused(text)


def test_preamble_and_gap_bound_the_rate() -> None:
    found = plan(
        tests=[{"name": "3.1", "stable": "same", "flapped": {"from": 100, "to": 110, "step": 5}, "frame_bytes": 64, "rate_mbps": 900}]
    )
    (test,) = found.tests
    assert (found.rate_mbps(test), test.sweep, test.stable_of(105)) == (761.9, (100, 105, 110), 105)
    assert 0.9999 < found.bits_per_second(test, Layer.L1) / 1e9 <= 1
    scaled = found.model_copy(update={"rate_scale": 0.1})
    assert (scaled.rate_mbps(test), scaled.offered_mbps(test), scaled.fps(test)) == pytest.approx((761.9, 76.19, 148_808.6))
