"""Does a worker's desk do what it is asked, in processes of their own, and say what went wrong?"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from sqlalchemy import insert, update

import testplans
from orchestrator.service import desk as desk_module
from orchestrator.service.desk import REHEARSAL, REPORT, Desk
from orchestrator.service.duty import About
from rackproof.model.service import JobState, TestbedState
from rackproof.settings import Settings
from rackproof.store import Store, schema_service
from rackproof.store.jobs import Job
from testplans.registry import kinds
from testplans.submission import submission
from tests.integration.service.test_jobs import a_worker, dies

#: Reports are drawn at the lowest priority: beside other work that may take minutes.
BOUND_S = 600.0
KINDS = str(Path(__file__).parents[2] / "kinds")


@pytest.fixture(autouse=True)
def _kind_nothing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(testplans, "__path__", [*testplans.__path__, KINDS])
    kinds.cache_clear()
    yield
    kinds.cache_clear()


@pytest.fixture
def worker(store: Store) -> About:
    return About(name="one", incarnation=a_worker(store, "one"), testbeds=("bench",))


@pytest.fixture
def desk(settings: Settings, store: Store, worker: About) -> Iterator[Desk]:
    made = Desk(settings, store, worker)
    yield made
    made.join(BOUND_S)


def a_campaign(store: Store, trials: int = 3) -> int:
    plan = f"kind: nothing\nname: nothing at all\ntrials: {trials}\n"
    return store.create_campaign(**submission(plan.encode()).columns())


def a_testbed(store: Store, limits: dict[str, object] | None) -> None:
    values = {"name": "bench", "driver": "bench", "resources": ["host:this"], "state": TestbedState.ONLINE, "limits": limits}
    with store.transactions.step("a testbed") as connection:
        connection.execute(insert(schema_service.Testbed).values(**values))


def ended(store: Store, job: int) -> Job:
    deadline = time.monotonic() + BOUND_S
    while (found := store.jobs.get(job)).state in (JobState.WANTED, JobState.TAKEN):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def test_a_report_is_written_named_after_its_content_and_announced(desk: Desk, store: Store, settings: Settings) -> None:
    campaign = a_campaign(store)
    job = store.jobs.want(REPORT, campaign=campaign)
    desk.run()
    done = ended(store, job)
    assert done.state is JobState.DONE, done.error
    report = store.reports.latest(campaign)
    assert report is not None
    assert done.output == {"report": report.id}
    for path, sha256, begins in (
        (report.pdf_path, report.pdf_sha256, b"%PDF"),
        (report.html_path, report.html_sha256, b"<!DOCTYPE html>"),
        (report.json_path, report.json_sha256, b"{"),
    ):
        content = (settings.reports_dir / path).read_bytes()
        assert hashlib.sha256(content).hexdigest() == sha256
        assert path.startswith(f"report-{campaign}-{sha256[:16]}.")
        assert content.lower().startswith(begins.lower())
    assert sorted(os.listdir(settings.reports_dir)) == sorted([report.pdf_path, report.html_path, report.json_path])
    assert [(event.kind, event.data["report"]) for event in store.events(campaign)] == [("report_ready", report.id)]


def test_nothing_that_draws_is_imported_into_the_worker() -> None:
    script = "import sys, orchestrator.service.desk; print([name for name in ('matplotlib', 'typst', 'scipy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True, cwd=Path.cwd())
    assert done.stdout.strip() == "[]"


def test_a_report_that_cannot_be_written_says_why(desk: Desk, store: Store, settings: Settings) -> None:
    settings.reports_dir.parent.mkdir(parents=True, exist_ok=True)
    settings.reports_dir.write_text("in the way")
    job = store.jobs.want(REPORT, campaign=a_campaign(store))
    desk.run()
    failed = ended(store, job)
    assert failed.state is JobState.FAILED
    assert "could not be written to" in failed.error
    assert "File exists" in failed.error


def test_drawing_that_takes_too_long_is_killed_with_all_its_processes(
    desk: Desk, store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "RENDERING_S", 0.4)
    campaign = a_campaign(store)
    job = store.jobs.want(REPORT, campaign=campaign)
    desk.run()
    failed = ended(store, job)
    assert failed.state is JobState.FAILED
    assert "not finished within" in failed.error
    assert store.reports.latest(campaign) is None
    assert not renderings(os.getpid())


def test_what_killed_renderings_left_is_removed_when_it_is_old(desk: Desk, store: Store, settings: Settings) -> None:
    for name, age_s in (("old", 4000), ("new", 10)):
        left = settings.reports_dir / f".making-{name}"
        left.mkdir(parents=True)
        (left / "report.pdf").write_bytes(b"half")
        os.utime(left, (time.time() - age_s,) * 2)
    ended_job = ended(store, _run(desk, store, a_campaign(store)))
    assert ended_job.state is JobState.DONE
    assert [path.name for path in settings.reports_dir.glob(".making*")] == [".making-new"]


def _run(desk: Desk, store: Store, campaign: int) -> int:
    job = store.jobs.want(REPORT, campaign=campaign)
    desk.run()
    return job


def renderings(parent: int) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(parent).children():
        with suppress(psutil.Error):
            if "orchestrator.service.rendering" in child.cmdline():
                found.append(child)
    return found


def test_a_report_waits_while_the_bench_measures_but_not_for_ever(
    desk: Desk, store: Store, worker: About, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_testbed(store, limits=None)
    running = a_campaign(store)
    with store.transactions.step("a lease") as connection:
        connection.execute(insert(schema_service.Lease).values(resource="host:this", testbed="bench", campaign_id=running, fence=1))
    campaign = a_campaign(store)
    job = store.jobs.want(REPORT, campaign=campaign)
    assert desk.run() == 5.0
    time.sleep(0.3)
    assert store.jobs.get(job).state is JobState.WANTED
    with store.transactions.step("an old job") as connection:
        table = schema_service.Job
        connection.execute(update(table).where(table.id == job).values(created=table.created - timedelta(seconds=desk_module.QUIET_S)))
    desk.run()
    assert ended(store, job).state is JobState.DONE


def test_a_rehearsal_uses_what_the_testbed_published(desk: Desk, store: Store) -> None:
    limits = {
        "send_fps": 5e5,
        "receive_fps": 5e5,
        "link_rate_bps_max": {"reference": 1e10},
        "device_models": {"reference": "", "linux-htb": "the kernel has no HTB"},
        "options": {"reference": ["leak"], "linux-htb": []},
    }
    a_testbed(store, limits)
    plan = (Path(testplans.__file__).parent / "switch_qos" / "demo.yaml").read_text()
    done = ended(store, _rehearse(desk, store, plan))
    assert done.state is JobState.DONE, done.error
    assert done.output is not None
    assert len(done.output["trials"]) > 4
    assert done.output["duration_s"] == pytest.approx(sum(trial["duration_s"] for trial in done.output["trials"]))
    assert any("HTB" in refusal for refusal in done.output["refusals"])
    json.dumps(done.output)


def test_a_rehearsal_without_limits_or_with_a_bad_plan_says_so(desk: Desk, store: Store) -> None:
    a_testbed(store, limits=None)
    assert "not yet said what it can carry" in ended(store, _rehearse(desk, store, "kind: nothing\nname: a\n")).error
    assert "there is no kind of plan" in ended(store, _rehearse(desk, store, "kind: strange\nname: a\n")).error


def _rehearse(desk: Desk, store: Store, plan: str) -> int:
    job = store.jobs.want(REHEARSAL, testbed="bench", input={"plan_text": plan})
    desk.run()
    return job


WORKER = """
import sys, time
import testplans; testplans.__path__.append(sys.argv[2])
from orchestrator.service.desk import Desk
from orchestrator.service.duty import About
from rackproof.settings import Settings
from rackproof.store import Store
settings = Settings.load()
with Store.open(settings) as store:
    Desk(settings, store, About(name="two", incarnation=sys.argv[1], testbeds=())).run()
    time.sleep(3600)
