"""What is there that has these words? One list of campaigns, testbeds, schedules and, for who may see them, users."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, Identity, needs
from api.wiring import TheStore
from rackproof.model.service import Role
from rackproof.store import pages_search
from web.rendering import page

router = APIRouter(route_class=GuardedRoute)

_ROWS = 50
_ADDRESSES = {"testbed": "/testbeds/{}", "schedule": "/schedules/{}", "user": "/users"}


@router.get("/search")
def search(
    request: Request,
    store: TheStore,
    who: Annotated[Identity, needs(Role.VIEWER)],
    q: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None,
) -> Response:
    numbers = pages_search.campaigns(store.transactions, q, before=before, limit=_ROWS + 1)
    first = before is None
    exact = pages_search.number(q) if first else None
    if exact is not None and exact in numbers:
        # Whoever types a number means that campaign; others have it in their names.
        numbers = [exact, *(one for one in numbers if one != exact)]
    return page(
        request,
        "search.html.j2",
        q=q.strip(),
        campaigns=store.browse.several(numbers[:_ROWS]),
        exact=exact,
        others=pages_search.others(store.transactions, q, users=who.may(Role.ADMIN)) if first else [],
        addresses=_ADDRESSES,
        following=min(numbers[:_ROWS]) if len(numbers) > _ROWS else None,
        first=first,
    )
