"""How long does the demo take, and how much of it is not traffic? Runs it with a database of its own; prints one JSON row per target."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from rackproof.model.campaign import CampaignRecord
from rackproof.settings import Settings
from rackproof.store import Event, Store
from testplans.switch_qos.expansion import OVERHEAD_S

ROOT = Path(__file__).parents[1]
PLAN = ROOT / "testplans" / "switch_qos" / "demo.yaml"

Row = dict[str, Any]


def main() -> None:
    """Measure and print."""
    for row in run():
        print(json.dumps(row), flush=True)


def run() -> list[Row]:
    """All rows: name, value, unit, target, met."""
    with tempfile.TemporaryDirectory(prefix="rackproof-benchmark-") as folder:
        settings = Settings.load(data_dir=Path(folder))
        environment = {"RACKPROOF_DATA_DIR": folder, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder}
        command = [sys.executable, "-c", "from rackproof.cli.main import main; main()"]
        began = time.perf_counter()
        done = subprocess.run([*command, "run", str(PLAN)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        demo_s = time.perf_counter() - began
        with Store.open(settings) as store:
            record = store.campaign(store.latest())
            events = store.events(record.id, limit=100_000)
        # A process that has just begun, as that of a person who asks for the report again.
        script = (
            "import json, sys; from rackproof.cli.campaigns import find, write; from rackproof.settings import Settings; "
            "from rackproof.store import Store\n"
            "with Store.open(Settings.load()) as store: record = find(store, 'latest')\n"
            "print(json.dumps(write(record, None).took_s))"
        )
        made = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        took = json.loads(made.stdout)
    gaps = between_trials_ms(events)
    return [
        _row("demo.exit_code", done.returncode, "1", "0", done.returncode == 0),
        _row("demo.wall", demo_s, "s", "under 90", demo_s < 90),
        _row("demo.verdict", 0.0, str(record.verdict), "PASS", record.verdict == "PASS"),
        _row("demo.attempts", attempts(record), "1", f"{len(record.trials)} trials, each once", None),
        _row("trial.overhead.median", statistics.median(gaps), "ms", "under 100", statistics.median(gaps) < 100),
        _row("trial.overhead.max", max(gaps), "ms", "", None),
        _row("report.all", took["all"], "s", "under 3 (PDF and HTML together)", took["all"] < 3),
        _row("report.figures", took["figures"], "s", "", None),
        *(_finding(record, "linux-htb", "sp.top_share", 0.99, "at least 0.99")),
    ]


def between_trials_ms(events: list[Event]) -> list[float]:
    """From the start of a trial to the start of the next one of the same setup, less the traffic that the plan asks for [ms]."""
    interesting = [event for event in events if event.kind in ("trial_started", "device_configured", "warning")]
    return [
        (_at(after) - _at(before) - float(before.data["seconds"]) + OVERHEAD_S) * 1e3
        for before, after in pairwise(interesting)
        if before.kind == after.kind == "trial_started"
    ]


def attempts(record: CampaignRecord) -> float:
    """How often trials were measured until they were valid."""
    return sum(trial.result.health.get("attempts", 1) for trial in record.trials if trial.result is not None)


def _finding(record: CampaignRecord, device: str, criterion: str, least: float, target: str) -> list[Row]:
    found = [finding for finding in record.findings if finding.subject.get("device") == device and finding.criterion == criterion]
    return [_row(f"{device}.{criterion}", finding.value, finding.unit, target, finding.value >= least) for finding in found]


def _at(event: Event) -> float:
    return datetime.fromisoformat(str(event.data["at"])).timestamp()


def _row(name: str, value: float, unit: str, target: str, met: bool | None) -> Row:
    return {"name": name, "value": round(float(value), 3), "unit": unit, "target": target, "met": met}


if __name__ == "__main__":
    main()
