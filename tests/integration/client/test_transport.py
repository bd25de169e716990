"""What does the client do with a service that fails, and how often does it try?"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rackproof.client import Client, ServerError, Unreachable, following, transport
from rackproof.client.values import Report
from rackproof.errors import LabError
from tests.integration.accounts.serving import serving

PROBLEM = {"type": "urn:rackproof:problem:store-unavailable", "detail": "the database is away"}
CAMPAIGN = {"id": 7, "url": "/api/v1/campaigns/7"}


@dataclass
class Flaky:
    """A service that answers with what it was told, in turn; the last answer stays."""

    url: str = ""
    answers: list[Callable[[], Response]] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        await request.body()
        self.asked.append(request)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]()


@dataclass
class Clock:
    """In place of the module `time`: it goes on when somebody sleeps, and at no other moment."""

    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def monotonic(self) -> float:
        return sum(self.slept)


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[Flaky]:
    monkeypatch.setattr(transport, "PAUSE_S", 0.001)
    made = Flaky()
    app = Starlette(routes=[Route("/{path:path}", made.answer, methods=["GET", "POST", "DELETE"])])
    with serving(app) as made.url:
        yield made


def _fails(status: int, **headers: str) -> Callable[[], Response]:
    return lambda: JSONResponse(PROBLEM, status, headers)


def _says(body: object) -> Callable[[], Response]:
    return lambda: JSONResponse(body)


def test_a_reading_request_is_sent_again_while_the_service_is_away(flaky: Flaky) -> None:
    flaky.answers = [_fails(503), _fails(502), _says({"items": []})]
    with Client(flaky.url, "rp_x") as client:
        assert client.kinds() == []
    assert len(flaky.asked) == 3


def test_there_is_an_end_to_it(flaky: Flaky) -> None:
    flaky.answers = [_fails(503)]
    with Client(flaky.url, "rp_x") as client, pytest.raises(ServerError, match="the database is away") as failed:
        client.kinds()
    assert (failed.value.status, failed.value.kind) == (503, "store-unavailable")
    assert len(flaky.asked) == transport.ATTEMPTS


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422, 429, 500])
def test_a_refusal_is_not_asked_for_twice(flaky: Flaky, status: int) -> None:
    flaky.answers = [_fails(status)]
    with Client(flaky.url, "rp_x") as client, pytest.raises(Exception, match="the database is away"):
        client.kinds()
    assert len(flaky.asked) == 1


def test_a_submission_is_sent_again_under_its_key_and_a_cancellation_is_not(flaky: Flaky) -> None:
    flaky.answers = [_fails(503), _says(CAMPAIGN)]
    with Client(flaky.url, "rp_x") as client:
        assert client.submit("kind: nothing") == 7
        keys = {request.headers["idempotency-key"] for request in flaky.asked}
        assert (len(flaky.asked), len(keys)) == (2, 1)
        flaky.answers = [_fails(503)]
        flaky.asked.clear()
        with pytest.raises(ServerError):
            client.cancel(7)
    assert len(flaky.asked) == 1


def test_retry_after_is_heeded_within_reason(flaky: Flaky, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(transport, "time", clock)
    late = {"Retry-After": "3600"}
    flaky.answers = [_fails(503, **{"Retry-After": "2"}), _fails(503, **late), _fails(503, **{"Retry-After": "soon"}), _says({"items": []})]
    with Client(flaky.url, "rp_x") as client:
        assert client.kinds() == []
    assert clock.slept[:2] == [2.0, transport.RETRY_AFTER_MAX_S]
    assert clock.slept[2] < 1


def test_a_token_does_not_follow_a_redirect(flaky: Flaky) -> None:
    flaky.answers = [lambda: RedirectResponse("http://evil.example/")]
    with Client(flaky.url, "rp_x") as client, pytest.raises(ServerError, match="307"):
        client.kinds()
    assert [request.headers["authorization"] for request in flaky.asked] == ["Bearer rp_x"]


def test_something_else_than_a_service_is_said_to_be(flaky: Flaky) -> None:
    with Client(flaky.url) as client:
        flaky.answers = [lambda: Response("<html>")]
        with pytest.raises(ServerError, match="is this a Rackproof service"):
            client.kinds()
        flaky.answers = [_says({"items": [{"name": 1}]})]
        with pytest.raises(ServerError, match="Kind: the service sent something else than expected: name"):
            client.kinds()


def test_a_service_that_is_silent_is_given_up(flaky: Flaky) -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        import asyncio

        await asyncio.sleep(30)

    flaky.answers = [lambda: StreamingResponse(never(), media_type="application/json")]
    sent: list[httpx.Request] = []  # not all of them need reach a server before they are given up
    with Client(flaky.url, timeout_s=0.2) as client:
        client._transport.http.event_hooks["request"] = [sent.append]
        with pytest.raises(Unreachable):
            client.kinds()
    assert len(sent) == transport.ATTEMPTS


def test_a_download_is_whole_and_right_or_not_there(flaky: Flaky, tmp_path: Path) -> None:
    report = Report.model_validate(
        {
            "id": 1,
            "campaign": 7,
            "created": "2030-01-01T00:00:00Z",
            "pdf": "/api/v1/reports/1/report.pdf",
            "html": "/api/v1/reports/1/report.html",
            "pdf_sha256": "0" * 64,
            "html_sha256": "0" * 64,
        }
    )
    flaky.answers = [lambda: Response(b"%PDF- of another")]
    with Client(flaky.url) as client, pytest.raises(ServerError, match="SHA-256"):
        client.download_report(report, tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_fails_or_never_ends_is_an_error_of_the_lab(flaky: Flaky) -> None:
    job = {"id": 3, "state": "TAKEN", "error": ""}
    flaky.answers = [_says(job)]
    with Client(flaky.url) as client:
        with pytest.raises(LabError, match=r"not done within 0\.2 s"):
            client.rehearse("kind: nothing", timeout_s=0.2)
        flaky.answers = [_says({**job, "state": "FAILED", "error": "no bench here"})]
        with pytest.raises(LabError, match="no bench here"):
            client.rehearse("kind: nothing")


def _event(seq: int) -> str:
    body = {"seq": seq, "at": "2030-01-01T00:00:00Z", "kind": "warning", "data": {"text": f"event {seq}"}}
    return f"id: {seq}\nevent: warning\ndata: {json.dumps(body)}\n\n"


def _stream(*parts: str) -> Callable[[], Response]:
    return lambda: StreamingResponse(iter(parts), media_type="text/event-stream")


def test_events_go_on_after_the_last_one_that_came_whole(flaky: Flaky) -> None:
    flaky.answers = [
        _stream(_event(1), _event(2), _event(3)[:20]),
        _fails(503),
        _stream(":\n\n", _event(3)),
        lambda: Response(status_code=204),
    ]
    with Client(flaky.url) as client:
        assert [event.seq for event in client.events(7)] == [1, 2, 3]
    assert [request.headers.get("last-event-id") for request in flaky.asked] == [None, "2", "2", "3"]
    assert {request.headers["accept"] for request in flaky.asked} == {"text/event-stream"}


def test_events_of_a_campaign_that_is_not_there_are_refused_at_once(flaky: Flaky) -> None:
    flaky.answers = [_fails(404)]
    with Client(flaky.url) as client, pytest.raises(Exception, match="the database is away"):
        list(client.events(7))
    assert len(flaky.asked) == 1


def test_a_stream_that_says_nothing_for_ever_is_given_up(flaky: Flaky, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(following, "time", clock)
    flaky.answers = [_stream(":\n\n")]
    with Client(flaky.url) as client, pytest.raises(Unreachable, match=r"nothing of campaign 7 for 60 s"):
        list(client.events(7, patience_s=60))
    assert clock.monotonic() > 60
    assert 2 <= len(flaky.asked) < 30
    assert max(clock.slept) == following.PAUSE_MAX_S
