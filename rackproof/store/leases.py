"""Who has which device or generator, and who gets it next? What changes hands does so here, in one transaction under one lock."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, text, update

from rackproof.errors import Conflict, LeaseLost, NotFound
from rackproof.model.campaign import CampaignState
from rackproof.model.event import EventKind
from rackproof.store import devices, life, moves
from rackproof.store.line import Booking, Waiting, decide
from rackproof.store.lineup import load
from rackproof.store.schema import Campaign
from rackproof.store.schema_service import Lease as LeaseRow
from rackproof.store.schema_service import Reservation, Testbed, Worker
from rackproof.store.transactions import Transactions

#: How long until a dispatcher looks again by itself, at most.
LOOK_AGAIN_S = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A campaign that is this process's own until its fence grows.

    run: how often it was put into the queue; why: what made it go on after an interruption, "" where it begins; cancel: why it must end, ""
    where it need not.
    """

    campaign: int
    fence: int
    run: int
    testbed: str
    incarnation: str
    why: str = ""
    cancel: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dispatch:
    """What a worker got: something to run, or nothing; again_s: when it is worth looking again though nobody says so [s]."""

    lease: Lease | None
    again_s: float


class Leases:
    """Taking and giving back. Raises StoreError where the database fails."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def dispatch(self, incarnation: str, testbeds: Sequence[str]) -> Dispatch:
        """Start what is next on these testbeds, if anything may start: all that it needs or nothing. Grants reservations on the way."""
        with self._transactions.step("the queue could not be looked at") as connection:
            lock(connection)
            tidy(connection)
            line = load(connection)
            again = [(booking.starts - line.now).total_seconds() for booking in line.bookings if booking.starts > line.now]
            again += [(holding.ends - line.now).total_seconds() for holding in line.holdings if holding.reservation is not None]
            lease = None
            for decision in decide(line):
                who = decision.who
                if decision.waits_for:
                    continue
                if isinstance(who, Booking):
                    grant(connection, who.reservation, who.testbed, line.beds[who.testbed].resources)
                elif lease is None and who.testbed in testbeds:
                    lease = _start(connection, who, incarnation, sorted(line.beds[who.testbed].resources))
            return Dispatch(lease=lease, again_s=min([LOOK_AGAIN_S, *(max(0.05, seconds) for seconds in again)]))

    def adopt(self, incarnation: str, testbeds: Sequence[str], here: Collection[int]) -> list[Lease]:
        """Take over every campaign on these testbeds whose worker is gone, or is this one and has let go of it; here: what it is at."""
        with self._transactions.step("interrupted campaigns could not be adopted") as connection:
            running = connection.execute(
                select(Campaign.id, Campaign.incarnation).where(
                    moves.IS_RUNNING, Campaign.queued.is_not(None), Campaign.testbed.in_(testbeds)
                )
            ).all()
            if all(row.incarnation == incarnation and row.id in here for row in running):
                return []
            lock(connection)
            alive = life.living(connection)
            found = sorted(
                row.id for row in running if row.incarnation not in alive or (row.incarnation == incarnation and row.id not in here)
            )
            alive -= {incarnation}
            return [lease for campaign in found if (lease := _adopt(connection, campaign, incarnation, alive)) is not None]

    def take(self, campaign: int, *, incarnation: str, resources: Sequence[str]) -> Lease:
        """Run a campaign in this process, beside the queue. Raises Conflict that says who has the testbed or the campaign, NotFound."""
        what = f"campaign {campaign} could not be started"
        with self._transactions.step(what) as connection:
            lock(connection)
            tidy(connection)
            row = moves.locked(connection, campaign)
            if row.state == CampaignState.DONE:
                raise Conflict(f"{what}: it is done and cannot be changed")
            if row.state == CampaignState.RUNNING and row.incarnation in life.living(connection):
                raise Conflict(f"{what}: campaign {campaign} is being run by worker {row.worker}")
            if row.state == CampaignState.PENDING and row.queued is not None:
                raise Conflict(f"{what}: it waits in the queue; cancel it there first")
            connection.execute(delete(LeaseRow).where(LeaseRow.campaign_id == campaign))
            if taken := _in_use(connection, resources):
                raise Conflict(f"{what}: testbed {row.testbed} is in use by {taken}")
            if why := devices.in_the_way(connection, row.testbed, resources):
                raise Conflict(f"{what}: it would need {why}")
            return _hold(connection, row, incarnation, resources, queued=None)

    def free(self, testbed: str, resources: Sequence[str]) -> None:
        """Raise Conflict that says who has any of these now, or which of them is offline."""
        with self._transactions.step("the leases could not be read") as connection:
            lock(connection)
            tidy(connection)
            if taken := _in_use(connection, resources):
                raise Conflict(f"testbed {testbed} is in use by {taken}")
            if why := devices.in_the_way(connection, testbed, resources):
                raise Conflict(f"nothing may start on testbed {testbed}: it has {why}")

    def release(self, lease: Lease) -> None:
        """Give everything back; a campaign that has not ended is INTERRUPTED then. Does nothing where the lease was lost."""
        with self._transactions.step(f"the lease of campaign {lease.campaign} could not be given back") as connection:
            lock(connection)
            row = moves.locked(connection, lease.campaign)
            if row.fence != lease.fence:
                return
            if row.state == CampaignState.RUNNING:
                connection.execute(update(Campaign).where(Campaign.id == lease.campaign).values(state=CampaignState.INTERRUPTED))
            moves.free(connection, lease.campaign)

    def check(self, lease: Lease) -> None:
        """Raise LeaseLost where somebody else has the campaign now."""
        with self._transactions.step(f"the lease of campaign {lease.campaign} could not be checked") as connection:
            row = connection.execute(
                select(Campaign.fence, Campaign.state, Campaign.worker).where(Campaign.id == lease.campaign)
            ).one_or_none()
            if row is None or row.fence != lease.fence or row.state != CampaignState.RUNNING:
                raise LeaseLost(f"campaign {lease.campaign} is not this process's own any more (fence {lease.fence})")


def lock(connection: Connection) -> None:
    """Nothing else changes hands until the transaction ends."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": 0x5250_4C00_0000_0000})


