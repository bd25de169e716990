"""What came of a campaign: findings, trials, measurements?"""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import INT_MAX, Number, TheStore
from rackproof.model.finding import ANSWER, Finding
from rackproof.model.service import Role
from rackproof.model.verdict import Verdict
from rackproof.store import pages_campaigns
from web.listing import ROWS, Pages, address, one_of
from web.pages.campaign import is_expected, values_of
from web.points import said
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

MEASUREMENTS = 100

_Word = Annotated[str, Query(max_length=200)]
_Index = Annotated[int, Query(ge=0, le=INT_MAX)]


@router.get("/campaigns/{campaign:int}/findings")
def findings(request: Request, store: TheStore, campaign: Number, verdict: _Word = "", device: _Word = "") -> Response:
    values = values_of(store, campaign)
    wanted = one_of(Verdict, verdict, "verdict")
    found = values["findings"]
    shown = [one for one in found if wanted in (None, one.verdict) and device in ("", one.subject.get("device"))]
    return page(
        request,
        "campaign_findings.html.j2",
        **values,
        shown=[(one, is_expected(one, values["expected"]), _detail(one)) for one in shown],
        devices=list(dict.fromkeys(one.subject["device"] for one in found if "device" in one.subject)),
        judged=[one for one in Verdict if any(finding.verdict is one for finding in found)],
        verdict=verdict,
        device=device,
    )


@router.get("/campaigns/{campaign:int}/trials")
def trials(request: Request, store: TheStore, campaign: Number, verdict: _Word = "", after: _Index = 0) -> Response:
    """after: the trial that the page begins behind."""
    values = values_of(store, campaign)
    rows = store.browse.trials(campaign, after=after, limit=ROWS + 1, verdict=one_of(Verdict, verdict, "verdict"))
    path = f"/campaigns/{campaign}/trials"
    return page(
        request,
        "campaign_trials.html.j2",
        **values,
        trials=rows[:ROWS],
        before={seam.trial: seam for seam in values["seams"]},
        verdict=verdict,
        pages=Pages(
            previous=address(path, verdict=verdict) if after else None,
            following=address(path, verdict=verdict, after=rows[ROWS - 1].index) if len(rows) > ROWS else None,
        ),
    )


@router.get("/campaigns/{campaign:int}/measurements")
def measurements(
    request: Request, store: TheStore, campaign: Number, name: _Word = "", trial: _Index = 0, after: _Index = 0, position: int = -1
) -> Response:
    """trial: of this one alone, 0: of all. after and position: the trial and the place in it that the page begins behind."""
    values = values_of(store, campaign)
    place = max((after, position), (trial, -1))
    rows = store.browse.measurements(campaign, after=place, limit=MEASUREMENTS + 1, name=name or None)
    if trial:
        rows = [one for one in rows if one.trial == trial]
    shown = rows[:MEASUREMENTS]
    judged = {}
    if shown:
        first, last = shown[0].trial, shown[-1].trial
        judged = {one.index: one for one in store.browse.trials(campaign, after=first - 1, limit=min(last - first + 1, MEASUREMENTS))}
    path = f"/campaigns/{campaign}/measurements"
    here = {"name": name, "trial": trial or ""}
    return page(
        request,
        "campaign_measurements.html.j2",
        **values,
        measurements=shown,
        trials=judged,
        names=list(dict.fromkeys(one.name for one in pages_campaigns.quantities(store.transactions, campaign))),
        name=name,
        trial=trial,
        pages=Pages(
            previous=address(path, **here) if after else None,
            following=address(path, **here, after=shown[-1].trial, position=shown[-1].position) if len(rows) > MEASUREMENTS else None,
        ),
    )


def _detail(finding: Finding) -> list[str]:
    """The numbers beside a finding's own, in words."""
    return [said(name, value) for name, value in finding.detail.items() if name != ANSWER]
