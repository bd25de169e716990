"""What did the trials of a campaign give? Trials and measurements, as JSON, CSV and Parquet."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from api import tables
from api.conditions import conditional
from api.cursors import Cursor, Limit, announce, encode, numbers
from api.identity import GuardedRoute, needs
from api.negotiation import chosen
from api.problems import responses
from api.schemas.base import Page
from api.schemas.results import Curve, Measurement, Trial, TrialSummary
from api.wiring import INT_MAX, Number, TheStore, TrialIndex
from rackproof.model.service import Role
from rackproof.model.verdict import Verdict
from rackproof.store.browse_rows import TrialRow

router = APIRouter(tags=["results"], route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

_MEASUREMENT = tuple(Measurement.model_fields)
_FORMS = {"json": "application/json", "csv": tables.CSV, "parquet": tables.PARQUET}


@router.get("/campaigns/{campaign}/trials", responses=responses(401, 403, 404))
def list_trials(
    request: Request,
    response: Response,
    store: TheStore,
    campaign: Number,
    cursor: Cursor = None,
    limit: Limit = 50,
    verdict: Verdict | None = None,
) -> Page[TrialSummary]:
    """The trials of a campaign in the order in which they run."""
    place = numbers(cursor, bound=INT_MAX)
    rows = store.browse.trials(campaign, after=place[0] if place else 0, limit=limit + 1, verdict=verdict)
    following = encode(rows[limit - 1].index) if len(rows) > limit else None
    announce(request, response, following)
    items = [TrialSummary.model_construct(**_columns(row)) for row in rows[:limit]]
    return Page[TrialSummary].model_construct(items=items, next=following)


@router.get("/campaigns/{campaign}/trials/{index}", response_model=Trial, responses=responses(304, 401, 403, 404))
def get_trial(request: Request, store: TheStore, campaign: Number, index: TrialIndex) -> Response:
    """One trial with its measurements, its curves and the generator's health."""
    found = store.browse.trial(campaign, index)
    return conditional(
        request,
        Trial(
            **_columns(found.row),
            health=dict(found.health),
            counters=dict(found.counters),
            measurements=[Measurement.model_validate(one) for one in found.measurements],
            curves=[Curve.model_validate(one) for one in found.curves],
            samples_sha256=found.samples_sha256,
        ),
    )


@router.get(
    "/campaigns/{campaign}/measurements",
    response_model=Page[Measurement],
    responses={
        200: {
            "content": {
                tables.CSV: {"schema": {"type": "string"}},
                tables.PARQUET: {"schema": {"type": "string", "format": "binary"}},
            }
        },
        **responses(401, 403, 404, 406),
    },
)
def list_measurements(
    request: Request,
    store: TheStore,
    campaign: Number,
    cursor: Cursor = None,
    limit: Limit = 200,
    name: Annotated[str | None, Query(max_length=200, description="Only what has this name.", examples=["delay.p99"])] = None,
    form: Annotated[Literal["json", "csv", "parquet"] | None, Query(alias="format", description="Wins over Accept.")] = None,
    accept: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """The numbers of a campaign. JSON comes in pages; CSV and Parquet hold all of them, whatever cursor and limit say."""
    form_name = chosen(accept, _FORMS, form)
    if form_name != "json":
        store.browse.campaign(campaign)
        lots = store.browse.all_measurements(campaign, name)
        content = tables.csv(lots) if form_name == "csv" else tables.parquet(lots)
        disposition = f'attachment; filename="campaign-{campaign}-measurements.{form_name}"'
        return StreamingResponse(content, media_type=_FORMS[form_name], headers={"Content-Disposition": disposition, "Vary": "Accept"})
    place = numbers(cursor, count=2, bound=INT_MAX)
    rows = store.browse.measurements(campaign, after=(place[0], place[1]) if place else (0, -1), limit=limit + 1, name=name)
    following = encode(rows[limit - 1].trial, rows[limit - 1].position) if len(rows) > limit else None
    items = [Measurement.model_construct(**{name: getattr(row, name) for name in _MEASUREMENT}) for row in rows[:limit]]
    page = Page[Measurement].model_construct(items=items, next=following)
    response = Response(page.model_dump_json(), headers={"Vary": "Accept"}, media_type=_FORMS["json"])
    announce(request, response, following)
    return response


def _columns(row: TrialRow) -> dict[str, Any]:
    columns = {name: getattr(row, name) for name in TrialSummary.model_fields}
    return {**columns, "seed": str(row.seed)}
