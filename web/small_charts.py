"""A small chart of several columns over the swept number, as SVG without script: a colour for what it is of, a dash and a mark a column."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from web.charts import colour
from web.comparing import Comparison, Row
from web.words import number

WIDTH, HEIGHT = 340, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 8, 8, 26
#: Room between the axis and the first point.
_ASIDE = 8
#: Where the largest value is so many times the smallest, small ones are seen on a logarithmic scale alone.
_LOG_FROM = 50.0
CHARTS_MAX = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """One point of a series, in the chart's own coordinates, with the ends of its interval."""

    x: float
    y: float
    low: float | None
    high: float | None
    said: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One column. path: its line."""

    index: int
    label: str
    path: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """A number on an axis and where it stands."""

    at: float
    said: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A chart. colour: the class that gives its colour ("queue-3"), "" for ink."""

    title: str
    colour: str
    series: tuple[Series, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    logarithmic: bool


def charts(found: Comparison, unit: str) -> list[Chart]:
    """One chart for each subject and each point apart from the swept number; none where nothing is swept."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in found.rows:
        if row.x is not None:
            groups.setdefault((words_of(row.subject), words_of(row.point)), []).append(row)
    several = [(key, rows) for key, rows in groups.items() if len({row.x for row in rows}) > 1]
    drawn = [_chart(found, rows, ", ".join(part for part in key if part), unit) for key, rows in several]
    # A line without another beside it compares nothing.
    together = [chart for chart in drawn if len(chart.series) > 1]
    return (together or drawn)[:CHARTS_MAX]


def words_of(labels: Mapping[str, str]) -> str:
    """Labels in words: queue 3, scheduler SP."""
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in labels.items())


def _chart(found: Comparison, rows: Sequence[Row], title: str, unit: str) -> Chart:
    xs = sorted({row.x for row in rows if row.x is not None})
    ends = [
        end
        for row in rows
        for cell in row.cells
        if cell is not None
        for end in (cell.value, *((cell.interval.low, cell.interval.high) if cell.interval else ()))
        if math.isfinite(end)
    ]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    logarithmic = low > 0 and high / low > _LOG_FROM
    if not logarithmic:
        low, high = min(low, 0.0), max(high, 0.0) or 1.0

    def place_x(value: float) -> float:
        return round(_LEFT + _ASIDE + (value - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - _LEFT - _RIGHT - _ASIDE), 1)

    def place_y(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if logarithmic else (value - low) / (high - low)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 1)

    series = []
    for index, column in enumerate(found.columns):
        marks = []
        for row in sorted(rows, key=lambda one: one.x or 0.0):
            cell = row.cells[index]
            if cell is None or row.x is None or not math.isfinite(cell.value) or (logarithmic and cell.value <= 0):
                continue
            interval = cell.interval if cell.interval and math.isfinite(cell.interval.low) and math.isfinite(cell.interval.high) else None
            marks.append(
                Mark(
                    x=place_x(row.x),
                    y=place_y(cell.value),
                    low=None if interval is None else place_y(max(interval.low, low)),
                    high=None if interval is None else place_y(interval.high),
                    said=f"{column.label}: {number(cell.value)} {unit if unit != '1' else ''}".strip()
                    + (f" ({number(interval.low)} to {number(interval.high)})" if interval else "")
                    + f" at {number(row.x)}",
                )
            )
        path = " ".join(f"{'M' if at == 0 else 'L'}{mark.x} {mark.y}" for at, mark in enumerate(marks))
        series.append(Series(index=index, label=column.label, path=path, marks=tuple(marks)))
    return Chart(
        title=title or "All",
        colour=colour(rows[0].subject) or "",
        series=tuple(one for one in series if one.marks),
        x_ticks=tuple(Tick(at=place_x(value), said=number(value)) for value in _few(xs)),
        y_ticks=tuple(Tick(at=place_y(value), said=number(value, 3)) for value in _y_ticks(low, high, logarithmic)),
        logarithmic=logarithmic,
    )


def _few(values: Sequence[float]) -> list[float]:
    """Some of the values, far enough apart for their numbers not to touch."""
    span = values[-1] - values[0]
    kept = [values[0]]
    for value in values[1:]:
        if (value - kept[-1]) / span > 0.12:
            kept.append(value)
    return kept


def _y_ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    if logarithmic:
        powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        every = math.ceil(len(powers) / 4) or 1
        return [10.0**power for power in list(powers)[::every]]
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough)
    first = math.ceil(low / step)
    return [round(step * at, 12) for at in range(first, math.floor(high / step) + 1)]
