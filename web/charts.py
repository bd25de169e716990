"""How does a quantity become charts? One for each setup, a series for each queue or scheme, a point with its interval for each trial."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rackproof.palette import QUEUES, scheme_place
from rackproof.store.pages_campaigns import Point, Quantity
from web.points import axes, named, title
from web.words import subject, unit

#: A page shows no more charts than a person can compare.
PANELS_MAX = 24
#: What is looked at first, where a campaign has it.
_FIRST = ("flap.k", "throughput", "delay.p50", "delay.mean")
#: What at best is as many as were asked for: the swept value that it is held against.
_AT_BEST = {"flap.k": "flapped"}
#: What is swept and yet compared within one chart: schemes of congestion control.
_SIDE_BY_SIDE = "scheme"
#: Curves that are drawn as bars between their points, and those that are drawn into the chart of another.
HISTOGRAM = "histogram"
_OVER = {"fit": HISTOGRAM}
#: Curves whose names begin so share one axis of time: they are drawn below each other, not each in a chart of its own.
TIMELINE = "timeline."


def chosen(quantities: Sequence[Quantity], name: str, of: str | None) -> Quantity | None:
    """The quantity that an address names, else the one that says most; None where there is none. of: "" for the whole trial."""
    of_name = [one for one in quantities if one.name == name] or [one for first in _FIRST for one in quantities if one.name == first]
    return next(
        (one for one in of_name if one.of == of),
        next((one for one in of_name if one.of == "queue"), of_name[0] if of_name else next(iter(quantities), None)),
    )


def panels(quantity: Quantity, points: Sequence[Point], sweep: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The charts as plain data: infinite numbers are null and said to be infinite.

    sweep: the points of all trials. What has not run yet has its chart and its place on the axis, so that nothing moves when it ends.
    """
    found = axes(sweep)
    across = found.across
    down = [key for key in found.down if key != _SIDE_BY_SIDE]
    # Trials of one point share its mapping, and numbers of one queue that of their subject: each is put into words once.
    titles = {id(point): title(point, down) for point in {id(one): one for one in [*sweep, *(one.point for one in points)]}.values()}
    names = {id(one): subject(one) or "all" for one in {id(point.subject): point.subject for point in points}.values()}
    drawn: dict[str, dict[str, list[dict[str, Any]]]] = {titles[id(point)]: {} for point in sweep}
    ends = [float(point[across]) for point in sweep] if across is not None else [1.0, float(len(sweep))]
    colours: dict[str, str | None] = {}
    for point in points:
        label = _label(names[id(point.subject)], point.point)
        colours.setdefault(label, colour(point.subject, point.point))
        at = float(point.point[across]) if across is not None else float(point.trial)
        drawn.setdefault(titles[id(point.point)], {}).setdefault(label, []).append({"x": at, **_plain(point)})
    name, of = named(across) if across is not None else ("trial", "")
    return {
        "name": quantity.name,
        "unit": unit(quantity.unit),
        "x": {"name": name, "unit": of, "from": min(ends, default=0.0), "to": max(ends, default=1.0)},
        "at_best": across is not None and _AT_BEST.get(quantity.name) == across,
        "left_out": max(0, len(drawn) - PANELS_MAX),
        "panels": [
            {
                "title": panel,
                "series": [{"label": label, "colour": colours[label], "points": of_label} for label, of_label in series.items()],
            }
            for panel, series in list(drawn.items())[:PANELS_MAX]
        ],
    }


