"""Trials, measurements, configurations of one campaign, page by page."""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from sqlalchemy import Integer, RowMapping, Select, bindparam, select, text, tuple_

from rackproof.errors import NotFound
from rackproof.model.campaign import SamplesFile
from rackproof.model.verdict import Verdict
from rackproof.store import schema
from rackproof.store.browse_rows import CurveRow, MeasurementRow, SamplesPlace, TrialDetail, TrialRow
from rackproof.store.transactions import Transactions

Row = TypeVar("Row")

_trial = schema.Trial
_EXPORT_ROWS = 5000
_TRIAL_NAMES = tuple(name for name in TrialRow.__slots__ if name not in {"verdict", "seed"})
_MEASUREMENTS = (
    select(
        _trial.index.label("trial"),
        schema.Measurement.position,
        schema.Quantity.name,
        schema.Quantity.unit,
        schema.Quantity.subject,
        schema.Measurement.value,
        schema.Measurement.n,
        schema.Measurement.low,
        schema.Measurement.high,
        schema.Quantity.confidence,
        schema.Quantity.method,
    )
    .join_from(_trial, schema.Measurement, schema.Measurement.trial_id == _trial.id)
    .join(schema.Quantity, schema.Quantity.id == schema.Measurement.quantity_id)
)
#: Statements are built once: building one costs more than running it.
_HERE = _trial.campaign_id == bindparam("campaign")
_TRIAL = select(*_trial.__table__.columns).where(_HERE, _trial.index == bindparam("index"))
_OF_TRIAL = _MEASUREMENTS.where(_trial.id == bindparam("trial_id")).order_by(schema.Measurement.position)
_CURVES = select(*schema.Curve.__table__.columns).where(schema.Curve.trial_id == bindparam("trial_id")).order_by(schema.Curve.position)
_CONFIGURATIONS = (
    select(schema.Configuration.name, schema.Configuration.text)
    .where(schema.Configuration.campaign_id == bindparam("campaign"))
    .order_by(schema.Configuration.id)
)
_LIMIT = bindparam("limit", type_=Integer)


@functools.cache
def _trials(by_verdict: bool, not_passed: bool) -> Select[*tuple[Any, ...]]:
    columns = (*(getattr(_trial, name) for name in _TRIAL_NAMES), _trial.verdict, _trial.seed)
    query = select(*columns).where(_HERE, _trial.index > bindparam("after")).order_by(_trial.index).limit(_LIMIT)
    if by_verdict:
        query = query.where(_trial.verdict == bindparam("verdict"))
    return query.where(_trial.verdict != Verdict.PASS) if not_passed else query


@functools.cache
def _measurements(by_name: bool) -> Select[*tuple[Any, ...]]:
    position = schema.Measurement.position
    beyond = tuple_(_trial.index, position) > tuple_(bindparam("trial", type_=Integer), bindparam("position", type_=Integer))
    # The second condition follows from the third, but an index helps only with the second.
    query = _MEASUREMENTS.where(_HERE, _trial.index >= bindparam("trial"), beyond).order_by(_trial.index, position).limit(_LIMIT)
    return query.where(schema.Quantity.name == bindparam("name")) if by_name else query


