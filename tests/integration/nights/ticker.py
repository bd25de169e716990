"""`python -m tests.integration.nights.ticker ROUNDS SEED`: workers that tick, two at a time, and are killed at random moments.

Time is simulated: every round is a minute. A fork of this process is ready in milliseconds, so a thousand restarts take minutes.
"""

import json
import os
import random
import signal
import statistics
import sys
import time
from datetime import timedelta
from typing import NoReturn

from sqlalchemy import text

from orchestrator.service.digests import Digests
from rackproof.settings import Settings
from rackproof.store import Store
from testplans.submission import submission
from tests.integration.nights.suites import ABOUT, START, Clock, a_plan, nights

WORKERS = 2
#: The first rounds, and then every so many, are left to the end: they measure how long a tick takes, within which the others are killed.
_MEASURED, _MEASURED_EVERY = 3, 8
_ROUND_S_MAX = 60.0


def main() -> None:
    rounds, seed = int(sys.argv[1]), int(sys.argv[2])
    source = random.Random(seed)
    with Store.open(Settings.load()) as store:  # what is imported and compiled here is there in every fork
        nights(Settings.load(), store, Clock()).run()
        submission(a_plan().encode())
    took_s: list[float] = []
    interrupted = finished = 0
    for number in range(1, rounds + 1):
        begun = time.monotonic()
        workers = [_fork(number) for _ in range(WORKERS)]
        measured = number <= _MEASURED or number % _MEASURED_EVERY == 0
        limit_s = _ROUND_S_MAX if measured else source.uniform(0.0, 1.3 * statistics.median(took_s[-20:]))
        for pid, done in workers:
            left_s = max(0.0, begun + limit_s - time.monotonic())
            if _told(done, left_s):
                finished += 1
                took_s.append(time.monotonic() - begun)
            else:
                interrupted += 1
            os.kill(pid, signal.SIGKILL)
            # The second may be killed at another moment than the first.
            limit_s += source.uniform(0.0, 0.02)
        for pid, done in workers:
            os.waitpid(pid, 0)
            os.close(done)
    print(json.dumps({"rounds": rounds, "interrupted": interrupted, "finished": finished, "tick_ms": 1e3 * statistics.median(took_s)}))


def _fork(number: int) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _work(number, writer)
    os.close(writer)
    return pid, reader


def _work(number: int, done: int) -> NoReturn:
    """One worker: everything that is due in this minute, then wait for the end."""
    signal.alarm(120)
    clock = Clock(START + timedelta(minutes=number))
    with Store.open(Settings.load()) as store:
        settings = Settings.load()
        nights(settings, store, clock).run()
        with store.transactions.step("the campaigns end") as connection:
            connection.execute(text("UPDATE campaigns SET state = 'DONE', verdict = 'PASS', ended = now() WHERE state = 'PENDING'"))
        digests = Digests(settings, store, ABOUT, patience_s=0.0)
        while digests._make_one():
            pass
        os.write(done, b".")
        while True:
            signal.pause()


def _told(done: int, timeout_s: float) -> bool:
    import select

    return bool(select.select([done], [], [], timeout_s)[0]) and os.read(done, 1) == b"."


if __name__ == "__main__":
    main()
