"""A real server around an application, in a thread of this process."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn
from starlette.types import ASGIApp

PASSWORD = "a dozen ducks in a row"


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._enough = asyncio.Event()

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        self._loop = asyncio.get_running_loop()
        self.ready.set()

    async def main_loop(self) -> None:
        # uvicorn's own looks ten times a second whether it should end; tests start and end many servers.
        await self.on_tick(0)
        await self._enough.wait()
        self.should_exit = True

    def end(self) -> None:
        """From another thread."""
        self._loop.call_soon_threadsafe(self._enough.set)


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """The address of the application, for as long as this lasts."""
    server = _Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, lifespan="auto", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run)
    thread.start()
    assert server.ready.wait(timeout=60), "the server did not start"
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.end()
        thread.join(timeout=60)
        assert not thread.is_alive(), "the server did not stop"


def sign_in(client: httpx.Client, name: str, password: str = PASSWORD) -> httpx.Response:
    """Sign in, and send the session's CSRF token from now on."""
    answer = client.post("/session", json={"name": name, "password": password})
    if answer.is_success:
        client.headers["X-CSRF-Token"] = answer.json()["csrf"]
    return answer
