"""What does somebody see where a page failed, or was never asked? What the API's middleware says to programs, as a page."""

import json
from collections.abc import Mapping
from typing import Any, cast

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from web.rendering import page

_PROBLEM = b"application/problem+json"


class Failures:
    """Outside of everything else: a failure that nobody foresaw, or a request out of bounds, becomes a page, unless a program asked.

    for_programs: how the paths of programs begin; hints: what a person can do, by status.
    """

    def __init__(self, app: ASGIApp, for_programs: tuple[str, ...], hints: Mapping[int, str]) -> None:
        self._app = app
        self._for_programs = for_programs
        self._hints = hints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(self._for_programs):
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})  # one for all layers: who asks is written into it further in
        start: Message | None = None
        body = b""

        async def held(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and message["status"] >= 400 and _is_problem(message):
                start = message
            elif start is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await self._say(scope, start, body, send)

        await self._app(scope, receive, held)

    async def _say(self, scope: Scope, start: Message, body: bytes, send: Send) -> None:
        template = "part_error.html.j2" if any(name == b"hx-request" for name, _ in scope["headers"]) else "error.html.j2"
        said = cast(dict[str, Any], json.loads(body))
        response = page(Request(scope), template, status=start["status"], problem=said, hint=self._hints.get(start["status"], ""))
        kept = [
            (name, value) for name, value in start["headers"] if name.lower() not in {b"content-type", b"content-length", b"cache-control"}
        ]
        await send({**start, "headers": [*kept, *response.raw_headers]})
        await send({"type": "http.response.body", "body": bytes(response.body)})


def _is_problem(message: Message) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(_PROBLEM) for name, value in message["headers"])
