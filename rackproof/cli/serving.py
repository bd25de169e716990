"""How do the API and the pages answer on a socket, and end in time?"""

import errno
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from rackproof.errors import RackproofError
from rackproof.logs import configure
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.supervisor import READY
from web.site import create_site

#: Requests that are under way have so long to end [s]; streams of events are ended at once.
_GRACE_S = 3
_BACKLOG = 1024
#: A request that computes may keep the interpreter so long from the others [s]. Each answer of the database waits for it once: with
#: Python's 5 ms, a page of fifteen queries would take 75 ms longer whenever somebody compares two campaigns.
_SWITCH_S = 0.0005


def listen(host: str, port: int) -> int:
    """A socket that listens, as a file descriptor. Raises RackproofError that says what is in the way."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise RackproofError(f"--host {host}: expected an address of this machine, found none ({error.strerror})") from None
    with socket.socket(family, kind, protocol) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
        except OSError as error:
            remedy = "end what uses it, or choose another --port" if error.errno == errno.EADDRINUSE else "choose another --host or --port"
            raise RackproofError(f"cannot listen on {host}, port {port}: {error.strerror}; {remedy}") from None
        listening.listen(_BACKLOG)
        return listening.detach()


def serve_api(fd: int, certificate: Path | None, key: Path | None) -> None:
    """Answer on the socket until a signal comes. Raises LabError."""
    configure(service=not sys.stderr.isatty())
    sys.setswitchinterval(_SWITCH_S)
    settings = Settings.load()
    with socket.socket(fileno=fd) as listening, Store.open(settings) as store:
        app = create_site(settings, store)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=_GRACE_S,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        _Server(config, app.state.hub.close).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Says when it is ready to whoever started it, and ends streams before it waits for requests."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and (ready := os.environ.pop(READY, "")):
            os.write(int(ready), b"ready\n")
            os.close(int(ready))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._end_streams()
        super().handle_exit(sig if sig != signal.SIGHUP else signal.SIGTERM, frame)
