"""Does a campaign survive whatever happens to its worker and its database, with exactly one result for each trial?"""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rackproof.model.campaign import CampaignRecord, CampaignState
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store, cluster
from rackproof.store.embedded import EmbeddedServer
from tests.integration.orchestrator.support import BOUND_S, alive, ended, kinds, state, submit, under_way, until, worker
from tests.kinds.nothing.kind import executions


def all_passed(record: CampaignRecord, trials: int) -> None:
    assert (record.state, record.verdict, record.reason) == (CampaignState.DONE, Verdict.PASS, "")
    assert [trial.result.verdict for trial in record.trials if trial.result is not None] == [Verdict.PASS] * trials


def test_kill_9_in_a_trial_and_it_goes_on_at_that_trial(store: Store, environment: dict[str, str], tmp_path: Path) -> None:
    marker, device, hold = tmp_path / "marker", tmp_path / "device.json", tmp_path / "hold"
    hold.write_text("3")
    with worker(environment, "a") as first:
        campaign = submit_when_there(store, trials=6, sleep_s=0.1, marker=str(marker), device_file=str(device), hold_file=str(hold))
        until(lambda: executions(marker, campaign).get(3) == 1)
        first.kill()
        first.wait()
    hold.unlink()
    assert state(store, campaign) is CampaignState.INTERRUPTED
    assert json.loads(device.read_text())["running"] == "level 1"  # as hardware would, it stays as it was left
    with worker(environment, "a"):
        record = ended(store, campaign)
    all_passed(record, 6)
    # The trial that was under way ran twice, and no other.
    assert executions(marker, campaign) == {1: 1, 2: 1, 3: 2, 4: 1, 5: 1, 6: 1}
    assert len(record.resumed) == 1
    assert json.loads(device.read_text())["running"] == "level 0"
    happened = kinds(store, campaign)
    for kind in ("adopted", "campaign_resumed", "testbed_checked"):
        assert happened.count(kind) == 1
    (resumed,) = [event for event in store.events(campaign) if event.kind == "campaign_resumed"]
    assert resumed.data["why"] == "worker a was started again"
    assert resumed.data["worker"] == "a"
    (checked,) = [event for event in store.events(campaign) if event.kind == "testbed_checked"]
    assert checked.data["text"] == "a device was left configured, and was brought back to how it was found first"


def test_a_device_that_cannot_be_brought_back_ends_the_campaign(store: Store, environment: dict[str, str], tmp_path: Path) -> None:
    device, hold = tmp_path / "device.json", tmp_path / "hold"
    hold.write_text("2")
    with worker(environment, "a") as first:
        campaign = submit_when_there(store, trials=4, device_file=str(device), hold_file=str(hold))
        under_way(store, campaign, 2)
        first.kill()
        first.wait()
    device.write_text(json.dumps({"running": "level 7", "saved": "level 8"}))
    with worker(environment, "a"):
        record = ended(store, campaign)
    assert (record.state, record.verdict) == (CampaignState.FAILED, Verdict.ERROR)
    assert record.reason == (
        "a device is not as it was found before trial 1, and could not be brought back: line 1: expected 'level 0', found 'level 8'"
    )
    assert [trial.result is not None for trial in record.trials] == [True, False, False, False]


def test_another_worker_adopts_what_a_silent_one_has_and_the_silent_one_writes_nothing_more(
    store: Store, environment: dict[str, str], tmp_path: Path
) -> None:
    """The process is frozen, as on a machine that is suspended: only its silence tells."""
    marker, hold = tmp_path / "marker", tmp_path / "hold"
    hold.write_text("2")
    with worker(environment, "a", timeout_s=8) as first:
        campaign = submit_when_there(store, trials=3, marker=str(marker), hold_file=str(hold))
        until(lambda: executions(marker, campaign).get(2) == 1)
        first.send_signal(signal.SIGSTOP)
        with worker(environment, "b", timeout_s=60):
            until(lambda: any(one.name == "b" and campaign in one.campaigns for one in store.workers.list()))
            first.send_signal(signal.SIGCONT)
            hold.unlink()
            record = ended(store, campaign)
            # The zombie noticed, let go, and serves again.
            alive(store, "a")
    all_passed(record, 3)
    (adopted,) = [event for event in store.events(campaign) if event.kind == "adopted"]
    assert "worker a was not heard of since" in adopted.data["text"]
    ran = {line.split()[2] for line in marker.read_text().splitlines()}
    assert len(ran) == 2


