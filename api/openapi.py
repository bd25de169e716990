"""How does the OpenAPI document read? Names of operations, tags, and what every operation can answer."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from api.problems import Problem, responses

DESCRIPTION = """\
Everything that Rackproof does, as JSON over HTTP.

Sign in with a session cookie, or send `Authorization: Bearer TOKEN`. Lists come in pages: `next` is the cursor of the following page.
Whatever is refused is answered by a problem (RFC 9457, `application/problem+json`).
A number that is infinite (the delay of a queue that starves) is the text "Infinity" or "-Infinity": JSON has no number for it.
"""

TAGS: list[dict[str, Any]] = [
    {"name": "session", "description": "Signing in and out, and who one is."},
    {"name": "accounts", "description": "Users, tokens, the audit trail."},
    {"name": "kinds", "description": "What kinds of plan there are, and what a plan of each may say."},
    {"name": "plans", "description": "Checking and rehearsing a plan without touching anything."},
    {"name": "campaigns", "description": "Submitting plans, following what becomes of them, and deciding about them."},
    {"name": "results", "description": "Trials, measurements, samples, verdicts."},
    {"name": "reports", "description": "Finished reports, made by a worker and named after their content."},
    {"name": "testbeds", "description": "Testbeds, workers, the queue, reservations."},
    {"name": "schedules", "description": "Suites that run by themselves, their runs and digests, and trends over many campaigns."},
    {"name": "house", "description": "Health and figures of the service itself."},
]


def operation_id(route: APIRoute) -> str:
    """The function's name: unique, and what a generated client calls its method."""
    return route.name


def install(app: FastAPI) -> None:
    """Give the application its document, made once."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's own way


def _document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
    )
    components = made.setdefault("components", {}).setdefault("schemas", {})
    whole = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components |= {**whole.pop("$defs", {}), "Problem": whole}
    for unused in ("HTTPValidationError", "ValidationError"):
        components.pop(unused, None)
    for operations in made["paths"].values():
        for operation in operations.values():
            answers = operation["responses"]
            standard = (413, 414) if "requestBody" in operation else (414,)
            for status, answer in responses(*standard).items():
                # FastAPI writes down a 422 of its own, which is not what is answered here.
                if str(status) == "422" or str(status) not in answers:
                    answers[str(status)] = answer
    return made
