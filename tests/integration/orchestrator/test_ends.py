"""Does a campaign end as people want it: cancelled in the middle, tried again where it was not valid, never on a testbed that is kept?"""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rackproof.model.campaign import CampaignState
from rackproof.model.service import TestbedState
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from tests.integration.orchestrator.support import ROOT, ended, kinds, probed, state, submit, under_way, until, worker
from tests.kinds.nothing.kind import executions


def test_from_the_queue_to_every_kind_of_end(store: Store, environment: dict[str, str], tmp_path: Path) -> None:
    marker, device, hold = tmp_path / "marker", tmp_path / "device.json", tmp_path / "hold"
    with worker(environment, "a"):
        probed(store)

        # In the middle of a trial of a minute: at once, with the device as it was found and what was measured kept.
        campaign = submit(store, trials=2, setups=2, sleep_s=60.0, device_file=str(device))
        waiting = submit(store, trials=1)
        under_way(store, campaign, 1)
        assert json.loads(device.read_text())["running"] == "level 1"
        assert state(store, waiting) is CampaignState.PENDING
        asked = datetime.now(UTC)
        store.queue.cancel(campaign, "anna cancelled it")
        record = ended(store, campaign)
        assert (record.state, record.verdict, record.reason) == (CampaignState.ABORTED, Verdict.ABORTED, "anna cancelled it")
        assert record.ended is not None
        assert record.ended - asked < timedelta(seconds=50)
        assert json.loads(device.read_text())["running"] == "level 0"
        assert [trial.result for trial in record.trials] == [None, None]
        assert "cancel_requested" in kinds(store, campaign)

        # The next one starts by itself.
        assert ended(store, waiting).verdict is Verdict.PASS

        # Only what failed or was INVALID runs again. INVALID is measured six times before it is kept.
        plant = [{"trials": [2], "verdict": "INVALID", "times": 6}, {"trials": [3], "verdict": "ERROR", "times": 1}]
        campaign = submit(store, trials=4, marker=str(marker), plant=plant)
        record = ended(store, campaign)
        assert record.state is CampaignState.DONE
        verdicts = [trial.result.verdict for trial in record.trials if trial.result is not None]
        assert verdicts == [Verdict.PASS, Verdict.INVALID, Verdict.ERROR, Verdict.PASS]
        assert store.queue.retry(campaign) == 2
        record = ended(store, campaign)
        assert (record.state, record.verdict) == (CampaignState.DONE, Verdict.PASS)
        assert executions(marker, campaign) == {1: 1, 2: 7, 3: 2, 4: 1}
        assert len(record.resumed) == 1

        # A report is wanted of each that ended.
        until(lambda: reported(store) == [1, 2, 3])

        # Kept by a person, then offline: the queue waits, and goes on by itself.
        until(lambda: not store.testbeds.get("nothing").in_use_by)
        kept = store.reservations.reserve(testbed="nothing", user_id=None, owner="anna", ends=datetime.now(UTC) + timedelta(hours=1))
        assert store.reservations.get(kept).granted is not None
        campaign = submit(store, trials=1)
        store.testbeds.set_state("nothing", TestbedState.OFFLINE, "it smokes")
        store.reservations.release(kept)
        place = store.queue.place(campaign)
        assert place is not None
        assert place.waits_for == "the testbed, which is offline: it smokes"
        assert state(store, campaign) is CampaignState.PENDING
        store.testbeds.set_state("nothing", TestbedState.ONLINE, "")
        assert ended(store, campaign).verdict is Verdict.PASS

        # What is aborted can go on.
        hold.write_text("2")
        campaign = submit(store, trials=3, marker=str(marker), hold_file=str(hold))
        under_way(store, campaign, 2)
        store.queue.cancel(campaign, "no time now")
        assert [trial.result is not None for trial in ended(store, campaign).trials] == [True, False, False]
        hold.unlink()
        store.queue.resume(campaign)
        assert ended(store, campaign).verdict is Verdict.PASS
        assert executions(marker, campaign)[1] == 1


def reported(store: Store) -> list[int]:
    """The campaigns of which a report is wanted."""
    with store.transactions.step("test") as connection:
        return list(connection.exec_driver_sql("SELECT DISTINCT campaign_id FROM jobs WHERE kind = 'report' ORDER BY 1").scalars())


def test_a_second_worker_of_the_same_name_is_refused(store: Store, environment: dict[str, str]) -> None:
    with worker(environment, "a"):
        until(store.testbeds.list)
        arguments = ["worker", "--name", "a", "--testbed", "nothing"]
        second = subprocess.run(
            [sys.executable, "-m", "tests.kinds.launch", *arguments],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert second.returncode != 0
        assert "worker a runs already: process" in second.stderr
        wrong = subprocess.run(
            [sys.executable, "-m", "tests.kinds.launch", "worker", "--testbed", "lab=toaster"],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert (wrong.returncode, "there is no driver 'toaster' for testbed lab" in wrong.stderr) == (2, True)
