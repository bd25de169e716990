"""What did campaigns measure, point by point? One quantity of several campaigns at a time, for pages that put them side by side."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, text

from rackproof.model.measurement import Interval
from rackproof.store import schema
from rackproof.store.columns import decode
from rackproof.store.transactions import Transactions

#: So many trials of a campaign are compared; a table of more is read by nobody.
TRIALS_MAX = 1000
#: What a campaign measures is read from so many of its trials: all of them measure the same.
_LOOKED_AT = 3

_quantity = schema.Quantity
_LOOK = text("""
    SELECT q.name, q.unit, q.subject
    FROM unnest(CAST(:campaigns AS bigint[])) WITH ORDINALITY AS asked (campaign, place)
    CROSS JOIN LATERAL (
        SELECT id FROM trials WHERE campaign_id = asked.campaign AND verdict = 'PASS' ORDER BY index LIMIT :looked_at
    ) looked
    JOIN measurements m ON m.trial_id = looked.id
    JOIN quantities q ON q.id = m.quantity_id
    ORDER BY asked.place, m.trial_id, m.position
""")
_COUNT = text("""
    SELECT count(*) AS trials, count(*) FILTER (WHERE verdict <> 'PASS' AND place < :limit) AS left_out
    FROM (SELECT verdict, row_number() OVER (ORDER BY index) AS place FROM trials WHERE campaign_id = :campaign AND verdict IS NOT NULL
          ORDER BY index LIMIT :limit) mine
""")
# A campaign's trials were written down at once: their ids are neighbours, which makes each quantity one range of its index.
_READ = text("""
    WITH mine AS MATERIALIZED (
        SELECT id, point, verdict FROM trials WHERE campaign_id = :campaign AND verdict IS NOT NULL ORDER BY index LIMIT :limit
    ), span AS (SELECT min(id) AS first, max(id) AS last FROM mine)
    SELECT CAST(mine.point AS text) AS point, m.quantity_id, CAST(sum(m.n) AS bigint) AS n, array_agg(m.value ORDER BY mine.id) AS values,
           array_agg(m.low ORDER BY mine.id) AS lows, array_agg(m.high ORDER BY mine.id) AS highs
    FROM unnest(CAST(:quantities AS int[])) AS asked (quantity)
    CROSS JOIN span
    CROSS JOIN LATERAL (
        SELECT trial_id, quantity_id, value, low, high, n FROM measurements
        WHERE quantity_id = asked.quantity AND trial_id BETWEEN span.first AND span.last
    ) m
    JOIN mine ON mine.id = m.trial_id
    WHERE mine.verdict = 'PASS'
    GROUP BY mine.point, m.quantity_id
    ORDER BY min(mine.id), min(m.quantity_id)
""")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A number at one point, of each repetition. subject: of what it is, as labels; n: samples, over all repetitions.

    lows, highs: of the repetitions' own intervals, None where one has none. Readings at the same point share one mapping.
    """

    point: Mapping[str, Any]
    subject: Mapping[str, str]
    values: Sequence[float]
    n: int
    lows: Sequence[float | None]
    highs: Sequence[float | None]
    confidence: float
    method: str

    def intervals(self) -> list[Interval | None]:
        """The repetitions' own intervals."""
        return [
            None if low is None or high is None else Interval(low=low, high=high, confidence=self.confidence, method=self.method)
            for low, high in zip(self.lows, self.highs, strict=True)
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Readings:
    """What one campaign measured of one quantity. left_out: trials whose result cannot be trusted; more: that there are more trials."""

    found: tuple[Reading, ...]
    left_out: int
    more: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A quantity. subjects: how many there are of each kind ("queue": 4; "": the whole trial)."""

    unit: str
    subjects: Mapping[str, int]


def quantities(transactions: Transactions, campaigns: Sequence[int]) -> dict[str, Measured]:
    """What the campaigns measure, by name, in the order in which they measure it."""
    units: dict[str, str] = {}
    subjects: dict[str, dict[str, set[str]]] = {}
    with transactions.step("what the campaigns measure could not be read") as connection:
        for name, unit, subject in connection.execute(_LOOK, {"campaigns": list(campaigns), "looked_at": _LOOKED_AT}):
            units.setdefault(name, unit)
            subjects.setdefault(name, {}).setdefault(kind_of(subject), set()).add(str(sorted(subject.items())))
    return {
        name: Measured(unit=unit, subjects={kind: len(found) for kind, found in subjects[name].items()}) for name, unit in units.items()
    }


def kind_of(subject: Mapping[str, str]) -> str:
    """What sort of thing a subject is: "queue", "flow"; "" for the whole trial."""
    return " and ".join(sorted(subject))


def readings(transactions: Transactions, campaign: int, name: str, kind: str) -> Readings:
    """The numbers of that name, of subjects of that kind, in the trials of a campaign that can be trusted."""
    with transactions.reading(f"the measurements of campaign {campaign} could not be read") as connection:
        of = {
            row.id: row
            for row in connection.execute(select(*_quantity.__table__.columns).where(_quantity.name == name))
            if kind_of(row.subject) == kind
        }
        counted = connection.execute(_COUNT, {"campaign": campaign, "limit": TRIALS_MAX + 1}).one()
        rows = connection.execute(_READ, {"campaign": campaign, "limit": TRIALS_MAX, "quantities": list(of)}).all()
    points: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row.point not in points:
            points[row.point] = decode(json.loads(row.point))
    return Readings(
        found=tuple(
            Reading(
                point=points[row.point],
                subject=of[row.quantity_id].subject,
                values=row.values,
                n=row.n,
                lows=row.lows,
                highs=row.highs,
                confidence=of[row.quantity_id].confidence or 0.0,
                method=of[row.quantity_id].method or "",
            )
            for row in rows
        ),
        left_out=counted.left_out,
        more=counted.trials > TRIALS_MAX,
    )
