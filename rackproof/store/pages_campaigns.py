"""What do the pages of a campaign ask of the database beside what browse.py tells? A campaign in a few numbers, and its charts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select, text

from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.store import browse, schema
from rackproof.store.browse_rows import CampaignFilter, CampaignRow
from rackproof.store.columns import decode
from rackproof.store.records import Event
from rackproof.store.transactions import Transactions


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """Something that a campaign measured. of: what its subjects are ("queue", "" for the whole trial)."""

    name: str
    unit: str
    of: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One number of a trial, for a chart."""

    trial: int
    point: Mapping[str, Any]
    verdict: Verdict
    subject: Mapping[str, str]
    unit: str
    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Trials that follow each other, counted by what came of them; None: no result yet."""

    first: int
    last: int
    counts: Mapping[Verdict | None, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Current:
    """The trial that is under way. duration_s: what it is expected to take on the wall."""

    index: int
    label: str
    started: datetime
    duration_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A trial by its place and its label."""

    index: int
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Seam:
    """Where a campaign went on after an interruption: before which trial (None: before none), and why."""

    at: datetime
    trial: int | None
    why: str


def verdicts(transactions: Transactions, campaign: int) -> Mapping[Verdict | None, int]:
    """How many trials came to what; None: no result yet."""
    counting = text("SELECT verdict, count(*) FROM trials WHERE campaign_id = :id GROUP BY verdict")
    with transactions.step(f"the trials of campaign {campaign} could not be counted") as connection:
        found = {row[0]: row[1] for row in connection.execute(counting, {"id": campaign})}
    ordered: list[Verdict | None] = [*Verdict, None]
    return {verdict: found[verdict] for verdict in ordered if verdict in found}


def current(transactions: Transactions, campaign: int) -> Current | None:
    """The trial that began last, if it has no result; None where none is under way."""
    query = text("""
        SELECT index AS trial, label, started, duration_s FROM trials
        WHERE campaign_id = :id AND started IS NOT NULL AND verdict IS NULL ORDER BY started DESC LIMIT 1
    """)
    with transactions.step(f"the trial under way of campaign {campaign} could not be read") as connection:
        row = connection.execute(query, {"id": campaign}).one_or_none()
    return None if row is None else Current(index=row.trial, label=row.label, started=row.started, duration_s=row.duration_s)


def blocks(transactions: Transactions, campaign: int, size: int) -> list[Block]:
    """The trials of a campaign in blocks of so many."""
    counting = text("""
        SELECT (index - 1) / :size AS block, min(index) AS first, max(index) AS last, verdict, count(*) AS trials
        FROM trials WHERE campaign_id = :id GROUP BY block, verdict ORDER BY block
    """)
    found: dict[int, Block] = {}
    with transactions.step(f"the trials of campaign {campaign} could not be counted") as connection:
        for row in connection.execute(counting, {"id": campaign, "size": size}):
            was = found.get(row.block)
            verdict = None if row.verdict is None else Verdict(row.verdict)
            found[row.block] = Block(
                first=row.first if was is None else min(was.first, row.first),
                last=row.last if was is None else max(was.last, row.last),
                counts={**(was.counts if was is not None else {}), verdict: row.trials},
            )
    return list(found.values())


def quantities(transactions: Transactions, campaign: int) -> list[Quantity]:
    """What the first and the last trial with a result measured, which is what all of them measure, in its order."""
    query = text("""
        SELECT q.name, q.unit, q.subject FROM measurements m JOIN quantities q ON q.id = m.quantity_id
        WHERE m.trial_id IN (
            (SELECT id FROM trials WHERE campaign_id = :id AND verdict IS NOT NULL ORDER BY index LIMIT 1),
            (SELECT id FROM trials WHERE campaign_id = :id AND verdict IS NOT NULL ORDER BY index DESC LIMIT 1)
        )
        ORDER BY m.trial_id, m.position
    """)
    with transactions.step(f"what campaign {campaign} measured could not be read") as connection:
        rows = connection.execute(query, {"id": campaign}).all()
    return list(dict.fromkeys(Quantity(name=row.name, unit=row.unit, of=", ".join(sorted(row.subject))) for row in rows))


def with_curve(transactions: Transactions, campaign: int, name: str, limit: int) -> list[Named]:
    """Trials that have a curve of that name, in their order; none where the first trial with any curve has no such one: all are alike."""
    query = text("""
        WITH mine AS (SELECT id, index, label FROM trials WHERE campaign_id = :id AND verdict IS NOT NULL),
        first AS (SELECT id FROM mine WHERE EXISTS (SELECT FROM curves WHERE trial_id = mine.id) ORDER BY index LIMIT 1)
        SELECT index AS trial, label FROM mine
        WHERE EXISTS (SELECT FROM curves WHERE trial_id = (SELECT id FROM first) AND name = :name)
        AND EXISTS (SELECT FROM curves WHERE trial_id = mine.id AND name = :name) ORDER BY index LIMIT :limit
    """)
    with transactions.step(f"the curves of campaign {campaign} could not be read") as connection:
        rows = connection.execute(query, {"id": campaign, "name": name, "limit": limit}).all()
    return [Named(index=row.trial, label=row.label) for row in rows]


