"""How fast are the pages beside a million trials and ten million measurements? Prints one JSON row per number.

Twenty people are signed in, and each opens pages one after the other, of every kind in turn: with a second between two of them, as people
do, and then without a pause, where what waits then waits for the others. The target is for the first.
"""

import asyncio
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from urllib.parse import urlencode

import httpx
import psutil
import psycopg

from benchmarks.filling import CAMPAIGNS, LARGE, LARGE_NAME, LARGE_TRIALS, TRIALS, fill_for_pages
from benchmarks.painting import painted
from benchmarks.service_tree import Row, Service, percentile, row, service
from rackproof.model.service import Role
from rackproof.settings import Settings
from tests.integration.web.house import COOKIE
from tests.integration.web.seeds import Seeds

_PORT = 8645
_PEOPLE = 20
_PAUSE_S = 1.0
_CALM_S, _BUSY_S = 120.0, 30.0
_TARGET_MS = 150.0
_DAY = timedelta(days=1)

#: The kinds of pages; each gives the address of one of them.
Places = Mapping[str, Callable[[], str]]


def main() -> None:
    """Measure and print."""
    with service() as running:
        settings = Settings.load(data_dir=running.folder, database_url=running.server.url)
        rows, seeds = fill_for_pages(running, settings)
        process, address = running.api(_PORT)
        rows += measured(running, process.pid, address, seeds)
    for each in rows:
        print(json.dumps(each), flush=True)


def measured(running: Service, pid: int, address: str, seeds: Seeds) -> list[Row]:
    """What a service that answers there, as the process pid, is measured at."""
    found = places(running, seeds)
    rows = opened(running, psutil.Process(pid), address, found)
    secret, _ = running.store.accounts.open_session(running.store.accounts.by_name(Role.ADMIN.value).id)
    return rows + painted(address, secret, {name: path() for name, path in found.items()})


def places(running: Service, seeds: Seeds) -> Places:
    """Addresses of every kind of page, of this campaign or that."""
    dice = random.Random(1)
    with running.store.transactions.step("the campaigns could not be read") as connection:
        ids = connection.exec_driver_sql("SELECT id, name = %(name)s FROM campaigns WHERE trial_count > 100", {"name": LARGE_NAME}).all()
    large = [number for number, is_large in ids if is_large]
    nights = [number for number, is_large in ids if not is_large]
    assert (len(large), len(nights)) == (LARGE, CAMPAIGNS)

    def list_of(**query: object) -> str:
        return f"/campaigns?{urlencode(query)}"

    def lists() -> str:
        since = datetime.now(UTC) - dice.randrange(2, 30) * _DAY
        return dice.choice(
            [
                list_of(verdict="FAIL"),
                list_of(state="RUNNING"),
                list_of(testbed="n1", kind="nothing"),
                list_of(owner="engineer", verdict="INVALID"),
                list_of(name=f"night {dice.randrange(50)}"),
                list_of(since=f"{since:%Y-%m-%d}", until=f"{since + _DAY:%Y-%m-%d}"),
            ]
        )

    def of_large(tab: str) -> Callable[[], str]:
        return lambda: f"/campaigns/{dice.choice(large)}{tab}"

    tabs = ("findings", "trials", "measurements", "provenance", "configurations", "log")
    return {
        "home": lambda: "/",
        "campaigns": lambda: "/campaigns",
        "campaigns, filtered": lists,
        "campaigns, by name": lambda: list_of(order=dice.choice(["name", "name-down"])),
        "campaigns, deep": lambda: list_of(order=dice.choice(["newest", "oldest", "name"]), after=dice.choice(nights)),
        "campaign": of_large(""),
        "campaign, chart": of_large("/chart.json?quantity=delay.p99&of=queue"),
        **{f"campaign, {tab}": of_large(f"/{tab}") for tab in tabs},
        "campaign, trials deep": lambda: f"/campaigns/{dice.choice(large)}/trials?after={dice.randrange(LARGE_TRIALS - 50)}",
        "campaign, measurements deep": lambda: f"/campaigns/{dice.choice(large)}/measurements?after={dice.randrange(900)}&position=3",
        "trial": lambda: f"/campaigns/{dice.choice(nights)}/trials/{dice.randrange(1, TRIALS)}",
        "trial, samples": lambda: f"/campaigns/{seeds.failed}/trials/{dice.randrange(1, 11)}/samples.json",
        "new campaign": lambda: "/campaigns/new",
        "new campaign, cloned": lambda: f"/campaigns/new?from={dice.choice(large)}",
        "compare": lambda: "/compare?" + "&".join(f"campaign={one}" for one in dice.sample(large, 2)),
        "search": lambda: f"/search?q={dice.choice(['night', 'large', 'FAIL night', f'#{dice.choice(nights)}', 'lab1', 'nowhere'])}",
        "trends": lambda: "/trends?" + urlencode({"name": LARGE_NAME, "quantity": "throughput", "of": "queue=0", "last": 200}),
        "trends, one point": lambda: (
            "/trends?"
            + urlencode(
                {
                    "name": LARGE_NAME,
                    "quantity": "delay.p99",
                    "of": "queue=1",
                    "last": 200,
                    "at.load_mbps": dice.randrange(1, 21),
                    "at.device": "device 1",
                }
            )
        ),
        "testbeds": lambda: "/testbeds",
        "testbed": lambda: f"/testbeds/lab{dice.randrange(1, 21)}",
        "schedules": lambda: "/schedules",
        "schedule": lambda: f"/schedules/{seeds.schedule}",
        "new schedule": lambda: "/schedules/new",
        "suite runs": lambda: "/schedules/runs",
        "suite run": lambda: f"/schedules/runs/{dice.choice(seeds.runs)}",
        "account": lambda: "/account",
        "users": lambda: "/users",
        "audit": lambda: "/audit",
    }


