"""Is every testbed still what it was? A golden plan on a schedule; where it does not pass, the testbed goes offline and its queue waits."""

import logging
from collections.abc import Callable
from datetime import datetime

from cronsim import CronSimError

from orchestrator.service.duty import About
from rackproof.errors import RackproofError
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.cron import next_moment
from rackproof.store.firing import Firing
from rackproof.store.health import Check, Health, Judged
from testplans.submission import submission

log = logging.getLogger(__name__)

OWNER = "health check"
#: Above whatever a person may ask for.
PRIORITY = 1001
_WAIT_MAX_S = 30.0
_REASON_CHARACTERS = 500


class Golden:
    """The duty that checks testbeds."""

    name = "health checks"
    words = frozenset({"ended", "schedule"})

    def __init__(self, settings: Settings, store: Store, worker: About, clock: Callable[[], datetime] | None = None) -> None:
        """clock: in place of the database's, for tests."""
        del settings, worker
        self._store = store
        self._health = Health(store.transactions)
        self._clock = clock or Firing(store.transactions).now

    def run(self) -> float:
        """Judge what ended and submit what is due; the seconds until the next check. Raises StoreError."""
        while self._judge_one():
            pass
        tried: set[str] = set()
        while self._submit_one(tried):
            pass
        next_at = self._health.next_due()
        if next_at is None:
            return _WAIT_MAX_S
        return min(max((next_at - self._clock()).total_seconds(), 0.0), _WAIT_MAX_S)

    def _judge_one(self) -> bool:
        with self._store.transactions.together("no health check could be judged"):
            judged = self._health.take_ended()
            if judged is None:
                return False
            self._judge(judged)
            self._health.judged(judged.check.testbed, judged.campaign)
        return True

    def _judge(self, judged: Judged) -> None:
        check = judged.check
        if judged.cancelled or check.offline_by == "person":
            return
        if judged.verdict is Verdict.PASS:
            if check.offline_by == "check":
                self._health.bring_back(check.testbed)
                log.info("testbed %s is online again: its health check passed", check.testbed)
            return
        said = f"campaign {judged.campaign} ended {judged.verdict}"
        self._take_offline(check, f"{said}: {judged.reason}" if judged.reason else said)

    def _submit_one(self, tried: set[str]) -> bool:
        now = self._clock()
        with self._store.transactions.together("no health check could be submitted"):
            check = self._health.take_due(now, but=tried)
            if check is None:
                return False
            tried.add(check.testbed)
            # A person who took the testbed offline is at work on it; a check that has not ended will say what this one would.
            if check.next_at is not None and check.offline_by != "person" and not self._health.running(check):
                self._submit(check)
            self._health.move_on(check.testbed, _next(check, now))
        return True

    def _submit(self, check: Check) -> None:
        assert check.plan is not None
        try:
            prepared = submission(check.plan.encode(), "the health check's plan")
        except RackproofError as error:
            self._take_offline(check, str(error))
            return
        if prepared.plan.testbed != check.testbed:
            self._take_offline(check, f"expected a plan for this testbed, found one for {prepared.plan.testbed}")
            return
        campaign = self._store.queue.submit(**prepared.columns(), owner=OWNER, priority=PRIORITY)
        self._health.began(check.testbed, campaign)

    def _take_offline(self, check: Check, why: str) -> None:
        reason = f"health check: {why}"[:_REASON_CHARACTERS]
        self._health.take_offline(check.testbed, reason)
        log.warning("testbed %s is offline: %s", check.testbed, reason)


def _next(check: Check, now: datetime) -> datetime | None:
    assert check.cron is not None
    try:
        return next_moment(check.cron, check.zone, now)
    except (CronSimError, ValueError) as error:
        log.warning("the health check of testbed %s has no time that can be used: %s", check.testbed, error)
        return None