def curves(found: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The curves of a trial, those of one name in one chart, fits over the histogram that they are of.

    A series of bars says so; series that are off are shown when somebody asks: all fits but the first, which is the best.
    """
    charts: dict[str, dict[str, Any]] = {}
    names = {curve.name for curve in found}
    for curve in found:
        if curve.name.startswith(TIMELINE):
            continue
        name = _OVER.get(curve.name, curve.name)
        name = name if name in names else curve.name
        x, y = {"name": curve.x_name, "unit": unit(curve.x_unit)}, {"name": curve.y_name, "unit": unit(curve.y_unit)}
        chart = charts.setdefault(name, {"name": name, "x": x, "y": y, "n": 0, "series": []})
        over = name != curve.name
        chart["n"] += 0 if over else curve.n
        ends = zip(curve.x, curve.y, strict=True)
        of = ", ".join(curve.subject.values()) if over else subject(curve.subject)
        chart["series"].append(
            {
                "label": of or ("measured" if name == HISTOGRAM else "all"),
                "colour": colour(curve.subject),
                "bars": curve.name == HISTOGRAM,
                "off": over and len(chart["series"]) > 1,
                "n": curve.n,
                "points": [[x, y] for x, y in ends if math.isfinite(x) and math.isfinite(y)],
            }
        )
    return list(charts.values())


def timelines(found: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The timelines of a trial, one for each of their subjects: strips below each other, what has one name and unit in one strip.

    at: the moments of a strip, with both ends of the whole timeline; a series has a value for each, null where it has none.
    """
    kept: dict[str, list[Any]] = {}
    for curve in found:
        if curve.name.startswith(TIMELINE) and curve.x:
            kept.setdefault(subject(curve.subject), []).append(curve)
    return [{"of": of, **_strips(mine)} for of, mine in kept.items()]


def _strips(curves: Sequence[Any]) -> Mapping[str, Any]:
    """A percentile of a quantity ("delay.p99") is in the strip of the quantity."""
    ends = {min(curve.x[0] for curve in curves), max(curve.x[-1] for curve in curves)}
    names = {curve.name: curve for curve in curves}
    strips: dict[tuple[str, str], list[Any]] = {}
    for curve in curves:
        whole = names.get(TIMELINE + curve.name.removeprefix(TIMELINE).partition(".")[0], curve)
        strips.setdefault((whole.y_name, whole.y_unit), []).append(curve)
    return {
        "x": {"name": curves[0].x_name, "unit": unit(curves[0].x_unit)},
        "from": min(ends),
        "to": max(ends),
        "strips": [_strip(name, of, mine, ends) for (name, of), mine in strips.items()],
    }


def _strip(name: str, of: str, curves: Sequence[Any], ends: set[float]) -> Mapping[str, Any]:
    at = sorted(ends.union(*(curve.x for curve in curves)))
    series = []
    for curve in curves:
        known = dict(zip(curve.x, curve.y, strict=True))
        label = curve.name.removeprefix(TIMELINE).replace("_", " ").replace(".", " ")
        series.append({"label": label, "colour": colour(curve.subject), "values": [_finite(known.get(x, math.nan)) for x in at]})
    return {"y": {"name": name, "unit": unit(of)}, "at": at, "series": series}


def colour(of: Mapping[str, str], point: Mapping[str, Any] | None = None) -> str | None:
    """The class of the palette for a series: its queue's or its scheme's; None for what has no colour of its own."""
    queue, scheme = str(of.get("queue", "")), (point or {}).get(_SIDE_BY_SIDE)
    if queue.isdecimal():
        return f"queue-{int(queue) % len(QUEUES)}"
    return f"scheme-{scheme_place(str(scheme))}" if scheme is not None and not of else None


def _label(of: str, point: Mapping[str, Any]) -> str:
    scheme = point.get(_SIDE_BY_SIDE)
    if scheme is None:
        return of
    return str(scheme) if of == "all" else f"{scheme}, {of}"


def _plain(point: Point) -> dict[str, Any]:
    return {
        "y": _finite(point.value),
        "infinite": math.isinf(point.value),
        "low": None if point.low is None else _finite(point.low),
        "high": None if point.high is None else _finite(point.high),
        "n": point.n,
        "trial": point.trial,
        "verdict": point.verdict.value,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
