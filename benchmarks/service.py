"""What does the orchestrator cost? Trials that do nothing, so that everything that is measured is ours; prints one JSON row per target.

"Per trial" is from the storing of one result to that of the next: the step of the workflow, the result, its samples file, and its events.
"""

import json
import re
import statistics
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import psutil

from benchmarks.service_tree import Row, Service, row, service
from rackproof.store import Event, database
from rackproof.store.cluster import server_pid

_IDLE_S = 60.0


def main() -> None:
    """Measure and print."""
    with service() as running:
        for part in (migration, one_worker, idle, ten_workers):
            for each in part(running):
                print(json.dumps(each), flush=True)


def migration(running: Service) -> list[Row]:
    """From an empty database to the newest schema."""
    import psycopg

    with psycopg.connect(running.server.url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty TEMPLATE template0")
    engine = database.connect(running.server.cluster.url("empty"))
    began = time.perf_counter()
    database.migrate(engine)
    took_s = time.perf_counter() - began
    engine.dispose()
    return [row("migration.from_empty", took_s, "s", "under 5", took_s < 5)]


def one_worker(running: Service) -> list[Row]:
    """Overhead per trial, its growth, and how soon a campaign begins."""
    worker = running.worker("w0", "n1")
    running.workers_live(1)
    running.ended(running.submit(trials=20))  # the first of everything is slower
    bare_ms = running.round_trip_ms()
    used_ms = processor_ms(running, worker.pid)
    campaign = running.submit(trials=200, measurements=10)
    running.ended(campaign)
    each_ms = (processor_ms(running, worker.pid) - used_ms) / 200
    gaps = gaps_ms(running.store.events(campaign, limit=100_000))
    one_ms = statistics.median(gaps)
    used_ms = processor_ms(running, worker.pid)
    thousand = running.submit(trials=1000, measurements=10)
    running.ended(thousand)
    each_of_thousand_ms = (processor_ms(running, worker.pid) - used_ms) / 1000
    events = running.store.events(thousand, limit=100_000)
    ratio = sum(gaps_ms(events)) / 999 / statistics.mean(gaps)
    begins = []
    for _ in range(15):
        time.sleep(0.3)
        before = time.time()
        campaign = running.submit(trials=1)
        running.ended(campaign)
        begins.append((first(running.store.events(campaign), "trial_started").timestamp() - before) * 1e3)
    return [
        row("database.insert_commit", bare_ms, "ms", "", None),
        row("trial.overhead", one_ms, "ms", "under 15 (median of 200)", one_ms < 15),
        row("trial.overhead.in_commits", one_ms / bare_ms, "1", "", None),
        row("trial.overhead.thousand", ratio, "1", "at most 1.1 x one (means)", ratio <= 1.1),
        # What a busy machine does not change: the processor's time, of the worker and of the database.
        row("trial.processor", each_ms, "ms", "", None),
        row("trial.processor.thousand", each_of_thousand_ms / each_ms, "1", "at most 1.1 x one", each_of_thousand_ms <= 1.1 * each_ms),
        row("campaign.begins", statistics.median(begins), "ms", "under 300 (median of 15)", statistics.median(begins) < 300),
        row("campaign.begins.max", max(begins), "ms", "", None),
    ]


def idle(running: Service) -> list[Row]:
    """Memory and processor of API and worker that have nothing to do."""
    api, _ = running.api(8643)
    worker = running.worker("idle", "n0")
    running.workers_live(2)
    time.sleep(10)
    found = [psutil.Process(each.pid) for each in (api, worker)]
    before = [sum(each.cpu_times()[:2]) for each in found]
    time.sleep(_IDLE_S)
    share = sum(sum(each.cpu_times()[:2]) - was for each, was in zip(found, before, strict=True)) / _IDLE_S * 100
    memory_mb = [pss_mb(each.pid) for each in found]
    for each in (api, worker):
        each.terminate()
        each.wait(60)
    return [
        row("idle.memory", sum(memory_mb), "MB", "under 300 (PSS, API and worker)", sum(memory_mb) < 300),
        row("idle.memory.worker", memory_mb[1], "MB", "", None),
        row("idle.processor", share, "%", f"under 1 of a core, over {_IDLE_S:.0f} s", share < 1),
    ]


def ten_workers(running: Service) -> list[Row]:
    """Ten workers beside each other; each testbed is served by two of them, and gets two campaigns."""
    sleep_s = 0.5
    alone = running.submit(trials=20, sleep_s=sleep_s, measurements=10)
    running.ended(alone)
    one_ms = statistics.median(gaps_ms(running.store.events(alone, limit=100_000)))
    names = [f"t{number}" for number in range(10)]
    for number in range(10):
        running.worker(f"w{number + 1}", names[number], names[(number + 1) % 10])
    running.workers_live(11)
    time.sleep(5)
    bare_ms = running.round_trip_ms()
    campaigns = [running.submit(testbed=name, trials=20, sleep_s=sleep_s, measurements=10) for name in names for _ in range(2)]
    running.ended(*campaigns)
    events = {campaign: running.store.events(campaign, limit=100_000) for campaign in campaigns}
    ten_ms = statistics.median([gap for each in events.values() for gap in gaps_ms(each)])
    overlaps = 0
    for first_one, second in zip(campaigns[::2], campaigns[1::2], strict=True):
        spans = sorted((first(events[each], "campaign_started"), first(events[each], "campaign_ended")) for each in (first_one, second))
        overlaps += spans[1][0] < spans[0][1]
    crowded = [running.submit(testbed=name, trials=50, measurements=10) for name in names]
    running.ended(*crowded)
    crowd_ms = statistics.median([gap for each in crowded for gap in gaps_ms(running.store.events(each, limit=100_000))])
    return [
        row("workers.one", one_ms, "ms", f"trials of {sleep_s * 1e3:.0f} ms", None),
        row("workers.ten", ten_ms / one_ms, "1", "at most 1.2 x one", ten_ms <= 1.2 * one_ms),
        row("workers.ten.overlaps", overlaps, "1", "0 testbeds used twice at once", overlaps == 0),
        row("workers.ten.overhead", ten_ms - sleep_s * 1e3, "ms", "", None),
        row("workers.ten.flat_out", crowd_ms, "ms", f"trials of 0 ms, {psutil.cpu_count()} processors", None),
        row("workers.ten.insert_commit", bare_ms, "ms", "", None),
    ]


def processor_ms(running: Service, worker: int) -> float:
    """Processor time that a worker and the sessions of the database have used [ms]."""
    server = psutil.Process(server_pid(running.server.cluster) or 0)
    found = [psutil.Process(worker), *server.children()]
    return sum(sum(each.cpu_times()[:2]) for each in found) * 1e3


def gaps_ms(events: list[Event]) -> list[float]:
    """From each stored result to the next [ms]."""
    stored = [event.at for event in events if event.kind == "trial_ended"]
    return [(after - before).total_seconds() * 1e3 for before, after in pairwise(stored)]


def first(events: list[Event], kind: str) -> datetime:
    """When the first event of a kind was."""
    return next(event.at for event in events if event.kind == kind)


def pss_mb(pid: int) -> float:
    """Memory of a process, what it shares with others divided among them [MB]."""
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024 / 1e6


if __name__ == "__main__":
    main()
