"""Which digests are on their way to whom?

Whoever sends one claims it first, for longer than sending can take; the claim of a process that died ends by itself and the digest is sent
again. It can so arrive twice, never not at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, func, select, update
from sqlalchemy.dialects.postgresql import insert

from rackproof.errors import Conflict, NotFound
from rackproof.model.service import DeliveryState
from rackproof.store import schema_service as tables
from rackproof.store.transactions import WORK, Transactions, notify

EMAIL = "email"
WEBHOOK = "webhook"
_table = tables.Delivery


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """A digest on its way to one recipient. target: an address, or a webhook's URL, which is a secret; log: the attempts that failed."""

    id: int
    suite_run: int
    channel: str
    target: str = field(repr=False)
    state: DeliveryState
    attempts: int
    error: str
    log: tuple[Mapping[str, Any], ...]
    next_at: datetime | None
    sent: datetime | None


class Deliveries:
    """Digests on their way."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def add(self, run: int, channel: str, target: str) -> None:
        """Send a run's digest to somebody; who is on the list twice gets it once."""
        with self._transactions.step(f"the digest of run {run} could not be sent on its way") as connection:
            adding = insert(_table).values(suite_run_id=run, channel=channel, target=target, state=DeliveryState.PENDING)
            connection.execute(adding.on_conflict_do_nothing())
            notify(connection, WORK, "delivery")

    def of(self, run: int) -> list[Delivery]:
        """All deliveries of a run's digest."""
        with self._transactions.step(f"the deliveries of run {run} could not be read") as connection:
            rows = connection.execute(select(_table).where(_table.suite_run_id == run).order_by(_table.id))
            return [_delivery(row) for row in rows]

    def get(self, delivery: int) -> Delivery:
        """One delivery. Raises NotFound."""
        with self._transactions.step(f"delivery {delivery} could not be read") as connection:
            return _delivery(_locked(connection, delivery))

    def again(self, delivery: int) -> None:
        """Try anew to deliver what could not be delivered. Raises NotFound, and Conflict where it was sent or is on its way."""
        with self._transactions.step(f"delivery {delivery} could not be tried again") as connection:
            row = _locked(connection, delivery)
            if row.state != DeliveryState.FAILED:
                raise Conflict(f"delivery {delivery}: expected FAILED, found {row.state}")
            anew = {"state": DeliveryState.PENDING, "attempts": 0, "next_at": func.clock_timestamp()}
            connection.execute(update(_table).where(_table.id == delivery).values(**anew))
            notify(connection, WORK, "delivery")

    def claim(self, claim_s: float) -> Delivery | None:
        """The delivery that has been due the longest, for so long nobody else's [s]; None where nothing is due. It counts as an attempt."""
        first = (
            select(_table.id)
            .where(_table.state == DeliveryState.PENDING, _table.next_at <= func.clock_timestamp())
            .order_by(_table.next_at, _table.id)
            .limit(1)
            .with_for_update(skip_locked=True)
            .scalar_subquery()
        )
        claimed = {"attempts": _table.attempts + 1, "next_at": func.clock_timestamp() + timedelta(seconds=claim_s)}
        with self._transactions.step("no delivery could be claimed") as connection:
            row = connection.execute(update(_table).where(_table.id == first).values(**claimed).returning(_table)).one_or_none()
        return None if row is None else _delivery(row)

    def sent(self, delivery: int) -> None:
        """It has arrived."""
        with self._transactions.step(f"the end of delivery {delivery} could not be stored") as connection:
            values = {"state": DeliveryState.SENT, "error": "", "next_at": None, "sent": func.clock_timestamp()}
            connection.execute(update(_table).where(_table.id == delivery).values(**values))

    def failed(self, delivery: int, error: str, again_s: float | None) -> None:
        """An attempt failed; the next is due in so many seconds, or there is none."""
        with self._transactions.step(f"an attempt of delivery {delivery} could not be stored") as connection:
            now: datetime = connection.scalars(select(func.clock_timestamp())).one()
            row = _locked(connection, delivery)
            values: dict[str, Any] = {"error": error, "log": [*row.log, {"at": now.isoformat(), "error": error}]}
            if again_s is None:
                values |= {"state": DeliveryState.FAILED, "next_at": None}
            else:
                values["next_at"] = now + timedelta(seconds=again_s)
            connection.execute(update(_table).where(_table.id == delivery).values(**values))

    def wait_s(self) -> float | None:
        """How long until the next attempt is due, 0 where one is; None where none will be [s]."""
        pending = select(func.min(_table.next_at)).where(_table.state == DeliveryState.PENDING)
        with self._transactions.step("the deliveries could not be read") as connection:
            due: datetime | None = connection.scalar(pending)
            if due is None:
                return None
            now: datetime = connection.scalars(select(func.clock_timestamp())).one()
        return max((due - now).total_seconds(), 0.0)


def _locked(connection: Connection, delivery: int) -> Row[Any]:
    row = connection.execute(select(_table).where(_table.id == delivery).with_for_update()).one_or_none()
    if row is None:
        raise NotFound(f"there is no delivery {delivery}")
    return row


def _delivery(row: Row[Any]) -> Delivery:
    names = ("id", "channel", "target", "attempts", "error", "next_at", "sent")
    return Delivery(
        **{name: getattr(row, name) for name in names},
        suite_run=row.suite_run_id,
        state=DeliveryState(row.state),
        log=tuple(row.log),
    )
