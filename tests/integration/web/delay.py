"""A campaign of xpfe-delay as the bench gives it, written into a store without a bench."""

from datetime import datetime
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.compat import StringIO

from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from tests.integration.web.written import written
from tests.unit.xpfe_delay.campaigns import made_up, plan

_KEYS: dict[str, Any] = {"name": "Fronthaul over three elements", "hops": [2, 3], "frame_bytes": [500, 1500], "rates_mbps": [250]}


def delayed(store: Store, began: datetime) -> int:
    """Its number. It has ended, and every trial has a histogram with its fits."""
    out = StringIO()
    YAML().dump(plan(**_KEYS), out)
    run = written(store, out.getvalue(), owner="engineer")
    run.begin({})
    for each in made_up("bench", **_KEYS).trials:
        run.trial(each.trial.index, result=each.result)
    findings = run.asked.kind.conclude(store.campaign(run.campaign))
    store.finish(run.campaign, CampaignState.DONE, Verdict.PASS, "", findings)
    run.lay_out(began)
    return run.campaign
