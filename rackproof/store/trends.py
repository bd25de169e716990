"""How did one measurement change over many campaigns of one plan?

One number a campaign: the mean over its valid trials that match. jumpavg finds where it changes, and a change counts only where the spread
of the campaigns, and their own intervals, could not have made it. See docs/nights.md.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from rackproof.errors import NotFound
from rackproof.model.campaign import CampaignState
from rackproof.model.measurement import Interval
from rackproof.store import means, schema
from rackproof.store.jumps import jumps
from rackproof.store.transactions import Transactions

_campaigns = schema.Campaign
_trials = schema.Trial
_measurements = schema.Measurement
_quantities = schema.Quantity


@dataclass(frozen=True, kw_only=True, slots=True)
class TrendPoint:
    """One campaign of a trend. value: the mean over trials; n: how many trials it is of; left_out: those that are not valid."""

    campaign: int
    ended: datetime
    value: float
    interval: Interval | None
    n: int
    left_out: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A line of the provenance ("Rackproof.commit") that is not the same before and after; None where it was not there."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePoint:
    """Between two campaigns the measurement changed. before, after: the means of the campaigns up to here, and from here on."""

    campaign_before: int
    campaign_after: int
    before: float
    after: float
    provenance: tuple[Difference, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Trend:
    """A measurement over campaigns, the oldest first. left_out: trials that are not valid; without: campaigns that did not measure it."""

    name: str
    quantity: str
    subject: Mapping[str, str]
    unit: str
    points: tuple[TrendPoint, ...]
    changes: tuple[ChangePoint, ...]
    left_out: int
    without: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Something of which there can be a trend."""

    quantity: str
    unit: str
    subject: Mapping[str, str]


