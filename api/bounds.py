"""Which requests are refused before anybody reads them: bodies that are too large, and addresses with bytes that no name has."""

from urllib.parse import unquote_to_bytes

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import path_of, problem
from rackproof.planfile import FILE_BYTES_MAX

#: A plan inside of JSON is longer than the plan; a suite holds several.
BODY_BYTES_MAX = 4 * FILE_BYTES_MAX
URL_BYTES_MAX = 16 * 1024

_TOO_LARGE = f"expected a body of at most {BODY_BYTES_MAX // 1024} KiB, found a larger one"


class Bounds:
    """Refuses large bodies, whether they say so or not, and NUL in addresses."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(scope) if scope["type"] == "http" else None
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        read = 0

        async def counting() -> Message:
            nonlocal read
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > BODY_BYTES_MAX:
                    raise HTTPException(413, _TOO_LARGE, {"Connection": "close"})
            return message

        await self._app(scope, counting, send)


def _refusal(scope: Scope) -> ASGIApp | None:
    path = path_of(scope)
    query: bytes = scope["query_string"]
    if len(path) + len(query) > URL_BYTES_MAX:
        return problem(path[:100], 414, f"expected an address of at most {URL_BYTES_MAX} bytes, found a longer one")
    if b"\0" in unquote_to_bytes(path) or b"\0" in unquote_to_bytes(query):
        return problem(path, 422, "expected an address of names and numbers, found NUL in it", kind="request", faults=[])
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or len(value) > 18 or int(value) > BODY_BYTES_MAX):
            return problem(path, 413, _TOO_LARGE, headers={"Connection": "close"})
    return None
