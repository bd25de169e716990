"""Which schedules are due, and what is written down when one fires?

Everything here is a part of the transaction that the caller opened with `store.transactions.together`: the rows that it locks stay locked
until the campaigns are in the queue and the next moment is set.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert

from rackproof.model.service import SuiteRunState
from rackproof.store import schema_service as tables
from rackproof.store.schedules import Schedule, SuiteRun, clock, schedule_of, suite_run, unfinished_run
from rackproof.store.transactions import Transactions

_schedules = tables.Schedule
_runs = tables.SuiteRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A run that somebody asked for, and its schedule as it is now; None where it was deleted meanwhile."""

    run: SuiteRun
    schedule: Schedule | None


class Firing:
    """What a tick does with the database."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def now(self) -> datetime:
        """The time by the database, which all workers share."""
        with self._transactions.step("the database's clock could not be read") as connection:
            return clock(connection)

    def take_due(self, now: datetime, but: Collection[int] = ()) -> Schedule | None:
        """The schedule that has been due the longest, now this transaction's own; None where there is none that nobody else has."""
        wanted = (
            select(_schedules)
            .where(_schedules.next_at <= now, ~_schedules.paused, _schedules.id.not_in(but))
            .order_by(_schedules.next_at, _schedules.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._transactions.step("the schedules could not be read") as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else schedule_of(row)

    def take_asked(self, but: Collection[int] = ()) -> Asked | None:
        """The oldest run that somebody asked for, now this transaction's own; None where there is none that nobody else has."""
        wanted = (
            select(_runs)
            .where(_runs.state == SuiteRunState.WANTED, _runs.id.not_in(but))
            .order_by(_runs.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._transactions.step("the suite runs could not be read") as connection:
            row = connection.execute(wanted).one_or_none()
            if row is None:
                return None
            found = connection.execute(select(_schedules).where(_schedules.id == row.schedule_id)).one_or_none()
        return Asked(run=suite_run(row, ()), schedule=None if found is None else schedule_of(found))

    def unfinished(self, schedule: int) -> int | None:
        """The oldest run of a schedule that has not ended."""
        with self._transactions.step(f"the runs of schedule {schedule} could not be read") as connection:
            return unfinished_run(connection, schedule)

    def begin(self, schedule: Schedule, *, due: datetime, state: SuiteRunState, why: str = "", since: datetime | None = None) -> int | None:
        """Write down a run; its id, None where the schedule has one for this moment already."""
        values = {"schedule_id": schedule.id, "name": schedule.name, "due": due, "since": since, "why": why, "state": state}
        if state is SuiteRunState.SKIPPED:
            values["ended"] = func.clock_timestamp()
        adding = insert(_runs).values(**values).on_conflict_do_nothing(index_elements=[_runs.schedule_id, _runs.due])
        with self._transactions.step(f"the run of the schedule {schedule.name} could not be written down") as connection:
            run: int | None = connection.scalar(adding.returning(_runs.id))
        return run

    def set_state(self, run: int, state: SuiteRunState, refused: Sequence[Mapping[str, Any]] = ()) -> None:
        """Write down what came of submitting the plans of a run."""
        values: dict[str, Any] = {"state": state, "refused": [dict(plan) for plan in refused]}
        if state is SuiteRunState.SKIPPED:
            values["ended"] = func.clock_timestamp()
        with self._transactions.step(f"suite run {run} could not be changed") as connection:
            connection.execute(update(_runs).where(_runs.id == run).values(**values))

    def move_on(self, schedule: int, next_at: datetime | None) -> None:
        """Say when the schedule fires next."""
        with self._transactions.step(f"schedule {schedule} could not be moved on") as connection:
            connection.execute(update(_schedules).where(_schedules.id == schedule).values(next_at=next_at))

    def next_due(self) -> datetime | None:
        """When the next schedule fires; None where none will."""
        with self._transactions.step("the schedules could not be read") as connection:
            found: datetime | None = connection.scalar(select(func.min(_schedules.next_at)).where(~_schedules.paused))
        return found
