"""Campaigns, trials and measurements as lists: filters, orders, pages, counts.

Every list is read along an index from where the last page ended, and nothing large is counted: it stays quick with a million trials.
"""

import functools
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    RowMapping,
    Select,
    any_,
    bindparam,
    func,
    select,
    text,
    tuple_,
)
from sqlalchemy.orm import InstrumentedAttribute

from rackproof.errors import NotFound
from rackproof.model.campaign import CampaignState
from rackproof.model.event import EventKind
from rackproof.model.finding import Finding
from rackproof.model.measurement import Interval
from rackproof.model.traffic import Calibration
from rackproof.model.verdict import Verdict
from rackproof.store import life, schema
from rackproof.store.browse_results import BrowseResults
from rackproof.store.browse_rows import CampaignDetail, CampaignFilter, CampaignRow, Census, Order

_ENDED = (CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED)
#: An end that nobody told of (the process died in between) is believed after this.
_SILENT_END_S = 10

_campaign = schema.Campaign
_NAMES = tuple(name for name in CampaignRow.__slots__ if name not in {"state", "verdict"})
_COLUMNS = (*(getattr(_campaign, name) for name in _NAMES), _campaign.state, _campaign.verdict, _campaign.incarnation)

_RUNNING = _campaign.state == CampaignState.RUNNING
_HELD = _campaign.incarnation.in_(bindparam("living", expanding=True))
#: RUNNING without a living worker is INTERRUPTED, whoever looks.
_IN_STATE: dict[CampaignState | None, ColumnElement[bool]] = {
    CampaignState.RUNNING: _RUNNING & _HELD,
    CampaignState.INTERRUPTED: (_campaign.state == CampaignState.INTERRUPTED) | (_RUNNING & func.coalesce(~_HELD, True)),
}
_CONDITIONS: dict[str, ColumnElement[bool]] = {
    "verdict": _campaign.verdict == bindparam("verdict"),
    "kind": _campaign.kind == bindparam("kind"),
    "testbed": _campaign.testbed == bindparam("testbed"),
    "owner": _campaign.owner == bindparam("owner"),
    "name": _campaign.name.ilike(bindparam("name"), escape="/"),
    "since": _campaign.created >= bindparam("since"),
    "until": _campaign.created < bindparam("until"),
    "suite_run": _campaign.suite_run_id == bindparam("suite_run"),
    "parent": _campaign.parent_id == bindparam("parent"),
}
_RISING = (Order.OLDEST, Order.NAME)
_BY_NAME = (Order.NAME, Order.NAME_DOWN)
_PLACE = bindparam("place", type_=BigInteger)
_PLACE_NAME = select(_campaign.name).where(_campaign.id == _PLACE).scalar_subquery()

_THIS = _campaign.id == bindparam("campaign")
_MORE = ("user_id", "plan", "plan_text", "plan_sha256", "resumed", "calibration", "provenance", "samples_gone")
_ONE = select(*_COLUMNS).where(_THIS)
_SEVERAL = select(*_COLUMNS).where(_campaign.id == any_(bindparam("campaigns", type_=ARRAY(BigInteger))))
_WHOLE = select(*_COLUMNS, *(getattr(_campaign, name) for name in _MORE)).where(_THIS)
_JUDGED = (
    select(*schema.Finding.__table__.columns).where(schema.Finding.campaign_id == bindparam("campaign")).order_by(schema.Finding.position)
)
_END = text("""
    SELECT state, coalesce(ended < clock_timestamp() - make_interval(secs => :silent_s), true) AS silent,
           (SELECT kind FROM events
            WHERE campaign_id = campaigns.id AND kind IN ('queued', 'campaign_started', 'campaign_resumed', 'campaign_ended')
            ORDER BY seq DESC LIMIT 1) AS newest
    FROM campaigns WHERE id = :campaign
""")
_LAST_EVENT = text("SELECT seq FROM events WHERE campaign_id = :campaign ORDER BY seq DESC LIMIT 1")
_CENSUS = text("""
    SELECT (SELECT count(*) FROM campaigns WHERE state = 'PENDING' AND queued IS NOT NULL) AS queued,
           (SELECT count(*) FROM leases) AS leases,
           (SELECT count(*) FROM testbeds WHERE state = 'OFFLINE') AS testbeds_offline,
           (SELECT count(*) FROM jobs WHERE state IN ('WANTED', 'TAKEN')) AS jobs,
           (SELECT count(*) FROM deliveries WHERE state = 'FAILED') AS deliveries_failed,
           coalesce((SELECT max(seq) FROM events), 0) AS last_event
""")


