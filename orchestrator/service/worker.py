"""A worker: it serves testbeds, starts what is next on them, adopts what others left behind, and does its duties."""

import os
import threading
import time
from collections.abc import Mapping

import structlog

from orchestrator.interruption import Cause
from orchestrator.service import probing
from orchestrator.service.assignment import Assignment
from orchestrator.service.durable import Durable
from orchestrator.service.duties import Rounds, duties
from orchestrator.service.duty import About
from orchestrator.service.heartbeat import Heartbeat
from orchestrator.testbeds import driver_of
from rackproof.errors import Conflict, StoreError
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.leases import Lease
from rackproof.store.listening import Listener
from rackproof.store.transactions import WORK

log = structlog.get_logger()

#: How long what runs may take to let go of its testbed [s].
LET_GO_S = 60.0
#: After a failure of the database [s].
AGAIN_S = 1.0


class Worker:
    """run() returns after stop(), from any thread or a signal handler. testbeds: name -> driver."""

    def __init__(self, settings: Settings, store: Store, name: str, testbeds: Mapping[str, str]) -> None:
        self._settings = settings
        self._store = store
        self._name = name
        self._testbeds = dict(testbeds)
        self._durable = Durable(store.url, name)
        self._listener = Listener(store.url, [WORK])
        self._assignments: dict[int, Assignment] = {}
        self._lock = threading.Lock()
        self._stopping = False
        self._heartbeat = Heartbeat(
            store=store,
            name=name,
            testbeds=tuple(self._testbeds),
            timeout_s=settings.worker_timeout_s,
            on_lost=self._lost,
            on_cancel=self._cancel,
        )

    def stop(self) -> None:
        """Let run() end in order."""
        self._stopping = True
        self._listener.wake()

    def run(self) -> None:
        """Serve until stop(). Raises Conflict where a worker of that name lives, NotFound for a driver that is not there, StoreError."""
        self._testbeds = {name: driver_of(name, driver, self._store) for name, driver in self._testbeds.items()}
        probing.check(self._store, self._testbeds)
        with self._listener, self._heartbeat:
            for name, driver in self._testbeds.items():
                probing.announce(self._store, name, driver)
            about = About(name=self._name, incarnation=self._heartbeat.incarnation, testbeds=tuple(self._testbeds))
            rounds = Rounds(duties(self._settings, self._store, about))
            log.info("the worker runs", worker=self._name, testbeds=sorted(self._testbeds), process=os.getpid())
            threading.Thread(target=self._prepare, name="prepare", daemon=True).start()
            rounds.start()
            prober = probing.Prober(self._store, self._name, self._testbeds)
            prober.start()
            try:
                self._serve(rounds)
            finally:
                log.info("the worker ends", worker=self._name)
                prober.stop()
                self._interrupt(Cause.STOP, f"worker {self._name} was stopped")
                rounds.stop(timeout_s=5.0)

    def _prepare(self) -> None:
        try:
            self._durable.prepare()
        except Exception as error:  # noqa: BLE001 - the first campaign tries again, and says so
            log.warning("the tables of DBOS could not be brought up to date", error=str(error))

    def _serve(self, rounds: Rounds) -> None:
        wait_s, away = 0.0, False
        while not self._stopping:
            told = self._listener.wait(wait_s)
            words = {payload.partition(" ")[0] for _, payload in told}
            for _, payload in told:
                word, _, number = payload.partition(" ")
                if word == "cancel" and number.isdecimal():
                    self._cancel(int(number), "")
            for word in words:
                rounds.tell(word)
            try:
                if self._heartbeat.lost:
                    self._begin_again()
                # What others are told may have nothing to do with the queue, and looking costs little.
                wait_s = self._look() if words & {"queue", ""} or not words else wait_s
                away = False
            except StoreError as error:
                if not away:
                    log.warning("the queue could not be looked at; trying again", error=str(error))
                away = True
                wait_s = AGAIN_S
            self._durable.rest()

    def _look(self) -> float:
        """Start and adopt whatever may be; how long until it is worth looking again [s]."""
        testbeds = list(self._testbeds)
        with self._lock:
            here = frozenset(self._assignments)
        for lease in self._store.leases.adopt(self._heartbeat.incarnation, testbeds, here):
            self._assign(lease)
        while True:
            found = self._store.leases.dispatch(self._heartbeat.incarnation, testbeds)
            if found.lease is None:
                return min(found.again_s, self._settings.worker_timeout_s / 5)
            self._assign(found.lease)

    def _assign(self, lease: Lease) -> None:
        assignment = Assignment(lease=lease, store=self._store, driver=self._testbeds[lease.testbed], worker=self._name, on_over=self._over)
        with self._lock:
            self._assignments[lease.campaign] = assignment
        # In a thread of its own: DBOS waits for a database that is away for as long as it takes.
        threading.Thread(target=self._start, args=(assignment,), name=f"start-{lease.campaign}", daemon=True).start()

    def _start(self, assignment: Assignment) -> None:
        lease = assignment.lease
        try:
            self._durable.start(lease.campaign, lease.run, assignment.work)
        except Exception as error:  # noqa: BLE001 - of whatever kind: the campaign waits for the next attempt
            log.error("a campaign could not be started; trying again", campaign=lease.campaign, error=str(error))
            assignment.interrupt(Cause.LOST, "it could not be started")

    def _over(self, assignment: Assignment) -> None:
        with self._lock:
            if self._assignments.get(assignment.lease.campaign) is assignment:
                del self._assignments[assignment.lease.campaign]

    def _cancel(self, campaign: int, why: str) -> None:
        with self._lock:
            assignment = self._assignments.get(campaign)
        if assignment is not None:
            if not why:
                try:
                    why = self._store.queue.cancel_of(campaign)
                except StoreError:
                    why = "cancelled"
            assignment.interrupt(Cause.CANCEL, why)

    def _lost(self, why: str) -> None:
        with self._lock:
            assignments = list(self._assignments.values())
        for assignment in assignments:
            assignment.interrupt(Cause.LOST, why)
        self._listener.wake()

    def _begin_again(self) -> None:
        """After the leases were lost, and everything that ran has let go: a new incarnation, which adopts what nobody else has."""
        self._interrupt(Cause.LOST, "others may have it")
        try:
            self._heartbeat.begin_again()
        except Conflict as error:
            log.error("another process took this worker's name", error=str(error))
            self._stopping = True
            return
        log.info("the worker goes on", worker=self._name)

    def _interrupt(self, cause: Cause, reason: str) -> None:
        with self._lock:
            assignments = list(self._assignments.values())
        for assignment in assignments:
            assignment.interrupt(cause, reason)
        deadline = time.monotonic() + LET_GO_S
        for assignment in assignments:
            if not assignment.over.wait(max(0.0, deadline - time.monotonic())):
                log.error("a campaign does not let go of its testbed", campaign=assignment.lease.campaign)
