"""What do several campaigns say of the same point, and do they differ? Pure: from their readings to a table with one column a campaign."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackproof.model.finding import Finding
from rackproof.model.measurement import Interval
from rackproof.stats.pooling import REPETITIONS_MIN, pool
from rackproof.store.pages_compare import Reading
from web.flow import flow

#: So many columns are put side by side.
COLUMNS_MAX = 8
ROWS_MAX = 200

Key = tuple[tuple[str, str], ...]
Point = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """What is put beside others: a campaign, or one device (or whatever `by` names) of it."""

    campaign: int
    by: str
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A number with its interval. n: samples, over all repetitions. differs: its interval and that of the first column do not meet."""

    value: float
    n: int
    repetitions: int
    interval: Interval | None
    change: float | None = None
    differs: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One point of the sweep, one subject. x: the swept number, where there is one."""

    subject: Mapping[str, str]
    point: Mapping[str, str]
    x: float | None
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Columns side by side. keys: what can be compared by, beside campaigns; x_name: the number that is swept, "" where none is."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    keys: tuple[str, ...]
    by: str
    x_name: str
    matched: int
    differing: int
    more: bool


def compare(readings: Mapping[int, Sequence[Reading]], by: str | None) -> Comparison:
    """Put campaigns side by side; `by`: a key of their points that tells columns apart as well ("device"), None: as fits, "": none."""
    everything = [reading for found in readings.values() for reading in found]
    # Many readings share a point: what is asked of points is asked once of each.
    points = list({id(reading.point): reading.point for reading in everything}.values())
    names = list(dict.fromkeys(key for point in points for key in point))
    x_name = _swept(points, names)
    words = [key for key in names if key != x_name and len({str(point.get(key)) for point in points}) > 1]
    chosen = by if by is not None and (by in names or by == "") else _chosen(readings, words)
    columns = _columns(readings, chosen)
    rest = [key for key in names if key not in {chosen, x_name}]
    telling = [key for key in rest if key in words]
    for key in list(telling):
        # Of two keys that say the same, one is enough.
        others = [other for other in telling if other != key]
        telling = others if _follows(points, key, others) else telling
    places = {id(point): _place(point, telling, x_name, chosen) for point in points}
    subjects = {id(reading.subject): _key(reading.subject) for reading in everything}
    groups: dict[tuple[Key, Key, float | None], dict[tuple[int, str], list[Reading]]] = {}
    for campaign, found in readings.items():
        for reading in found:
            at, x, column = places[id(reading.point)]
            place = (subjects[id(reading.subject)], at, x)
            groups.setdefault(place, {}).setdefault((campaign, column), []).append(reading)
    rows = [
        Row(
            subject=dict(subject),
            point=dict(point),
            x=x,
            cells=_cells([cells.get((column.campaign, column.by), []) for column in columns]),
        )
        for (subject, point, x), cells in sorted(groups.items(), key=lambda item: _order(item[0]))
    ]
    matched = [row for row in rows if sum(cell is not None for cell in row.cells) > 1]
    return Comparison(
        columns=tuple(columns),
        rows=tuple(rows[:ROWS_MAX]),
        keys=tuple(dict.fromkeys([*([chosen] if chosen else []), *words])),
        by=chosen,
        x_name=x_name,
        matched=len(matched),
        differing=sum(any(cell is not None and cell.differs for cell in row.cells) for row in rows),
        more=len(rows) > ROWS_MAX,
    )


def differences(values: Sequence[Mapping[str, str]], *, all_of_them: bool = False) -> list[tuple[str, tuple[str | None, ...], bool]]:
    """Name, the value in each mapping (None: it has none), and whether they differ; only those that differ, unless all are asked for."""
    names = list(dict.fromkeys(name for mapping in values for name in mapping))
    rows = []
    for name in names:
        found = tuple(mapping.get(name) for mapping in values)
        differs = len(set(found)) > 1
        if differs or all_of_them:
            rows.append((name, found, differs))
    return rows


def flat(data: Any, path: str = "") -> dict[str, str]:
    """Nested data as dotted path -> value; lists of scalars stay together."""
    match data:
        case Mapping() if data:
            made: dict[str, str] = {}
            for key, value in data.items():
                made |= flat(value, f"{path}.{key}" if path else str(key))
            return made
        case list() if any(isinstance(one, Mapping | list) for one in data):
            made = {}
            for at, value in enumerate(data):
                made |= flat(value, f"{path}[{at}]")
            return made
        case _:
            return {path: data if isinstance(data, str) else flow(data)}


def judged(findings: Sequence[Sequence[Finding]]) -> list[tuple[Finding, tuple[Finding | None, ...]]]:
    """Findings of the same criterion on the same subject, one row each: the first one found, and that of each campaign."""
    rows: dict[tuple[str, Key], list[Finding | None]] = {}
    for at, found in enumerate(findings):
        for finding in found:
            rows.setdefault((finding.criterion, _key(finding.subject)), [None] * len(findings))[at] = finding
    return [(next(one for one in row if one is not None), tuple(row)) for row in rows.values()]


def _chosen(readings: Mapping[int, Sequence[Reading]], words: Sequence[str]) -> str:
    """What tells columns apart as well as the campaign does: nothing where campaigns have points in common, else what they differ in."""
    if len(readings) == 1:
        return words[0] if words else ""
    for key in words:
        sets = [{str(reading.point.get(key)) for reading in found} for found in readings.values() if found]
        if sets and not set.intersection(*sets):
            return key
    return ""


def _columns(readings: Mapping[int, Sequence[Reading]], by: str) -> list[Column]:
    columns = []
    for campaign, found in readings.items():
        values = dict.fromkeys(_said(reading.point.get(by)) for reading in found) if by else {"": None}
        for value in values or {"": None}:
            label = f"{campaign}" if not by else value if len(readings) == 1 else f"{campaign}, {value}"
            columns.append(Column(campaign=campaign, by=value, label=label))
    return columns[:COLUMNS_MAX]


def _swept(points: Iterable[Point], names: Sequence[str]) -> str:
    """The numeric key with the most values."""
    counts: dict[str, set[float]] = {}
    for point in points:
        for key in names:
            value = point.get(key)
            if value is not None and _is_number(value):
                counts.setdefault(key, set()).add(float(value))
    return max(counts, key=lambda key: len(counts[key]), default="")


def _follows(points: Iterable[Point], key: str, others: Sequence[str]) -> bool:
    """True where each value of another key goes with one value of this one: SP is always strict-priority."""
    found: dict[str, dict[str, set[str]]] = {other: {} for other in others}
    for point in points:
        for other in others:
            found[other].setdefault(str(point.get(other)), set()).add(str(point.get(key)))
    return any(all(len(values) == 1 for values in of.values()) for of in found.values())


def _place(point: Point, telling: Sequence[str], x_name: str, by: str) -> tuple[Key, float | None, str]:
    """The row of a point, its place on the axis, and what tells its column from the others of its campaign."""
    x = point.get(x_name)
    row = _key({key: _said(point.get(key)) for key in telling})
    return row, x if _is_number(x) else None, _said(point.get(by)) if by else ""


def _cells(groups: Sequence[Sequence[Reading]]) -> tuple[Cell | None, ...]:
    cells: list[Cell | None] = []
    first: Cell | None = None
    for group in groups:
        if not group:
            cells.append(None)
            continue
        value, interval = _pooled(group)
        n = sum(reading.n for reading in group)
        change, differs = (None, False) if first is None else (_change(first.value, value), _apart(first.interval, interval))
        repetitions = sum(len(reading.values) for reading in group)
        cell = Cell(value=value, n=n, repetitions=repetitions, interval=interval, change=change, differs=differs)
        first = first or cell
        cells.append(cell)
    return tuple(cells)


def _pooled(group: Sequence[Reading]) -> tuple[float, Interval | None]:
    values = [value for reading in group for value in reading.values]
    if not all(math.isfinite(value) for value in values):
        # A starved queue's delay is infinite: one such repetition makes the mean so, and nothing can be said of its precision.
        return max(values), None
    # Of many repetitions their own spread counts alone.
    return pool(values, [] if len(values) >= REPETITIONS_MIN else [interval for reading in group for interval in reading.intervals()])


def _change(before: float, now: float) -> float | None:
    return (now - before) / abs(before) if math.isfinite(before) and math.isfinite(now) and before else None


def _apart(one: Interval | None, other: Interval | None) -> bool:
    return one is not None and other is not None and (one.high < other.low or other.high < one.low)


def _key(labels: Mapping[str, str]) -> Key:
    return tuple(sorted((str(key), str(value)) for key, value in labels.items()))


def _order(place: tuple[Key, Key, float | None]) -> tuple[Any, ...]:
    natural: Callable[[Key], tuple[Any, ...]] = lambda key: tuple((name, len(value), value) for name, value in key)  # noqa: E731
    subject, point, x = place
    return (len(subject), natural(subject), natural(point), x is not None, x or 0.0)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
