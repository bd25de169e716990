"""How does a client go from one page of a list to the next? By a cursor that it need not understand."""

import base64
import binascii
import json
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request, Response
from fastapi.exceptions import RequestValidationError

LIMIT_MAX = 200

Cursor = Annotated[str | None, Query(max_length=200, description="`next` of the page before.", examples=["WzEyXQ"])]
Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX, description="How many at most.")]


def encode(*place: int | str) -> str:
    """The cursor of a place in a list."""
    return base64.urlsafe_b64encode(json.dumps(place, separators=(",", ":")).encode()).decode().rstrip("=")


def numbers(cursor: str | None, count: int = 1, bound: int = 2**63) -> tuple[int, ...] | None:
    """The place that a cursor names, as so many numbers; None at the beginning. Raises RequestValidationError."""
    if cursor is None:
        return None
    try:
        place: Any = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        place = None
    if isinstance(place, list) and len(place) == count and all(type(step) is int and 0 <= step < bound for step in place):
        return tuple(place)
    fault = {"type": "cursor", "loc": ("query", "cursor"), "msg": "the `next` of another page of this list", "input": cursor}
    raise RequestValidationError([fault])


def announce(request: Request, response: Response, following: str | None) -> None:
    """Say in the header where the next page is."""
    if following is not None:
        query = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
        response.headers["Link"] = f'<{request.url.path}?{urlencode([*query, ("cursor", following)])}>; rel="next"'
