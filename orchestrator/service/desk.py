"""How does a worker do what the API asks of it? Reports in a child process, one at a time; rehearsals beside them, at once."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from orchestrator.interruption import Interruption
from orchestrator.rehearsal import rehearse
from orchestrator.service.duty import About
from orchestrator.service.published import PublishedTestbed
from orchestrator.service.rendering import TRY_AGAIN
from orchestrator.testbeds import opened
from rackproof.errors import Conflict, RackproofError, StoreError
from rackproof.model.event import EventKind
from rackproof.parent import VARIABLE
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.jobs import Job

log = logging.getLogger(__name__)

REPORT = "report"
REHEARSAL = "rehearsal"
#: A report waits so long for this machine's bench to stop measuring, which drawing would disturb; then it is made all the same [s].
QUIET_S = 300.0
#: No report takes longer: drawing is killed [s].
RENDERING_S = 600.0
#: How long it is tried to store what came of a job [s].
_STORING_S = 600.0
_IDLE_S, _WAITING_S = 30.0, 5.0
#: Between attempts, where the database was away or the disk was full [s].
_PAUSES_S = (1.0, 5.0, 30.0, 120.0)
_ERROR_CHARACTERS = 2000

Output = Mapping[str, Any]


class Desk:
    """A duty (see duty.py). A campaign that is next in the queue does not wait for a report that is being drawn, at the lowest priority."""

    name = "desk"
    words = frozenset({"job", "ended"})

    def __init__(self, settings: Settings, store: Store, worker: About) -> None:
        self._settings = settings
        self._store = store
        self._worker = worker
        self._reports = _Lane("reports", self._next_report, self._write_report)
        self._rehearsals = _Lane("rehearsals", self._next_rehearsal, self._rehearse)

    def run(self) -> float:
        """Begin what is asked for. Raises StoreError."""
        if not any(lane.running for lane in self._lanes):
            self._store.jobs.give_back(self._incarnation())
        for lane in self._lanes:
            lane.wake()
        return _WAITING_S if self._measuring() else _IDLE_S

    def join(self, timeout_s: float) -> None:
        """Wait until nothing is being done."""
        for lane in self._lanes:
            lane.join(timeout_s)

    @property
    def _lanes(self) -> "tuple[_Lane, _Lane]":
        return (self._reports, self._rehearsals)

    def _incarnation(self) -> str:
        # The worker may have begun again after it lost its leases.
        return self._store.jobs.incarnation_of(self._worker.name) or self._worker.incarnation

    # --- reports ---

    def _measuring(self) -> bool:
        return self._store.jobs.bench_is_measuring(self._worker.testbeds)

    def _next_report(self) -> Job | None:
        patience_s = QUIET_S if self._measuring() else 0.0
        return self._store.jobs.take(self._incarnation(), self._worker.testbeds, [REPORT], older_than_s=patience_s)

    def _write_report(self, job: Job) -> None:
        if job.campaign is None:
            self._fail(job, "a report is of a campaign: none is named")
            return
        for pause_s in (*_PAUSES_S, None):
            try:
                files = self._render(job.campaign)
                break
            except (_Failed, OSError) as error:
                log.warning("the report of campaign %d could not be made: %s", job.campaign, error)
                if pause_s is None or not getattr(error, "may_pass", False):
                    self._fail(job, str(error))
                    return
            time.sleep(pause_s)
        _stored(lambda: self._register(job, files))

    def _register(self, job: Job, files: Mapping[str, tuple[str, str]]) -> None:
        assert job.campaign is not None
        with self._store.transactions.together(f"the report of campaign {job.campaign} could not be registered"):
            report = self._store.reports.add(job.campaign, pdf=files["pdf"], html=files["html"], json=files["json"])
            self._store.jobs.done(job.id, self._incarnation(), {"report": report})
            self._store.add_event(job.campaign, EventKind.REPORT_READY.value, {"text": "the report is ready", "report": report})

    def _render(self, campaign: int) -> Mapping[str, tuple[str, str]]:
        import testplans

        settings = self._settings
        command = [sys.executable, "-m", "orchestrator.service.rendering", str(campaign), *testplans.__path__]
        environment = {
            **os.environ,
            VARIABLE: str(os.getpid()),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "RACKPROOF_DATA_DIR": str(settings.data_dir),
            "RACKPROOF_DATABASE_URL": self._store.url,
            "RACKPROOF_REPORTS_DIR": str(settings.reports_dir),
            "OPENBLAS_NUM_THREADS": "1",
        }
        # A session of its own, so that a timeout ends the processes that draw too.
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        ) as process:
            try:
                said, complaints = process.communicate(timeout=RENDERING_S)
            except BaseException as error:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise _Failed(f"the report of campaign {campaign} was not finished within {RENDERING_S:.0f} s") from None
                raise
        if process.returncode != 0:
            why = complaints.strip()[-_ERROR_CHARACTERS:] or f"its process ended with status {process.returncode}"
            raise _Failed(why, may_pass=process.returncode == TRY_AGAIN)
        return {name: (path, sha256) for name, (path, sha256) in json.loads(said).items()}

    # --- rehearsals ---

    def _next_rehearsal(self) -> Job | None:
        return self._store.jobs.take(self._incarnation(), self._worker.testbeds, [REHEARSAL])

    def _rehearse(self, job: Job) -> None:
        try:
            output = self._rehearsal(job)
        except StoreError:
            raise
        except RackproofError as error:
            self._fail(job, str(error))
            return
        _stored(lambda: self._store.jobs.done(job.id, self._incarnation(), output))

    def _rehearsal(self, job: Job) -> Output:
        from pydantic import TypeAdapter

        from testplans.kind import Rehearsal
        from testplans.submission import submission

        submitted = submission(str(job.input.get("plan_text", "")).encode())
        record = self._store.testbeds.get(job.testbed or submitted.plan.testbed)
        interruption = Interruption()
        try:
            with opened(record.name, record.driver, interruption, self._store) as driver:
                foreseen = rehearse(submitted.kind, submitted.plan, PublishedTestbed(record, driver))
        finally:
            interruption.close()
        plain: dict[str, Any] = TypeAdapter(Rehearsal).dump_python(foreseen, mode="json")
        return {**plain, "duration_s": foreseen.duration_s}

    def _fail(self, job: Job, error: str) -> None:
        _stored(lambda: self._store.jobs.fail(job.id, self._incarnation(), error))


class _Failed(Exception):
    """A report could not be made; the message says why. may_pass: trying again may help."""

    def __init__(self, why: str, *, may_pass: bool = False) -> None:
        super().__init__(why)
        self.may_pass = may_pass


class _Lane:
    """A thread that does one job after the other, and ends when there is none."""

    def __init__(self, name: str, take: Callable[[], Job | None], do: Callable[[Job], None]) -> None:
        self._name = name
        self._take = take
        self._do = do
        self._lock = threading.Lock()
        self._look_again = False
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """True while it does a job, or looks for one."""
        return self._thread is not None

    def join(self, timeout_s: float) -> None:
        """Wait until it has nothing to do."""
        if (thread := self._thread) is not None:
            thread.join(timeout_s)

    def wake(self) -> None:
        """There may be a job."""
        with self._lock:
            self._look_again = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"desk-{self._name}", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while self._wanted():
            try:
                while (job := self._take()) is not None:
                    self._do(job)
            except StoreError as error:
                log.warning("the desk for %s stops until it is woken: %s", self._name, error)
            except Exception:
                # What this job ran into must not keep the others from being done; it comes back, and is given up after some attempts.
                log.exception("a job of the desk for %s went wrong", self._name)

    def _wanted(self) -> bool:
        with self._lock:
            wanted, self._look_again = self._look_again, False
            if not wanted:
                self._thread = None
            return wanted


def _stored(store: Callable[[], None]) -> None:
    """Store what came of a job, trying again while the database is away. Raises StoreError when that lasts too long."""
    deadline = time.monotonic() + _STORING_S
    pause_s = 0.1
    while True:
        try:
            return store()
        except Conflict as error:
            log.warning("%s: what came of it is dropped", error)
            return None
        except StoreError as error:
            if time.monotonic() > deadline:
                raise
            log.warning("%s; trying again in %.1f s", error, pause_s)
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 10.0)
