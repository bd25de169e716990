"""Do those who follow a campaign hear everything once, in order, soon, and go on where they were?"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from httpx_sse import ServerSentEvent, connect_sse

from rackproof.model.campaign import CampaignState
from rackproof.model.event import EventKind
from rackproof.model.service import Role
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from rackproof.store.records import Event
from tests.integration.api.seeds import ODD, Seeds, a_campaign
from tests.integration.api.test_reading import problem
from tests.waiting import until

Client = Callable[[Role | None], httpx.Client]
STREAM = {"Accept": "text/event-stream"}


def listens(app: FastAPI) -> bool:
    """Whether somebody follows a campaign."""
    return b"rackproof_event_listeners 1.0" in app.state.metrics.text()


def heard(client: httpx.Client, campaign: int, *, count: int | None = None, last: str | None = None) -> list[ServerSentEvent]:
    """So many events of a stream, or all until it ends."""
    found = []
    headers = {} if last is None else {"Last-Event-ID": last}
    with connect_sse(client, "GET", f"/campaigns/{campaign}/events", headers=headers) as stream:
        assert stream.response.headers["content-type"].startswith("text/event-stream")
        for event in stream.iter_sse():
            if event.data:
                found.append(event)
            if len(found) == count:
                break
    return found


def test_what_happened_is_told_until_the_end(viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    events = heard(viewer, seeds.done)
    kept = store.events(seeds.done)
    assert [int(event.id) for event in events] == [event.seq for event in kept]
    assert [event.event for event in events] == ["campaign_started", *["trial_ended"] * 3, "campaign_ended"]
    third = json.loads(events[3].data)
    assert third["data"] == {"text": ODD, "trial": 3, "seconds": "Infinity"}
    assert third["seq"] == kept[3].seq


def test_a_stream_goes_on_where_it_was(viewer: httpx.Client, seeds: Seeds) -> None:
    everything = heard(viewer, seeds.done)
    for index, event in enumerate(everything[:-1]):
        rest = heard(viewer, seeds.done, last=event.id)
        assert [(one.id, one.data) for one in rest] == [(one.id, one.data) for one in everything[index + 1 :]]
    over = viewer.get(f"/campaigns/{seeds.done}/events", headers={**STREAM, "Last-Event-ID": everything[-1].id})
    assert (over.status_code, over.content) == (204, b"")
    problem(viewer.get(f"/campaigns/{seeds.done}/events", headers={**STREAM, "Last-Event-ID": "x"}), 422)
    problem(viewer.get("/campaigns/4711/events", headers=STREAM), 404)


def test_events_come_as_pages_too(viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    path = f"/campaigns/{seeds.done}/events"
    found: list[Any] = []
    after = "0"
    while page := viewer.get(path, params={"after": after, "limit": 2}).json()["items"]:
        found += page
        after = str(page[-1]["seq"])
    assert [event["seq"] for event in found] == [event.seq for event in store.events(seeds.done)]
    assert viewer.get(path, params={"after": after}).json() == {"items": [], "next": after}
    problem(viewer.get(path, headers={"Accept": "text/csv"}), 406)


def test_what_happens_is_told_at_once(viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    """Events that are written while somebody listens, up to the end; one listener joins in the middle."""
    queued = store.events(seeds.waiting)[-1].seq
    results: dict[str, list[ServerSentEvent]] = {}

    def listen(name: str, last: str | None = None) -> threading.Thread:
        thread = threading.Thread(target=lambda: results.update({name: heard(viewer, seeds.waiting, last=last)}))
        thread.start()
        return thread

    threads = [listen("first"), listen("resumed", str(queued))]
    for number in range(40):
        store.add_event(seeds.waiting, EventKind.WARNING, {"text": f"{number}"})
        if number == 20:
            threads.append(listen("late"))
    store.queue.cancel(seeds.waiting, "enough")
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive(), "a stream did not end"
    kept = [str(event.seq) for event in store.events(seeds.waiting)]
    assert [event.id for event in results["first"]] == kept
    assert [event.id for event in results["late"]] == kept
    assert [event.id for event in results["resumed"]] == kept[1:]


def test_a_campaign_that_runs_again_is_followed_again(viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    """The end of its first run is no end, once it waits again."""
    ended = store.events(seeds.done)[-1].seq
    store.queue.retry(seeds.done)
    results: list[ServerSentEvent] = []
    thread = threading.Thread(target=lambda: results.extend(heard(viewer, seeds.done)))
    thread.start()
    store.queue.cancel(seeds.done, "no")
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert [event.event for event in results][-2:] == ["queued", "campaign_ended"]
    assert str(ended) in [event.id for event in results]


def test_an_end_that_nobody_tells_ends_the_stream(
    viewer: httpx.Client, app: FastAPI, store: Store, seeds: Seeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies between the end and its event leaves nobody waiting for ever."""
    monkeypatch.setattr("api.following.HEARTBEAT_S", 0.2)
    monkeypatch.setattr("rackproof.store.browse._SILENT_END_S", 0.5)
    campaign = a_campaign(store)
    store.queue.retry(campaign)
    results: list[ServerSentEvent] = []
    thread = threading.Thread(target=lambda: results.extend(heard(viewer, campaign)))
    thread.start()
    until(lambda: listens(app))
    store.finish(campaign, CampaignState.ABORTED, Verdict.ABORTED, "gone")
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert results[-1].event == "queued"


