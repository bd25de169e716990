"""How does a campaign stand, what came of it, and what may be done with it?"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from sqlalchemy import Connection

from api.identity import GuardedRoute, needs
from api.wiring import Number, TheStore
from rackproof.errors import NotFound
from rackproof.model.campaign import CampaignState
from rackproof.model.event import EventKind
from rackproof.model.finding import Finding
from rackproof.model.service import Role
from rackproof.model.verdict import Verdict
from rackproof.store import Store, pages_campaigns
from rackproof.store.browse_rows import CampaignDetail
from testplans import registry
from web import charts, grid, verdicts
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

ENDED = (CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED)
LOG_LINES = 40
#: A chart of more trials than this says that it shows only the first.
CHART_TRIALS = 2000

_Word = Annotated[str, Query(max_length=200)]
_Of = Annotated[str | None, Query(max_length=200)]


@router.get("/campaigns/{campaign:int}")
def overview(request: Request, store: TheStore, campaign: Number, quantity: _Word = "", of: _Of = None) -> Response:
    with at_once(store):
        # The events come first: what happens after them is told to the page, so nothing that it shows can be behind for long.
        events = pages_campaigns.events_before(store.transactions, campaign, None, LOG_LINES)
        detail = store.browse.detail(campaign)
        quantities = pages_campaigns.quantities(store.transactions, campaign)
        histograms = pages_campaigns.with_curve(store.transactions, campaign, charts.HISTOGRAM, CHART_TRIALS)
        values = {**standing(store, detail, brief=False), **_laid_out(store, detail)}
    return page(
        request,
        "campaign_overview.html.j2",
        **values,
        quantities=quantities,
        histograms=histograms,
        quantity=charts.chosen(quantities, quantity, of),
        events=events,
        last=events[-1].seq if events else 0,
        kinds=[kind.value for kind in EventKind],
    )


@router.get("/campaigns/{campaign:int}/parts/standing")
def part_standing(request: Request, store: TheStore, campaign: Number, brief: bool = False) -> Response:
    return page(request, "part_campaign_standing.html.j2", **values_of(store, campaign, brief=brief))


@router.get("/campaigns/{campaign:int}/parts/actions")
def part_actions(request: Request, store: TheStore, campaign: Number) -> Response:
    return page(request, "part_campaign_actions.html.j2", **values_of(store, campaign))


@router.get("/campaigns/{campaign:int}/parts/grid")
def part_grid(request: Request, store: TheStore, campaign: Number) -> Response:
    with at_once(store):
        detail = store.browse.detail(campaign)
        values = {**standing(store, detail), **_laid_out(store, detail)}
    return page(request, "part_campaign_grid.html.j2", **values)


@router.get("/campaigns/{campaign:int}/chart.json")
def chart(store: TheStore, campaign: Number, quantity: _Word = "", of: _Of = None) -> Response:
    """One quantity over the trials that have ended, as charts."""
    known = pages_campaigns.quantities(store.transactions, campaign)
    wanted = charts.chosen(known, quantity, of)
    if wanted is None:
        store.browse.campaign(campaign)  # raises where there is none
        return JSONResponse({"panels": []}, headers={"Cache-Control": "no-store"})
    points = pages_campaigns.points(store.transactions, campaign, wanted.name, wanted.of, CHART_TRIALS)
    sweep = pages_campaigns.sweep(store.transactions, campaign, CHART_TRIALS)
    return JSONResponse(dict(charts.panels(wanted, points, sweep)), headers={"Cache-Control": "no-store"})


def at_once(store: Store) -> AbstractContextManager[Connection]:
    """What is read within is read in one transaction: a page asks much, and every transaction of its own would cost it a way to and fro."""
    return store.transactions.together("the page could not be read")


def values_of(store: Store, campaign: int, *, brief: bool = True) -> dict[str, Any]:
    """What every page of a campaign says of it. Raises NotFound."""
    with at_once(store):
        return standing(store, store.browse.detail(campaign), brief=brief)


def standing(store: Store, detail: CampaignDetail, *, brief: bool = True) -> dict[str, Any]:
    """What every page of a campaign says of it, and what its buttons need. brief: in a line or two."""
    row = detail.row
    counts = pages_campaigns.verdicts(store.transactions, row.id)
    place = None if row.state in ENDED else store.queue.place(row.id)
    expected = expectation(detail)
    return {
        "campaign": row,
        "detail": detail,
        "counts": counts,
        "left": counts.get(None, 0),
        "broken": sum(count for verdict, count in counts.items() if verdict not in (None, Verdict.PASS)),
        "place": place,
        "current": pages_campaigns.current(store.transactions, row.id) if row.state is CampaignState.RUNNING else None,
        "seams": pages_campaigns.seams(store.transactions, row.id, detail.seams),
        "report": store.reports.latest(row.id),
        "ended": row.state in ENDED,
        "meaning": verdicts.MEANING.get(row.verdict or "", verdicts.OF_STATE.get(row.state, "")),
        "findings": detail.findings,
        "surprises": [one.statement for one in detail.findings if one.verdict is Verdict.FAIL and not is_expected(one, expected)],
        "brief": brief,
        "expected": expected,
        "glyphs": verdicts.GLYPH,
    }


def expectation(detail: CampaignDetail) -> Mapping[str, Sequence[str]]:
    """Devices that the plan expects to fail, with the criteria; nothing where the kind is not there any more, or has changed."""
    try:
        kind = registry.kind(detail.row.kind)
        return kind.expectation(kind.plan_model.model_validate(detail.plan))
    except (NotFound, ValidationError):
        return {}


def is_expected(finding: Finding, expected: Mapping[str, Sequence[str]]) -> bool:
    """True where the plan expects the device to fail this criterion."""
    return finding.criterion in expected.get(finding.subject.get("device", ""), ())


def took(started: datetime | None, ended: datetime | None) -> float | None:
    """How long something took [s]; None where it has not ended."""
    return None if started is None or ended is None else (ended - started).total_seconds()


def _laid_out(store: Store, detail: CampaignDetail) -> dict[str, Any]:
    number = detail.row.id
    if detail.row.trial_count > grid.CELLS_MAX:
        return {"grid": None, "blocks": pages_campaigns.blocks(store.transactions, number, grid.BLOCK_TRIALS)}
    trials = store.browse.trials(number, limit=grid.CELLS_MAX)
    return {"grid": grid.grid(trials, pages_campaigns.seams(store.transactions, number, detail.seams)), "blocks": ()}
