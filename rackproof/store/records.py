"""How rows become the values of the model."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from rackproof.errors import NotFound
from rackproof.model.campaign import CampaignRecord, CampaignState, SamplesFile, TrialRecord
from rackproof.model.finding import Finding
from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.store import schema
from rackproof.store.browse_rows import CampaignRow


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignSummary:
    """A campaign in a list. trials_done counts those with a result, whatever it says."""

    id: int
    name: str
    kind: str
    testbed: str
    state: CampaignState
    verdict: Verdict | None
    reason: str
    created: datetime
    started: datetime | None
    ended: datetime | None
    trials: int
    trials_done: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that happened to a campaign; seq grows with every event."""

    seq: int
    at: datetime
    kind: str
    data: Mapping[str, Any]


def load_campaign(connection: Connection, campaign: int) -> CampaignRecord:
    """A campaign with all that belongs to it. Raises NotFound."""
    row = connection.execute(select(*schema.Campaign.__table__.columns).where(schema.Campaign.id == campaign)).one_or_none()
    if row is None:
        raise NotFound(f"there is no campaign {campaign}")
    texts = schema.Configuration
    configurations = connection.execute(select(texts.name, texts.text).where(texts.campaign_id == campaign).order_by(texts.id))
    findings = schema.Finding
    judged = connection.execute(select(*findings.__table__.columns).where(findings.campaign_id == campaign).order_by(findings.position))
    return CampaignRecord(
        id=row.id,
        name=row.name,
        kind=row.kind,
        testbed=row.testbed,
        plan=row.plan,
        plan_text=row.plan_text,
        plan_sha256=row.plan_sha256,
        state=CampaignState(row.state),
        created=row.created,
        started=row.started,
        ended=row.ended,
        resumed=tuple(row.resumed),
        verdict=_verdict(row.verdict),
        reason=row.reason,
        calibration=None if row.calibration is None else Calibration(**row.calibration),
        trials=load_trials(connection, campaign),
        provenance=row.provenance,
        configurations={name: text for name, text in configurations},  # noqa: C416  # rows are not pairs to dict()
        findings=tuple(finding_of(found) for found in judged),
    )


def load_trials(connection: Connection, campaign: int) -> tuple[TrialRecord, ...]:
    """All trials of a campaign in their order, with their results."""
    trials = schema.Trial
    measurements = _load_measurements(connection, campaign)
    curves: dict[int, list[Curve]] = defaultdict(list)
    columns = schema.Curve.__table__.columns
    for row in connection.execute(
        select(*columns)
        .join_from(schema.Curve, trials)
        .where(trials.campaign_id == campaign)
        .order_by(schema.Curve.trial_id, schema.Curve.position)
    ):
        values = {name: getattr(row, name) for name in ("name", "x_name", "x_unit", "y_name", "y_unit", "n", "subject")}
        curves[row.trial_id].append(Curve(x=tuple(row.x), y=tuple(row.y), **values))
    rows = connection.execute(select(*trials.__table__.columns).where(trials.campaign_id == campaign).order_by(trials.index))
    return tuple(_trial(row, tuple(measurements.get(row.id, ())), tuple(curves[row.id])) for row in rows)


def _load_measurements(connection: Connection, campaign: int) -> dict[int, list[Measurement]]:
    """By the trial's key, in their order. What is measured is read once, not with each of maybe a million numbers."""
    table, quantity = schema.Measurement, schema.Quantity
    here = table.trial_id.in_(select(schema.Trial.id).where(schema.Trial.campaign_id == campaign))
    quantities = {
        row.id: row
        for row in connection.execute(select(*quantity.__table__.columns).where(quantity.id.in_(select(table.quantity_id).where(here))))
    }
    measurements: dict[int, list[Measurement]] = defaultdict(list)
    columns = (table.trial_id, table.quantity_id, table.value, table.low, table.high, table.n)
    rows = connection.execute(select(*columns).where(here).order_by(table.trial_id, table.position))
    for trial_id, quantity_id, value, low, high, n in rows:
        of = quantities[quantity_id]
        interval = None if low is None or high is None else Interval(low=low, high=high, confidence=of.confidence, method=of.method)
        measurements[trial_id].append(Measurement(name=of.name, unit=of.unit, value=value, n=n, interval=interval, subject=of.subject))
    return measurements


def summary_of(row: CampaignRow) -> CampaignSummary:
    """A row of a list as the command line gives it."""
    names = ("id", "name", "kind", "testbed", "state", "verdict", "reason", "created", "started", "ended", "trials_done")
    return CampaignSummary(trials=row.trial_count, **{name: getattr(row, name) for name in names})


def _trial(row: Row[Any], measurements: tuple[Measurement, ...], curves: tuple[Curve, ...]) -> TrialRecord:
    trial = Trial(
        index=row._mapping["index"],  # row.index is a method of tuples
        label=row.label,
        point=row.point,
        repetition=row.repetition,
        seed=int(row.seed),
        duration_s=row.duration_s,
    )
    result = samples = None
    if row.verdict is not None:
        result = TrialResult(
            verdict=Verdict(row.verdict),
            reason=row.reason,
            measurements=measurements,
            curves=curves,
            health=row.health,
            counters=row.counters,
        )
    if row.samples_path is not None:
        samples = SamplesFile(path=row.samples_path, sha256=row.samples_sha256, rows=row.samples_rows)
    return TrialRecord(trial=trial, result=result, samples=samples, started=row.started, ended=row.ended)


def finding_of(row: Row[Any]) -> Finding:
    """A row of the table of findings."""
    names = ("criterion", "title", "subject", "value", "unit", "n", "limit", "statement", "detail")
    values = {name: getattr(row, name) for name in names}
    return Finding(verdict=Verdict(row.verdict), interval=_interval(row), trials=tuple(row.trials), **values)


def _interval(row: Row[Any]) -> Interval | None:
    return None if row.low is None else Interval(low=row.low, high=row.high, confidence=row.confidence, method=row.method)


def _verdict(text: str | None) -> Verdict | None:
    return None if text is None else Verdict(text)
