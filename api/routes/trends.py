"""How did one measurement change over many campaigns?"""

import json
import math
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.exceptions import RequestValidationError

from api.identity import GuardedRoute, needs
from api.problems import responses
from api.schemas.trends import Measured, MeasuredList, Trend
from api.wiring import TheStore
from rackproof.model.service import Role

router = APIRouter(tags=["schedules"], route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

_Name = Annotated[str, Query(min_length=1, max_length=200, description="Name of the plan.", examples=["Nightly, three disciplines"])]
_Word = Annotated[str | None, Query(max_length=200)]
_Pair = Annotated[str, Query(max_length=300)]


@router.get("/trends", responses=responses(401, 403, 404))
def get_trend(
    store: TheStore,
    name: _Name,
    quantity: Annotated[str, Query(min_length=1, max_length=200, description="Name of the measurement.", examples=["delay.p99"])],
    subject: Annotated[list[_Pair] | None, Query(description="What it is of, as name=value; none: the trial as a whole.")] = None,
    point: Annotated[list[_Pair] | None, Query(description="Only trials at these values, as name=value.")] = None,
    kind: _Word = None,
    testbed: _Word = None,
    limit: Annotated[int, Query(ge=2, le=1000, description="How many campaigns at most, the newest.")] = 200,
) -> Trend:
    """One measurement over the campaigns of a plan, where it changed, and what else changed there."""
    values = {key: _scalar(value) for key, value in _pairs("point", point).items()}
    subjects = _pairs("subject", subject)
    found = store.trends.series(name=name, quantity=quantity, subject=subjects, point=values, kind=kind, testbed=testbed, limit=limit)
    return Trend.model_validate(found)


@router.get("/trends/measured", responses=responses(401, 403, 404))
def list_measured(store: TheStore, name: _Name, kind: _Word = None, testbed: _Word = None) -> MeasuredList:
    """What the newest campaign of a plan measured: everything of which there can be a trend."""
    return MeasuredList(items=[Measured.model_validate(one) for one in store.trends.measured(name, kind, testbed)])


def _pairs(where: str, texts: Sequence[str] | None) -> dict[str, str]:
    pairs = {}
    for number, text in enumerate(texts or ()):
        key, separator, value = text.partition("=")
        if not separator or not key:
            fault = {"type": "pair", "loc": ("query", where, number), "msg": "name=value", "input": text}
            raise RequestValidationError([fault])
        pairs[key] = value
    return pairs


def _scalar(text: str) -> float | int | str:
    """A value of a trial's point as it was written down: a number where it reads as one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return text
    return value if abs(value) < 1e300 else text
