"""What has been asked of the workers: a report to write, a rehearsal on a testbed?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, func, insert, or_, select, text, update

from rackproof.errors import Conflict, NotFound
from rackproof.model.service import JobState
from rackproof.store import life, schema, schema_service
from rackproof.store.transactions import JOBS, WORK, Transactions, notify

#: How often a job is begun; a worker that died in the middle of it used up one.
ATTEMPTS = 3
_OPEN = (JobState.WANTED, JobState.TAKEN)
_table = schema_service.Job


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Something asked of a worker. output is there once it is DONE, error once it is FAILED."""

    id: int
    kind: str
    testbed: str | None
    campaign: int | None
    input: Mapping[str, Any] = field(default_factory=dict)
    state: JobState
    attempts: int
    output: Mapping[str, Any] | None
    error: str
    created: datetime
    ended: datetime | None


class Jobs:
    """Jobs. Whoever takes one has it until its worker dies; it may then be done twice, which must do no harm."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def want(self, kind: str, *, testbed: str | None = None, campaign: int | None = None, input: Mapping[str, Any] | None = None) -> int:  # noqa: A002
        """Ask for a job; its id. One that is asked for already, and will see the campaign as it is now, is not asked for twice."""
        values = {"kind": kind, "testbed": testbed, "campaign_id": campaign, "input": dict(input or {})}
        with self._transactions.step(f"the {kind} could not be asked for") as connection:
            # Two who ask at the same moment: the second finds what the first wrote.
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"), {"key": f"job {kind} {testbed} {campaign}"})
            if campaign is not None and connection.scalar(select(schema.Campaign.id).where(schema.Campaign.id == campaign)) is None:
                raise NotFound(f"there is no campaign {campaign}")
            same = [
                _table.kind == kind,
                _table.testbed.is_not_distinct_from(testbed),
                _table.campaign_id.is_not_distinct_from(campaign),
                _table.input == values["input"],
            ]
            found: int | None = connection.scalar(select(_table.id).where(*same, _will_see(campaign)).order_by(_table.id).limit(1))
            if found is None:
                found = connection.scalars(insert(_table).values(**values, state=JobState.WANTED).returning(_table.id)).one()
            notify(connection, WORK, f"job {found}")
        return found

    def get(self, job: int) -> Job:
        """A job. Raises NotFound."""
        with self._transactions.step(f"job {job} could not be read") as connection:
            row = connection.execute(select(_table).where(_table.id == job)).one_or_none()
        if row is None:
            raise NotFound(f"there is no job {job}")
        return _job(row)

    def take(self, incarnation: str, testbeds: Sequence[str], kinds: Sequence[str] | None = None, older_than_s: float = 0.0) -> Job | None:
        """The oldest job that a worker with these testbeds can do, now its own; None where there is none.

        older_than_s: leave those that were asked for less than so long ago. Jobs of workers that died come back first.
        """
        with self._transactions.step("no job could be taken") as connection:
            _return_orphans(connection)
            wanted = [
                _table.state == JobState.WANTED,
                or_(_table.testbed.is_(None), _table.testbed.in_(testbeds)),
                _table.created <= func.clock_timestamp() - timedelta(seconds=older_than_s),
            ]
            if kinds is not None:
                wanted.append(_table.kind.in_(kinds))
            first = select(_table.id).where(*wanted).order_by(_table.id).limit(1).with_for_update(skip_locked=True).scalar_subquery()
            taken = connection.execute(
                update(_table)
                .where(_table.id == first)
                .values(state=JobState.TAKEN, incarnation=incarnation, attempts=_table.attempts + 1)
                .returning(_table)
            ).one_or_none()
        return _job(taken) if taken is not None else None

    def done(self, job: int, incarnation: str, output: Mapping[str, Any]) -> None:
        """The job is done. Raises Conflict where this worker no longer has it."""
        self._end(job, incarnation, state=JobState.DONE, output=dict(output))

    def fail(self, job: int, incarnation: str, error: str) -> None:
        """The job cannot be done, and why. Raises Conflict where this worker no longer has it."""
        self._end(job, incarnation, state=JobState.FAILED, error=error)

    def give_back(self, incarnation: str) -> int:
        """What this worker took and is not doing is wanted again; how many jobs."""
        with self._transactions.step("jobs could not be given back") as connection:
            mine = and_(_table.incarnation == incarnation, _table.state == JobState.TAKEN)
            return _give_back(connection, mine, "its worker could not say what came of it")

    def incarnation_of(self, worker: str) -> str | None:
        """What the worker of that name is now; None where there is none."""
        table = schema_service.Worker
        with self._transactions.step("the workers could not be read") as connection:
            found: str | None = connection.scalar(select(table.incarnation).where(table.name == worker))
        return found

    def bench_is_measuring(self, testbeds: Sequence[str]) -> bool:
        """True while a campaign has a machine that one of the testbeds is built on: other work there would disturb its measurement."""
        lease, testbed = schema_service.Lease, schema_service.Testbed
        with self._transactions.step("the leases could not be read") as connection:
            return bool(
                connection.scalar(
                    select(
                        exists().where(
                            lease.campaign_id.is_not(None),
                            lease.resource.startswith("host:"),
                            testbed.name.in_(testbeds),
                            lease.resource == func.any(testbed.resources),
                        )
                    )
                )
            )

    def _end(self, job: int, incarnation: str, **values: Any) -> None:
        with self._transactions.step(f"the end of job {job} could not be stored") as connection:
            mine = (_table.id == job, _table.incarnation == incarnation, _table.state == JobState.TAKEN)
            ended = connection.scalar(update(_table).where(*mine).values(**values, ended=func.clock_timestamp()).returning(_table.id))
            if ended is None:
                raise Conflict(f"job {job} is no longer this worker's")
            notify(connection, JOBS, str(job))


def _will_see(campaign: int | None) -> ColumnElement[bool]:
    """Jobs that are open and will work on the campaign as it is now: one that began before it ended again would not."""
    if campaign is None:
        return _table.state.in_(_OPEN)
    ended = select(schema.Campaign.ended).where(schema.Campaign.id == campaign).scalar_subquery()
    return or_(
        _table.state == JobState.WANTED,
        and_(_table.state == JobState.TAKEN, or_(ended.is_(None), _table.created > ended)),
    )


def _return_orphans(connection: Connection) -> None:
    holders = set(connection.scalars(select(_table.incarnation).where(_table.state == JobState.TAKEN)))
    if not holders:
        return
    dead = holders - set(life.living(connection))
    if dead:
        _give_back(connection, and_(_table.state == JobState.TAKEN, _table.incarnation.in_(dead)), "its worker died")


def _give_back(connection: Connection, which: ColumnElement[bool], why: str) -> int:
    used_up = _table.attempts >= ATTEMPTS
    given_up = connection.scalars(
        update(_table)
        .where(which, used_up)
        .values(state=JobState.FAILED, error=f"{why}, {ATTEMPTS} times", ended=func.clock_timestamp())
        .returning(_table.id)
    ).all()
    for job in given_up:
        notify(connection, JOBS, str(job))
    wanted = connection.scalars(update(_table).where(which).values(state=JobState.WANTED, incarnation=None).returning(_table.id)).all()
    return len(given_up) + len(wanted)


def _job(row: Row[Any]) -> Job:
    return Job(
        id=row.id,
        kind=row.kind,
        testbed=row.testbed,
        campaign=row.campaign_id,
        input=row.input,
        state=JobState(row.state),
        attempts=row.attempts,
        output=row.output,
        error=row.error,
        created=row.created,
        ended=row.ended,
    )
