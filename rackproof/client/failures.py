"""What does an answer of the service that is no success mean to a program?"""

from http import HTTPStatus
from typing import Any, NoReturn

import httpx

from rackproof.errors import Conflict, InventoryError, NotFound, PlanError, Problem, RackproofError


class ServerError(RackproofError):
    """The service refused, or failed. status is HTTP's; kind says which problem it is, for programs."""

    def __init__(self, message: str, *, status: int = 0, kind: str = "") -> None:
        self.status = status
        self.kind = kind
        super().__init__(message)


class NotAllowed(ServerError):
    """The token is missing, expired or revoked, or may not do this."""


class Unreachable(ServerError):
    """The service does not answer."""


def refuse(response: httpx.Response, source: str) -> NoReturn:
    """Raise what the answer means. source: what a plan at fault is called."""
    problem = _problem(response)
    kind = str(problem.get("type", "")).rpartition(":")[2]
    detail = str(problem.get("detail") or f"{response.request.url}: {response.status_code} {response.reason_phrase}")
    match response.status_code:
        case HTTPStatus.UNPROCESSABLE_ENTITY if kind == "plan" and problem.get("problems"):
            raise PlanError(source, [_fault(each) for each in problem["problems"]])
        case HTTPStatus.UNPROCESSABLE_ENTITY if kind == "inventory" and problem.get("problems"):
            raise InventoryError(source, [_fault(each) for each in problem["problems"]])
        case HTTPStatus.NOT_FOUND:
            raise NotFound(detail)
        case HTTPStatus.CONFLICT:
            raise Conflict(detail)
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            raise NotAllowed(detail, status=response.status_code, kind=kind)
        case _:
            raise ServerError(detail, status=response.status_code, kind=kind)


def _problem(response: httpx.Response) -> dict[str, Any]:
    try:
        found = response.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _fault(fault: dict[str, Any]) -> Problem:
    line = fault.get("line")
    words = {key: str(fault.get(key, "")) for key in ("where", "expected", "found")}
    return Problem(**words, line=line if isinstance(line, int) else None)