def test_who_may_no_longer_read_hears_no_more(
    client: Client, app: FastAPI, store: Store, tokens: dict[Role, str], seeds: Seeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.following.HEARTBEAT_S", 0.1)
    monkeypatch.setattr("api.following.RIGHTS_S", 0.1)
    known = store.accounts.by_token(tokens[Role.VIEWER])
    assert known is not None
    _, token = known
    thread = threading.Thread(target=lambda: heard(client(Role.VIEWER), seeds.waiting))
    thread.start()
    until(lambda: listens(app))
    store.accounts.revoke_token(token.id)
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_a_slow_listener_is_sent_away_and_loses_nothing(
    viewer: httpx.Client, app: FastAPI, store: Store, seeds: Seeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads nothing while more happens than may wait for it; what it hears then has no gap, and it resumes."""
    monkeypatch.setattr("api.following._BATCHES_MAX", 3)
    hub = app.state.hub

    async def follow() -> list[int]:
        heard_ids = []
        source = hub.follow(seeds.waiting, 0, lambda: True)
        async for part in source:
            heard_ids += [int(line.removeprefix(b"id: ")) for line in part.splitlines() if line.startswith(b"id: ")]
            while len(heard_ids) == 1 and b"listeners_dropped_total 1.0" not in app.state.metrics.text():
                await asyncio.to_thread(store.add_event, seeds.waiting, EventKind.WARNING, {"text": "more"})
                await asyncio.sleep(0.02)
        return heard_ids

    found = asyncio.run(asyncio.wait_for(follow(), 30))
    kept = [event.seq for event in store.events(seeds.waiting)]
    assert found == kept[: len(found)]
    assert 1 < len(found) < len(kept)
    rest = heard(viewer, seeds.waiting, count=len(kept) - len(found), last=str(found[-1]))
    assert found + [int(event.id) for event in rest] == kept


@contextmanager
def listening(served: str, token: str, campaign: int, count: int, told: list[float]) -> Iterator[threading.Event]:
    """So many listeners in a thread of their own; told gets the moment at which each hears each event."""
    ready = threading.Event()
    connected = 0

    async def listen(client: httpx.AsyncClient) -> None:
        nonlocal connected
        async with client.stream("GET", f"/api/v1/campaigns/{campaign}/events", headers=STREAM) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("event: queued"):
                    connected += 1
                    if connected == count:
                        ready.set()
                elif line.startswith("event: warning"):
                    told.append(time.monotonic())

    async def everybody() -> None:
        limits = httpx.Limits(max_connections=count)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=served, headers=headers, timeout=60, limits=limits, verify=False) as client:
            await asyncio.gather(*(listen(client) for _ in range(count)))

    thread = threading.Thread(target=lambda: asyncio.run(everybody()))
    thread.start()
    try:
        yield ready
    finally:
        thread.join(timeout=60)
        assert not thread.is_alive()


def test_many_listeners_hear_it_and_each_event_is_read_once(
    served: str, app: FastAPI, store: Store, tokens: dict[Role, str], seeds: Seeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, events = 60, 5
    told: list[float] = []
    with listening(served, tokens[Role.VIEWER], seeds.waiting, count, told) as ready:
        assert ready.wait(60)
        assert f"rackproof_event_listeners {count:.1f}".encode() in app.state.metrics.text()
        reads = []
        original = store.events

        def counted(campaign: int, after: int = 0, limit: int = 1000) -> list[Event]:
            reads.append(after)
            return original(campaign, after, limit)

        monkeypatch.setattr(store, "events", counted)
        for number in range(events):
            store.add_event(seeds.waiting, EventKind.WARNING, {"text": f"{number}"})
            time.sleep(0.05)
        store.queue.cancel(seeds.waiting, "enough")
    assert len(told) == count * events
    assert len(reads) <= 2 * (events + 2)
    assert b"rackproof_event_listeners 0.0" in app.state.metrics.text()


def test_the_server_stops_though_somebody_listens(
    app: FastAPI, viewer: httpx.Client, store: Store, seeds: Seeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, not with the next heartbeat; and whoever reads the store for it has ended then."""
    monkeypatch.setattr("api.following.HEARTBEAT_S", 600)
    thread = threading.Thread(target=lambda: heard(viewer, seeds.waiting))
    thread.start()
    until(lambda: listens(app))
    reading = threading.Event()
    original = store.events

    def slow(campaign: int, after: int = 0, limit: int = 1000) -> list[Event]:
        reading.set()
        time.sleep(0.3)
        return original(campaign, after, limit)

    monkeypatch.setattr(store, "events", slow)
    store.add_event(seeds.waiting, EventKind.WARNING, {"text": "the last"})
    assert reading.wait(30)
    app.state.hub.close()
    assert "events" not in [one.name for one in threading.enumerate()]
    thread.join(timeout=30)
    assert not thread.is_alive()
