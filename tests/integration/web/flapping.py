"""A campaign of mpls-flap as the bench gives it, written into a store without a bench."""

from datetime import datetime
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.compat import StringIO

from rackproof.model.campaign import CampaignState
from rackproof.store import Store
from testplans.verdict import campaign_verdict
from tests.integration.web.written import written
from tests.unit.mpls_flap.reported import CHAIN, PAPER, Router, made_up, plan

_FAULTY = "soft-lsr-stale"
_KEYS: dict[str, Any] = {
    "name": "LSPs that flap, through three routers and a faulty one",
    "networks": [CHAIN, {"name": _FAULTY, "model": "soft-lsr"}],
    "tests": [{**PAPER[1], "flapped": [100, 300, 500]}],
    "expect": [{"device": _FAULTY, "criteria": ["stale-label"]}],
}


def flapping(store: Store, began: datetime) -> int:
    """Its number. It has ended, every trial has its timelines, and one network has a defect that the plan expects."""
    out = StringIO()
    YAML().dump(plan(**_KEYS), out)
    run = written(store, out.getvalue(), owner="engineer")
    run.begin({})
    for each in made_up({_FAULTY: Router(counts={"stale": 90})}, **_KEYS).trials:
        run.trial(each.trial.index, result=each.result)
    record = store.campaign(run.campaign)
    findings = run.asked.kind.conclude(record)
    verdict, reason = campaign_verdict(findings, record.trials, run.asked.kind.expectation(run.asked.plan))
    store.finish(run.campaign, CampaignState.DONE, verdict, reason, findings)
    run.lay_out(began)
    return run.campaign
