"""Which schedules fire now? One transaction makes a run, submits its campaigns and sets the next moment: no firing is lost or doubled."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from orchestrator.service.duty import About
from rackproof.errors import Conflict, NotFound, RackproofError, StoreError
from rackproof.model.service import Missed, Overlap, SuiteRunState
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.cron import latest_moment, next_moment
from rackproof.store.firing import Firing
from rackproof.store.schedules import Schedule
from testplans.submission import Submission, submission

log = logging.getLogger(__name__)

#: So late a firing is still on time: a worker that is restarted, or busy for a moment, has missed nothing.
GRACE = timedelta(seconds=60)
#: Without a schedule there is nothing to wait for but a notification, which can get lost.
_WAIT_MAX_S = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Moments:
    """What became due between a schedule's next moment and now. since: the first of them where the latest was not the only one.

    late: even the latest has passed by more than the grace.
    """

    due: datetime
    since: datetime | None
    late: bool


def moments(cron: str, zone: str, next_at: datetime, now: datetime) -> Moments:
    """Which moment a schedule fires for, when `next_at` has come."""
    due = latest_moment(cron, zone, next_at, now)
    return Moments(due=due, since=None if due == next_at else next_at, late=now - due > GRACE)


class Nights:
    """The duty that fires schedules. Every worker does it; a schedule's row is locked by one of them."""

    name = "schedules"
    words = frozenset({"schedule"})

    def __init__(self, settings: Settings, store: Store, worker: About, clock: Callable[[], datetime] | None = None) -> None:
        """clock: in place of the database's, for tests."""
        del settings, worker
        self._store = store
        self._firing = Firing(store.transactions)
        self._clock = clock or self._firing.now

    def run(self) -> float:
        """Fire what is due; the seconds until the next moment. Raises StoreError once everything else has fired."""
        failed: StoreError | None = None
        for fire in (self._fire_due, self._fire_asked):
            tried: set[int] = set()
            more = True
            while more:
                known = len(tried)
                try:
                    more = fire(tried)
                except StoreError as error:
                    if len(tried) == known:
                        raise
                    failed = error  # one that cannot be stored must not keep the others from firing
        if failed is not None:
            raise failed
        next_at = self._firing.next_due()
        if next_at is None:
            return _WAIT_MAX_S
        return min(max((next_at - self._clock()).total_seconds(), 0.0), _WAIT_MAX_S)

    def _fire_due(self, tried: set[int]) -> bool:
        """Fire the schedule that has been due the longest, except those that failed; False where there is none."""
        now = self._clock()
        with self._store.transactions.together("the schedules could not be looked through"):
            schedule = self._firing.take_due(now, but=tried)
            if schedule is None:
                return False
            tried.add(schedule.id)
            if schedule.next_at is not None:
                self._fire(schedule, moments(schedule.cron, schedule.zone, schedule.next_at, now))
            self._firing.move_on(schedule.id, next_moment(schedule.cron, schedule.zone, now))
        tried.discard(schedule.id)
        return True

    def _fire(self, schedule: Schedule, what: Moments) -> None:
        skipped = SuiteRunState.SKIPPED
        if what.since is not None and not what.late and schedule.missed is Missed.SKIP:
            # The latest is on time; what was missed before it is written down and left out.
            before = latest_moment(schedule.cron, schedule.zone, what.since, what.due - timedelta(seconds=1))
            since = what.since if what.since != before else None
            self._firing.begin(schedule, due=before, since=since, state=skipped, why="missed while the service was down")
            what = Moments(due=what.due, since=None, late=False)
        if what.late and schedule.missed is Missed.SKIP:
            self._firing.begin(schedule, due=what.due, since=what.since, state=skipped, why="missed while the service was down")
            return
        unfinished = self._firing.unfinished(schedule.id) if schedule.overlap is Overlap.SKIP else None
        if unfinished is not None:
            why = f"run {unfinished} had not ended"
            self._firing.begin(schedule, due=what.due, since=what.since, state=skipped, why=why)
            return
        why = "run late: the service was down" if what.late else ""
        run = self._firing.begin(schedule, due=what.due, since=what.since, state=SuiteRunState.RUNNING, why=why)
        if run is not None:
            self._submit(schedule, run)

    def _fire_asked(self, tried: set[int]) -> bool:
        """Submit the campaigns of a run that somebody asked for, except those that failed; False where there is none."""
        with self._store.transactions.together("the suite runs could not be looked through"):
            asked = self._firing.take_asked(but=tried)
            if asked is None:
                return False
            tried.add(asked.run.id)
            if asked.schedule is None:
                self._firing.set_state(asked.run.id, SuiteRunState.SKIPPED)
            else:
                self._submit(asked.schedule, asked.run.id)
        tried.discard(asked.run.id)
        return True

    def _submit(self, schedule: Schedule, run: int) -> None:
        """Put all plans into the queue; what can no longer be run is written down, and stops none of the others."""
        refused: list[dict[str, Any]] = []
        for number, text in enumerate(schedule.plans, start=1):
            prepared = _prepare(text, number)
            said = self._queue(schedule, run, prepared, number) if isinstance(prepared, Submission) else prepared
            if said is not None:
                refused.append(said)
        self._firing.set_state(run, SuiteRunState.RUNNING, refused)
        about = {"schedule": schedule.name, "suite_run": run, "plans": len(schedule.plans), "refused": len(refused)}
        log.info("a schedule has fired", extra=about)

    def _queue(self, schedule: Schedule, run: int, prepared: Submission, number: int) -> dict[str, Any] | None:
        with self._store.transactions.step("a campaign could not be submitted") as connection:
            try:
                # A part that can be undone by itself: what the database refuses must not undo the run.
                with connection.begin_nested():
                    self._store.queue.submit(
                        **prepared.columns(),
                        user_id=schedule.user_id,
                        owner=schedule.owner,
                        priority=schedule.priority,
                        suite_run_id=run,
                    )
            except (NotFound, Conflict) as error:
                return _refused(number, prepared.plan.name, str(error))
        return None


def _prepare(text: str, number: int) -> Submission | dict[str, Any]:
    name = f"plan {number}"
    try:
        return submission(text.encode(), name)
    except RackproofError as error:
        return _refused(number, name, str(error))
    except Exception as error:  # a kind that is broken must not stop the other plans of the suite
        log.exception("plan %d of a schedule could not be expanded", number)
        return _refused(number, name, f"its kind failed: {type(error).__name__}: {error}")


def _refused(number: int, name: str, error: str) -> dict[str, Any]:
    return {"plan": number, "name": name, "error": error}
