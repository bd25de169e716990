"""Who keeps which testbed, from when until when?"""

import builtins
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, insert, select, update

from rackproof.errors import Conflict, NotFound
from rackproof.store import leases
from rackproof.store.line import Booking, decide
from rackproof.store.lineup import load
from rackproof.store.schema_service import Reservation as ReservationRow
from rackproof.store.schema_service import Testbed
from rackproof.store.transactions import WORK, Transactions, notify


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """A testbed that a person keeps. granted: since when it holds the testbed, None before that."""

    id: int
    testbed: str
    user_id: int | None
    owner: str
    reason: str
    created: datetime
    starts: datetime
    ends: datetime
    granted: datetime | None
    released: datetime | None


class Reservations:
    """Who keeps which testbed, from when until when?"""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def reserve(
        self, *, testbed: str, user_id: int | None, owner: str, reason: str = "", starts: datetime | None = None, ends: datetime
    ) -> int:
        """Keep a testbed; starts None: as soon as what runs on it has ended. Its id. Raises NotFound, Conflict where it overlaps."""
        table = ReservationRow
        with self._transactions.step(f"testbed {testbed} could not be reserved") as connection:
            leases.lock(connection)
            leases.tidy(connection)
            resources = leases.resources_of(connection, testbed)
            now: datetime = connection.scalars(select(func.clock_timestamp())).one()
            begins = max(now, starts or now)
            if ends <= begins:
                raise Conflict(
                    f"the reservation of {testbed} would end before it begins: expected after {begins:%Y-%m-%d %H:%M %Z}, found {ends}"
                )
            other = connection.execute(
                select(table.owner, table.starts, table.ends, table.testbed)
                .join(Testbed, Testbed.name == table.testbed)
                .where(table.released.is_(None), table.starts < ends, table.ends > begins, Testbed.resources.overlap(resources))
                .limit(1)
            ).one_or_none()
            if other is not None:
                span = f"{other.starts:%Y-%m-%d %H:%M %Z} to {other.ends:%Y-%m-%d %H:%M %Z}"
                raise Conflict(f"{other.owner} has reserved {other.testbed} from {span}")
            values = {"testbed": testbed, "user_id": user_id, "owner": owner, "reason": reason, "starts": begins, "ends": ends}
            reservation = connection.scalars(insert(table).values(**values).returning(table.id)).one()
            line = load(connection)
            for decision in decide(line):
                who = decision.who
                if isinstance(who, Booking) and who.reservation == reservation and not decision.waits_for:
                    leases.grant(connection, reservation, testbed, resources)
            notify(connection, WORK, "queue")
        return reservation

    def release(self, reservation: int) -> None:
        """Give the testbed back before its end. Raises NotFound, Conflict where it has ended already."""
        table = ReservationRow
        with self._transactions.step(f"reservation {reservation} could not be released") as connection:
            leases.lock(connection)
            now = func.clock_timestamp()
            done = connection.scalar(
                update(table)
                .where(table.id == reservation, table.released.is_(None), table.ends > now)
                .values(released=now)
                .returning(table.id)
            )
            if done is None:
                if connection.scalar(select(table.id).where(table.id == reservation)) is None:
                    raise NotFound(f"there is no reservation {reservation}")
                raise Conflict(f"reservation {reservation} has ended already")
            leases.tidy(connection)
            notify(connection, WORK, "queue")

    def get(self, reservation: int) -> Reservation:
        """One reservation. Raises NotFound."""
        table = ReservationRow
        with self._transactions.step(f"reservation {reservation} could not be read") as connection:
            row = connection.execute(select(*table.__table__.columns).where(table.id == reservation)).one_or_none()
        if row is None:
            raise NotFound(f"there is no reservation {reservation}")
        return _reservation(row)

    def list(self, testbed: str | None = None, past: bool = False) -> builtins.list[Reservation]:
        """Reservations that have not ended, the next first; past: those that have, the latest first."""
        table = ReservationRow
        over = (table.released.is_not(None)) | (table.ends <= func.clock_timestamp())
        wanted = select(*table.__table__.columns).where(over if past else ~over)
        wanted = wanted.order_by(table.ends.desc(), table.id.desc()) if past else wanted.order_by(table.starts, table.id)
        if testbed is not None:
            wanted = wanted.where(table.testbed == testbed)
        with self._transactions.step("the reservations could not be read") as connection:
            return [_reservation(row) for row in connection.execute(wanted.limit(1000))]


def _reservation(row: Row[Any]) -> Reservation:
    return Reservation(**row._mapping)