def test_an_admin_gives_a_worker_up_and_another_goes_on_at_once(store: Store, environment: dict[str, str]) -> None:
    with worker(environment, "a", timeout_s=600) as first:
        campaign = submit_when_there(store, trials=2, sleep_s=60.0)
        under_way(store, campaign, 1)
        first.send_signal(signal.SIGSTOP)
        with worker(environment, "b", timeout_s=600):
            alive(store, "b")
            assert state(store, campaign) is CampaignState.RUNNING
            store.workers.declare_dead("a")
            until(lambda: any(one.name == "b" and campaign in one.campaigns for one in store.workers.list()))
            store.queue.cancel(campaign, "seen enough")
            assert ended(store, campaign).reason == "seen enough"


def test_sigterm_hands_the_lease_back_and_the_next_start_goes_on(store: Store, environment: dict[str, str], tmp_path: Path) -> None:
    marker, device = tmp_path / "marker", tmp_path / "device.json"
    with worker(environment, "a", timeout_s=600) as first:
        campaign = submit_when_there(store, trials=4, sleep_s=20.0, marker=str(marker), device_file=str(device))
        until(lambda: executions(marker, campaign).get(1) == 1)
        first.terminate()
        assert first.wait(BOUND_S) == 0
    assert state(store, campaign) is CampaignState.INTERRUPTED
    # In the middle of 20 s of traffic, and yet the device is as it was found.
    assert json.loads(device.read_text())["running"] == "level 0"
    with worker(environment, "b", timeout_s=600):
        until(lambda: executions(marker, campaign).get(1) == 2)
        (adopted,) = [event for event in store.events(campaign) if event.kind == "adopted"]
        assert adopted.data["text"] == "worker a was stopped"
        store.queue.cancel(campaign, "enough")
        assert ended(store, campaign).state is CampaignState.ABORTED


def test_postgresql_is_killed_and_comes_back_and_no_measured_trial_is_lost(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    marker = tmp_path / "marker"
    with EmbeddedServer(tmp_path_factory.mktemp("own")) as server:
        settings = Settings.load(data_dir=tmp_path / "data", database_url=server.url)
        environment = {**os.environ, "RACKPROOF_DATA_DIR": str(settings.data_dir), "RACKPROOF_DATABASE_URL": server.url}
        with Store.open(settings) as store, worker(environment, "a", timeout_s=60):
            campaign = submit_when_there(store, trials=5, sleep_s=0.4, marker=str(marker))
            under_way(store, campaign, 2)
            process = cluster.server_pid(server.cluster)
            assert process is not None
            os.kill(process, signal.SIGKILL)
            time.sleep(0.6)  # the trial ends while there is no database
            cluster.start(server.cluster)
            record = ended(store, campaign)
        all_passed(record, 5)
        assert executions(marker, campaign) == dict.fromkeys(range(1, 6), 1)
        assert record.resumed == ()


def test_connections_that_are_cut_change_nothing(store: Store, environment: dict[str, str], database_url: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with worker(environment, "a", timeout_s=60):
        campaign = submit_when_there(store, trials=40, sleep_s=0.02, marker=str(marker))
        under_way(store, campaign, 2)
        for _ in range(3):
            with psycopg.connect(database_url.replace("postgresql+psycopg", "postgresql"), autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        record = ended(store, campaign)
    all_passed(record, 40)
    assert executions(marker, campaign) == dict.fromkeys(range(1, 41), 1)


def submit_when_there(store: Store, **plan: Any) -> int:
    until(store.testbeds.list)
    return submit(store, **plan)
