"""What are testbeds of real parts made of? Each inventory as somebody wrote it, its changes counted, and what its last check found."""

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from rackproof.errors import Conflict, NotFound
from rackproof.model.inventory import Inventory
from rackproof.model.service import TestbedState
from rackproof.store import leases
from rackproof.store.schema_service import Inventory as InventoryRow
from rackproof.store.schema_service import Lease, Reservation, Testbed
from rackproof.store.transactions import WORK, Transactions, notify

#: The driver of every testbed that has an inventory.
DRIVER = "lab"

_columns = InventoryRow.__table__.columns


@dataclass(frozen=True, kw_only=True, slots=True)
class InventoryRecord:
    """An inventory as it is kept. text: as it was written; check: what the latest check of this revision found, None before the first."""

    name: str
    inventory: Inventory
    text: str
    revision: int
    changed: datetime
    changed_by: str
    check: Mapping[str, Any] | None
    checked: datetime | None


class Inventories:
    """Inventories by the name of their testbed."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def get(self, name: str) -> InventoryRecord:
        """The inventory of a testbed. Raises NotFound with the names that there are."""
        with self._transactions.step(f"the inventory {name} could not be read") as connection:
            row = connection.execute(select(*_columns).where(InventoryRow.name == name)).one_or_none()
            if row is None:
                raise _not_found(name, connection.scalars(select(InventoryRow.name).order_by(InventoryRow.name)).all())
            return _record(row)

    def find(self, name: str) -> InventoryRecord | None:
        """The inventory of a testbed; None where it has none."""
        with self._transactions.step(f"the inventory {name} could not be read") as connection:
            row = connection.execute(select(*_columns).where(InventoryRow.name == name)).one_or_none()
            return None if row is None else _record(row)

    def list(self) -> builtins.list[InventoryRecord]:
        """All inventories by name."""
        with self._transactions.step("the inventories could not be read") as connection:
            return [_record(row) for row in connection.execute(select(*_columns).order_by(InventoryRow.name))]

    def put(self, inventory: Inventory, text: str, *, by: str, revision: int | None = None) -> InventoryRecord:
        """Keep an inventory, in place of an earlier one of its name; the testbed is there from now on, whether or not a worker serves it.

        revision: the one that was changed; None: whichever there is. Raises Conflict where there is another one by now (0: where there is
        any), or where a campaign uses the testbed or another driver serves it. The same text again changes nothing.
        """
        name = inventory.name
        with self._transactions.step(f"the inventory {name} could not be stored") as connection:
            leases.lock(connection)
            before = connection.execute(select(*_columns).where(InventoryRow.name == name)).one_or_none()
            known = 0 if before is None else before.revision
            if revision is not None and revision != known:
                found = f"revision {known} by {before.changed_by}" if before is not None else "none"
                raise Conflict(f"the inventory {name} was changed meanwhile: expected revision {revision}, found {found}")
            if before is not None and before.text == text:
                return _record(before)
            driver = connection.scalar(select(Testbed.driver).where(Testbed.name == name))
            if driver not in {None, DRIVER}:
                raise Conflict(f"testbed {name} is served by the driver {driver}: give the inventory another name")
            leases.tidy(connection)
            # Whoever keeps it may well be changing its cables.
            running = select(Lease.campaign_id).where(Lease.testbed == name, Lease.campaign_id.is_not(None)).limit(1)
            if (campaign := connection.scalar(running)) is not None:
                raise Conflict(f"the inventory {name} cannot be changed while campaign {campaign} uses it")
            values = {
                "text": text,
                "data": inventory.as_text_data(),
                "revision": known + 1,
                "changed": func.clock_timestamp(),
                "changed_by": by,
                "last_check": None,
                "checked": None,
            }
            row = connection.execute(
                insert(InventoryRow)
                .values(name=name, **values)
                .on_conflict_do_update(index_elements=[InventoryRow.name], set_=values)
                .returning(*_columns)
            ).one()
            bed = {"driver": DRIVER, "description": inventory.description, "resources": builtins.list(inventory.resources)}
            connection.execute(
                insert(Testbed)
                .values(name=name, state=TestbedState.ONLINE, **bed)
                .on_conflict_do_update(index_elements=[Testbed.name], set_={**bed, "limits": None, "facts": {}})
            )
            notify(connection, WORK, "queue")
            return _record(row)

    def checked(self, name: str, result: Mapping[str, Any]) -> None:
        """Write down what a check found, in place of the last. result["revision"]: the one that was checked.

        Raises NotFound, Conflict where the inventory was changed meanwhile.
        """
        with self._transactions.step(f"the check of testbed {name} could not be stored") as connection:
            found = connection.execute(select(_columns.revision).where(InventoryRow.name == name).with_for_update()).one_or_none()
            if found is None:
                raise _not_found(name, connection.scalars(select(InventoryRow.name).order_by(InventoryRow.name)).all())
            if found.revision != result["revision"]:
                raise Conflict(f"the inventory {name} was changed while it was checked: check it again")
            values = {"last_check": dict(result), "checked": func.clock_timestamp()}
            connection.execute(update(InventoryRow).where(InventoryRow.name == name).values(**values))

    def delete(self, name: str) -> None:
        """Forget an inventory and its testbed, with its reservations; campaigns stay. Raises NotFound, Conflict where it is in use."""
        with self._transactions.step(f"the inventory {name} could not be deleted") as connection:
            leases.lock(connection)
            leases.tidy(connection)
            if held := connection.scalars(select(Lease.resource).where(Lease.testbed == name).order_by(Lease.resource)).all():
                raise Conflict(f"the inventory {name} cannot be deleted while {', '.join(held)} is in use")
            if connection.scalar(delete(InventoryRow).where(InventoryRow.name == name).returning(_columns.name)) is None:
                raise _not_found(name, connection.scalars(select(InventoryRow.name).order_by(InventoryRow.name)).all())
            connection.execute(delete(Reservation).where(Reservation.testbed == name))
            connection.execute(delete(Testbed).where(Testbed.name == name))
            notify(connection, WORK, "queue")


def _not_found(name: str, names: Sequence[str]) -> NotFound:
    return NotFound(f"there is no inventory {name!r}; there are: {', '.join(names) or 'none yet: rackproof testbed import FILE'}")


def _record(row: Row[Any]) -> InventoryRecord:
    return InventoryRecord(
        name=row.name,
        inventory=Inventory.model_validate(row.data),
        text=row.text,
        revision=row.revision,
        changed=row.changed,
        changed_by=row.changed_by,
        check=row.last_check,
        checked=row.checked,
    )
