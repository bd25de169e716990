"""What does a campaign rest on, and what happened in it: provenance, configurations, log?"""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import BIGINT_MAX, Number, TheStore
from rackproof.model.event import EventKind
from rackproof.model.service import Role
from rackproof.store import pages_campaigns
from web import differences
from web.listing import Pages, address
from web.pages.campaign import values_of
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

EVENTS = 200

_Seq = Annotated[int | None, Query(ge=0, le=BIGINT_MAX)]


@router.get("/campaigns/{campaign:int}/provenance")
def provenance(request: Request, store: TheStore, campaign: Number) -> Response:
    return page(request, "campaign_provenance.html.j2", **values_of(store, campaign))


@router.get("/campaigns/{campaign:int}/configurations")
def configurations(request: Request, store: TheStore, campaign: Number) -> Response:
    values = values_of(store, campaign)
    return page(request, "campaign_configurations.html.j2", **values, stories=differences.stories(store.browse.configurations(campaign)))


@router.get("/campaigns/{campaign:int}/log")
def log(request: Request, store: TheStore, campaign: Number, before: _Seq = None, after: _Seq = None) -> Response:
    """The newest events; before: those that happened before this one; after: those that came next."""
    if after is not None:
        events = store.events(campaign, after, EVENTS + 1)
        earlier, later = after > 0, len(events) > EVENTS
        events = events[:EVENTS]
    else:
        events = pages_campaigns.events_before(store.transactions, campaign, before, EVENTS + 1)
        earlier, later = len(events) > EVENTS, before is not None
        events = events[-EVENTS:]
    # After the events: see overview.
    values = values_of(store, campaign)
    path = f"/campaigns/{campaign}/log"
    return page(
        request,
        "campaign_log.html.j2",
        **values,
        events=events,
        last=events[-1].seq if events else 0,
        kinds=[kind.value for kind in EventKind],
        newest=not later,
        pages=Pages(
            previous=address(path, before=events[0].seq) if earlier and events else None,
            following=address(path, after=events[-1].seq) if later and events else None,
        ),
    )
