"""What is there that has these words? Campaigns, testbeds, schedules and people, for the search of the pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.store import schema, schema_service
from rackproof.store.transactions import Transactions

WORDS_MAX = 8
_OTHERS_MAX = 20
_NUMBER = re.compile(r"#?(\d{1,18})")
_campaign = schema.Campaign


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A testbed, a schedule or a user. kind: which; key: its name, or its number in the address of its page."""

    kind: str
    key: str
    name: str
    detail: str


def words(query: str) -> tuple[str, ...]:
    """The words of what somebody typed."""
    return tuple(query.split()[:WORDS_MAX])


def number(query: str) -> int | None:
    """The number that somebody typed, and nothing else: 12 or #12."""
    found = _NUMBER.fullmatch(query.strip())
    return int(found[1]) if found is not None else None


def campaigns(transactions: Transactions, query: str, *, before: int | None = None, limit: int = 50) -> list[int]:
    """Numbers of the campaigns that have every word in name, number, owner, verdict, state, kind, testbed or schedule; newest first."""
    run, schedule = schema_service.SuiteRun, schema_service.Schedule
    asked = words(query)
    if not asked:
        return []
    with transactions.step("the search failed") as connection:
        conditions: list[ColumnElement[bool]] = []
        for word in asked:
            of_schedules = (
                select(run.id)
                .join_from(run, schedule, run.schedule_id == schedule.id)
                .where(schedule.name.icontains(word, autoescape=True))
            )
            runs = connection.scalars(of_schedules.order_by(run.id.desc()).limit(1000)).all()
            conditions.append(_has(word, runs))
        wanted = select(_campaign.id).where(and_(*conditions))
        if before is not None:
            wanted = wanted.where(_campaign.id < before)
        return list(connection.scalars(wanted.order_by(_campaign.id.desc()).limit(limit)))


def others(transactions: Transactions, query: str, *, users: bool) -> list[Hit]:
    """Testbeds, schedules and, where they may be told, users that have every word in their names or in what is said of them."""
    asked = words(query)
    if not asked:
        return []
    testbed, schedule, user = schema_service.Testbed, schema_service.Schedule, schema_service.User
    with transactions.step("the search failed") as connection:
        texts = (testbed.name, testbed.description, testbed.driver, testbed.state)
        benches = select(testbed.name, testbed.state, testbed.reason).where(_all(asked, texts)).order_by(testbed.name)
        found = [
            Hit(kind="testbed", key=row.name, name=row.name, detail=", ".join(part for part in (row.state, row.reason) if part))
            for row in connection.execute(benches.limit(_OTHERS_MAX))
        ]
        columns = select(schedule.id, schedule.name, schedule.cron, schedule.zone).where(_all(asked, (schedule.name, schedule.owner)))
        found += [
            Hit(kind="schedule", key=str(row.id), name=row.name, detail=f"{row.cron} {row.zone}")
            for row in connection.execute(columns.order_by(schedule.id).limit(_OTHERS_MAX))
        ]
        if users:
            people = select(user.name, user.full_name, user.role).where(_all(asked, (user.name, user.full_name, user.email)))
            found += [
                Hit(kind="user", key=row.name, name=row.name, detail=", ".join(part for part in (row.full_name, row.role) if part))
                for row in connection.execute(people.order_by(user.name).limit(_OTHERS_MAX))
            ]
    return found


def _has(word: str, runs: Sequence[int]) -> ColumnElement[bool]:
    if word.startswith("#") and (exact := number(word)) is not None:
        return _campaign.id == exact
    texts = (_campaign.name, _campaign.owner, _campaign.testbed, _campaign.kind)
    either: list[ColumnElement[bool]] = [text.icontains(word, autoescape=True) for text in texts]
    if word.upper() in Verdict.__members__:
        either.append(_campaign.verdict == word.upper())
    if word.upper() in CampaignState.__members__:
        either.append(_campaign.state == word.upper())
    if (found := number(word)) is not None:
        either.append(_campaign.id == found)
    if runs:
        either.append(_campaign.suite_run_id.in_(runs))
    return or_(*either)


def _all(asked: Sequence[str], texts: Sequence[InstrumentedAttribute[str]]) -> ColumnElement[bool]:
    return and_(*(or_(*(text.icontains(word, autoescape=True) for text in texts)) for word in asked))
