"""Which campaigns are there, and what came of one?"""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from api.conditions import conditional
from api.cursors import Cursor, Limit, announce, encode, numbers
from api.identity import GuardedRoute, needs
from api.problems import responses
from api.schemas.base import Moment, Page
from api.schemas.campaigns import Campaign, CampaignSummary, Configuration, Configurations
from api.wiring import BIGINT_MAX, Number, TheStore
from rackproof.model.campaign import CampaignState
from rackproof.model.service import Role
from rackproof.model.verdict import Verdict
from rackproof.store.browse_rows import CampaignFilter, CampaignRow

router = APIRouter(tags=["campaigns"], route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

_Word = Annotated[str | None, Query(max_length=200)]


@router.get("/campaigns", responses=responses(401, 403))
def list_campaigns(
    request: Request,
    response: Response,
    store: TheStore,
    cursor: Cursor = None,
    limit: Limit = 50,
    state: CampaignState | None = None,
    verdict: Verdict | None = None,
    kind: _Word = None,
    testbed: _Word = None,
    owner: _Word = None,
    name: Annotated[str | None, Query(max_length=200, description="Part of the name, in whatever case.")] = None,
    since: Annotated[Moment | None, Query(description="Submitted at this moment or later.")] = None,
    until: Annotated[Moment | None, Query(description="Submitted before this moment.")] = None,
    suite_run: Annotated[int | None, Query(ge=1, le=BIGINT_MAX, description="Of this run of a schedule.")] = None,
    parent: Annotated[int | None, Query(ge=1, le=BIGINT_MAX, description="Clones of this campaign.")] = None,
) -> Page[CampaignSummary]:
    """Campaigns, the newest first."""
    place = numbers(cursor)
    wanted = CampaignFilter(
        state=state,
        verdict=verdict,
        kind=kind,
        testbed=testbed,
        owner=owner,
        name=name,
        since=since,
        until=until,
        suite_run=suite_run,
        parent=parent,
    )
    # One more than asked for: whether there is a next page is known without counting.
    rows = store.browse.campaigns(wanted, place=place[0] if place else None, limit=limit + 1)
    following = encode(rows[limit - 1].id) if len(rows) > limit else None
    announce(request, response, following)
    return Page[CampaignSummary].model_construct(items=[summary(row) for row in rows[:limit]], next=following)


@router.get("/campaigns/{campaign}", response_model=Campaign, responses=responses(304, 401, 403, 404))
def get_campaign(request: Request, store: TheStore, campaign: Number) -> Response:
    """One campaign: what was asked, what was found, and what it rests on."""
    detail = store.browse.detail(campaign)
    names = ("plan", "plan_text", "plan_sha256", "seams", "findings", "calibration", "provenance", "samples_gone")
    values = {name: getattr(detail, name) for name in names}
    return conditional(request, Campaign.model_validate({**_columns(detail.row), **values}))


@router.get("/campaigns/{campaign}/configurations", responses=responses(401, 403, 404))
def list_configurations(store: TheStore, campaign: Number) -> Configurations:
    """The devices' configurations as text, as they were before, during and after the campaign."""
    found = store.browse.configurations(campaign)
    return Configurations(items=[Configuration(name=name, text=text) for name, text in found.items()])


def summary(row: CampaignRow) -> CampaignSummary:
    """A row as it goes over the wire; it was checked when it was written."""
    return CampaignSummary.model_construct(**_columns(row))


def _columns(row: CampaignRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in CampaignSummary.model_fields}
