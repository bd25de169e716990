"""How did one measurement change over many nights, and what was new where it did?"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import TheStore
from rackproof.errors import NotFound
from rackproof.model.service import Role
from rackproof.store.pages_trends import plan_names, plan_points
from rackproof.store.trends import ChangePoint, Measured, Trend
from web.rendering import page
from web.words import number

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

#: A query's names of the keys of a point begin with this.
AT = "at."
#: Between these, a number is written without an exponent.
_PLAIN_MIN, _PLAIN_MAX = 1e-4, 1e12
#: What grew to more than so many times itself began near zero.
_TELLING_MAX = 10.0
#: Of so many campaigns a trend can be, at most; the first is what it is of unless somebody asks for more.
LAST = (60, 200, 1000)

Word = Annotated[str, Query(max_length=500)]


@router.get("/trends")
def trends(request: Request, store: TheStore, name: Word = "", quantity: Word = "", of: Word = "", last: int = LAST[0]) -> Response:
    with store.transactions.together("the trend could not be read"):
        values = _values(request, store, name, quantity, of, last)
    return page(request, "trends.html.j2", plain=plain, part=part, **values)


def _values(request: Request, store: TheStore, name: str, quantity: str, of: str, last: int) -> dict[str, Any]:
    plans = plan_names(store.transactions)
    if not name and plans:
        name = plans[0].name
    values: dict[str, Any] = {"plans": plans, "name": name, "quantities": [], "subjects": [], "keys": [], "trend": None, "missing": ""}
    values |= {"quantity": quantity, "of": of, "drawn": None, "listed": name in {plan.name for plan in plans}}
    last = last if last in LAST else LAST[0]
    values |= {"last": last, "lasts": LAST}
    if name:
        try:
            values |= _chosen(request, store, name, quantity, of, last)
        except NotFound as error:
            values["missing"] = str(error)
    return values


def plain(value: float) -> str:
    """A number with four significant digits, and never with an exponent that people must work out."""
    if not math.isfinite(value) or value == 0 or not _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return number(value)
    decimals = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")


def part(change: ChangePoint) -> float | None:
    """By what part of itself the mean changed; None where that says nothing."""
    if not (math.isfinite(change.before) and math.isfinite(change.after)) or change.before == 0:
        return None
    relative = (change.after - change.before) / abs(change.before)
    return relative if abs(relative) <= _TELLING_MAX else None


def subject_key(subject: Mapping[str, str]) -> str:
    """A subject as it stands in an address: `queue=0`; "" for the trial as a whole."""
    return ",".join(f"{key}={value}" for key, value in sorted(subject.items()))


def subject_words(subject: Mapping[str, str]) -> str:
    """A subject in words: queue 0."""
    return ", ".join(f"{key} {value}" for key, value in sorted(subject.items())) or "the whole trial"


def _chosen(request: Request, store: TheStore, name: str, quantity: str, of: str, last: int) -> dict[str, Any]:
    measured = store.trends.measured(name)
    quantities = list(dict.fromkeys(one.quantity for one in measured))
    chosen = quantity if quantity in quantities else quantities[0] if quantities else ""
    subjects = [one for one in measured if one.quantity == chosen]
    subject = _subject(subjects, of)
    points = plan_points(store.transactions, name)
    point, keys = _point(request, points)
    values: dict[str, Any] = {
        "quantities": quantities,
        "quantity": chosen,
        "subjects": [(subject_key(one.subject), subject_words(one.subject)) for one in subjects],
        "of": subject_key(subject),
        "keys": keys,
    }
    if not chosen:
        return values
    try:
        trend = store.trends.series(name=name, quantity=chosen, subject=subject, point=point or None, limit=last)
    except NotFound as error:
        return {**values, "missing": str(error)}
    return {**values, "trend": trend, "drawn": _drawn(trend)}


def _subject(subjects: Sequence[Measured], of: str) -> Mapping[str, str]:
    found = [one.subject for one in subjects if subject_key(one.subject) == of]
    return found[0] if found else subjects[0].subject if subjects else {}


def _point(request: Request, points: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[tuple[str, list[str], str]]]:
    """What of a point was asked for, and the keys that can be chosen, with their values and the one that was."""
    point: dict[str, Any] = {}
    keys = []
    for key in dict.fromkeys(key for one in points for key in one):
        known = {_said(one[key]): one[key] for one in points if key in one}
        asked = request.query_params.get(f"{AT}{key}", "")
        if asked in known:
            point[key] = known[asked]
        if len(known) > 1:
            keys.append((key, list(known), asked if asked in known else ""))
    return point, keys


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _drawn(trend: Trend) -> dict[str, Any]:
    """What the chart draws; JSON has no infinity, and neither has a chart."""
    places = {one.campaign: index for index, one in enumerate(trend.points)}
    edges = [0, *(places[change.campaign_after] for change in trend.changes), len(trend.points)]
    levels = [trend.changes[0].before, *(change.after for change in trend.changes)] if trend.changes else []
    return {
        "at": [one.ended.timestamp() for one in trend.points],
        "value": [_finite(one.value) for one in trend.points],
        "low": [None if one.interval is None else _finite(one.interval.low) for one in trend.points],
        "high": [None if one.interval is None else _finite(one.interval.high) for one in trend.points],
        "campaign": [one.campaign for one in trend.points],
        "edges": edges,
        "levels": [_finite(level) for level in levels],
        "unit": "" if trend.unit == "1" else trend.unit,
        "label": trend.quantity,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
