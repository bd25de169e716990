"""What can be taken away from a campaign: raw samples, and its verdict for CI systems?"""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response

from api import files, junit, tables
from api.identity import GuardedRoute, needs
from api.problems import responses
from api.samples import stored
from api.wiring import Number, TheSettings, TheStore, TrialIndex
from rackproof.model.service import Role
from rackproof.store import samples
from rackproof.store.browse_rows import TrialRow

router = APIRouter(tags=["results"], route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

_TRIALS_AT_ONCE = 1000

RANGE = Annotated[str | None, Header(alias="Range", max_length=200, description="One range of bytes.", examples=["bytes=0-65535"])]


def binary(media_type: str, description: str) -> dict[int | str, dict[str, Any]]:
    """Documentation of an answer that is a file, or a part of one."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {200: {"description": description, "content": content}, 206: {"description": "The part that was asked for.", "content": content}}


@router.get(
    "/campaigns/{campaign}/trials/{index}/samples",
    response_class=Response,
    responses={**binary(tables.PARQUET, "The samples."), **responses(304, 401, 403, 404, 410, 416)},
)
def get_samples(request: Request, store: TheStore, campaign: Number, index: TrialIndex, _range: RANGE = None) -> Response:
    """The raw samples of a trial as a Parquet file, whole or in part."""
    file, size = stored(store, campaign, index)
    read = files.of_parts(lambda first, count: samples.read_range(store.samples_place, file.path, first, count))
    name = f"campaign-{campaign}-trial-{index}.parquet"
    return files.given(request, read, size=size, sha256=file.sha256, media_type=tables.PARQUET, name=name)


@router.get(
    "/campaigns/{campaign}/verdict.xml",
    response_class=Response,
    responses={
        200: {"description": "JUnit XML.", "content": {junit.MEDIA_TYPE: {"schema": {"type": "string"}}}},
        **responses(401, 403, 404),
    },
)
def get_verdict(request: Request, store: TheStore, settings: TheSettings, campaign: Number) -> Response:
    """The verdict as JUnit XML: a test for each finding, and one for each trial that gave no valid result."""
    detail = store.browse.detail(campaign)
    broken: list[TrialRow] = []
    while True:
        after = broken[-1].index if broken else 0
        more = store.browse.trials(campaign, after=after, limit=_TRIALS_AT_ONCE, not_passed=True)
        broken += more
        if len(more) < _TRIALS_AT_ONCE:
            break
    path = request.app.url_path_for("get_campaign", campaign=campaign)
    url = f"{(settings.public_url or '').rstrip('/')}{path}"
    return Response(junit.junit(detail, broken, url), media_type=junit.MEDIA_TYPE)
