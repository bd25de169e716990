"""A worker on the bench, with real packets: killed in a trial it goes on, and what is cancelled in a trial stops at once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from testplans.submission import submission_at
from tests.e2e.plans import ROOT, command, rackproof, write_plan
from tests.integration.orchestrator.support import ended, state, under_way, until

pytestmark = pytest.mark.netns


@contextmanager
def bench_worker(environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(command("worker", "--name", "site"), env=environment, cwd=ROOT, stdout=sys.stderr, stderr=sys.stderr) as process:
        try:
            yield process
        finally:
            process.kill()


def test_killed_in_a_trial_it_goes_on_and_cancelled_in_a_trial_it_stops(environment: dict[str, str], store: Store, tmp_path: Path) -> None:
    plan = submission_at(write_plan(tmp_path, loads="2, 4", duration_s=1.0))
    long = submission_at(write_plan(tmp_path, name="long", loads="2", duration_s=60.0))
    with bench_worker(environment) as process:
        # What the bench can carry is published without being asked for, and the bench is not left open.
        until(lambda: any(testbed.limits for testbed in store.testbeds.list()))
        until(lambda: not psutil.Process(process.pid).children(recursive=True))
        first = store.queue.submit(**plan.columns())
        under_way(store, first, 2)
        benches = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait()
        until(lambda: not any(bench.is_running() for bench in benches))
    assert state(store, first) is CampaignState.INTERRUPTED
    listed = rackproof("worker", "list", environment=environment)
    assert (listed.returncode, listed.stdout.split()[7:9]) == (0, ["site", "no"]), listed.stdout
    second = store.queue.submit(**long.columns())
    with bench_worker(environment):
        record = ended(store, first)
        assert (record.state, record.verdict) == (CampaignState.DONE, Verdict.PASS), record.reason
        assert len(record.resumed) == 1
        under_way(store, second, 1)
        asked = datetime.now(UTC)
        store.queue.cancel(second, "seen enough")
        record = ended(store, second)
    assert (record.state, record.reason) == (CampaignState.ABORTED, "seen enough")
    assert record.ended is not None
    assert record.ended - asked < timedelta(seconds=45)
    assert "reference, after strict-priority" in record.configurations
    # Nobody serves it any more: who is given up is given up.
    assert rackproof("worker", "adopt", "site", environment=environment).returncode == 0
    assert rackproof("worker", "adopt", "nobody", environment=environment).returncode == 2
