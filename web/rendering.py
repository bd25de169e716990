"""How does a page become HTML? Templates that escape everything, and headers that let a page load nothing from elsewhere."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import rackproof
from api.identity import Identity
from rackproof.model.service import Role
from web import words
from web.points import named

_FOLDER = Path(__file__).parent
STATIC = _FOLDER / "static"

#: No script or style within a page, nothing from another host.
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
#: htmx is told to evaluate nothing, to insert no style, and to swap the answer to a mistake as it swaps any other.
HTMX = json.dumps(
    {
        "allowEval": False,
        "includeIndicatorStyles": False,
        "selfRequestsOnly": True,
        "historyCacheSize": 0,
        "responseHandling": [
            {"code": "204", "swap": False},
            {"code": "[24]..", "swap": True},
            {"code": "...", "swap": False, "error": True},
        ],
    }
)


def page(request: Request, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any) -> HTMLResponse:
    """A page, or a part of one where htmx asks for it. Templates see `who` (Identity or None), `request`, and the values."""
    who = cast(Identity | None, getattr(request.state, "identity", None))
    html = environment().get_template(template).render(request=request, who=who, now=datetime.now(UTC), **values)
    return HTMLResponse(html, status, {"Content-Security-Policy": CSP, "Cache-Control": "private, no-store", **(headers or {})})


@cache
def environment() -> Environment:
    """The templates with the words and numbers that they use."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals |= {"static": static, "version": rackproof.__version__, "htmx_config": HTMX, "Role": Role}
    made.filters |= {**words.FILTERS, "named": named}
    return made


@cache
def static(name: str) -> str:
    """The address of a static file; it changes with the content, so that a browser may keep it."""
    content = (STATIC / name).read_bytes()
    return f"/static/{name}?{hashlib.sha256(content).hexdigest()[:12]}"
