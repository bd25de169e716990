"""What runs by itself, and when: schedules and the runs of their suites.

The database decides who fires: whoever has a schedule's row locked inserts the run and moves `next_at` on, in one transaction with the
campaigns (orchestrator/service/nights.py). Times are the database's unless a clock is given.
"""

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from rackproof.errors import Conflict, NotFound
from rackproof.model.campaign import CampaignState
from rackproof.model.service import Missed, Overlap, SuiteRunState
from rackproof.store import cron as crons
from rackproof.store import schema
from rackproof.store import schema_service as tables
from rackproof.store.schedule_input import check
from rackproof.store.transactions import WORK, Transactions, notify

#: States in which a campaign no longer runs or waits.
ENDED = (CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED)
_schedules = tables.Schedule
_runs = tables.SuiteRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """A suite of plans that runs by itself. plans: their texts. emails, webhooks: who gets the digest; a webhook's URL is a secret."""

    id: int
    name: str
    user_id: int | None
    owner: str
    cron: str
    zone: str
    paused: bool
    overlap: Overlap
    missed: Missed
    priority: int
    plans: tuple[str, ...]
    emails: tuple[str, ...]
    webhooks: tuple[str, ...] = field(repr=False)
    created: datetime
    updated: datetime
    next_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteRun:
    """One firing of a schedule. since: the first of several missed moments that it stands for.

    refused: plans that could not be submitted, [{"plan": 2, "name": ..., "error": ...}] with plans counted from 1. digest: once it is DONE.
    """

    id: int
    schedule_id: int | None
    name: str
    due: datetime
    since: datetime | None
    why: str
    created: datetime
    ended: datetime | None
    state: SuiteRunState
    refused: tuple[Mapping[str, Any], ...]
    digest: Mapping[str, Any] | None
    campaigns: tuple[int, ...]


