"""How does a program follow a campaign? By server-sent events, which go on after the last one that came when the connection breaks."""

import json
import logging
import time
from collections.abc import Iterator

import httpx
from httpx_sse import SSEError, connect_sse
from pydantic import ValidationError

from rackproof.client.failures import ServerError, Unreachable, refuse
from rackproof.client.transport import Transport
from rackproof.client.values import Event

#: The service sends a sign of life more often than this [s]; a connection that is silent for longer is dead.
SILENCE_S = 60.0
PAUSE_MAX_S = 5.0

log = logging.getLogger(__name__)


def follow(transport: Transport, campaign: int, after: int, patience_s: float) -> Iterator[Event]:
    """Events in order, each once, until the campaign has ended. Raises Unreachable when the service is gone for longer than patience_s."""
    silent_since = time.monotonic()
    pause_s = 0.1
    while True:
        try:
            for event in _connection(transport, campaign, after):
                after = event.seq
                silent_since, pause_s = time.monotonic(), 0.1
                yield event
        except _Over:
            return
        except (httpx.TransportError, SSEError) as error:
            log.info("the events of campaign %d broke off (%s); going on after %d", campaign, error, after)
        except ServerError as error:
            if error.status < 500:
                raise
        if time.monotonic() - silent_since > patience_s:
            raise Unreachable(f"{transport.server} has sent nothing of campaign {campaign} for {patience_s:g} s")
        time.sleep(pause_s)
        pause_s = min(PAUSE_MAX_S, pause_s * 2)


class _Over(Exception):
    """The campaign has ended, and everything was told."""


def _connection(transport: Transport, campaign: int, after: int) -> Iterator[Event]:
    headers = {"Last-Event-ID": str(after)} if after else {}
    timeout = httpx.Timeout(SILENCE_S, connect=10.0)
    with connect_sse(transport.http, "GET", transport.address(f"/campaigns/{campaign}/events"), headers=headers, timeout=timeout) as source:
        if source.response.status_code == httpx.codes.NO_CONTENT:
            raise _Over
        if not source.response.is_success:
            source.response.read()
            refuse(source.response, "plan")
        for sent in source.iter_sse():
            if not sent.data:
                continue
            try:
                yield Event.model_validate(json.loads(sent.data))
            except (ValueError, ValidationError) as error:
                raise ServerError(f"campaign {campaign}: expected an event, found {sent.data[:100]!r}", status=400) from error
