"""Which campaigns are there? A list by state, verdict, kind, testbed, owner, name and day, in any order."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import BIGINT_MAX, TheStore
from rackproof.model.campaign import CampaignState
from rackproof.model.service import Role
from rackproof.model.verdict import Verdict
from rackproof.store.browse_rows import CampaignFilter, CampaignRow, Order
from testplans.registry import kinds
from web.listing import ROWS, Pages, address, day, given, one_of
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

_Word = Annotated[str, Query(max_length=200)]
_Id = Annotated[int | None, Query(ge=1, le=BIGINT_MAX)]


@router.get("/campaigns")
def campaigns(
    request: Request,
    store: TheStore,
    state: _Word = "",
    verdict: _Word = "",
    kind: _Word = "",
    testbed: _Word = "",
    owner: _Word = "",
    name: _Word = "",
    since: _Word = "",
    until: _Word = "",
    order: _Word = "",
    after: _Id = None,
    before: _Id = None,
) -> Response:
    """after, before: the campaign that the page begins behind, or ends in front of."""
    wanted = CampaignFilter(
        state=one_of(CampaignState, state, "state"),
        verdict=one_of(Verdict, verdict, "verdict"),
        kind=kind or None,
        testbed=testbed or None,
        owner=owner or None,
        name=name or None,
        since=day(since, "since"),
        until=day(until, "until", end=True),
    )
    chosen = one_of(Order, order, "order") or Order.NEWEST
    rows = store.browse.campaigns(wanted, order=chosen, place=before or after, backwards=before is not None, limit=ROWS + 1)
    more = len(rows) > ROWS
    rows = (rows[1:] if before is not None else rows[:ROWS]) if more else rows
    filters = {"state": state, "verdict": verdict, "kind": kind, "testbed": testbed, "owner": owner, "name": name}
    filters |= {"since": since, "until": until}
    here = {**filters, "order": order}
    return page(
        request,
        "part_campaigns.html.j2" if request.headers.get("hx-target") == "list" else "campaigns.html.j2",
        campaigns=rows,
        filters=filters,
        filtered=bool(given(filters)),
        order=chosen,
        sorts={column: _sort(here, chosen, *orders) for column, orders in _SORTS.items()},
        pages=_pages(here, rows, after=after, before=before, more=more),
        live=any(row.state is CampaignState.RUNNING for row in rows),
        kinds=sorted(kinds()),
        testbeds=store.testbeds.names(),
        owners=[user.name for user in store.accounts.users(limit=200)],
        states=list(CampaignState),
        verdicts=list(Verdict),
    )


_SORTS = {"No.": (Order.NEWEST, Order.OLDEST), "Campaign": (Order.NAME, Order.NAME_DOWN)}


def _sort(here: dict[str, str], now: Order, first: Order, second: Order) -> tuple[str, str]:
    """Where a column's head leads, and how the list is sorted by it now: ascending, descending or none."""
    target = second if now is first else first
    rising = {Order.OLDEST: "ascending", Order.NAME: "ascending"}
    said = rising.get(now, "descending") if now in (first, second) else "none"
    return address("/campaigns", **{**here, "order": target if target is not Order.NEWEST else ""}), said


def _pages(here: dict[str, str], rows: list[CampaignRow], *, after: int | None, before: int | None, more: bool) -> Pages:
    if not rows:
        return Pages(previous=address("/campaigns", **here) if after or before else None, following=None)
    earlier = (before is not None and more) or after is not None
    later = before is not None or more
    return Pages(
        previous=address("/campaigns", **here, before=rows[0].id) if earlier else None,
        following=address("/campaigns", **here, after=rows[-1].id) if later else None,
    )