class Browse(BrowseResults):
    """Campaigns, trials and measurements as lists: filters, pages, counts."""

    def campaigns(
        self,
        wanted: CampaignFilter,
        *,
        order: Order = Order.NEWEST,
        place: int | None = None,
        backwards: bool = False,
        limit: int = 50,
    ) -> list[CampaignRow]:
        """Campaigns in an order, those behind the campaign `place`; backwards: those that end in front of it, in the same order."""
        given: dict[str, Any] = {one.name: getattr(wanted, one.name) for one in fields(wanted) if one.name != "state"}
        given = {name: value for name, value in given.items() if value is not None}
        values = {**given, "place": place, "limit": limit}
        if wanted.name is not None:
            values["name"] = _pattern(wanted.name)
        rising = (order in _RISING) is not backwards
        query = _listing(frozenset(given), wanted.state, order in _BY_NAME, rising, place is not None)
        with self._transactions.step("the campaigns could not be read") as connection:
            if wanted.state in _IN_STATE:
                values["living"] = list(life.living(connection))
            found = _seen(connection, [row._mapping for row in connection.execute(query, values)])
        return found[::-1] if backwards else found

    def campaign(self, campaign: int) -> CampaignRow:
        """One campaign as lists show it. Raises NotFound."""
        with self._transactions.step(f"campaign {campaign} could not be read") as connection:
            row = connection.execute(_ONE, {"campaign": campaign}).one_or_none()
            if row is None:
                raise NotFound(f"there is no campaign {campaign}")
            return _seen(connection, [row._mapping])[0]

    def several(self, campaigns: Sequence[int]) -> list[CampaignRow]:
        """These campaigns, in their order, as lists show them; those that are not there are left out."""
        with self._transactions.step("the campaigns could not be read") as connection:
            rows = connection.execute(_SEVERAL, {"campaigns": list(campaigns)})
            found = {row.id: row for row in _seen(connection, [row._mapping for row in rows])}
        return [found[one] for one in campaigns if one in found]

    def detail(self, campaign: int) -> CampaignDetail:
        """One campaign with its plan, findings and provenance, without its trials. Raises NotFound."""
        with self._transactions.step(f"campaign {campaign} could not be read") as connection:
            row = connection.execute(_WHOLE, {"campaign": campaign}).one_or_none()
            if row is None:
                raise NotFound(f"there is no campaign {campaign}")
            summary = _seen(connection, [row._mapping])[0]
            judged = connection.execute(_JUDGED, {"campaign": campaign})
            findings = tuple(_finding(one._mapping) for one in judged)
        return CampaignDetail(
            row=summary,
            user_id=row.user_id,
            plan=row.plan,
            plan_text=row.plan_text,
            plan_sha256=row.plan_sha256,
            seams=tuple(row.resumed),
            calibration=None if row.calibration is None else Calibration(**row.calibration),
            provenance=row.provenance,
            findings=findings,
            samples_gone=row.samples_gone,
        )

    def is_over(self, campaign: int) -> bool:
        """True where the campaign has ended and everything was told that is to be told of it. Raises NotFound."""
        with self._transactions.step(f"campaign {campaign} could not be read") as connection:
            row = connection.execute(_END, {"campaign": campaign, "silent_s": _SILENT_END_S}).one_or_none()
        if row is None:
            raise NotFound(f"there is no campaign {campaign}")
        return row.state in _ENDED and (row.newest == EventKind.CAMPAIGN_ENDED or bool(row.silent))

    def last_event(self, campaign: int) -> int:
        """The number of a campaign's newest event, 0 where there is none."""
        with self._transactions.step(f"the events of campaign {campaign} could not be read") as connection:
            return connection.scalar(_LAST_EVENT, {"campaign": campaign}) or 0

    def census(self) -> Census:
        """How the house stands, in numbers."""
        unfinished = _campaign.state.in_((CampaignState.PENDING, CampaignState.RUNNING, CampaignState.INTERRUPTED))
        states = select(_campaign.state, _campaign.incarnation, func.count()).where(unfinished).group_by("state", "incarnation")
        with self._transactions.step("the house could not be counted") as connection:
            living = life.living(connection)
            counted: dict[str, int] = {str(state): 0 for state in CampaignState if state not in _ENDED}
            for state, incarnation, count in connection.execute(states):
                lost = state == CampaignState.RUNNING and incarnation not in living
                counted[CampaignState.INTERRUPTED if lost else state] += count
            return Census(campaigns=counted, workers=len(living), **connection.execute(_CENSUS).one()._mapping)

    def revision(self) -> str | None:
        """The database's schema revision, None where there is none yet."""
        with self._transactions.step("the schema could not be read") as connection:
            if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
                return None
            found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
            return found


