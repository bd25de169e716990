"""What happens around every request? It gets an id, is logged and counted, its answer carries safe headers, and it is always answered."""

import logging
import re
import time
import uuid

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.metrics import Metrics
from api.problems import path_of, problem

REQUEST_ID = "x-request-id"

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    # An answer of the API is data, and loads nothing; a page sets its own.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    # What one user may see is kept by no proxy; what may be kept says so itself.
    (b"cache-control", b"private, no-cache"),
)
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CAMPAIGN = re.compile(r"/campaigns/(\d{1,18})(?:/|$)")
#: Asked for every few seconds by machines: not worth a line each.
_QUIET = {"/healthz", "/readyz", "/metrics"}

log = structlog.get_logger("rackproof.requests")


class Requests:
    """The outermost middleware."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        path = path_of(scope)
        request_id = _request_id(scope)
        bound = {"request": request_id}
        if found := _CAMPAIGN.search(path):
            bound["campaign"] = found[1]
        status = 0

        async def dressed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                present = {name.lower() for name, _ in headers}
                headers += [(name, value) for name, value in _HEADERS if name not in present]
                headers.append((REQUEST_ID.encode(), request_id.encode()))
                message = {**message, "headers": headers}
            await send(message)

        with structlog.contextvars.bound_contextvars(**bound):
            try:
                await self._app(scope, receive, dressed)
            except Exception as error:  # the last one who can answer
                logging.getLogger(__name__).error("%s %s failed", scope["method"], path, exc_info=error)
                if not status:
                    await problem(path, 500, "the service failed; its log says why", kind="internal")(scope, receive, dressed)
            finally:
                took_s = time.perf_counter() - began
                self._metrics.request(scope, status, took_s)
                if path not in _QUIET:
                    log.info("request", method=scope["method"], path=path, status=status, took_ms=round(took_s * 1000, 1))


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == REQUEST_ID.encode() and _ID.fullmatch(said := value.decode("latin-1")):
            return str(said)
    return uuid.uuid4().hex
