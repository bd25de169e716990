"""What can happen to a service, one function each; each returns when the harm is done, or over where it lasts."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg

from tests.chaos.tree import WORKER_TIMEOUT_S, Tree, family, has_own_disk

Fault = Callable[[Tree, random.Random], None]
#: Sessions of a killed server answer until they notice: harm is over when the last of them is gone [s].
NOTICED_S = 30.0


def kill_a_worker(tree: Tree, dice: random.Random) -> None:
    """kill -9 of one of the workers, mostly of the one that is at work."""
    if (worker := _some_worker(tree, dice)) is not None:
        _kill(worker)


def kill_all_workers(tree: Tree, dice: random.Random) -> None:
    for worker in tree.workers():
        _kill(worker)


def kill_the_api(tree: Tree, dice: random.Random) -> None:
    if (api := tree.api()) is not None:
        _kill(api)


def kill_the_database(tree: Tree, dice: random.Random) -> None:
    """kill -9 of the server itself."""
    if (server := tree.postmaster()) is not None:
        harmed = family(server.pid)
        _kill(server)
        psutil.wait_procs(harmed, timeout=NOTICED_S)


def kill_a_session(tree: Tree, dice: random.Random) -> None:
    """kill -9 of one session: the server then ends all others and recovers."""
    if (server := tree.postmaster()) is not None:
        sessions = [process for process in family(server.pid) if "rackproof rackproof" in " ".join(_title(process))]
        if sessions:
            _kill(dice.choice(sessions))
            psutil.wait_procs(sessions, timeout=NOTICED_S)


def drop_connections(tree: Tree, dice: random.Random) -> None:
    with contextlib.suppress(psycopg.Error), psycopg.connect(tree.url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename IS NOT NULL",
            [int(NOTICED_S * 1e3)],
        )


def fill_the_disk(tree: Tree, dice: random.Random) -> None:
    """Not a byte is left for samples, reports, or the database's log, for a while."""
    ballast = tree.data_dir / "ballast"
    assert has_own_disk(tree.data_dir)
    try:
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as sink:
            while True:
                sink.write(b"\0" * _room(tree.data_dir))
        time.sleep(dice.uniform(0.5, 2.0))
    finally:
        ballast.unlink()


def freeze_a_worker(tree: Tree, dice: random.Random) -> None:
    """SIGSTOP for longer than its lease lasts: when it wakes up, another may have its campaign."""
    frozen = _some_worker(tree, dice)
    if frozen is None:
        return
    with contextlib.suppress(psutil.Error):
        frozen.send_signal(signal.SIGSTOP)
        try:
            time.sleep(WORKER_TIMEOUT_S * dice.uniform(1.2, 1.8))
        finally:
            frozen.send_signal(signal.SIGCONT)


def power_cut(tree: Tree, dice: random.Random) -> None:
    """Everything ends at once, and is started again."""
    tree.kill_all()
    tree.start()


FAULTS: dict[str, Fault] = {
    "kill a worker": kill_a_worker,
    "kill all workers": kill_all_workers,
    "kill the API": kill_the_api,
    "kill PostgreSQL": kill_the_database,
    "kill a session of PostgreSQL": kill_a_session,
    "drop all connections": drop_connections,
    "fill the disk": fill_the_disk,
    "freeze a worker": freeze_a_worker,
    "power cut": power_cut,
}


def _some_worker(tree: Tree, dice: random.Random) -> psutil.Process | None:
    workers = tree.workers()
    lines = tree.marker.read_text().splitlines() if tree.marker.exists() else []
    busy = [worker for worker in workers if lines and worker.pid == int(lines[-1].split()[2])]
    if busy and dice.random() < 0.8:
        return busy[0]
    return dice.choice(workers) if workers else None


def _kill(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):
        process.kill()


def _title(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


def _room(folder: Path) -> int:
    found = os.statvfs(folder)
    return max(1, min(found.f_bavail * found.f_frsize, 16_000_000))
