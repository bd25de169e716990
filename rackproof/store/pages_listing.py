"""Campaigns as a list in any order, from any place, forwards and backwards.

A page is read along an index from where the last one ended, so that it stays quick however many campaigns there are.
"""

import functools
from dataclasses import fields
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, TextClause, bindparam, text

from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.store import life
from rackproof.store.browse_rows import CampaignFilter, CampaignRow
from rackproof.store.transactions import Transactions


class Order(StrEnum):
    """How a list of campaigns is sorted."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    NAME_DOWN = "name-down"


_RISING = (Order.OLDEST, Order.NAME)
_BY_NAME = (Order.NAME, Order.NAME_DOWN)
_NAMES = tuple(name for name in CampaignRow.__slots__ if name not in {"state", "verdict"})
_COLUMNS = ", ".join([*_NAMES, "state", "verdict", "incarnation"])
_CONDITIONS = {
    "verdict": "verdict = :verdict",
    "kind": "kind = :kind",
    "testbed": "testbed = :testbed",
    "owner": "owner = :owner",
    "name": "name ILIKE :name ESCAPE '/'",
    "since": "created >= :since",
    "until": "created < :until",
    "suite_run": "suite_run_id = :suite_run",
    "parent": "parent_id = :parent",
}
#: RUNNING without a living worker is INTERRUPTED, whoever looks.
_IN_STATE = {
    CampaignState.RUNNING: "state = 'RUNNING' AND incarnation IN :living",
    CampaignState.INTERRUPTED: "(state = 'INTERRUPTED' OR state = 'RUNNING' AND coalesce(incarnation NOT IN :living, true))",
}


def campaigns(
    transactions: Transactions,
    wanted: CampaignFilter,
    order: Order,
    *,
    place: tuple[str, int] | None = None,
    backwards: bool = False,
    limit: int = 50,
) -> list[CampaignRow]:
    """Campaigns in an order, those after a place (name, id); backwards: the page that ends before it, in the same order."""
    given: dict[str, Any] = {one.name: getattr(wanted, one.name) for one in fields(wanted) if one.name != "state"}
    given = {name: value for name, value in given.items() if value is not None}
    values = {**given, "limit": limit, "state": wanted.state}
    if wanted.name is not None:
        values["name"] = _pattern(wanted.name)
    if place is not None:
        values |= {"place_name": place[0], "place_id": place[1]}
    rising = (order in _RISING) is not backwards
    query = _statement(frozenset(given), wanted.state, order in _BY_NAME, rising, place is not None)
    with transactions.step("the campaigns could not be read") as connection:
        living = life.living(connection)
        if wanted.state in _IN_STATE:
            values["living"] = [*living, ""]
        found = [_row(connection, row, living) for row in connection.execute(query, values)]
    return found[::-1] if backwards else found


@functools.cache
def _statement(given: frozenset[str], state: CampaignState | None, by_name: bool, rising: bool, placed: bool) -> TextClause:
    keys, places = (("name", "id"), (":place_name", ":place_id")) if by_name else (("id",), (":place_id",))
    conditions = [condition for name, condition in _CONDITIONS.items() if name in given]
    if state is not None:
        conditions.append(_IN_STATE.get(state, "state = :state"))
    if placed:
        conditions.append(f"({', '.join(keys)}) {'>' if rising else '<'} ({', '.join(places)})")
    order = ", ".join(f"{key} {'ASC' if rising else 'DESC'}" for key in keys)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    # Every part is one of the texts above; what people ask for goes in as values.
    statement = text(f"SELECT {_COLUMNS} FROM campaigns {where} ORDER BY {order} LIMIT :limit")  # noqa: S608
    return statement.bindparams(bindparam("living", expanding=True)) if state in _IN_STATE else statement


def _pattern(part: str) -> str:
    for special in "/%_":
        part = part.replace(special, f"/{special}")
    return f"%{part}%"


def _row(connection: Connection, row: Any, living: frozenset[str]) -> CampaignRow:
    state = CampaignState(row.state)
    if state is CampaignState.RUNNING and row.incarnation not in living:
        state = life.state_of(connection, row.id)
    verdict = None if row.verdict is None else Verdict(row.verdict)
    return CampaignRow(state=state, verdict=verdict, **{name: getattr(row, name) for name in _NAMES})
