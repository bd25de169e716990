"""Is a campaign shown as running only while a living process runs it?"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from rackproof.errors import StoreError
from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store

MakeCampaign = Callable[..., int]

HOLDS = """
import sys
from rackproof.settings import Settings
from rackproof.store import Store
with Store.open(Settings.load()) as store, store.hold(int(sys.argv[1])):
    print("holding", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(campaign: int, environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the campaign until its standard input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(campaign)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**environment, "PYTHONPATH": os.getcwd()},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "holding\n"
            yield process
        finally:
            process.kill()


def wait_for(state: CampaignState, store: Store, campaign: int) -> CampaignState:
    """The campaign's state once it is `state`, or the one that it still has after a while: the server has to notice a death."""
    deadline = time.monotonic() + 10
    while (found := store.campaign(campaign).state) is not state and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def test_a_campaign_runs_while_it_is_held(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    assert store.campaign(number).state is CampaignState.PENDING
    with store.hold(number) as hold:
        hold.check()
        assert store.campaign(number).state is CampaignState.RUNNING
        assert [summary.state for summary in store.campaigns()] == [CampaignState.RUNNING]
    assert store.campaign(number).state is CampaignState.INTERRUPTED
    assert [summary.state for summary in store.campaigns()] == [CampaignState.INTERRUPTED]
    with store.hold(number):
        assert store.campaign(number).state is CampaignState.RUNNING
        store.finish(number, CampaignState.DONE, Verdict.PASS)
        assert store.campaign(number).state is CampaignState.DONE
    assert store.campaign(number).state is CampaignState.DONE


def test_holding_one_campaign_says_nothing_of_another(store: Store, campaign: MakeCampaign) -> None:
    first, second = campaign(), campaign()
    with store.hold(first):
        pass
    with store.hold(second):
        assert [(summary.id, summary.state) for summary in store.campaigns()] == [
            (second, CampaignState.RUNNING),
            (first, CampaignState.INTERRUPTED),
        ]


def test_nobody_else_can_run_it_meanwhile(store: Store, campaign: MakeCampaign, environment: dict[str, str]) -> None:
    number = campaign()
    with held_elsewhere(number, environment) as process:
        with (
            pytest.raises(StoreError, match=rf"campaign {number} is being run by another process \(rackproof {process.pid} on "),
            store.hold(number),
        ):
            pass
        assert store.campaign(number).state is CampaignState.RUNNING


def test_a_killed_process_leaves_its_campaign_interrupted(store: Store, campaign: MakeCampaign, environment: dict[str, str]) -> None:
    number = campaign()
    with held_elsewhere(number, environment) as process:
        assert store.campaign(number).state is CampaignState.RUNNING
        process.kill()
        process.wait()
        assert wait_for(CampaignState.INTERRUPTED, store, number) is CampaignState.INTERRUPTED
    assert [summary.state for summary in store.campaigns()] == [CampaignState.INTERRUPTED]
    store.mark_resumed(number)
    with store.hold(number):
        assert store.campaign(number).state is CampaignState.RUNNING


def test_a_hold_that_was_lost_is_noticed(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    with store.hold(number) as hold:
        end_all_connections(store)
        with pytest.raises(StoreError, match=rf"campaign {number} is no longer held by this process"):
            hold.check()
        assert store.campaign(number).state is CampaignState.INTERRUPTED


def test_a_database_that_went_away_is_said_in_words(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    with store.hold(number):
        end_all_connections(store)
    # The pool's connections are dead as well, and it makes new ones.
    assert store.campaign(number).state is CampaignState.INTERRUPTED


def test_a_database_that_is_not_there_is_said_in_words(settings: Settings) -> None:
    elsewhere = Settings.load(data_dir=settings.data_dir, database_url="postgresql://rackproof@127.0.0.1:1/nothing")
    with pytest.raises(StoreError, match="the database cannot be opened: no connection to the database"), Store.open(elsewhere):
        pass


def test_whoever_looks_while_campaigns_begin_and_end_sees_no_interruption(store: Store, campaign: MakeCampaign) -> None:
    numbers = [campaign(trials=0) for _ in range(40)]
    done = threading.Event()
    seen: set[CampaignState] = set()

    def look() -> None:
        while not done.is_set():
            seen.update(summary.state for summary in store.campaigns())
            seen.update(store.campaign(number).state for number in numbers[:3])

    watchers = [threading.Thread(target=look) for _ in range(2)]
    for watcher in watchers:
        watcher.start()
    for number in numbers:
        with store.hold(number):
            store.finish(number, CampaignState.DONE, Verdict.PASS)
    done.set()
    for watcher in watchers:
        watcher.join(timeout=30)
    assert seen <= {CampaignState.PENDING, CampaignState.RUNNING, CampaignState.DONE}


def end_all_connections(store: Store) -> None:
    """What a database does to its clients when it is restarted."""
    with store._engine.connect() as connection:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        connection.execute(text(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}"))
        connection.detach()
