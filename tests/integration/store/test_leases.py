"""Does a campaign run only while a living worker has its lease, and does nobody else write to it?"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from rackproof.errors import Conflict, LeaseLost, StoreError
from rackproof.model.campaign import CampaignState
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from tests.integration.store.leasing import running

MakeCampaign = Callable[..., int]

RUNS = """
import sys
from rackproof.settings import Settings
from rackproof.store import Store
from tests.integration.store.leasing import running
with Store.open(Settings.load()) as store, running(store, int(sys.argv[1])):
    print("running", flush=True)
    sys.stdin.read()
"""


@contextmanager
def run_elsewhere(campaign: int, environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """Another process that runs the campaign until its standard input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", RUNS, str(campaign)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**environment, "PYTHONPATH": os.getcwd()},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            yield process
        finally:
            process.kill()


def test_a_campaign_runs_while_its_worker_lives(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    assert store.campaign(number).state is CampaignState.PENDING
    with running(store, number):
        assert store.campaign(number).state is CampaignState.RUNNING
        assert [summary.state for summary in store.campaigns()] == [CampaignState.RUNNING]
    assert store.campaign(number).state is CampaignState.INTERRUPTED
    assert [summary.state for summary in store.campaigns()] == [CampaignState.INTERRUPTED]
    with running(store, number) as leased:
        assert store.campaign(number).state is CampaignState.RUNNING
        leased.finish(number, CampaignState.DONE, Verdict.PASS)
        assert store.campaign(number).state is CampaignState.DONE
    assert store.campaign(number).state is CampaignState.DONE


def test_running_one_campaign_says_nothing_of_another(store: Store, campaign: MakeCampaign) -> None:
    first, second = campaign(), campaign()
    with running(store, first):
        pass
    with running(store, second):
        assert [(summary.id, summary.state) for summary in store.campaigns()] == [
            (second, CampaignState.RUNNING),
            (first, CampaignState.INTERRUPTED),
        ]


def test_nobody_else_can_run_it_or_use_its_devices_meanwhile(store: Store, campaign: MakeCampaign, environment: dict[str, str]) -> None:
    number, other = campaign(), campaign(name="another")
    with run_elsewhere(number, environment) as worker:
        with pytest.raises(Conflict, match=rf"campaign {number} is being run by worker local-test-{worker.pid}-1"), running(store, number):
            pass
        with (
            pytest.raises(Conflict, match=rf"in use by campaign {number} \(a campaign\) on worker local-test-{worker.pid}-1"),
            running(store, other),
        ):
            pass
        assert store.campaign(number).state is CampaignState.RUNNING
        assert store.campaign(other).state is CampaignState.PENDING
        with running(store, other, resource="another device"):
            pass


def test_nobody_without_the_lease_can_write_a_result(store: Store, campaign: MakeCampaign, environment: dict[str, str]) -> None:
    number = campaign()
    with run_elsewhere(number, environment):
        writes: list[Callable[[], object]] = [
            lambda: store.start_trial(number, 1),
            lambda: store.save_result(number, 1, TrialResult(verdict=Verdict.PASS)),
            lambda: store.clear_result(number, 1),
            lambda: store.finish(number, CampaignState.DONE, Verdict.PASS),
            lambda: store.set_provenance(number, {}),
            lambda: store.mark_resumed(number),
            lambda: store.add_configuration(number, "a", "b"),
        ]
        for write in writes:
            with pytest.raises(LeaseLost, match=rf"campaign {number} is being run by worker"):
                write()
        store.add_event(number, "a note", {})
    assert store.campaign(number).trials[0].result is None


def test_a_killed_process_leaves_its_campaign_interrupted_at_once(
    store: Store, campaign: MakeCampaign, environment: dict[str, str]
) -> None:
    number, other = campaign(), campaign()
    with run_elsewhere(number, environment) as process:
        assert store.campaign(number).state is CampaignState.RUNNING
        process.kill()
        process.wait()
        assert store.campaign(number).state is CampaignState.INTERRUPTED
    assert [summary.state for summary in store.campaigns(before=other)] == [CampaignState.INTERRUPTED]
    with running(store, other):  # its devices are free again
        pass
    store.mark_resumed(number)
    with running(store, number):
        assert store.campaign(number).state is CampaignState.RUNNING


def test_whoever_lost_the_lease_writes_nothing_more(store: Store, campaign: MakeCampaign) -> None:
    """A process that was frozen, taken for dead, and wakes up again: a zombie."""
    number = campaign()
    with running(store, number) as zombie:
        (name,) = [worker.name for worker in store.workers.list()]
        zombie.start_trial(number, 1)
        store.workers.declare_dead(name)
        assert store.campaign(number).state is CampaignState.INTERRUPTED
        with running(store, number) as leased:
            writes: list[Callable[[], object]] = [
                lambda: zombie.save_result(number, 1, TrialResult(verdict=Verdict.FAIL)),
                lambda: zombie.start_trial(number, 2),
                lambda: zombie.finish(number, CampaignState.DONE, Verdict.FAIL),
                lambda: zombie.add_event(number, "from the grave", {}),
                lambda: zombie.set_configurations(number, {"a": "b"}),
            ]
            for write in writes:
                with pytest.raises(LeaseLost, match="not this worker's own any more"):
                    write()
            leased.save_result(number, 1, TrialResult(verdict=Verdict.PASS))
        with pytest.raises(LeaseLost):
            zombie.save_result(number, 2, TrialResult(verdict=Verdict.FAIL))
    results = [trial.result for trial in store.campaign(number).trials]
    assert [result.verdict if result is not None else None for result in results] == [Verdict.PASS, None, None]


def test_a_worker_that_is_silent_too_long_is_dead_whatever_its_process_does(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    incarnation = store.workers.register("silent", (), timeout_s=600)
    store.leases.take(number, incarnation=incarnation, resources=["a device"])
    (worker,) = store.workers.list()
    assert (worker.alive, worker.campaigns) == (True, (number,))
    store.workers.renew(incarnation, timeout_s=0.1)  # and nothing more is heard of it
    deadline = time.monotonic() + 30
    while worker.alive:
        assert time.monotonic() < deadline
        time.sleep(0.01)
        (worker,) = store.workers.list()
    assert store.campaign(number).state is CampaignState.INTERRUPTED


def test_a_lease_outlives_the_connections_of_its_holder(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    with running(store, number) as leased:
        end_all_connections(store)
        # The pool's connections are dead as well, and it makes new ones.
        assert store.campaign(number).state is CampaignState.RUNNING
        leased.start_trial(number, 1)


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
    try:
        for number in numbers:
            with running(store, number) as leased:
                leased.finish(number, CampaignState.DONE, Verdict.PASS)
    finally:
        done.set()
        for watcher in watchers:
            watcher.join(timeout=60)
    assert seen <= {CampaignState.PENDING, CampaignState.RUNNING, CampaignState.DONE}


def end_all_connections(store: Store) -> None:
    """What a database does to its clients when it is restarted."""
    with store._engine.connect() as connection:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        connection.execute(text(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}"))
        connection.detach()