class BrowseResults:
    """The part of Browse that reads within one campaign."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def trials(
        self, campaign: int, *, after: int = 0, limit: int = 50, verdict: Verdict | None = None, not_passed: bool = False
    ) -> list[TrialRow]:
        """Trials in their order, those after an index; not_passed: only those with a result that is not PASS. Raises NotFound."""
        values = {"after": after, "limit": limit, "verdict": verdict.value if verdict is not None else None}
        return self._rows(campaign, _trials(verdict is not None, not_passed), values, _trial_row)

    def trial(self, campaign: int, index: int) -> TrialDetail:
        """One trial with everything that came of it. Raises NotFound."""
        with self._transactions.step(f"trial {index} of campaign {campaign} could not be read") as connection:
            found = connection.execute(_TRIAL, {"campaign": campaign, "index": index}).one_or_none()
            if found is None:
                raise NotFound(f"campaign {campaign} has no trial {index}")
            columns = found._mapping
            measured = connection.execute(_OF_TRIAL, {"trial_id": columns["id"]})
            curves = connection.execute(_CURVES, {"trial_id": columns["id"]})
            return TrialDetail(
                row=_trial_row(columns),
                health=columns["health"],
                counters=columns["counters"],
                samples_path=columns["samples_path"],
                samples_sha256=columns["samples_sha256"],
                measurements=tuple(_measurement_row(row._mapping) for row in measured),
                curves=tuple(CurveRow(**{name: row._mapping[name] for name in CurveRow.__slots__}) for row in curves),
            )

    def trial_samples(self, campaign: int, index: int) -> SamplesPlace:
        """Where the samples of a trial are. Raises NotFound."""
        columns = (_trial.samples_path, _trial.samples_sha256, _trial.samples_rows, _trial.ended, schema.Campaign.samples_gone)
        query = select(*columns).join_from(_trial, schema.Campaign).where(_trial.campaign_id == campaign, _trial.index == index)
        with self._transactions.step(f"trial {index} of campaign {campaign} could not be read") as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise NotFound(f"campaign {campaign} has no trial {index}")
        file = None
        if row.samples_path is not None:
            file = SamplesFile(path=row.samples_path, sha256=row.samples_sha256, rows=row.samples_rows)
        # What was measured again after retention had removed the samples has new ones.
        gone = row.samples_gone if row.ended is None or row.samples_gone is None or row.ended <= row.samples_gone else None
        return SamplesPlace(file=file, gone=gone)

    def measurements(
        self, campaign: int, *, after: tuple[int, int] = (0, -1), limit: int = 200, name: str | None = None
    ) -> list[MeasurementRow]:
        """Numbers of a campaign in the order of its trials, those after (trial index, position). Raises NotFound."""
        values = {"trial": after[0], "position": after[1], "limit": limit, "name": name}
        return self._rows(campaign, _measurements(name is not None), values, _measurement_row)

    def all_measurements(self, campaign: int, name: str | None = None) -> Iterator[list[MeasurementRow]]:
        """All numbers of a campaign, some thousand at a time; no connection is held between two lots. Raises NotFound."""
        after = (0, -1)
        while True:
            rows = self.measurements(campaign, after=after, limit=_EXPORT_ROWS, name=name)
            if rows:
                yield rows
            if len(rows) < _EXPORT_ROWS:
                return
            after = (rows[-1].trial, rows[-1].position)

    def configurations(self, campaign: int) -> Mapping[str, str]:
        """Configurations by name ("linux-htb, before"), in the order in which they were kept. Raises NotFound."""
        return dict(self._rows(campaign, _CONFIGURATIONS, {}, lambda row: (row["name"], row["text"])))

    def _rows(
        self, campaign: int, query: Select[*tuple[Any, ...]], values: Mapping[str, Any], made: Callable[[RowMapping], Row]
    ) -> list[Row]:
        with self._transactions.step(f"campaign {campaign} could not be read") as connection:
            rows = [made(row._mapping) for row in connection.execute(query, {**values, "campaign": campaign})]
            # Only where there is nothing is it worth asking whether there is a campaign.
            if not rows and connection.scalar(text("SELECT 1 FROM campaigns WHERE id = :id"), {"id": campaign}) is None:
                raise NotFound(f"there is no campaign {campaign}")
            return rows


def _trial_row(columns: RowMapping) -> TrialRow:
    verdict = None if columns["verdict"] is None else Verdict(columns["verdict"])
    return TrialRow(seed=int(columns["seed"]), verdict=verdict, **{name: columns[name] for name in _TRIAL_NAMES})


def _measurement_row(columns: RowMapping) -> MeasurementRow:
    # An interval has both ends or neither; what the quantity says of it counts only where there is one.
    certain = columns["low"] is not None
    return MeasurementRow(
        **{name: columns[name] for name in ("trial", "position", "name", "unit", "subject", "value", "n", "low", "high")},
        confidence=columns["confidence"] if certain else None,
        method=columns["method"] if certain else None,
    )