def sweep(transactions: Transactions, campaign: int, limit: int) -> list[Mapping[str, Any]]:
    """The points of all trials of a campaign, whether they have run or not, in their order; equal ones are one mapping."""
    query = text("SELECT CAST(point AS text) FROM trials WHERE campaign_id = :id ORDER BY index LIMIT :limit")
    with transactions.step(f"the trials of campaign {campaign} could not be read") as connection:
        return _read_points(connection.scalars(query, {"id": campaign, "limit": limit}).all())


def points(transactions: Transactions, campaign: int, name: str, of: str, limit: int) -> list[Point]:
    """One quantity over the trials of a campaign that have a result, in their order; equal points and subjects are one mapping."""
    values = {"id": campaign, "limit": limit}
    with transactions.reading(f"the measurements of campaign {campaign} could not be read") as connection:
        named = select(schema.Quantity.id, schema.Quantity.subject, schema.Quantity.unit).where(schema.Quantity.name == name)
        found = {row.id: row for row in connection.execute(named) if ", ".join(sorted(row.subject)) == of}
        trials = connection.execute(_TRIALS, values).all()
        rows = connection.execute(_MEASURED, {**values, "quantities": list(found)}).all()
    at = {
        trial.id: (trial.trial, Verdict(trial.verdict), point)
        for trial, point in zip(trials, _read_points([one.point for one in trials]), strict=True)
    }
    return [
        Point(
            trial=at[trial_id][0],
            point=at[trial_id][2],
            verdict=at[trial_id][1],
            subject=found[quantity_id].subject,
            unit=found[quantity_id].unit,
            value=value,
            low=low,
            high=high,
            n=n,
        )
        for trial_id, quantity_id, value, low, high, n in rows
    ]


_TRIALS = text("""
    SELECT id, index AS trial, CAST(point AS text) AS point, verdict FROM trials
    WHERE campaign_id = :id AND verdict IS NOT NULL ORDER BY index LIMIT :limit
""")
# A campaign's trials were written down at once: their ids are neighbours, which makes each quantity one range of its index.
_MEASURED = text("""
    WITH mine AS MATERIALIZED (
        SELECT id, index FROM trials WHERE campaign_id = :id AND verdict IS NOT NULL ORDER BY index LIMIT :limit
    ), span AS (SELECT min(id) AS first, max(id) AS last FROM mine)
    SELECT m.trial_id, m.quantity_id, m.value, m.low, m.high, m.n
    FROM unnest(CAST(:quantities AS int[])) AS asked (quantity)
    CROSS JOIN span
    CROSS JOIN LATERAL (
        SELECT trial_id, quantity_id, position, value, low, high, n FROM measurements
        WHERE quantity_id = asked.quantity AND trial_id BETWEEN span.first AND span.last
    ) m
    JOIN mine ON mine.id = m.trial_id
    ORDER BY mine.index, m.position
""")


def _read_points(texts: Sequence[str]) -> list[Mapping[str, Any]]:
    """Points as JSON, each of which is read once however often it is there."""
    known = {one: decode(json.loads(one)) for one in set(texts)}
    return [known[one] for one in texts]


def seams(transactions: Transactions, campaign: int, moments: Sequence[datetime]) -> list[Seam]:
    """Where a campaign went on after interruptions that ended at these moments."""
    if not moments:
        return []
    before = text("SELECT min(index) FROM trials WHERE campaign_id = :id AND started >= :at")
    reasons = text("SELECT data->>'why' FROM events WHERE campaign_id = :id AND kind = 'campaign_resumed' ORDER BY seq")
    with transactions.step(f"the seams of campaign {campaign} could not be read") as connection:
        why = [words or "" for words in connection.scalars(reasons, {"id": campaign})]
        return [
            Seam(at=at, trial=connection.scalar(before, {"id": campaign, "at": at}), why=why[place] if place < len(why) else "")
            for place, at in enumerate(moments)
        ]


def events_before(transactions: Transactions, campaign: int, before: int | None, limit: int) -> list[Event]:
    """The newest events of a campaign, or those before a number, in their order."""
    table = schema.Event
    query = select(table.seq, table.at, table.kind, table.data).where(table.campaign_id == campaign)
    if before is not None:
        query = query.where(table.seq < before)
    with transactions.step(f"the events of campaign {campaign} could not be read") as connection:
        rows = connection.execute(query.order_by(table.seq.desc()).limit(limit)).all()
    return [Event(seq=row.seq, at=row.at, kind=row.kind, data=row.data) for row in reversed(rows)]


def running(transactions: Transactions) -> Mapping[int, CampaignRow]:
    """The campaigns that somebody runs, by number."""
    rows = browse.Browse(transactions).campaigns(CampaignFilter(state=CampaignState.RUNNING), limit=50)
    return {row.id: row for row in rows}
