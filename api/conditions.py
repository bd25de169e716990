"""Has what a client holds changed? ETag and If-None-Match (RFC 9110, section 13)."""

import hashlib

from fastapi import Request, Response
from pydantic import BaseModel


def holds(request: Request, etag: str) -> bool:
    """True where If-None-Match names this version."""
    named = request.headers.get("if-none-match")
    if named is None:
        return False
    return named.strip() == "*" or etag in {one.strip().removeprefix("W/") for one in named.split(",")}


def conditional(request: Request, body: BaseModel) -> Response:
    """The body as JSON, or 304 where the client has it already. It is the content that counts, whatever changed around it."""
    content = body.model_dump_json().encode()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if holds(request, etag):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/json")
