"""What does somebody see where a page cannot be shown? The API's refusal as a page; who is not signed in is asked to."""

import json
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from api.metrics import PREFIX
from rackproof.errors import RackproofError
from web.failures import Failures
from web.rendering import page

_FOR_PROGRAMS = (f"{PREFIX}/", "/healthz", "/readyz", "/metrics", "/static/")
_HINTS = {
    403: "Somebody with the role of an admin can change yours.",
    404: "It may have been removed, or the address is incomplete. The search finds campaigns by name, number, owner and verdict.",
    503: "The database or the disk does not answer. What was measured is safe; try again in a moment.",
    500: "The service's log says what happened. What was measured is safe.",
}


def install(app: FastAPI) -> None:
    """Turn problems into pages where a person asks."""
    for known in (RackproofError, RequestValidationError, HTTPException):
        app.add_exception_handler(known, _as_page(app, known))
    app.add_middleware(Failures, for_programs=_FOR_PROGRAMS, hints=_HINTS)


def _as_page(app: FastAPI, known: type[Exception]):  # type: ignore[no-untyped-def]  # starlette's own type is of no help here
    problem = app.exception_handlers[known]

    async def handler(request: Request, error: Exception) -> Response:
        response: Response = await problem(request, error)  # type: ignore[misc]  # ours are coroutines
        if request.url.path.startswith(_FOR_PROGRAMS):
            return response
        if response.status_code == 401 and not request.url.path.startswith("/sign-in"):
            return _sign_in(request)
        said = json.loads(bytes(response.body))
        kept = {name: value for name, value in response.headers.items() if name in {"retry-after", "www-authenticate"}}
        # htmx swaps the answer into the page that is there; a whole page within a page helps nobody.
        template = "part_error.html.j2" if "hx-request" in request.headers else "error.html.j2"
        return page(request, template, status=response.status_code, headers=kept, problem=said, hint=_HINTS.get(response.status_code, ""))

    return handler


def _sign_in(request: Request) -> Response:
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    target = f"/sign-in?next={quote(wanted, safe='')}" if request.method == "GET" and wanted != "/" else "/sign-in"
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"HX-Redirect": target})
    return RedirectResponse(target, 303)
