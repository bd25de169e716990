"""Campaigns that are killed, starved of disk, or lose their bench: nothing finished is lost, nothing is left, nothing runs for ever."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from orchestrator.bench.leftovers import orphans
from rackproof.errors import Conflict
from rackproof.model.campaign import CampaignRecord, CampaignState
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from tests import waiting
from tests.e2e.plans import ROOT, command, rackproof, write_plan

pytestmark = pytest.mark.netns

#: No wait in these tests is longer.
BOUND_S = 180.0
#: They take the way of SIGINT.
long = pytest.mark.skipif(os.environ.get("RACKPROOF_LONG") != "1", reason="15 seconds each: RACKPROOF_LONG=1")


until = partial(waiting.until, bound_s=BOUND_S)


def results(record: CampaignRecord) -> list[Verdict]:
    return [trial.result.verdict for trial in record.trials if trial.result is not None]


def bench_of(process: subprocess.Popen[str]) -> psutil.Process | None:
    children = psutil.Process(process.pid).children(recursive=True)
    found = [child for child in children if "orchestrator.bench.process" in child.cmdline()]
    return found[0] if found else None


@pytest.fixture
def running(environment: dict[str, str], store: Store, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A campaign of 8 trials of which the second is under way."""
    plan = write_plan(tmp_path, name="long", loads="2, 4, 8, 12", duration_s=1.2)
    with subprocess.Popen(
        command("run", str(plan)),
        env={**environment, "RACKPROOF_WORKER_TIMEOUT_S": "600"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            until(lambda: bool(store.campaigns()))
            until(lambda: len([event for event in store.events(1) if event.kind == "trial_started"]) >= 2)
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=long), pytest.param(signal.SIGHUP, marks=long)])
def test_a_signal_ends_it_in_order_and_it_can_be_resumed(
    running: subprocess.Popen[str], store: Store, environment: dict[str, str], number: signal.Signals
) -> None:
    bench = bench_of(running)
    assert bench is not None
    running.send_signal(number)
    output, _ = running.communicate(timeout=BOUND_S)
    assert running.returncode == 3, output
    assert f"stopped by {number.name}" in output
    assert "Traceback" not in output
    record = store.campaign(1)
    assert (record.state, record.verdict) == (CampaignState.ABORTED, Verdict.ABORTED)
    done = len(results(record))
    assert 1 <= done < 8
    until(lambda: not bench.is_running())

    resumed = rackproof("resume", "1", environment=environment)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    record = store.campaign(1)
    assert record.state is CampaignState.DONE
    assert len(record.resumed) == 1
    assert results(record) == [Verdict.PASS] * 8


def test_kill_9_leaves_nothing_and_loses_nothing(running: subprocess.Popen[str], store: Store, environment: dict[str, str]) -> None:
    bench = bench_of(running)
    assert bench is not None
    before = store.campaign(1)
    kept = {trial.trial.index: trial.samples for trial in before.trials if trial.result is not None}
    running.kill()
    running.wait(BOUND_S)
    # The kernel takes the namespaces, links and qdiscs with the bench's process.
    until(lambda: not bench.is_running())
    until(lambda: store.campaign(1).state is CampaignState.INTERRUPTED)
    assert "INTERRUPTED" in rackproof("list", environment=environment).stdout
    record = store.campaign(1)
    assert record.verdict is None
    for trial in record.trials:
        if trial.trial.index in kept and trial.samples is not None:
            assert len(store.read_samples(trial.samples)) == trial.samples.rows > 0
    assert len(results(record)) >= len(kept) >= 1
    until(lambda: not orphans())

    assert rackproof("resume", environment=environment).returncode == 0
    record = store.campaign(1)
    assert (record.state, record.verdict, len(record.resumed)) == (CampaignState.DONE, Verdict.PASS, 1)


def test_a_bench_that_dies_costs_one_trial(running: subprocess.Popen[str], store: Store) -> None:
    bench = bench_of(running)
    assert bench is not None
    bench.kill()
    output, _ = running.communicate(timeout=BOUND_S)
    assert running.returncode == 3, output
    record = store.campaign(1)
    assert record.state is CampaignState.DONE
    assert results(record).count(Verdict.ERROR) == 1
    assert results(record).count(Verdict.PASS) == 7
    (broken,) = [trial for trial in record.trials if trial.result is not None and trial.result.verdict is Verdict.ERROR]
    assert broken.result is not None
    assert "ended unexpectedly" in broken.result.reason
    assert f"trial {broken.trial.index}" in record.reason


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to mount a small file system")
def test_a_full_disk_is_named_and_the_next_campaign_works(environment: dict[str, str], store: Store, tmp_path: Path) -> None:
    samples = tmp_path / "small"
    samples.mkdir()
    # Room for the folder, and for hardly any frames.
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(samples)], check=True)
    try:
        plan = write_plan(tmp_path)
        full = rackproof("run", str(plan), environment={**environment, "RACKPROOF_SAMPLES_DIR": str(samples)})
    finally:
        subprocess.run(["/bin/umount", "-l", str(samples)], check=True)
    assert full.returncode == 3, full.stdout + full.stderr
    record = store.campaign(1)
    assert record.state is CampaignState.DONE
    assert set(results(record)) == {Verdict.ERROR}
    reason = record.trials[0].result.reason if record.trials[0].result is not None else ""
    assert reason.startswith("trial 1 was measured, but its samples were lost")
    assert "No space left" in reason or "disk" in reason
    assert rackproof("run", str(plan), environment=environment).returncode == 0


def test_nobody_else_can_use_the_bench_or_run_the_same_campaign(
    running: subprocess.Popen[str], store: Store, environment: dict[str, str], tmp_path: Path
) -> None:
    # Frozen, for it spins on both processors, and the second would hardly have begun before the first has ended.
    running.send_signal(signal.SIGSTOP)
    second = rackproof("run", str(tmp_path / "long.yaml"), environment=environment)
    assert second.returncode == 2, second.stdout + second.stderr
    assert f"testbed bench is in use by campaign 1 (long) on worker local-{socket.gethostname()}-{running.pid}" in second.stderr
    assert "Traceback" not in second.stderr
    assert len(store.campaigns()) == 1
    assert store.campaign(1).state is CampaignState.RUNNING
    with pytest.raises(Conflict, match="campaign 1 is being run by worker local-"):
        store.leases.take(1, incarnation="of nobody", resources=[])
    running.send_signal(signal.SIGTERM)
    running.send_signal(signal.SIGCONT)
    running.communicate(timeout=BOUND_S)
    assert store.campaign(1).state is CampaignState.ABORTED