class Trends:
    """Measurements over campaigns."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def series(
        self,
        *,
        name: str,
        quantity: str,
        subject: Mapping[str, str] | None = None,
        point: Mapping[str, float | int | str] | None = None,
        kind: str | None = None,
        testbed: str | None = None,
        limit: int = 200,
    ) -> Trend:
        """The newest campaigns of the plan `name` that are DONE. Raises NotFound where none of them measured it.

        subject: exactly what the measurement is of; {} the trial as a whole. point: only trials at these values.
        """
        wanted = dict(subject or {})
        with self._transactions.step(f"the trend of {quantity} could not be read") as connection:
            campaigns = _newest(connection, name, kind, testbed, limit)
            unit, quantities = _quantity(connection, quantity, wanted, [row.id for row in campaigns])
            points = _points(connection, campaigns, quantities, point)
            if not points:
                raise NotFound(f"no campaign {name!r} that is done measured {quantity} of {wanted or 'the whole trial'}")
            breaks = jumps([one.value for one in points], [one.interval for one in points])
            provenance = _provenance(connection, [points[at + step].campaign for at in breaks for step in (-1, 0)])
        present = {one.campaign for one in points}
        return Trend(
            name=name,
            quantity=quantity,
            subject=wanted,
            unit=unit,
            points=points,
            changes=tuple(_changes(points, breaks, provenance)),
            left_out=sum(one.left_out for one in points),
            without=tuple(row.id for row in campaigns if row.id not in present),
        )

    def measured(self, name: str, kind: str | None = None, testbed: str | None = None) -> list[Measured]:
        """What the newest campaign of a plan that is DONE measured: what there can be a trend of. Raises NotFound."""
        with self._transactions.reading(f"what {name} measures could not be read") as connection:
            newest = _newest(connection, name, kind, testbed, 1)
            if not newest:
                raise NotFound(f"there is no campaign {name!r} that is done")
            trials = select(_trials.id).where(_trials.campaign_id == newest[0].id)
            used = select(_measurements.quantity_id).where(_measurements.trial_id.in_(trials))
            rows = connection.execute(
                select(_quantities.name, _quantities.unit, _quantities.subject).where(_quantities.id.in_(used)).distinct()
            )
            found = [Measured(quantity=row.name, unit=row.unit, subject=row.subject) for row in rows]
        return sorted(found, key=lambda one: (one.quantity, sorted(one.subject.items())))


def _newest(connection: Connection, name: str, kind: str | None, testbed: str | None, limit: int) -> list[Any]:
    """The campaigns, the oldest first."""
    conditions: list[ColumnElement[bool]] = [_campaigns.name == name, _campaigns.state == CampaignState.DONE]
    if kind is not None:
        conditions.append(_campaigns.kind == kind)
    if testbed is not None:
        conditions.append(_campaigns.testbed == testbed)
    columns = (_campaigns.id, func.coalesce(_campaigns.ended, _campaigns.created).label("ended"))
    rows = connection.execute(select(*columns).where(*conditions).order_by(_campaigns.id.desc()).limit(limit))
    return list(reversed(rows.all()))


def _quantity(connection: Connection, name: str, subject: Mapping[str, str], campaigns: Sequence[int]) -> tuple[str, list[int]]:
    """The unit, and all that was measured in it: the same may have been measured in several ways.

    Where the unit was changed, the newest counts: numbers of two units are no series.
    """
    wanted = (_quantities.name == name, _quantities.subject == dict(subject))
    found = {row.id: row.unit for row in connection.execute(select(_quantities.id, _quantities.unit).where(*wanted))}
    units = set(found.values())
    if len(units) > 1:
        newest = (
            select(_measurements.quantity_id)
            .join(_trials, _trials.id == _measurements.trial_id)
            .where(_trials.campaign_id.in_(campaigns), _measurements.quantity_id.in_(found))
            .order_by(_trials.campaign_id.desc())
            .limit(1)
        )
        last = connection.scalar(newest)
        units = {found[last]} if last is not None else set()
    unit = next(iter(units), "")
    return unit, sorted(number for number, its in found.items() if its == unit)


def _points(
    connection: Connection, campaigns: Sequence[Any], quantities: Sequence[int], point: Mapping[str, Any] | None
) -> tuple[TrendPoint, ...]:
    """One point a campaign that has a valid trial."""
    numbers = [row.id for row in campaigns]
    found = means.at(connection, numbers, quantities, point) if point else means.kept(connection, numbers, quantities)
    return tuple(
        TrendPoint(
            campaign=campaign.id,
            ended=campaign.ended,
            value=row.mean,
            interval=_interval(row),
            n=row.n,
            left_out=row.left_out,
        )
        for campaign in campaigns
        if (row := found.get(campaign.id)) is not None and row.n > 0
    )


def _interval(row: Any) -> Interval | None:
    if not row.known or not math.isfinite(row.mean) or not (math.isfinite(row.low) and math.isfinite(row.high)):
        return None
    trials = "the trial's own" if row.n == 1 else f"mean over {row.n} trials at {row.points} points"
    return Interval(low=row.mean - math.sqrt(row.low), high=row.mean + math.sqrt(row.high), method=trials)


def _provenance(connection: Connection, campaigns: Sequence[int]) -> dict[int, dict[str, str]]:
    """What was written down before each campaign, flat, with the plan's hash: "topic.name" -> value."""
    columns = (_campaigns.id, _campaigns.provenance, _campaigns.plan_sha256)
    found = {}
    for row in connection.execute(select(*columns).where(_campaigns.id.in_(campaigns))):
        flat = {f"{topic}.{name}": str(value) for topic, names in row.provenance.items() for name, value in names.items()}
        found[row.id] = {**flat, "Plan.SHA-256": row.plan_sha256}
    return found


def _changes(points: Sequence[TrendPoint], breaks: Sequence[int], provenance: Mapping[int, Mapping[str, str]]) -> list[ChangePoint]:
    edges = [0, *breaks, len(points)]
    means = [_mean([one.value for one in points[start:end]]) for start, end in itertools.pairwise(edges)]
    found = []
    for number, at in enumerate(breaks):
        before, after = points[at - 1].campaign, points[at].campaign
        was, now = provenance[before], provenance[after]
        differences = tuple(
            Difference(name=name, before=was.get(name), after=now.get(name))
            for name in sorted(was.keys() | now.keys())
            if was.get(name) != now.get(name)
        )
        found.append(
            ChangePoint(
                campaign_before=before,
                campaign_after=after,
                before=means[number],
                after=means[number + 1],
                provenance=differences,
            )
        )
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