def opened(running: Service, process: psutil.Process, address: str, found: Places) -> list[Row]:
    """What people wait for each kind of page, and for a bare query in the same minutes."""
    cookies = [
        {COOKIE: running.store.accounts.open_session(running.store.accounts.by_name(Role.ADMIN.value).id)[0]} for _ in range(_PEOPLE)
    ]
    asyncio.run(_people(address, cookies, found, len(found) / _PEOPLE, 0.0))  # everything is read once before it counts
    with _bare_queries(running) as bare:
        before = process.cpu_times()
        calm = asyncio.run(_people(address, cookies, found, _CALM_S, _PAUSE_S))
        after = process.cpu_times()
    busy = asyncio.run(_people(address, cookies, found, _BUSY_S, 0.0))
    every = [ms for times in calm.values() for ms in times]
    slowest = max(calm, key=lambda name: percentile(calm[name], 0.95))
    people = f"{_PEOPLE} people, {_PAUSE_S:g} s between two pages"
    rows = [
        row("pages.bare_query.p50", percentile(bare, 0.5), "ms", "one row by its key, in the same minutes", None),
        row("pages.bare_query.p95", percentile(bare, 0.95), "ms", "the same", None),
        row("pages.processor", 1e3 * (sum(after[:2]) - sum(before[:2])) / len(every), "ms", "of the API's process for a page", None),
        row("pages.every.p95", percentile(every, 0.95), "ms", people, None),
        row("pages.slowest.p95", percentile(calm[slowest], 0.95), "ms", f"every page under 150; {slowest}", _met(calm[slowest])),
    ]
    for name, times in calm.items():
        rows += [
            row(f"pages.{name}.p50", percentile(times, 0.5), "ms", f"n = {len(times)}", None),
            row(f"pages.{name}.p95", percentile(times, 0.95), "ms", f"under {_TARGET_MS:g} (p95)", _met(times)),
            row(f"pages.{name}.p99", percentile(times, 0.99), "ms", "", None),
        ]
    waits = [ms for times in busy.values() for ms in times]
    return [
        *rows,
        row("pages.closed.p50", percentile(waits, 0.5), "ms", f"{_PEOPLE} people without a pause", None),
        row("pages.closed.p95", percentile(waits, 0.95), "ms", "the same", None),
        row("pages.closed.p99", percentile(waits, 0.99), "ms", "the same", None),
        row("pages.closed.rate", len(waits) / _BUSY_S, "1/s", "the same", None),
    ]


def _met(times: Sequence[float]) -> bool:
    return percentile(times, 0.95) < _TARGET_MS


async def _people(
    address: str, cookies: Sequence[Mapping[str, str]], found: Places, for_s: float, pause_s: float
) -> dict[str, list[float]]:
    """What each kind of page took [ms], from the question to the last byte of the answer."""
    took: dict[str, list[float]] = {name: [] for name in found}
    end = time.monotonic() + for_s

    async def person(number: int, cookie: Mapping[str, str]) -> None:
        order = list(found)
        random.Random(number).shuffle(order)
        async with httpx.AsyncClient(base_url=address, cookies=dict(cookie), timeout=60) as client:
            await asyncio.sleep(pause_s * number / _PEOPLE)
            for name in cycle(order):
                if time.monotonic() > end and all(took.values()):
                    return
                path = found[name]()
                began = time.perf_counter()
                answer = await client.get(path)
                took[name].append((time.perf_counter() - began) * 1e3)
                assert answer.status_code == 200, (path, answer.status_code, answer.text[-300:])
                await asyncio.sleep(pause_s)

    await asyncio.gather(*(person(number, cookie) for number, cookie in enumerate(cookies)))
    return took


@contextmanager
def _bare_queries(running: Service) -> Iterator[list[float]]:
    """Five queries a second over a connection that stands, each of one row by its key, as long as the context lasts [ms]."""
    took: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with psycopg.connect(running.server.url.replace("+psycopg", ""), autocommit=True) as connection:
            while not over.wait(0.2):
                began = time.perf_counter()
                connection.execute("SELECT name FROM campaigns WHERE id = 1").fetchall()
                took.append((time.perf_counter() - began) * 1e3)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield took
    finally:
        over.set()
        thread.join()


if __name__ == "__main__":
    main()
