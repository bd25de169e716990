"""How fast does the API answer beside a million trials and ten million measurements? Prints one JSON row per target.

Two ways in which clients arrive: 50 that each ask once a second (open: what people and their pages do), and 50 that each ask again as soon
as they have an answer (closed: the most that the service can do; what waits then waits for itself). The target is for the first; the second
is told as a rate.
"""

import asyncio
import json
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import httpx

from benchmarks.filling import CAMPAIGNS, TRIALS, fill
from benchmarks.service_tree import Row, Service, percentile, row, service

_PORT = 8644
_CLIENTS = 50
_LISTENERS = 200
_OPEN_S, _CLOSED_S = 30.0, 15.0


def main() -> None:
    """Measure and print."""
    with service() as running:
        # The report and the events come first: a worker that has ended leaves the processors to the API.
        worker = running.worker("w0", "n1")
        running.workers_live(1)
        _, address = running.api(_PORT)
        token = running.token()
        rows = [*first_byte(running, address, token), *asyncio.run(events(running, address, token))]
        worker.terminate()
        worker.wait(60)
        rows += fill(running)
        rows += asyncio.run(reads(address, token))
    for each in rows:
        print(json.dumps(each), flush=True)


def first_byte(running: Service, address: str, token: str) -> list[Row]:
    """A PDF that exists."""
    campaign = running.submit(trials=20)
    running.ended(campaign)
    job = running.store.jobs.want("report", campaign=campaign)
    deadline = time.monotonic() + 120
    while running.store.reports.latest(campaign) is None:
        assert time.monotonic() < deadline, running.store.jobs.get(job)
        time.sleep(0.1)
    took = []
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}) as client:
        for _ in range(60):
            began = time.perf_counter()
            with client.stream("GET", f"/api/v1/campaigns/{campaign}/report.pdf", follow_redirects=True) as answer:
                assert answer.status_code == 200, answer.status_code
                next(answer.iter_raw(chunk_size=1))
                took.append((time.perf_counter() - began) * 1e3)
    return [row("pdf.first_byte", percentile(took, 0.95), "ms", "under 50 (p95)", percentile(took, 0.95) < 50)]


async def events(running: Service, address: str, token: str) -> list[Row]:
    """From the moment that a worker writes an event down to its arrival at each of many listeners."""
    delays: list[float] = []
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    limits = httpx.Limits(max_connections=None)
    campaign = await asyncio.to_thread(running.submit, trials=60, sleep_s=0.2)

    async def listen(client: httpx.AsyncClient, opened: asyncio.Semaphore) -> None:
        async with client.stream("GET", f"/api/v1/campaigns/{campaign}/events", headers=headers) as answer:
            assert answer.status_code == 200, answer.status_code
            opened.release()
            # What had happened before everybody listened is not counted.
            async for line in answer.aiter_lines():
                if line.startswith("data:") and (at := json.loads(line[5:]).get("at")):
                    now = datetime.now(UTC)
                    if begun and datetime.fromisoformat(at) > begun[0]:
                        delays.append((now - datetime.fromisoformat(at)).total_seconds() * 1e3)

    begun: list[datetime] = []
    async with httpx.AsyncClient(base_url=address, timeout=120, limits=limits) as client:
        opened = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(listen(client, opened)) for _ in range(_LISTENERS)]
        for _ in tasks:
            await opened.acquire()
        begun.append(datetime.now(UTC))
        await asyncio.gather(*tasks)
    p99 = percentile(delays, 0.99)
    return [
        row("events.p99", p99, "ms", f"under 500 ({_LISTENERS} listeners)", p99 < 500),
        row("events.median", statistics.median(delays), "ms", f"{len(delays)} arrivals", None),
    ]


async def reads(address: str, token: str) -> list[Row]:
    """Lists, single campaigns and trials, and trends, as pages ask for them."""
    dice = random.Random(1)
    async with httpx.AsyncClient(
        base_url=f"{address}/api/v1",
        timeout=60,
        headers={"Authorization": f"Bearer {token}"},
        limits=httpx.Limits(max_connections=_CLIENTS),
    ) as client:
        first = (await client.get("/campaigns", params={"limit": 1})).json()["items"][0]["id"]

        def path() -> str:
            campaign = first - dice.randrange(CAMPAIGNS - 10)
            return dice.choices(
                [
                    "/campaigns",
                    f"/campaigns?name=night+{campaign % 50}",
                    f"/campaigns/{campaign}",
                    f"/campaigns/{campaign}/trials?limit=50",
                    f"/campaigns/{campaign}/trials/{dice.randrange(1, TRIALS)}",
                    "/queue",
                    "/testbeds",
                ],
                weights=[2, 2, 4, 3, 4, 2, 1],
            )[0]

        took: dict[str, list[float]] = {}

        async def ask() -> float:
            where = path()
            began = time.perf_counter()
            answer = await client.get(where)
            ms = (time.perf_counter() - began) * 1e3
            assert answer.status_code == 200, (where, answer.status_code, answer.text[:200])
            took.setdefault(_route(where), []).append(ms)
            return ms

        await asyncio.gather(*(ask() for _ in range(_CLIENTS)))
        took.clear()
        calm = await _clients(ask, _OPEN_S, every_s=1.0)
        routes = {route: percentile(times, 0.95) for route, times in took.items()}
        alone = [await ask() for _ in range(60)]
        busy = await _clients(ask, _CLOSED_S, every_s=0.0)
    slowest = max(routes, key=routes.__getitem__)
    return [
        row("api.read.alone", statistics.median(alone), "ms", "one client, one after the other", None),
        row("api.read.p95", percentile(calm, 0.95), "ms", "under 50 (50 clients, each 1/s)", percentile(calm, 0.95) < 50),
        row("api.read.p95.slowest", routes[slowest], "ms", slowest, None),
        row("api.read.closed.p95", percentile(busy, 0.95), "ms", "50 clients, no pause", None),
        row("api.read.closed.rate", len(busy) / _CLOSED_S, "1/s", "50 clients, no pause", None),
    ]


async def _clients(ask: Callable[[], Awaitable[float]], for_s: float, every_s: float) -> list[float]:
    """What 50 clients waited, each of which begins at a moment of its own."""
    dice = random.Random(2)
    end = time.monotonic() + for_s
    times: list[float] = []

    async def client() -> None:
        await asyncio.sleep(dice.uniform(0, every_s))
        while time.monotonic() < end:
            began = time.monotonic()
            times.append(await ask())
            await asyncio.sleep(max(0.0, began + every_s - time.monotonic()))

    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
    return times


def _route(path: str) -> str:
    return "".join("N" if part.isdecimal() else part for part in path.partition("?")[0].replace("/", " / ").split())


if __name__ == "__main__":
    main()