"""


def test_a_worker_that_is_killed_takes_its_drawing_along_and_another_does_it(
    desk: Desk, store: Store, environment: dict[str, str], settings: Settings
) -> None:
    campaign = a_campaign(store, trials=200)
    job = store.jobs.want(REPORT, campaign=campaign)
    other = a_worker(store, "two")
    with subprocess.Popen([sys.executable, "-c", WORKER, other, KINDS], env={**environment, "PYTHONPATH": os.getcwd()}) as process:
        try:
            deadline = time.monotonic() + BOUND_S
            while not (found := renderings(process.pid)):
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            process.kill()
    _, alive = psutil.wait_procs(found, timeout=BOUND_S)
    assert not alive
    desk.run()
    assert store.jobs.get(job).state is JobState.TAKEN  # as far as anybody knows, the other lives
    dies(store, other)
    desk.run()
    done = ended(store, job)
    assert (done.state, done.attempts) == (JobState.DONE, 2)
    assert len(store.reports.list(campaign)) == 1


def test_several_reports_are_drawn_one_after_the_other(desk: Desk, store: Store) -> None:
    jobs = [store.jobs.want(REPORT, campaign=a_campaign(store)) for _ in range(2)]
    desk.run()
    most = 0
    while any(store.jobs.get(job).state in (JobState.WANTED, JobState.TAKEN) for job in jobs):
        most = max(most, len(renderings(os.getpid())))
        time.sleep(0.02)
    assert most == 1
    assert {store.jobs.get(job).state for job in jobs} == {JobState.DONE}


def test_a_report_that_found_no_database_is_tried_again(desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def render(campaign: int) -> dict[str, tuple[str, str]]:
        tries.append(campaign)
        if len(tries) < 3:
            raise desk_module._Failed("no connection to the database", may_pass=len(tries) < 3)
        return {name: (f"a.{name}", "0" * 64) for name in ("pdf", "html", "json")}

    monkeypatch.setattr(desk_module, "_PAUSES_S", (0.0, 0.0, 0.0))
    monkeypatch.setattr(desk, "_render", render)
    campaign = a_campaign(store)
    assert ended(store, _run(desk, store, campaign)).state is JobState.DONE
    assert tries == [campaign] * 3
