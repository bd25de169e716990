"""A rack from the command line: a Linux switch over SSH by the real Ansible, the native generator, and the bad days of both."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from pypdf import PdfReader

from orchestrator.local import local
from rackproof.errors import Conflict
from rackproof.model.campaign import CampaignRecord, CampaignState
from rackproof.model.event import Event, EventKind
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from testplans.submission import submission
from tests.e2e.plans import ROOT, command, rackproof
from tests.e2e.serving import until
from tests.lab.rack import SWITCH, Rack, plan, rack

pytestmark = pytest.mark.netns

LONG = os.environ.get("RACKPROOF_LONG") == "1"
SECRET = "hush-4711-nobody-may-see-this"
AS_TESTED = "qdisc htb 1: root"


@dataclass(frozen=True, kw_only=True)
class Lab:
    """A rack whose inventory was imported, and what the commands need."""

    rack: Rack
    environment: dict[str, str]
    folder: Path
    store: Store

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command to its end."""
        done = rackproof(*arguments, environment=self.environment, timeout_s=240)
        with (self.folder / "said").open("a") as said:
            said.write(done.stdout + done.stderr)
        return done

    def plan(self, text: str) -> str:
        """A plan as a file."""
        path = self.folder / "plan.yaml"
        path.write_text(text)
        return str(path)

    def texts(self, campaign: int) -> list[tuple[str, str]]:
        """What happened, in order: kind and text."""
        return [(event.kind, str(event.data.get("text", ""))) for event in self.store.events(campaign, limit=10_000)]


@pytest.fixture
def lab(environment: dict[str, str], store: Store, tmp_path: Path) -> Iterator[Lab]:
    with rack() as standing:
        found = Lab(rack=standing, environment={**environment, "LAB_BECOME": SECRET}, folder=tmp_path, store=store)
        inventory = tmp_path / "lab1.yaml"
        inventory.write_text(standing.inventory)
        done = found.run("testbed", "import", str(inventory))
        assert done.returncode == 0, done.stderr
        yield found


def test_from_inventory_to_report(lab: Lab) -> None:
    before = lab.rack.scheduler()
    assert AS_TESTED not in before
    checked = lab.run("testbed", "check", "lab1")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    found = lab.store.inventories.get("lab1").check
    assert found is not None
    items = {item["what"]: item for item in found["items"]}
    assert {what: item["finding"] for what, item in items.items() if what != "clock"} == {
        f"device {SWITCH}": "ok",
        "generator engine": "ok",
        "loopback": "ok",
        **{f"port engine:{port}": "ok" for port in ("eth1", "eth2", "cal0", "cal1")},
    }
    assert "kernel" in items[f"device {SWITCH}"]["facts"]

    pdf = lab.folder / "out" / "lab.pdf"
    done = lab.run("run", lab.plan(plan()), "--testbed", "lab1", "--pdf", str(pdf))
    assert done.returncode == 0, done.stdout + done.stderr
    record = lab.store.campaign(1)
    assert (record.state, record.verdict, record.testbed) == (CampaignState.DONE, Verdict.PASS, "lab1")
    assert record.calibration is not None
    assert record.calibration.frames > 0
    configurations = record.configurations
    as_found = configurations[f"{SWITCH}, before strict-priority"]
    assert "htb" not in as_found
    assert "eth2: qdisc htb 1: root" in configurations[f"{SWITCH}, as tested with strict-priority"]
    assert configurations[f"{SWITCH}, after strict-priority"] == as_found
    assert lab.rack.scheduler() == before
    assert record.provenance["Devices afterwards"] == {SWITCH: "as it was found"}
    assert record.provenance[f"Device {SWITCH}"]["name in the rack"] == SWITCH
    generator = record.provenance["Testbed"]["generator"]
    assert generator.startswith("engine: native engine ")
    assert record.trials[0].result is not None
    assert record.trials[0].result.counters["queue.3.sent"] > 0
    kinds = [kind for kind, _ in lab.texts(1)]
    order = ["campaign_started", "calibrated", "testbed_told", "device_configured", "trial_started", "trial_ended", "campaign_ended"]
    assert sorted(order, key=kinds.index) == order
    html = pdf.with_suffix(".html").read_text()
    for words in ("qdisc htb 1: root", generator, "Measured by", "as it was found"):
        assert words in html
    _has_no_secrets(lab, pdf)


