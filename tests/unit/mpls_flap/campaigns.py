"""Whole campaigns of the kind mpls-flap over made-up devices: observations of a known truth, analysed as real ones are."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rackproof.model.campaign import CampaignRecord, CampaignState, TrialRecord
from testplans.mpls_flap.analysis import analyse
from testplans.mpls_flap.expansion import expand
from testplans.mpls_flap.plan import MplsFlapPlan
from tests.unit.mpls_flap.devices import Truth
from tests.unit.mpls_flap.synthetic import CALIBRATION, observe

BEGAN = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)


def campaign(truths: Mapping[str, Truth], flapped: Sequence[int] = (), **changes: Any) -> CampaignRecord:
    """One network a truth, which all have the same phases and traffic. flapped: the sweep; as default what the first truth says.

    changes: keys of the plan.
    """
    first = next(iter(truths.values()))
    values = {
        "kind": "mpls-flap", "name": "made up",
        "networks": [
            {"name": name, "model": "soft-lsr", "shape": "chain" if truth.routers > 1 else "router", "routers": truth.routers}
            for name, truth in truths.items()
        ],
        "tests": [
            {
                "name": "1.1", "stable": first.stable, "flapped": list(flapped or [first.flapped]), "frame_bytes": first.frame_bytes,
                "rate_mbps": first.fps * first.frame_bytes * 8 / 1e6,
            }
        ],
        "phases": {"prior_s": first.prior_s, "windows_s": first.windows_s, "drain_s": first.drain_s},
        **changes,
    }  # fmt: skip
    plan = MplsFlapPlan.model_validate(values)
    records, at = [], BEGAN
    for trial in expand(plan):
        point = trial.point
        truth = replace(truths[str(point["network"])], flapped=int(point["flapped"]), stable=int(point["stable"]), seed=trial.seed % 2**32)
        result = analyse(plan, trial, observe(truth), CALIBRATION)
        started, at = at, at + timedelta(seconds=truth.end_s)
        records.append(TrialRecord(trial=trial, result=result, started=started, ended=at))
    text = "kind: mpls-flap\nname: made up\n"
    return CampaignRecord(
        id=9,
        name=plan.name,
        kind=plan.kind,
        testbed=plan.testbed,
        plan=plan.model_dump(mode="json"),
        plan_text=text,
        plan_sha256=hashlib.sha256(text.encode()).hexdigest(),
        state=CampaignState.DONE,
        created=BEGAN - timedelta(minutes=2),
        started=BEGAN,
        ended=at,
        calibration=CALIBRATION,
        trials=tuple(records),
    )