def tidy(connection: Connection) -> None:
    """Give back what nobody has any more: reservations that have ended, and what the command line was killed with."""
    over = select(Reservation.id).where((Reservation.released.is_not(None)) | (Reservation.ends <= func.clock_timestamp()))
    connection.execute(delete(LeaseRow).where(LeaseRow.reservation_id.in_(over)))
    beside = connection.execute(select(Campaign.id, Campaign.incarnation).where(moves.IS_RUNNING, Campaign.queued.is_(None))).all()
    if beside:
        alive = life.living(connection)
        for row in beside:
            if row.incarnation not in alive:
                # Unless it ended properly, in this very moment.
                left = update(Campaign).where(Campaign.id == row.id, moves.IS_RUNNING, Campaign.incarnation == row.incarnation)
                connection.execute(left.values(state=CampaignState.INTERRUPTED))
                connection.execute(delete(LeaseRow).where(LeaseRow.campaign_id == row.id))


def grant(connection: Connection, reservation: int, testbed: str, resources: Sequence[str] | frozenset[str]) -> None:
    """Let a reservation have its testbed."""
    rows = [{"resource": resource, "testbed": testbed, "reservation_id": reservation} for resource in sorted(resources)]
    connection.execute(insert(LeaseRow), rows)
    connection.execute(update(Reservation).where(Reservation.id == reservation).values(granted=func.clock_timestamp()))


def _start(connection: Connection, who: Waiting, incarnation: str, resources: Sequence[str]) -> Lease | None:
    """The lease; None where it was cancelled in this very moment."""
    row = moves.locked(connection, who.campaign)
    if row.state != CampaignState.PENDING:
        return None
    why = "" if row.started is None else "it was put into the queue again"
    return _hold(connection, row, incarnation, resources, queued=row.queued, why=why)