def test_a_device_that_is_gone_half_way_is_told_and_taken_offline(lab: Lab, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_BECOME", SECRET)
    monkeypatch.setenv("RACKPROOF_DATA_DIR", str(settings.data_dir))
    both = "strict-priority, {discipline: wrr-bytes, weights: [0.1, 0.2, 0.3, 0.4]}"
    submitted = submission(plan(disciplines=both, loads="12").replace("testbed: bench", "testbed: lab1").encode())
    number = lab.store.create_campaign(**submitted.columns())

    def listen(event: Event) -> None:
        if event.kind is EventKind.TRIAL_STARTED:
            os.kill(lab.rack.box.pid, signal.SIGKILL)

    with local(settings, lab.store, "lab1", "lab") as here:
        record = here.run(number, submitted.kind, listen)
        assert record.state is CampaignState.DONE
        results = [trial.result for trial in record.trials]
        assert results[-1] is not None
        assert results[-1].verdict is Verdict.ERROR
        assert SWITCH in results[-1].reason
        warnings = [text for kind, text in lab.texts(number) if kind == "warning"]
        assert any(text.startswith(f"{SWITCH} could not be restored: ") for text in warnings), warnings
        assert record.provenance["Devices afterwards"][SWITCH].startswith("could not be restored: ")
        (offline,) = lab.store.devices.list("lab1")
        assert (offline.device, offline.campaign) == (SWITCH, number)
        with pytest.raises(Conflict, match="offline"):
            here.run(lab.store.create_campaign(**submitted.columns()), submitted.kind, listen)
    assert AS_TESTED in lab.rack.scheduler(), "nobody could bring it back, and that is what was told"


@pytest.mark.skipif(not LONG, reason="two runs of a campaign, of half a minute each")
def test_a_killed_run_is_resumed_and_the_switch_restored(lab: Lab) -> None:
    before = lab.rack.scheduler()
    with _Running(lab, "run", lab.plan(plan(loads="2, 12", duration_s=2.0)), "--testbed", "lab1") as process:
        until(lambda: _measures(lab, process), 120)
        process.kill()
        process.wait()
    assert AS_TESTED in lab.rack.scheduler(), "a killed process restores nothing"
    resumed = until(lambda: _resumed(lab), 120)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    record = lab.store.campaign(1)
    assert record.state is CampaignState.DONE
    assert len(record.resumed) == 1
    assert any(f"{SWITCH} was left configured" in text for _, text in lab.texts(1))
    assert record.configurations[f"{SWITCH}, after strict-priority"] == record.configurations[f"{SWITCH}, before strict-priority"]
    assert lab.rack.scheduler() == before


@pytest.mark.skipif(not LONG, reason="two runs of a campaign, of half a minute each")
def test_what_a_killed_run_left_is_restored_before_the_next_campaign(lab: Lab) -> None:
    before = lab.rack.scheduler()
    with _Running(lab, "run", lab.plan(plan(duration_s=2.0)), "--testbed", "lab1") as process:
        until(lambda: _measures(lab, process), 120)
        process.kill()
        process.wait()
    assert AS_TESTED in lab.rack.scheduler()
    done = until(lambda: _free(lab.run("run", lab.plan(plan(name="the next")), "--testbed", "lab1")), 120)
    assert done.returncode == 0, done.stdout + done.stderr
    record = lab.store.campaign(lab.store.latest())
    assert record.name == "the next"
    assert "htb" not in record.configurations[f"{SWITCH}, before strict-priority"]
    assert any(f"{SWITCH} was left configured" in text for _, text in lab.texts(record.id))
    assert lab.rack.scheduler() == before


@pytest.mark.skipif(not LONG, reason="a worker that is killed and started again")
def test_a_worker_that_is_killed_goes_on_and_restores_the_switch(lab: Lab) -> None:
    before = lab.rack.scheduler()
    number = lab.store.queue.submit(
        **submission(plan(duration_s=2.0).replace("testbed: bench", "testbed: lab1").encode()).columns(), owner=""
    )
    serve = ("worker", "--name", "rack7", "--testbed", "lab1")
    with _Running(lab, *serve) as first:
        until(lambda: _measures(lab, first, number), 120)
        first.kill()
        first.wait()
    assert AS_TESTED in lab.rack.scheduler()
    with _Running(lab, *serve):
        until(lambda: lab.store.campaign(number).state is CampaignState.DONE, 180)
    record = lab.store.campaign(number)
    assert record.verdict is Verdict.PASS
    assert len(record.resumed) == 1
    assert record.provenance["Devices afterwards"] == {SWITCH: "as it was found"}
    assert lab.rack.scheduler() == before


def _free(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str] | None:
    """None while what was killed has the testbed."""
    return None if "is in use by" in done.stdout + done.stderr else done


def _measures(lab: Lab, process: "subprocess.Popen[bytes]", number: int = 1) -> bool:
    """True once a trial has begun. The command must still run."""
    assert process.poll() is None, (lab.folder / "said").read_text()
    return any(kind == "trial_started" for kind, _ in lab.texts(number))


def _resumed(lab: Lab) -> subprocess.CompletedProcess[str] | None:
    done = lab.run("resume", "1")
    return None if "is being run by" in done.stdout + done.stderr else done


@pytest.mark.skipif(not LONG, reason="a campaign of its own that is cancelled half-way")
def test_an_interrupted_run_restores_the_switch(lab: Lab) -> None:
    before = lab.rack.scheduler()
    with _Running(lab, "run", lab.plan(plan(loads="2, 12", duration_s=5.0)), "--testbed", "lab1") as process:
        until(lambda: _measures(lab, process), 120)
        assert AS_TESTED in lab.rack.scheduler()
        process.send_signal(signal.SIGINT)
        process.wait(120)
    assert _state(lab).state is CampaignState.ABORTED
    assert _state(lab).provenance["Devices afterwards"] == {SWITCH: "as it was found"}
    assert lab.rack.scheduler() == before


def _state(lab: Lab) -> CampaignRecord:
    return lab.store.campaign(1)


class _Running:
    """A command that is under way; its process is ended, where it has not, at the end of the block."""

    def __init__(self, lab: Lab, *arguments: str) -> None:
        with (lab.folder / "said").open("ab") as said:
            self._process = subprocess.Popen(command(*arguments), env=lab.environment, cwd=ROOT, stdout=said, stderr=said)

    def __enter__(self) -> "subprocess.Popen[bytes]":
        return self._process

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


def _has_no_secrets(lab: Lab, pdf: Path) -> None:
    """Neither the password nor the key that the inventory refers to is anywhere that outlives the run."""
    key = lab.rack.box.private_key.read_text().splitlines()[1]
    places = {"PDF": "".join(page.extract_text() for page in PdfReader(pdf).pages)}
    places |= {str(path): path.read_bytes().decode("latin-1") for path in lab.folder.rglob("*") if path.is_file()}
    places["database"] = _dump(lab.environment["RACKPROOF_DATABASE_URL"])
    assert SWITCH in places["database"]
    for place, text in places.items():
        joined = re.sub(r"\s", "", text)
        for secret in (SECRET, key):
            assert secret not in joined, f"a secret is in {place}"


def _dump(url: str) -> str:
    """Every row of every table as text."""
    with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://")) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables "
            "WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        rows = (row for (table,) in tables for row in connection.execute(f"SELECT whole::text FROM {table} AS whole".encode()))
        return "\n".join(str(row[0]) for row in rows)
