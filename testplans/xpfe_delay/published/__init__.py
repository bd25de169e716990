"""What did the paper measure? Its Tables I and II as a campaign, so that the same code judges and shows it."""

import csv
import functools
import hashlib
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from rackproof.model.campaign import CampaignRecord, CampaignState, TrialRecord
from rackproof.model.measurement import Interval, Measurement
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from testplans.xpfe_delay.plan import XpfeDelayPlan
from testplans.xpfe_delay.view import View, view

#: The chain of the paper: Lagopus on PCs.
CHAIN = "published"
METHOD = "published (Table II)"
_TITLE = "5G-Crosshaul packet forwarding element, Tables I and II"
_YEAR = datetime(2017, 1, 1, tzinfo=UTC)


@functools.cache
def published() -> View:
    """The 45 points of the paper with delay.mean, delay.p1 and delay.p99, whose n is 0: the paper does not say how many frames it measured.

    The end of an interval that is illegible is nan, and no budget is judged by it.
    """
    return view(campaign())


def campaign() -> CampaignRecord:
    """The paper's campaign as a record."""
    plan = XpfeDelayPlan.model_validate({"kind": "xpfe-delay", "name": _TITLE, "testbed": "published", "chains": [CHAIN]})
    return CampaignRecord(
        id=0,
        name=_TITLE,
        kind=plan.kind,
        testbed=plan.testbed,
        plan=plan.model_dump(mode="json"),
        plan_text="",
        plan_sha256=hashlib.sha256(b"").hexdigest(),
        state=CampaignState.DONE,
        created=_YEAR,
        trials=tuple(_trials()),
    )


def _trials() -> Iterator[TrialRecord]:
    intervals = {_place(row): row for row in _rows("xpfe_delay_ci95.csv")}
    for index, row in enumerate(_rows("xpfe_delay.csv"), 1):
        hops, frame_bytes, rate = _place(row)
        trial = Trial(
            index=index,
            label=f"{hops} hops, {frame_bytes} bytes, {rate} Mbit/s",
            point={"chain": CHAIN, "hops": hops, "frame_bytes": frame_bytes, "rate_mbps": rate, "offered_mbps": rate},
            repetition=1,
            seed=0,
            duration_s=0.0,
        )
        numbers = tuple(_number(name, row, intervals[_place(row)]) for name in ("mean", "p1", "p99"))
        yield TrialRecord(trial=trial, result=TrialResult(verdict=Verdict.PASS, measurements=numbers))


def _number(name: str, row: Mapping[str, str], ends: Mapping[str, str]) -> Measurement:
    low, high = (float(ends[f"{name}_{end}_us"] or math.nan) for end in ("low", "high"))
    return Measurement(
        name=f"delay.{name}", unit="us", value=float(row[f"{name}_us"]), n=0, interval=Interval(low=low, high=high, method=METHOD)
    )


def _place(row: Mapping[str, str]) -> tuple[int, int, int]:
    return int(row["hops"]), int(row["frame_bytes"]), int(row["rate_mbps"])


def _rows(name: str) -> list[dict[str, str]]:
    with (Path(__file__).parent / name).open(newline="") as file:
        return list(csv.DictReader(file))
