"""What does the API answer where something is wrong? RFC 9457: one table from error classes to statuses, one shape for every refusal."""

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from rackproof.errors import Conflict, InventoryError, LeaseLost, NotFound, PlanError, RackproofError, SettingsError, StoreError
from rackproof.errors import Problem as PlanFault
from rackproof.model.account import AccountRefused, TooManyAttempts
from rackproof.store.idempotency import KeyReused

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5

log = logging.getLogger(__name__)


class Fault(BaseModel):
    """One thing that is wrong with what was sent."""

    where: str = Field(description="The key's path in a plan (load.per_sender_mbps[3]), or the place in the request (query.limit).")
    line: int | None = Field(default=None, description="1-based line of the plan; null where no single line is at fault.")
    expected: str
    found: str

    @classmethod
    def of(cls, fault: PlanFault) -> "Fault":
        """A fault of a plan."""
        return cls(where=_clean(fault.where), line=fault.line, expected=_clean(fault.expected), found=_clean(fault.found))


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str = Field(description="Which kind of problem it is, for programs.", examples=["urn:rackproof:problem:not-found"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(description="What is wrong this time, for people.", examples=["there is no campaign 12"])
    instance: str = Field(description="The path that was asked for.", examples=["/api/v1/campaigns/12"])
    problems: list[Fault] | None = Field(default=None, description="Each fault of a plan, or of the request's parameters.")


class Refusal(RackproofError):
    """A request that cannot be answered, with the status that says why."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None, kind: str | None = None) -> None:
        self.status = HTTPStatus(status)
        self.headers = dict(headers or {})
        self.kind = kind or self.status.phrase.lower().replace(" ", "-").replace("'", "")
        super().__init__(detail)


#: The first class that fits decides. The name is the last part of the problem's type.
_STATUSES: tuple[tuple[type[RackproofError], HTTPStatus, str], ...] = (
    (InventoryError, HTTPStatus.UNPROCESSABLE_ENTITY, "inventory"),
    (PlanError, HTTPStatus.UNPROCESSABLE_ENTITY, "plan"),
    (AccountRefused, HTTPStatus.UNPROCESSABLE_ENTITY, "account"),
    (TooManyAttempts, HTTPStatus.TOO_MANY_REQUESTS, "too-many-attempts"),
    (NotFound, HTTPStatus.NOT_FOUND, "not-found"),
    (KeyReused, HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency-key-reused"),
    (Conflict, HTTPStatus.CONFLICT, "conflict"),
    (LeaseLost, HTTPStatus.CONFLICT, "conflict"),
    (StoreError, HTTPStatus.SERVICE_UNAVAILABLE, "store-unavailable"),
    (SettingsError, HTTPStatus.INTERNAL_SERVER_ERROR, "settings"),
    (RackproofError, HTTPStatus.INTERNAL_SERVER_ERROR, "internal"),
)

_DESCRIPTIONS = {
    304: "Nothing changed since the version that If-None-Match names.",
    400: "The body is no JSON that can be read.",
    401: "Nobody is signed in.",
    403: "Signed in, but without the right to do this.",
    404: "There is no such thing.",
    406: "None of the media types that Accept names can be given.",
    409: "What was asked does not fit the state that the thing is in.",
    410: "It was there, and was removed.",
    412: "The thing is not in the version that If-Match names.",
    413: "The body is larger than allowed.",
    415: "The body's media type is not one of those that are understood.",
    416: "The range lies outside of the file.",
    422: "A parameter, or the plan, cannot be used; `problems` says where and why.",
    429: "Too many attempts; Retry-After says when to try again [s].",
    503: "The database or the disk fails; Retry-After says when to try again [s].",
}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Documentation of refusals for a route's `responses`; those that every route can give are there in any case."""
    documented: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*statuses, 422, 503}):
        documented[status] = {"description": _DESCRIPTIONS.get(status, HTTPStatus(status).phrase)}
        if status >= 400:
            documented[status]["content"] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return documented


def problem(
    path: str,
    status: int,
    detail: str,
    *,
    kind: str | None = None,
    faults: Sequence[Fault] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A refusal as a response."""
    known = HTTPStatus(status)
    body: dict[str, Any] = {
        "type": "about:blank" if kind is None else f"urn:rackproof:problem:{kind}",
        "title": known.phrase,
        "status": known.value,
        "detail": _clean(detail),
        "instance": path,
    }
    if faults is not None:
        body["problems"] = [fault.model_dump() for fault in faults]
    return Response(json.dumps(body), known.value, {"Cache-Control": "no-store", **(headers or {})}, MEDIA_TYPE)


def of_error(path: str, error: RackproofError) -> Response:
    """What the API answers where the error was raised."""
    if isinstance(error, Refusal):
        return problem(path, error.status, str(error), kind=error.kind, headers=error.headers)
    status, kind = next((status, kind) for known, status, kind in _STATUSES if isinstance(error, known))
    if isinstance(error, PlanError):
        faults = [Fault.of(one) for one in error.problems]
        return problem(path, status, error.summary, kind=kind, faults=faults)
    if isinstance(error, AccountRefused):
        fault = Fault(where=error.where, expected=error.expected, found=error.found)
        return problem(path, status, str(error), kind=kind, faults=[fault])
    if isinstance(error, TooManyAttempts):
        return problem(path, status, str(error), kind=kind, headers={"Retry-After": str(error.retry_after_s)})
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("%s: %s", path, error, exc_info=error)
        return problem(path, status, "the service failed; its log says why", kind=kind)
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        # What comes after the first colon is the database's own: addresses and paths of the machine, which are for its log.
        log.warning("%s: %s", path, error)
        detail = str(error).partition(":")[0]
        return problem(path, status, detail, kind=kind, headers={"Retry-After": str(RETRY_AFTER_S)})
    return problem(path, status, str(error), kind=kind)


def install(app: FastAPI) -> None:
    """Make every refusal of the application a problem, FastAPI's own included."""

    async def own(request: Request, error: Exception) -> Response:
        return of_error(path_of(request.scope), cast(RackproofError, error))

    async def invalid(request: Request, error: Exception) -> Response:
        faults = [_fault(one) for one in cast(RequestValidationError, error).errors()]
        detail = "; ".join(f"{fault.where}: expected {fault.expected}, found {fault.found}" for fault in faults[:3])
        return problem(path_of(request.scope), HTTPStatus.UNPROCESSABLE_ENTITY, detail, kind="request", faults=faults)

    async def plain(request: Request, error: Exception) -> Response:
        raised = cast(HTTPException, error)
        return problem(path_of(request.scope), raised.status_code, str(raised.detail), headers=raised.headers)

    app.add_exception_handler(RackproofError, own)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, plain)


def path_of(scope: Mapping[str, Any]) -> str:
    """The path that was asked for, as it was sent."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return cast(bytes, raw).decode("ascii", "backslashreplace")


def _fault(error: Mapping[str, Any]) -> Fault:
    where = ".".join(str(step) for step in error["loc"])
    expected = str(error["msg"]).removeprefix("Input should be ").removeprefix("Value error, ")
    if error["type"] == "missing":
        found = "nothing"
    elif tuple(error["loc"]) == ("body",):
        found = "something else"  # it may hold a password
    else:
        found = repr(error.get("input"))
    return Fault(where=_clean(where), expected=_clean(expected), found=_clean(found if len(found) <= 100 else f"{found[:97]}..."))


def _clean(text: str) -> str:
    # JSON can escape half of a character, which nobody can write down.
    return text.encode("utf-8", "replace").decode()
