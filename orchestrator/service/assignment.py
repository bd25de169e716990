"""One campaign on this worker: from its lease to its end, whatever that is."""

import threading
from collections.abc import Callable

import structlog

from orchestrator.campaign import Abandoned, Session, run
from orchestrator.interruption import Cause, Interruption
from orchestrator.service.durable import step
from orchestrator.testbeds import opened
from rackproof.errors import LabError, RackproofError, Stopped, StoreError
from rackproof.model.campaign import CampaignState
from rackproof.model.event import Event
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from rackproof.store.leases import Lease

log = structlog.get_logger()


class Assignment:
    """A campaign that this worker has the lease of. over: set when the testbed is let go, and nothing more is written."""

    def __init__(self, *, lease: Lease, store: Store, driver: str, worker: str, on_over: Callable[["Assignment"], None]) -> None:
        self.lease = lease
        self.interruption = Interruption()
        self.over = threading.Event()
        self._store = store
        self._driver = driver
        self._worker = worker
        self._on_over = on_over
        self._lock = threading.Lock()
        self._begun = False

    def work(self, campaign: int) -> None:
        """Run the campaign; called within its workflow. Raises Abandoned where others go on with it."""
        with self._lock:
            if self.over.is_set():
                raise Abandoned(self.interruption.reason)
            self._begun = True
        with structlog.contextvars.bound_contextvars(campaign=campaign):
            try:
                self._work()
            finally:
                self.interruption.close()
                self.over.set()
                self._on_over(self)

    def _work(self) -> None:
        lease = self.lease
        log.info("the campaign runs", testbed=lease.testbed, fence=lease.fence, why=lease.why)
        try:
            from testplans.registry import kind

            with opened(lease.testbed, self._driver, self.interruption, self._store) as testbed:
                session = Session(
                    lease=lease,
                    kind=kind(self._kind()),
                    store=self._store,
                    testbed=testbed,
                    listener=_quiet,
                    interruption=self.interruption,
                    worker=self._worker,
                )
                run(session, step)
        except (Stopped, LabError) as end:
            log.info("the campaign ended before its time", why=str(end))
        except Abandoned as end:
            log.warning("the campaign is left to others", why=str(end))
            raise
        except Exception as error:
            log.exception("the campaign cannot go on")
            self._fail(error)
        self._want_report()

    def _kind(self) -> str:
        # The whole record is read when the session begins; here its name is enough.
        return self._store.kind_of(self.lease.campaign)

    def _fail(self, error: Exception) -> None:
        reason = str(error) if isinstance(error, RackproofError) else f"a mistake in Rackproof: {type(error).__name__}: {error}"
        try:
            self._store.under(self.lease).finish(self.lease.campaign, CampaignState.FAILED, Verdict.ERROR, reason)
        except StoreError as failure:
            raise Abandoned(f"{reason}, but that could not be stored: {failure}") from error

    def _want_report(self) -> None:
        try:
            self._store.jobs.want("report", campaign=self.lease.campaign)
        except StoreError as error:
            log.warning("no report could be asked for", error=str(error))

    def interrupt(self, cause: Cause, reason: str) -> None:
        """End it at once. One that has not begun never will, unless it is to be ended in order."""
        self.interruption.set(cause, reason)
        with self._lock:
            if self._begun or cause is Cause.CANCEL:
                return
            self.over.set()
        self._on_over(self)


def _quiet(_event: Event) -> None:
    """Whoever watches reads the store's table."""
