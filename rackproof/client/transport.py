"""How does a request reach the service, and come back? With bounds on every wait, and again where that does no harm."""

import hashlib
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from rackproof.client.failures import ServerError, Unreachable, refuse
from rackproof.errors import SettingsError

API = "/api/v1"
ATTEMPTS = 4
PAUSE_S = 0.25
RETRY_AFTER_MAX_S = 5.0
#: A proxy, or a service that starts again: the same request may be answered a moment later.
_PASSING = {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_REPEATABLE = {"GET", "PUT", "DELETE"}
_CHUNK_BYTES = 1 << 16

log = logging.getLogger(__name__)


class Transport:
    """One service and what proves who asks. Threads may share it."""

    def __init__(self, server: str, token: str | None, timeout_s: float) -> None:
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(f"server: expected http://HOST or https://HOST, found {server}")
        self.server = server.rstrip("/").removesuffix(API)
        headers = {"Accept": "application/json", "User-Agent": "rackproof"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        # No redirect is followed: a token must not go where nobody sent it.
        self.http = httpx.Client(base_url=self.server, headers=headers, timeout=httpx.Timeout(timeout_s, connect=10.0))

    def check_private(self) -> None:
        """Refuse to send a password where others could read it. Raises SettingsError."""
        parts = urlsplit(self.server)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise SettingsError(f"a password goes to https://... or to this machine alone, found {self.server}: use a token instead")

    def request(self, method: str, path: str, *, source: str = "plan", **options: Any) -> httpx.Response:
        """A successful answer. Raises NotFound, Conflict, PlanError, NotAllowed, Unreachable or another ServerError.

        What may be sent again (GET, PUT, DELETE, whatever has an Idempotency-Key) is, up to four times.
        """
        headers: Mapping[str, str] = options.get("headers") or {}
        attempts = ATTEMPTS if method in _REPEATABLE or "Idempotency-Key" in headers else 1
        for attempt in range(1, attempts + 1):
            try:
                response = self.http.request(method, self.address(path), **options)
            except httpx.TransportError as error:
                if attempt == attempts:
                    raise Unreachable(f"{self.server} does not answer: {error}") from None
                self._pause(attempt, None, str(error))
                continue
            if response.is_success:
                return response
            if response.status_code not in _PASSING or attempt == attempts:
                refuse(response, source)
            self._pause(attempt, response.headers.get("Retry-After"), str(response.status_code))
        raise AssertionError("unreachable")

    def json(self, method: str, path: str, **options: Any) -> Any:
        """The answer's JSON."""
        response = self.request(method, path, **options)
        try:
            return response.json()
        except ValueError:
            raise ServerError(f"{response.request.url}: expected JSON, found something else: is this a Rackproof service?") from None

    def download(self, path: str, target: Path, sha256: str | None = None) -> None:
        """Write the answer's body to a file, whole or not at all. Raises ServerError where it is not what its hash says."""
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}")
        digest = hashlib.sha256()
        try:
            with part.open("wb") as file, self._stream("GET", path) as response:
                for chunk in response.iter_bytes(_CHUNK_BYTES):
                    file.write(chunk)
                    digest.update(chunk)
            if sha256 is not None and digest.hexdigest() != sha256:
                raise ServerError(f"{path}: expected a file whose SHA-256 is {sha256}, found {digest.hexdigest()}")
            part.replace(target)
        except httpx.TransportError as error:
            raise Unreachable(f"{self.server} does not answer: {error}") from None
        finally:
            part.unlink(missing_ok=True)

    def address(self, path: str) -> str:
        """The address of a path of the API; one that the service gave stands as it is."""
        return path if path.startswith(f"{API}/") else f"{API}{path}"

    @contextmanager
    def _stream(self, method: str, path: str) -> Iterator[httpx.Response]:
        with self.http.stream(method, self.address(path)) as response:
            if not response.is_success:
                response.read()
                refuse(response, "plan")
            yield response

    @staticmethod
    def _pause(attempt: int, retry_after: str | None, why: str) -> None:
        asked_s = float(retry_after) if retry_after is not None and retry_after.isdecimal() else 0.0
        pause_s = max(min(asked_s, RETRY_AFTER_MAX_S), PAUSE_S * 2 ** (attempt - 1))
        log.info("attempt %d of %d failed (%s); the next one in %.2f s", attempt, ATTEMPTS, why, pause_s)
        time.sleep(pause_s)
