"""How is a stream of events written to a client that may be slow, or gone?"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi import Response
from starlette.types import Receive, Scope, Send

from api.sse import MEDIA_TYPE, RETRY_MS

#: A client that takes nothing for this long is gone, or will come back with Last-Event-ID.
_STUCK_S = 30.0


class EventStream(Response):
    """Server-sent events. The source is closed when the client goes."""

    media_type = MEDIA_TYPE

    def __init__(self, source: AsyncGenerator[bytes, None]) -> None:
        self._source = source
        self.status_code = 200
        self.background = None
        # No proxy keeps or gathers what is told at once.
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        writing = asyncio.create_task(self._write(send))
        leaving = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            writing.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)
        if writing.done() and not writing.cancelled() and (error := writing.exception()) is not None:
            raise error

    async def _write(self, send: Send) -> None:
        async with aclosing(self._source):
            await send({"type": "http.response.body", "body": f"retry: {RETRY_MS}\n\n".encode(), "more_body": True})
            async for part in self._source:
                try:
                    async with asyncio.timeout(_STUCK_S):
                        await send({"type": "http.response.body", "body": part, "more_body": True})
                except TimeoutError:
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
