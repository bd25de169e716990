"""What came of one trial: its numbers, its curves, every frame of it?"""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from api.identity import GuardedRoute, needs
from api.samples import stored
from api.wiring import Number, TheStore, TrialIndex
from rackproof.model.service import Role
from rackproof.store.browse_rows import MeasurementRow
from web import charts, points, verdicts
from web.pages.campaign import took
from web.rendering import page
from web.samples import POINTS_MAX, Shelf
from web.words import subject

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

_shelf = Shelf()
_Seconds = Annotated[float | None, Query(ge=0, le=1e9, allow_inf_nan=False)]


@router.get("/campaigns/{campaign:int}/trials/{index:int}")
def trial(request: Request, store: TheStore, campaign: Number, index: TrialIndex) -> Response:
    found = store.browse.trial(campaign, index)
    detail = store.browse.detail(campaign)
    row = found.row
    return page(
        request,
        "trial.html.j2",
        campaign=detail.row,
        calibration=detail.calibration,
        samples_gone=detail.samples_gone,
        trial=row,
        point=[(points.named(key)[0], points.said(key, value)) for key, value in row.point.items()],
        took=took(row.started, row.ended),
        meaning=verdicts.OF_TRIAL.get(row.verdict or "", ""),
        tables=tables(found.measurements),
        curves=[{**one, "at": place} for place, one in enumerate(charts.curves(found.curves))],
        timelines=charts.timelines(found.curves),
        health=[(*points.named(name), value) for name, value in found.health.items()],
        attempts=found.health.get("attempts", 1),
        counters=found.counters,
        samples=found.samples_path is not None,
    )


@router.get("/campaigns/{campaign:int}/trials/{index:int}/curves.json")
def curves(store: TheStore, campaign: Number, index: TrialIndex) -> Response:
    """The curves of a trial, those of one name in one chart, and its timelines."""
    found = store.browse.trial(campaign, index).curves
    return JSONResponse({"charts": charts.curves(found), "timelines": charts.timelines(found)}, headers={"Cache-Control": "no-store"})


@router.get("/campaigns/{campaign:int}/trials/{index:int}/samples.json")
def samples(
    store: TheStore,
    campaign: Number,
    index: TrialIndex,
    start: Annotated[_Seconds, Query(alias="from")] = None,
    to: _Seconds = None,
    points: Annotated[int, Query(ge=10, le=POINTS_MAX)] = 800,
) -> Response:
    """The delays of a trial's frames between two moments [s after the first frame], as the least and largest of each of so many spans."""
    file, _ = stored(store, campaign, index)
    delays = _shelf.get(store.samples_place, file)
    begin = 0.0 if start is None else min(start, delays.until_s)
    end = delays.until_s if to is None else min(to, delays.until_s)
    if end <= begin:
        begin, end = 0.0, max(delays.until_s, 1e-6)
    return JSONResponse(dict(delays.between(begin, end, points)), headers={"Cache-Control": "private, max-age=3600"})


def tables(measurements: tuple[MeasurementRow, ...]) -> list[Mapping[str, Any]]:
    """Numbers by what they are of: a table for the whole trial, one for its queues, one for its flows; a row for each name."""
    found: dict[str, dict[str, Any]] = {}
    for one in measurements:
        of = ", ".join(sorted(one.subject))
        table = found.setdefault(of, {"of": of, "subjects": {}, "rows": {}})
        label = subject(one.subject)
        table["subjects"][label] = None
        table["rows"].setdefault((one.name, one.unit), {})[label] = one
    # The whole first, then what has few columns: the queues before the flows.
    return sorted(found.values(), key=lambda table: (table["of"] != "", len(table["subjects"])))
