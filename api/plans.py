"""Which plan is in a request? YAML or JSON, as its Content-Type says, within bounds."""

import json
from email.message import Message
from typing import Annotated, Any

from fastapi import Depends, Request

from api.problems import Refusal
from rackproof.errors import PlanError, Problem
from rackproof.planfile import FILE_BYTES_MAX
from testplans.submission import Submission, submission

MEDIA_TYPES = ("application/yaml", "application/json")
# application/yaml is registered (RFC 9512); the others are what clients sent before it was.
_UNDERSTOOD = frozenset({*MEDIA_TYPES, "application/x-yaml", "text/yaml", "text/x-yaml"})
SOURCE = "plan"

_EXAMPLE = """\
kind: switch-qos
name: One switch under load
devices: [linux-htb]
disciplines: [strict-priority]
load: {per_sender_mbps: [4, 8]}
"""

#: For a route's openapi_extra: FastAPI does not look at such a body itself.
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A plan. GET /api/v1/kinds/{kind} tells what one of that kind may say.",
        "content": {
            "application/yaml": {"schema": {"type": "string"}, "example": _EXAMPLE},
            "application/json": {"schema": {"type": "object"}},
        },
    }
}


async def body_bytes(request: Request, what: str) -> bytes:
    """The body as it was sent; what: how messages call it ("a plan"). Raises Refusal."""
    header = Message()
    header["content-type"] = request.headers.get("content-type", MEDIA_TYPES[0])
    if (found := header.get_content_type()) not in _UNDERSTOOD:
        raise Refusal(415, f"expected {what} as {' or '.join(MEDIA_TYPES)}, found {found[:100]}", {"Accept-Post": ", ".join(MEDIA_TYPES)})
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > FILE_BYTES_MAX:
            raise Refusal(413, f"expected {what} of at most {FILE_BYTES_MAX // 1024} KiB, found a larger one", {"Connection": "close"})
    return bytes(content)


async def _plan_bytes(request: Request) -> bytes:
    return await body_bytes(request, "a plan")


#: The plan's bytes as they were sent.
PlanBytes = Annotated[bytes, Depends(_plan_bytes)]


def read(content: bytes, source: str = SOURCE) -> Submission:
    """The plan, valid, with its trials. Raises PlanError."""
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise PlanError(source, [Problem(where="file", expected="text", found="NUL", line=line)])
    return submission(content, source)


def merged(plan: Any, changes: Any) -> Any:
    """The plan with a JSON merge patch applied (RFC 7396)."""
    if not isinstance(changes, dict):
        return changes
    result = dict(plan) if isinstance(plan, dict) else {}
    for key, change in changes.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), change)
    return result


def as_text(plan: Any) -> bytes:
    """A plan as the file that it would have been; JSON is YAML too."""
    return json.dumps(plan, indent=2, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
