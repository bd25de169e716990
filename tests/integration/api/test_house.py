"""Does the service say how it is, measure itself, and answer safely when something fails?"""

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from api.app import create_app
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from tests.integration.accounts.serving import serving
from tests.integration.api.seeds import Seeds
from tests.integration.api.test_reading import problem

Client = Callable[[Role | None], httpx.Client]


def get(address: str, **more: Any) -> httpx.Response:
    """Ask, and wait as long as a busy machine takes."""
    return httpx.get(address, timeout=60, **more)


def test_health_and_readiness(served: str, store: Store) -> None:
    assert get(f"{served}/healthz").json() == {"status": "alive"}
    assert get(f"{served}/readyz").json() == {"status": "ready", "workers_alive": 0}
    store.workers.register("lab-1", ["bench"], timeout_s=3600)
    assert get(f"{served}/readyz").json()["workers_alive"] == 1
    with store.transactions.step("test") as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    answer = get(f"{served}/readyz")
    assert "found 0001" in problem(answer, 503)["detail"]
    assert answer.headers["retry-after"]
    assert get(f"{served}/healthz").status_code == 200


def test_a_database_that_is_away_is_said_without_its_address(viewer: httpx.Client, app: FastAPI, store: Store) -> None:
    with store.transactions.step("test") as connection:
        connection.execute(text("ALTER TABLE campaigns RENAME TO hidden"))
    answer = viewer.get("/campaigns")
    body = problem(answer, 503)
    assert (body["type"], body["detail"]) == ("urn:rackproof:problem:store-unavailable", "the campaigns could not be read")
    assert answer.headers["retry-after"] == "5"


def test_a_failure_is_logged_and_not_told(
    viewer: httpx.Client, app: FastAPI, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(app.state.store.testbeds, "list", broken)
    with caplog.at_level(logging.ERROR):
        answer = viewer.get("/testbeds", headers={"X-Request-Id": "abc-1"})
    assert "secret" not in answer.text
    assert problem(answer, 500)["type"] == "urn:rackproof:problem:internal"
    assert answer.headers["x-request-id"] == "abc-1"
    assert "the secret inside" in caplog.text


def test_every_answer_has_safe_headers(client: Client, served: str, seeds: Seeds) -> None:
    nobody, viewer = client(None), client(Role.VIEWER)
    for answer in (
        get(f"{served}/healthz"),
        get(f"{served}/nowhere"),
        httpx.put(f"{served}/healthz", timeout=60),
        nobody.get("/campaigns"),
        viewer.get("/campaigns"),
        viewer.get("/campaigns/%00"),
        viewer.get(f"/campaigns/{seeds.done}/report.pdf"),
        viewer.get(f"/campaigns/{seeds.done}/events", headers={"Accept": "text/event-stream"}),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "cache-control" in answer.headers
        assert "x-request-id" in answer.headers
        assert len(answer.headers.get_list("cache-control")) == 1
    assert httpx.put(f"{served}/healthz", timeout=60).headers["allow"] == "GET"
    strange = nobody.get("/campaigns", headers={"X-Request-Id": "a b"})
    assert len(strange.headers["x-request-id"]) == 32


def test_the_house_is_measured(client: Client, served: str, tokens: dict[Role, str], seeds: Seeds) -> None:
    viewer = client(Role.VIEWER)
    viewer.get(f"/campaigns/{seeds.done}")
    viewer.get("/campaigns/4711")
    get(f"{served}/nowhere/at/all")
    assert get(f"{served}/metrics").status_code == 401
    wanted = {
        'rackproof_request_seconds_count{method="GET",route="/api/v1/campaigns/{campaign}",status="200"} 1.0',
        'rackproof_request_seconds_count{method="GET",route="/api/v1/campaigns/{campaign}",status="404"} 1.0',
        'rackproof_request_seconds_count{method="GET",route="/metrics",status="401"} 1.0',
        'rackproof_request_seconds_count{method="any",route="unknown",status="404"} 1.0',
        'rackproof_campaigns{state="PENDING"} 1.0',
        "rackproof_queue_length 1.0",
        "rackproof_workers_alive 0.0",
        "rackproof_leases 0.0",
        "rackproof_jobs_waiting 1.0",
        "rackproof_event_listeners 0.0",
    }
    # A request is counted once it is answered: the client may have the answer before.
    lines, deadline = list[str](), time.monotonic() + 30
    while not wanted <= set(lines) and time.monotonic() < deadline:
        lines = get(f"{served}/metrics", headers={"Authorization": f"Bearer {tokens[Role.VIEWER]}"}).text.splitlines()
    assert wanted <= set(lines), lines
    assert float(next(line for line in lines if line.startswith("rackproof_events_last")).split()[1]) >= 6


def test_requests_are_logged_with_their_campaign(viewer: httpx.Client, seeds: Seeds, capsys: pytest.CaptureFixture[str]) -> None:
    viewer.get(f"/campaigns/{seeds.done}", headers={"X-Request-Id": "r-77"})
    # The line is written once the answer is: the client may have it before.
    said, deadline = "", time.monotonic() + 30
    while "r-77" not in said and time.monotonic() < deadline:
        said += capsys.readouterr().out
        time.sleep(0.01)
    line = next(line for line in said.splitlines() if "r-77" in line)
    assert f"campaign={seeds.done}" in line
    assert "status=200" in line


@contextmanager
def collecting(found: list[bytes]) -> Iterator[str]:
    """Something that takes traces (OTLP over HTTP)."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.append(self.path.encode() + self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_requests_are_traced_where_there_is_somewhere_to(settings: Settings, store: Store) -> None:
    found: list[bytes] = []
    with collecting(found) as endpoint:
        app = create_app(settings.model_copy(update={"otlp_endpoint": endpoint}), store)
        with serving(app) as address:
            assert get(f"{address}/api/v1/kinds").status_code == 401
            assert get(f"{address}/healthz").status_code == 200
            app.state.tracer_provider.force_flush()
    assert any(b"/v1/traces" in body and b"GET /api/v1/kinds" in body and b"rackproof-api" in body for body in found)
    assert not any(b"healthz" in body for body in found)


def test_the_document_is_whole(served: str) -> None:
    document = json.loads(get(f"{served}/api/v1/openapi.json").content)
    operations = {(path, method): operation for path, methods in document["paths"].items() for method, operation in methods.items()}
    names = [operation["operationId"] for operation in operations.values()]
    assert len(names) == len(set(names))
    for where, operation in operations.items():
        assert operation["summary"], where
        assert operation["tags"], where
        for status, answer in operation["responses"].items():
            if status >= "400":
                assert list(answer["content"]) == ["application/problem+json"], (where, status)
        if where[0].startswith("/api/v1/") and operation.get("security"):
            assert {"401", "403"} <= operation["responses"].keys(), where
