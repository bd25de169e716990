"""How the result of a trial becomes rows."""

import math
import threading
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, select, text
from sqlalchemy.dialects.postgresql import insert

from rackproof.errors import StoreError
from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.store import schema
from rackproof.store.columns import clean

_Labels = tuple[tuple[str, str], ...]
# name, unit, subject (sorted), confidence, method
_Key = tuple[str, str, _Labels, float | None, str | None]

_INSERT_MEASUREMENTS = text("""
    INSERT INTO measurements (trial_id, position, quantity_id, value, low, high, n)
    SELECT :trial, row - 1, quantity, value, low, high, n
    FROM unnest(
        CAST(:quantities AS int[]), CAST(:values AS float8[]), CAST(:lows AS float8[]), CAST(:highs AS float8[]), CAST(:ns AS bigint[])
    ) WITH ORDINALITY AS rows (quantity, value, low, high, n, row)
""")


class Quantities:
    """The ids of what is measured, kept between trials: most trials of a campaign measure the same. Threads may share one."""

    def __init__(self) -> None:
        self._known: dict[_Key, int] = {}
        self._lock = threading.Lock()

    def ids(self, connection: Connection, measurements: Iterable[Measurement]) -> tuple[list[int], dict[_Key, int]]:
        """An id for each measurement, and those that are new; keep() them once they are committed."""
        keys = [_key(measurement) for measurement in measurements]
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
        missing = set(keys) - found.keys()
        new: dict[_Key, int] = {}
        if missing:
            new = _select(connection, missing)
            if absent := missing - new.keys():
                _insert(connection, absent)
                new |= _select(connection, absent)
        ids = found | new
        return [ids[key] for key in keys], new

    def keep(self, new: dict[_Key, int]) -> None:
        """Remember ids that are committed."""
        with self._lock:
            self._known |= new


def check(what: str, measurements: Sequence[Measurement], curves: Sequence[Curve]) -> None:
    """Refuse what no report could show. Raises StoreError."""
    seen: set[tuple[str, _Labels]] = set()
    for measurement in measurements:
        numbers = (measurement.value, *_ends(measurement.interval))
        if any(number is not None and math.isnan(number) for number in numbers):
            raise StoreError(f"{what}: {_named(measurement)} is not a number; a measurement that could not be made is left out")
        identity = (measurement.name, _labels(measurement.subject))
        if identity in seen:
            raise StoreError(f"{what}: {_named(measurement)} stands there twice")
        seen.add(identity)
    for curve in curves:
        if len(curve.x) != len(curve.y) or any(math.isnan(number) for number in (*curve.x, *curve.y)):
            raise StoreError(f"{what}: the curve {curve.name} {dict(curve.subject)} has unequal axes or points that are not numbers")


def insert_measurements(connection: Connection, trial_id: int, ids: list[int], measurements: Sequence[Measurement]) -> None:
    """All measurements of a trial, in one statement."""
    if not measurements:
        return
    intervals = [_ends(measurement.interval) for measurement in measurements]
    connection.execute(
        _INSERT_MEASUREMENTS,
        {
            "trial": trial_id,
            "quantities": ids,
            "values": [float(measurement.value) for measurement in measurements],
            "lows": [low for low, _ in intervals],
            "highs": [high for _, high in intervals],
            "ns": [int(measurement.n) for measurement in measurements],
        },
    )


def insert_curves(connection: Connection, trial_id: int, curves: Sequence[Curve]) -> None:
    """All curves of a trial."""
    rows = [
        {
            "trial_id": trial_id,
            "position": position,
            "name": curve.name,
            "x_name": curve.x_name,
            "x_unit": curve.x_unit,
            "y_name": curve.y_name,
            "y_unit": curve.y_unit,
            "subject": curve.subject,
            "n": int(curve.n),
            "x": [float(x) for x in curve.x],
            "y": [float(y) for y in curve.y],
        }
        for position, curve in enumerate(curves)
    ]
    if rows:
        connection.execute(insert(schema.Curve), rows)


def interval_columns(interval: Interval | None) -> dict[str, float | str | None]:
    """The four columns of an interval; all null where there is none."""
    low, high = _ends(interval)
    return {
        "low": low,
        "high": high,
        "confidence": None if interval is None else float(interval.confidence),
        "method": None if interval is None else interval.method,
    }


def _named(measurement: Measurement) -> str:
    return f"{measurement.name} {dict(measurement.subject)}"


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (float(interval.low), float(interval.high))


def _labels(subject: Mapping[str, str]) -> _Labels:
    return tuple(sorted((clean(str(key)), clean(str(value))) for key, value in subject.items()))


def _key(measurement: Measurement) -> _Key:
    interval = measurement.interval
    confidence, method = (None, None) if interval is None else (float(interval.confidence), clean(interval.method))
    return clean(measurement.name), clean(measurement.unit), _labels(measurement.subject), confidence, method


def _select(connection: Connection, keys: set[_Key]) -> dict[_Key, int]:
    table = schema.Quantity
    rows = connection.execute(
        select(table.id, table.name, table.unit, table.subject, table.confidence, table.method).where(
            # Every scheme is a subject of its own: of all that was ever measured under these names, only what these keys are of.
            table.name.in_({key[0] for key in keys}),
            table.subject.in_([dict(subject) for subject in {key[2] for key in keys}]),
        )
    )
    found = {(row.name, row.unit, _labels(row.subject), row.confidence, row.method): row.id for row in rows}
    return {key: found[key] for key in keys if key in found}


def _insert(connection: Connection, keys: set[_Key]) -> None:
    # In order: two processes that add the same quantities wait for each other, never in a circle.
    ordered = sorted(keys, key=repr)
    names = ("name", "unit", "subject", "confidence", "method")
    rows = [dict(zip(names, (name, unit, dict(subject), *rest), strict=True)) for name, unit, subject, *rest in ordered]
    connection.execute(insert(schema.Quantity).on_conflict_do_nothing(), rows)
