"""Findings over made-up devices: each defect is found and named, and nothing else is called wrong."""

from dataclasses import replace
from functools import cache

import pytest

from rackproof.model.campaign import CampaignRecord
from rackproof.model.finding import Finding
from rackproof.model.measurement import Measurement
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from testplans.mpls_flap.criteria import conclude
from testplans.mpls_flap.limits import CRITERIA
from testplans.mpls_flap.linearity import knee, linearity
from testplans.mpls_flap.published import NETWORK, SINGLE, published, threshold
from testplans.mpls_flap.view import view
from tests.unit.mpls_flap.campaigns import campaign
from tests.unit.mpls_flap.devices import Truth

#: Network -> what it does, and what must be said to be wrong with it.
DEVICES: dict[str, tuple[Truth, set[str]]] = {
    "clean": (Truth(), set()),
    "slow": (Truth(tear_ms=8, path_ms=10, resv_ms=10), set()),
    "busy host": (Truth(stalls_s=((1.3, 0.03), (0.4, 0.02), (0.7, 0.01)), lost_probes=0.002), set()),
    "tears": (Truth(lost_tears=frozenset({25, 33, 60})), {"tears"}),
    "stale": (Truth(stale=True), {"stale-label"}),
    "early": (Truth(ready_ms=20.0), {"early-forwarding"}),
    "wrong": (Truth(wrong=frozenset({22, 30, 41})), {"wrong-label"}),
    "steals": (Truth(stolen_us=2000.0), {"separation"}),
    "grows": (Truth(growth_us_per_s=5000.0), {"queue-growth"}),
    "never": (Truth(never=frozenset({27, 44})), {"establishment"}),
    "loses": (Truth(lost=0.02), {"loss"}),
    "loses more": (Truth(lost_flapping=0.02), {"separation"}),
}


@cache
def every() -> CampaignRecord:
    return campaign({name: replace(truth, fps=8000.0) for name, (truth, _) in DEVICES.items()}, flapped=(60,))


def findings(network: str) -> dict[str, Finding]:
    return {each.criterion: each for each in conclude(every()) if each.subject["device"] == network}


@pytest.mark.parametrize("network", DEVICES)
def test_each_defect_is_named_and_no_other(network: str) -> None:
    found = findings(network)
    assert {name for name, each in found.items() if each.verdict is Verdict.FAIL} == DEVICES[network][1]
    assert set(found) == set(CRITERIA)
    assert all(each.statement.startswith(f"{network}: ") and each.trials for each in found.values())


@pytest.mark.parametrize("network", ["clean", "slow", "stale", "early", "wrong"])
def test_separation_is_settled_where_nothing_disturbs_it(network: str) -> None:
    assert findings(network)["separation"].verdict is Verdict.PASS


def test_texts_say_how_many() -> None:
    assert "3 of 117 PATH_TEARs" in findings("tears")["tears"].statement
    assert "3 of 80 LSPs" in findings("wrong")["wrong-label"].statement
    assert "µs longer while messages are under way" in findings("steals")["separation"].statement
    assert "more of their frames are lost" in findings("loses more")["separation"].statement
    assert "P − N, it would be 54 instead of 57 at 60 (in 1 trial: tears were lost)" in findings("tears")["control"].statement
    assert "K = N up to 60, the most that was tried" in findings("clean")["control"].statement
    assert "nothing is lost" in findings("grows")["queue-growth"].statement
    assert "cannot be told" in findings("grows")["separation"].statement
    assert "while others flap, delay on the stable LSPs changes by" in findings("clean")["separation"].statement
    assert "while others flap, loss on the stable LSPs changes by" in findings("grows")["separation"].statement


def test_phantoms_are_the_routers_fault() -> None:
    seen = every()
    record = seen.trials[0]
    assert record.result is not None
    result = replace(
        record.result,
        measurements=(
            Measurement(name="phantoms", unit="1", value=50.0, n=50),
            Measurement(name="established", unit="1", value=0.0, n=50),
            Measurement(name="unanswered", unit="1", value=0.0, n=50),
        ),
    )
    found = {each.criterion: each for each in conclude(replace(seen, trials=(replace(record, result=result),)))}
    assert found["router-alert"].verdict is Verdict.FAIL
    assert "50 of 50 LSPs came up without a router" in found["router-alert"].statement
    assert found["establishment"].verdict is Verdict.PASS
    assert "separation" not in found


def test_what_is_required_of_the_control_plane() -> None:
    truths = {"slow": DEVICES["slow"][0]}
    asked = campaign(truths, flapped=(20, 60), require={"linear_up_to": 60})
    enough = campaign(truths, flapped=(20, 60), require={"linear_up_to": 40})
    (wrong,), (right,) = ([each for each in conclude(one) if each.criterion == "control"] for one in (asked, enough))
    assert (wrong.verdict, right.verdict) == (Verdict.FAIL, Verdict.PASS)
    assert right.is_answer
    assert "K = N up to 20" in right.statement


def test_the_knee_of_a_sweep() -> None:
    """Thirteen milliseconds an LSP: all come back until the window of a second is full, at 77."""
    swept = campaign({"knee": Truth(tear_ms=3, path_ms=5, resv_ms=5, fps=2000)}, flapped=(20, 40, 60, 80, 100, 120))
    seen = view(swept)
    found, said = knee(seen, "knee", "1.1"), linearity(seen, "knee", "1.1")
    assert found is not None
    assert said is not None
    assert found.interval is not None
    assert found.interval.contains(77)
    assert found.slope_before == pytest.approx(1, abs=0.03)
    assert found.slope_after < -1
    assert (said.up_to, said.below, said.throughout) == (60, 80, False)
    assert knee(view(every()), "clean", "1.1") is None


def test_nothing_measured_is_not_judged() -> None:
    seen = every()
    invalid = TrialResult(verdict=Verdict.INVALID, reason="the host was busy")
    (finding,) = conclude(replace(seen, trials=(replace(seen.trials[0], result=invalid),)))
    assert finding.verdict is Verdict.INVALID
    assert "the host was busy" in finding.statement


def test_published_tables() -> None:
    found = published(NETWORK, "3.1.4")
    assert found is not None
    assert (found.prior_ms, found.during_ms, found.rate_mbps) == (119, 120, 761.9)
    assert published(SINGLE, "1.2") == published(SINGLE, "1.2.x")
    assert published(SINGLE, "5.1") is None
    assert [(each.least, each.most) for test in ("1.1", "4.3") if (each := threshold(test))] == [(300, 300), (250, 300)]
    assert threshold("7") is None
