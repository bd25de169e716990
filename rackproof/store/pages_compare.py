"""What did campaigns measure, point by point? One quantity of several campaigns at a time, for pages that put them side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from rackproof.model.measurement import Interval
from rackproof.model.verdict import Verdict
from rackproof.store import schema
from rackproof.store.transactions import Transactions

#: So many trials of a campaign are compared; a table of more is read by nobody.
TRIALS_MAX = 1000
#: What a campaign measures is read from so many of its trials: all of them measure the same.
_LOOKED_AT = 3

_trial, _measurement, _quantity = schema.Trial, schema.Measurement, schema.Quantity


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A number of one trial. subject: of what it is, as labels."""

    point: Mapping[str, Any]
    repetition: int
    subject: Mapping[str, str]
    value: float
    n: int
    interval: Interval | None


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
        for campaign in campaigns:
            looked_at = (
                select(_trial.id)
                .where(_trial.campaign_id == campaign, _trial.verdict == Verdict.PASS)
                .order_by(_trial.index)
                .limit(_LOOKED_AT)
            )
            rows = connection.execute(
                select(_quantity.name, _quantity.unit, _quantity.subject)
                .join_from(_measurement, _quantity, _measurement.quantity_id == _quantity.id)
                .where(_measurement.trial_id.in_(looked_at))
                .order_by(_measurement.trial_id, _measurement.position)
            )
            for name, unit, subject in rows:
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
        trials = connection.execute(
            select(_trial.id, _trial.point, _trial.repetition, _trial.verdict)
            .where(_trial.campaign_id == campaign, _trial.verdict.is_not(None))
            .order_by(_trial.index)
            .limit(TRIALS_MAX + 1)
        ).all()
        trusted = {row.id: row for row in trials[:TRIALS_MAX] if row.verdict == Verdict.PASS}
        of = {
            row.id: row
            for row in connection.execute(select(*_quantity.__table__.columns).where(_quantity.name == name))
            if kind_of(row.subject) == kind
        }
        rows = connection.execute(
            select(_measurement.trial_id, _measurement.quantity_id, *(getattr(_measurement, key) for key in ("value", "low", "high", "n")))
            .where(_measurement.trial_id.in_(trusted), _measurement.quantity_id.in_(of))
            .order_by(_measurement.trial_id, _measurement.position)
        ).all()
    return Readings(
        found=tuple(
            Reading(
                point=trusted[row.trial_id].point,
                repetition=trusted[row.trial_id].repetition,
                subject=of[row.quantity_id].subject,
                value=row.value,
                n=row.n,
                interval=_interval(row.low, row.high, of[row.quantity_id]),
            )
            for row in rows
        ),
        left_out=sum(1 for row in trials[:TRIALS_MAX] if row.verdict != Verdict.PASS),
        more=len(trials) > TRIALS_MAX,
    )


def _interval(low: float | None, high: float | None, of: Any) -> Interval | None:
    if low is None or high is None:
        return None
    return Interval(low=low, high=high, confidence=of.confidence, method=of.method)