@functools.cache
def _listing(given: frozenset[str], state: CampaignState | None, by_name: bool, rising: bool, placed: bool) -> Select[*tuple[Any, ...]]:
    """The statement for these filters. It is built once for each set of them: building one costs more than running it."""
    keys: list[InstrumentedAttribute[Any]] = [_campaign.name, _campaign.id] if by_name else [_campaign.id]
    conditions = [condition for name, condition in _CONDITIONS.items() if name in given]
    if state is not None:
        conditions.append(_IN_STATE.get(state, _campaign.state == state))
    if placed:
        mark = tuple_(_PLACE_NAME, _PLACE) if by_name else tuple_(_PLACE)
        conditions.append(tuple_(*keys) > mark if rising else tuple_(*keys) < mark)
    order = [key.asc() if rising else key.desc() for key in keys]
    return select(*_COLUMNS).where(*conditions).order_by(*order).limit(bindparam("limit", type_=Integer))


def _pattern(part: str) -> str:
    for special in "/%_":
        part = part.replace(special, f"/{special}")
    return f"%{part}%"


def _seen(connection: Connection, rows: Sequence[RowMapping]) -> list[CampaignRow]:
    """Rows as people see them: who runs what is asked once for all of them, and only where something runs."""
    running = [row for row in rows if row["state"] == CampaignState.RUNNING]
    living = life.living(connection) if running else frozenset()
    lost = {row["id"]: _lost(connection, row) for row in running if row["incarnation"] not in living}
    return [lost.get(row["id"]) or _row(row, CampaignState(row["state"])) for row in rows]


def _lost(connection: Connection, row: RowMapping) -> CampaignRow:
    """A campaign that was read as RUNNING while its worker is gone; read again where it has moved on since."""
    state = life.state_of(connection, row["id"])
    if state not in (CampaignState.RUNNING, CampaignState.INTERRUPTED):
        row = connection.execute(_ONE, {"campaign": row["id"]}).one()._mapping
    return _row(row, state)


def _row(row: RowMapping, state: CampaignState) -> CampaignRow:
    verdict = None if row["verdict"] is None else Verdict(row["verdict"])
    return CampaignRow(state=state, verdict=verdict, **{name: row[name] for name in _NAMES})


def _finding(columns: RowMapping) -> Finding:
    names = ("criterion", "title", "subject", "value", "unit", "n", "limit", "statement", "detail")
    interval = None
    if columns["low"] is not None:
        interval = Interval(**{name: columns[name] for name in ("low", "high", "confidence", "method")})
    values = {name: columns[name] for name in names}
    return Finding(verdict=Verdict(columns["verdict"]), interval=interval, trials=tuple(columns["trials"]), **values)