def _hold(
    connection: Connection, row: Row[Any], incarnation: str, resources: Sequence[str], *, queued: datetime | None, why: str = ""
) -> Lease:
    name = connection.scalar(select(Worker.name).where(Worker.incarnation == incarnation))
    if name is None:
        raise LeaseLost("this worker is not registered any more")
    fence = row.fence + 1
    connection.execute(
        update(Campaign)
        .where(Campaign.id == row.id)
        .values(
            state=CampaignState.RUNNING,
            started=func.coalesce(Campaign.started, func.clock_timestamp()),
            fence=fence,
            worker=name,
            incarnation=incarnation,
            queued=queued,
        )
    )
    rows = [{"resource": one, "testbed": row.testbed, "campaign_id": row.id, "fence": fence} for one in resources]
    connection.execute(insert(LeaseRow), rows)
    return Lease(campaign=row.id, fence=fence, run=row.run, testbed=row.testbed, incarnation=incarnation, why=why, cancel=row.cancel or "")


def _adopt(connection: Connection, campaign: int, incarnation: str, alive: frozenset[str]) -> Lease | None:
    """The campaign as this worker's own; None where it ended meanwhile, somebody has it, or somebody else has the devices."""
    row = moves.locked(connection, campaign)
    if row.state != CampaignState.RUNNING or row.queued is None or row.incarnation in alive:
        return None
    resources = connection.scalar(select(Testbed.resources).where(Testbed.name == row.testbed))
    if resources is None:
        return None
    connection.execute(delete(LeaseRow).where(LeaseRow.campaign_id == campaign))
    if _in_use(connection, resources):
        return None
    why = _what_happened(connection, row)
    lease = _hold(connection, row, incarnation, resources, queued=row.queued, why=why)
    moves.tell(connection, campaign, EventKind.ADOPTED, why, fence=lease.fence)
    return lease


def _what_happened(connection: Connection, row: Row[Any]) -> str:
    """Why the worker of a campaign does not run it any more."""
    was: Any = connection.execute(
        select(*Worker.__table__.columns, func.clock_timestamp().label("now")).where(Worker.name == row.worker)
    ).one_or_none()
    if was is None:
        return f"worker {row.worker} is gone"
    if was.incarnation != row.incarnation:
        return f"worker {row.worker} was started again"
    if was.expires > was.now and not life.gone(was.host, was.pid, was.pid_started):
        return f"worker {row.worker} could not go on with it"
    if was.stopped:
        return f"worker {row.worker} was stopped"
    if life.gone(was.host, was.pid, was.pid_started):
        return f"the process of worker {row.worker} has ended"
    return f"worker {row.worker} was not heard of since {was.seen:%Y-%m-%d %H:%M:%S %Z}"


def _in_use(connection: Connection, resources: Sequence[str]) -> str:
    """Who has any of these resources, in words; "" where they are free."""
    found = connection.execute(
        select(Campaign.id, Campaign.name, Campaign.worker, Reservation.owner, Reservation.ends)
        .select_from(LeaseRow)
        .outerjoin(Campaign, Campaign.id == LeaseRow.campaign_id)
        .outerjoin(Reservation, Reservation.id == LeaseRow.reservation_id)
        .where(LeaseRow.resource.in_(resources))
        .limit(1)
    ).one_or_none()
    if found is None:
        return ""
    if found.id is not None:
        return f"campaign {found.id} ({found.name}) on worker {found.worker}"
    return f"the reservation of {found.owner} until {found.ends:%Y-%m-%d %H:%M %Z}"


def resources_of(connection: Connection, testbed: str) -> list[str]:
    """What a testbed is made of. Raises NotFound."""
    found: list[str] | None = connection.scalar(select(Testbed.resources).where(Testbed.name == testbed))
    if found is None:
        names = ", ".join(connection.scalars(select(Testbed.name).order_by(Testbed.name)))
        raise NotFound(f"there is no testbed {testbed!r}; there are: {names or 'none yet: start a worker'}")
    return found
