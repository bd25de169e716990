"""What happens in a campaign, as it happens?"""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from api.cursors import Limit
from api.identity import GuardedRoute, needs, still_known
from api.negotiation import chosen
from api.problems import responses
from api.schemas.base import Page
from api.schemas.results import Event
from api.sse import MEDIA_TYPE
from api.streaming import EventStream
from api.wiring import BIGINT_MAX, Number, TheHub, TheStore
from rackproof.model.service import Role

router = APIRouter(tags=["campaigns"], route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

_FORMS = {"json": "application/json", "sse": MEDIA_TYPE}
_STREAM = {
    "description": "A page of events, or (Accept: text/event-stream) all events from there on, until the campaign has ended.",
    "content": {MEDIA_TYPE: {"schema": {"type": "string"}, "example": 'id: 41\nevent: trial_ended\ndata: {"seq": 41}\n\n'}},
}
_NOTHING = {"description": "The campaign has ended, and nothing is left to tell: a stream need not be opened again."}


@router.get(
    "/campaigns/{campaign}/events",
    response_model=Page[Event],
    responses={200: _STREAM, 204: _NOTHING, **responses(401, 403, 404, 406)},
)
async def follow_campaign(
    request: Request,
    store: TheStore,
    hub: TheHub,
    campaign: Number,
    after: Annotated[int, Query(ge=0, le=BIGINT_MAX, description="Only events with a higher number.")] = 0,
    limit: Limit = 200,
    last_event_id: Annotated[
        str | None, Header(alias="Last-Event-ID", pattern=r"^[0-9]{1,18}$", description="Wins over `after`: browsers send it.")
    ] = None,
    accept: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """Events of a campaign: one page as JSON, or all of them as server-sent events, which resume from Last-Event-ID.

    `next` of a page is the number for `after`; it is never null, for more may happen.
    """
    after = int(last_event_id) if last_event_id is not None else after
    if chosen(accept, _FORMS) == "json":
        return await run_in_threadpool(_page, request, campaign, after, limit)
    if await asyncio.to_thread(lambda: store.browse.is_over(campaign) and not store.events(campaign, after, 1)):
        return Response(status_code=204)
    return EventStream(hub.follow(campaign, after, lambda: still_known(request)))


def _page(request: Request, campaign: int, after: int, limit: int) -> Response:
    store = request.app.state.store
    events = store.events(campaign, after, limit)
    if not events:
        store.browse.campaign(campaign)  # raises where there is none
    page = Page[Event](items=[Event.model_validate(event) for event in events], next=str(events[-1].seq if events else after))
    return Response(page.model_dump_json(), media_type="application/json", headers={"Vary": "Accept"})