class Schedules:
    """Schedules and their runs. What cannot be used raises PlanError with every problem; a name that is taken raises Conflict."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def create(
        self,
        *,
        name: str,
        cron: str,
        zone: str,
        plans: Sequence[str],
        owner: str,
        user_id: int | None = None,
        overlap: Overlap = Overlap.SKIP,
        missed: Missed = Missed.RUN_ONCE,
        priority: int = 0,
        emails: Sequence[str] = (),
        webhooks: Sequence[str] = (),
        paused: bool = False,
        now: datetime | None = None,
    ) -> Schedule:
        """A new schedule, first due after now. The caller has validated the plans."""
        check(name, cron, zone, plans, emails, webhooks)
        values: dict[str, Any] = {
            "name": name,
            "user_id": user_id,
            "owner": owner,
            "cron": cron,
            "zone": zone,
            "paused": paused,
            "overlap": overlap,
            "missed": missed,
            "priority": priority,
            "plans": [{"text": text} for text in plans],
            "digest": {"emails": list(emails), "webhooks": list(webhooks)},
        }
        with self._transactions.step(f"the schedule {name} could not be created") as connection:
            _free(connection, name)
            values["next_at"] = crons.next_moment(cron, zone, now or clock(connection))
            try:
                row = connection.execute(insert(_schedules).values(**values).returning(_schedules)).one()
            except IntegrityError as error:
                raise _taken(name) from error
            notify(connection, WORK, "schedule")
        return schedule_of(row)

    def update(self, schedule: int, *, now: datetime | None = None, **changes: Any) -> Schedule:
        """Change what is given, by the names that create() has. A changed time is next due after now. Raises NotFound."""
        unknown = changes.keys() - {"name", "cron", "zone", "plans", "overlap", "missed", "priority", "emails", "webhooks", "paused"}
        if unknown:
            raise TypeError(f"a schedule has no {', '.join(sorted(unknown))}")
        with self._transactions.step(f"schedule {schedule} could not be changed") as connection:
            was = schedule_of(_locked(connection, schedule))
            merged = {key: changes.get(key, getattr(was, key)) for key in ("name", "cron", "zone", "plans", "emails", "webhooks")}
            check(**merged)
            _free(connection, merged["name"], but=schedule)
            values: dict[str, Any] = {
                key: changes[key] for key in ("name", "cron", "zone", "overlap", "missed", "priority", "paused") if key in changes
            }
            if "plans" in changes:
                values["plans"] = [{"text": text} for text in changes["plans"]]
            values["digest"] = {"emails": list(merged["emails"]), "webhooks": list(merged["webhooks"])}
            paused = changes.get("paused", was.paused)
            if (merged["cron"], merged["zone"]) != (was.cron, was.zone) or (was.paused and not paused):
                # What was due under the old time, or while it was paused, is not missed.
                values["next_at"] = crons.next_moment(merged["cron"], merged["zone"], now or clock(connection))
            changing = update(_schedules).where(_schedules.id == schedule).values(**values, updated=func.clock_timestamp())
            row = connection.execute(changing.returning(_schedules)).one()
            notify(connection, WORK, "schedule")
        return schedule_of(row)

    def pause(self, schedule: int, paused: bool, now: datetime | None = None) -> Schedule:
        """Stop it from firing, or let it fire again; moments that passed meanwhile are not missed. Raises NotFound."""
        return self.update(schedule, paused=paused, now=now)

    def delete(self, schedule: int) -> None:
        """Forget it; its runs, campaigns and digests stay. Raises NotFound."""
        with self._transactions.step(f"schedule {schedule} could not be deleted") as connection:
            _locked(connection, schedule)
            connection.execute(delete(_schedules).where(_schedules.id == schedule))
            notify(connection, WORK, "schedule")

    def get(self, schedule: int) -> Schedule:
        """A schedule. Raises NotFound."""
        with self._transactions.step(f"schedule {schedule} could not be read") as connection:
            row = connection.execute(select(_schedules).where(_schedules.id == schedule)).one_or_none()
        if row is None:
            raise NotFound(f"there is no schedule {schedule}")
        return schedule_of(row)

    def list(self) -> "list[Schedule]":
        """All schedules by name."""
        with self._transactions.step("the schedules could not be read") as connection:
            return [schedule_of(row) for row in connection.execute(select(_schedules).order_by(func.lower(_schedules.name)))]

    def run_now(self, schedule: int, by: str = "", now: datetime | None = None) -> int:
        """Ask for a run of its own, beside the times that are due; its id. A worker submits its campaigns at once.

        Raises NotFound, and Conflict where the last run has not ended and the schedule is not to queue.
        """
        with self._transactions.step(f"schedule {schedule} could not be run") as connection:
            found = schedule_of(_locked(connection, schedule))
            unfinished = unfinished_run(connection, schedule)
            if unfinished is not None and found.overlap is Overlap.SKIP:
                raise Conflict(f"run {unfinished} of the schedule {found.name} has not ended: cancel its campaigns, or let runs queue")
            run: int = connection.scalars(
                insert(_runs)
                .values(
                    schedule_id=schedule,
                    name=found.name,
                    due=now or clock(connection),
                    why=f"asked for by {by}" if by else "asked for",
                    state=SuiteRunState.WANTED,
                )
                .returning(_runs.id)
            ).one()
            notify(connection, WORK, "schedule")
        return run

    def run(self, run: int) -> SuiteRun:
        """One run. Raises NotFound."""
        with self._transactions.reading(f"the suite run {run} could not be read") as connection:
            found = _with_campaigns(connection, connection.execute(select(_runs).where(_runs.id == run)).all())
        if not found:
            raise NotFound(f"there is no suite run {run}")
        return found[0]

    def runs(self, schedule: int | None = None, before: int | None = None, limit: int = 50) -> "builtins.list[SuiteRun]":
        """The newest runs, of one schedule or of all, the newest first; `before` an id for the next page."""
        wanted = select(_runs).order_by(_runs.id.desc()).limit(limit)
        if schedule is not None:
            wanted = wanted.where(_runs.schedule_id == schedule)
        if before is not None:
            wanted = wanted.where(_runs.id < before)
        with self._transactions.reading("the suite runs could not be read") as connection:
            return _with_campaigns(connection, connection.execute(wanted).all())


def clock(connection: Connection) -> datetime:
    """The time by the database, which all workers share."""
    now: datetime = connection.scalars(select(func.clock_timestamp())).one()
    return now


def unfinished_run(connection: Connection, schedule: int) -> int | None:
    """The oldest run of a schedule with campaigns that run or wait, or that still waits for them; None where all have ended."""
    campaign = schema.Campaign
    open_campaign = select(campaign.id).where(campaign.suite_run_id == _runs.id, campaign.state.not_in(ENDED)).exists()
    found: int | None = connection.scalar(
        select(_runs.id)
        .where(_runs.schedule_id == schedule, (_runs.state == SuiteRunState.WANTED) | open_campaign)
        .order_by(_runs.id)
        .limit(1)
    )
    return found


def _locked(connection: Connection, schedule: int) -> Row[Any]:
    row = connection.execute(select(_schedules).where(_schedules.id == schedule).with_for_update()).one_or_none()
    if row is None:
        raise NotFound(f"there is no schedule {schedule}")
    return row


def _free(connection: Connection, name: str, but: int | None = None) -> None:
    found = connection.scalar(select(_schedules.id).where(func.lower(_schedules.name) == func.lower(name)))
    if found is not None and found != but:
        raise _taken(name)


def _taken(name: str) -> Conflict:
    return Conflict(f"there is a schedule {name} already: choose another name")


def schedule_of(row: Row[Any]) -> Schedule:
    """A row as a value."""
    names = ("id", "name", "user_id", "owner", "cron", "zone", "paused", "priority", "created", "updated", "next_at")
    return Schedule(
        **{name: getattr(row, name) for name in names},
        overlap=Overlap(row.overlap),
        missed=Missed(row.missed),
        plans=tuple(plan["text"] for plan in row.plans),
        emails=tuple(row.digest.get("emails", ())),
        webhooks=tuple(row.digest.get("webhooks", ())),
    )


def _with_campaigns(connection: Connection, rows: Sequence[Row[Any]]) -> list[SuiteRun]:
    campaign = schema.Campaign
    of_runs = select(campaign.suite_run_id, campaign.id).where(campaign.suite_run_id.in_([row.id for row in rows])).order_by(campaign.id)
    campaigns: dict[int | None, list[int]] = {}
    for run, number in connection.execute(of_runs):
        campaigns.setdefault(run, []).append(number)
    return [suite_run(row, campaigns.get(row.id, ())) for row in rows]


def suite_run(row: Row[Any], campaigns: Sequence[int]) -> SuiteRun:
    """A row as a value."""
    names = ("id", "schedule_id", "name", "due", "since", "why", "created", "ended", "digest")
    return SuiteRun(
        **{name: getattr(row, name) for name in names},
        state=SuiteRunState(row.state),
        refused=tuple(row.refused),
        campaigns=tuple(campaigns),
    )
