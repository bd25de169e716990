"""What does a trial in a lab cost on top of its traffic? A Linux switch over SSH and the native generator; one JSON row per target.

Needs root and sshd; prints nothing where they are missing. The switch is a network namespace: what a network card adds is not in it.
"""

import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from orchestrator.local import local
from rackproof.inventory import parse_inventory
from rackproof.model.campaign import CampaignRecord
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from testplans.submission import submission
from testplans.switch_qos.plan import SwitchQosPlan
from tests.lab.rack import plan, rack
from tests.lab.sshd import why_not

NAME = "benchmark"
#: One group of trials that share a configuration.
LOADS = ", ".join(f"{1 + number / 4:g}" for number in range(16))
TRIAL_TARGET_MS = 100.0


def main() -> None:
    """Measure and print."""
    if why_not():
        return
    os.environ["LAB_BECOME"] = "a-password-that-nothing-asks-for"
    submitted = submission(plan(loads=LOADS, duration_s=0.5).replace("testbed: bench", f"testbed: {NAME}").encode())
    assert isinstance(submitted.plan, SwitchQosPlan)
    with tempfile.TemporaryDirectory(prefix="rackproof-benchmark-") as folder, rack(NAME) as standing:
        os.environ["RACKPROOF_DATA_DIR"] = folder
        settings = Settings.load(data_dir=Path(folder))
        with Store.open(settings) as store:
            _, inventory = parse_inventory(standing.inventory.encode(), NAME)
            store.inventories.put(inventory, standing.inventory, by=NAME)
            number = store.create_campaign(**submitted.columns())
            began = time.perf_counter()
            with local(settings, store, NAME, "lab") as here:
                record = here.run(number, submitted.kind, lambda _event: None)
            whole_s = time.perf_counter() - began
    if record.verdict not in (Verdict.PASS, Verdict.INVALID):
        raise RuntimeError(record.reason)
    trials = overheads_ms(record, submitted.plan.trial_s)
    # The first trial imports what analyses.
    median = statistics.median(trials[1:])
    rows = [
        {"name": "lab: overhead per trial", "value": round(median, 1), "unit": "ms", "target": "< 100 ms", "met": median < TRIAL_TARGET_MS},
        {
            "name": "lab: all but traffic, one group",
            "value": round(whole_s - _traffic_s(record, submitted.plan), 1),
            "unit": "s",
            "target": "",
        },
    ]
    for row in rows:
        print(json.dumps(row), flush=True)


def overheads_ms(record: CampaignRecord, traffic_s: float) -> list[float]:
    """What each trial took on top of its traffic, every attempt of which counts as traffic [ms]."""
    found = []
    for trial in record.trials:
        assert trial.result is not None
        assert trial.started is not None
        assert trial.ended is not None
        took_s = (trial.ended - trial.started).total_seconds()
        found.append(1e3 * (took_s - traffic_s * trial.result.health["attempts"]))
    return found


def _traffic_s(record: CampaignRecord, plan: SwitchQosPlan) -> float:
    return plan.trial_s * sum(trial.result.health["attempts"] for trial in record.trials if trial.result is not None)


if __name__ == "__main__":
    main()
