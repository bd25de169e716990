"""Is no firing lost and none doubled when workers are killed at any moment? 30 rounds of two workers, 1,000 with RACKPROOF_LONG=1."""

import json
import os
import subprocess
import sys
import time
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from rackproof.model.service import Missed, Overlap, SuiteRunState
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.cron import upcoming
from rackproof.store.schedules import Schedule, SuiteRun
from tests.integration.nights.suites import START, Clock, a_plan, a_schedule, a_testbed, nights

# The fixture that hides the machine's settings from tests hides this one, too.
LONG = os.environ.get("RACKPROOF_LONG") == "1"
ROUNDS = 1000 if LONG else 30
TRIALS = 10


def moments(schedule: Schedule, until: datetime) -> list[datetime]:
    found = upcoming(schedule.cron, schedule.zone, START, int((until - START).total_seconds() // 60) + 1)
    return [moment for moment in found if moment <= until]


def stands_for(run: SuiteRun, moment: datetime) -> bool:
    return (run.since or run.due) <= moment <= run.due


@pytest.mark.slow
def test_every_moment_has_one_run_whenever_workers_are_killed(settings: Settings, store: Store, environment: dict[str, str]) -> None:
    clock = Clock()
    a_testbed(store)
    plans = [a_plan("one", trials=TRIALS), a_plan("two", trials=TRIALS)]
    common = {"overlap": Overlap.QUEUE, "plans": plans, "emails": ["ada@example.org"]}
    schedules = [
        a_schedule(store, clock, name="every minute", cron="* * * * *", **common),
        a_schedule(store, clock, name="often", cron="*/7 * * * *", zone="Europe/Zurich", **common),
        a_schedule(store, clock, name="or not at all", cron="* * * * *", missed=Missed.SKIP, **common),
    ]
    command = [sys.executable, "-m", "tests.integration.nights.ticker", str(ROUNDS), "2026"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3600 if LONG else 900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    print(figures)
    assert figures["interrupted"] >= ROUNDS / 3, "most kills came after the work was done: nothing was shown"

    _nobody_else_is_at_work(store)
    until = START + timedelta(minutes=ROUNDS)
    clock.now = until + timedelta(seconds=1)
    nights(settings, store, clock).run()
    for schedule in schedules:
        runs = store.schedules.runs(schedule.id, limit=10_000)
        for moment in moments(schedule, until):
            covering = [run for run in runs if stands_for(run, moment)]
            assert len(covering) == 1, f"{schedule.name}, {moment}: {[run.id for run in covering]}"
        assert {run.due for run in runs} <= set(moments(schedule, until))
        for run in runs:
            skipped = run.state is SuiteRunState.SKIPPED
            assert len(run.campaigns) == (0 if skipped else len(plans))
            assert not skipped or schedule.missed is Missed.SKIP
        assert store.schedules.get(schedule.id).next_at == upcoming(schedule.cron, schedule.zone, clock.now, 1)[0]
    _everything_is_whole(store)


def _nobody_else_is_at_work(store: Store) -> None:
    """The sessions of killed workers, with the rows that they locked, are gone as soon as the database has noticed."""
    ours = f"rackproof {os.getpid()} on %"
    question = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND backend_type = 'client backend' AND application_name NOT LIKE :ours"
    )
    deadline = time.monotonic() + 60
    while True:
        with store.transactions.step("a test") as connection:
            if not connection.scalar(question, {"ours": ours}):
                return
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _everything_is_whole(store: Store) -> None:
    """Campaigns with all their trials, one digest for each run that ended, and one delivery for each digest."""
    questions = {
        "campaigns without a run": "SELECT count(*) FROM campaigns WHERE suite_run_id IS NULL",
        "campaigns without all their trials": f"SELECT count(*) FROM campaigns c WHERE {TRIALS} <> "
        "(SELECT count(*) FROM trials WHERE campaign_id = c.id)",
        "runs with two campaigns of a name": "SELECT count(*) FROM "
        "(SELECT FROM campaigns GROUP BY suite_run_id, name HAVING count(*) > 1) twice",
        "digests of runs that have not ended": "SELECT count(*) FROM suite_runs WHERE (digest IS NOT NULL) <> (state = 'DONE')",
        "digests without their delivery": "SELECT count(*) FROM suite_runs r WHERE state = 'DONE' AND 1 <> "
        "(SELECT count(*) FROM deliveries WHERE suite_run_id = r.id)",
    }
    with store.transactions.reading("a test") as connection:
        assert {what: connection.scalar(text(question)) for what, question in questions.items()} == dict.fromkeys(questions, 0)
        assert connection.scalar(text("SELECT count(*) FROM suite_runs WHERE state = 'DONE'"))
