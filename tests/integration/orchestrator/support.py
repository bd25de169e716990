"""Real workers in processes of their own, and the kind of plan that does nothing."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rackproof.model.campaign import CampaignRecord, CampaignState
from rackproof.store import Store
from testplans.submission import submission
from tests import waiting
from tests.kinds.launch import extend

ROOT = Path(__file__).parents[3]
#: No wait in these tests is longer [s].
BOUND_S = 180.0
#: How long a worker of these tests may be silent [s].
TIMEOUT_S = 60.0
ENDED = frozenset({CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED})


until = partial(waiting.until, bound_s=BOUND_S)


@contextmanager
def worker(
    environment: Mapping[str, str], name: str, *testbeds: str, timeout_s: float = TIMEOUT_S, log: Path | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker, until the end of the block; it serves `nothing` unless it is told otherwise."""
    arguments = [argument for testbed in testbeds or ("nothing",) for argument in ("--testbed", testbed)]
    output = log.open("ab") if log is not None else None
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kinds.launch", "worker", "--name", name, *arguments],
        env={**environment, "RACKPROOF_WORKER_TIMEOUT_S": str(timeout_s)},
        cwd=ROOT,
        stdout=output,
        stderr=output,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()
        if output is not None:
            output.close()


def probed(store: Store, testbed: str = "nothing") -> None:
    """Wait until a testbed was asked for what it can carry, which takes it for a moment."""
    until(lambda: any(one.name == testbed and one.limits is not None and not one.in_use_by for one in store.testbeds.list()))


def alive(store: Store, name: str) -> None:
    """Wait until a worker is there."""
    until(lambda: any(one.name == name and one.alive for one in store.workers.list()))


def submit(store: Store, *, owner: str = "", priority: int = 0, **plan: Any) -> int:
    """Put a plan of the kind that does nothing into the queue."""
    extend()
    content = json.dumps({"kind": "nothing", "name": "nothing much", **plan}).encode()
    return store.queue.submit(**submission(content).columns(), owner=owner, priority=priority)


def ended(store: Store, campaign: int, bound_s: float = BOUND_S) -> CampaignRecord:
    """The campaign, when it has ended."""
    until(lambda: state(store, campaign) in ENDED, bound_s=bound_s)
    return store.campaign(campaign)


def state(store: Store, campaign: int) -> CampaignState:
    """How a campaign stands; cheap to ask."""
    (summary,) = store.campaigns(limit=1, before=campaign + 1)
    return summary.state


def under_way(store: Store, campaign: int, trial: int) -> None:
    """Wait until a trial has begun."""
    wanted = {"trial_started"}
    until(lambda: any(event.kind in wanted and event.data["trial"] == trial for event in store.events(campaign)))


def kinds(store: Store, campaign: int) -> list[str]:
    """What happened to a campaign, in order."""
    return [event.kind for event in store.events(campaign, limit=100_000)]
