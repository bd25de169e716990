"""Inventories of testbeds, and devices that nothing may start on, on the wire."""

from datetime import datetime

from pydantic import Field

from api.problems import Fault
from api.schemas.base import Given, Plain
from rackproof.store.inventories import InventoryRecord
from testplans.needs import fits


class Fit(Given):
    """What a testbed is to a kind of plan."""

    kind: str = Field(examples=["switch-qos"])
    title: str = Field(examples=["Switch QoS"])
    devices: list[str] = Field(description="Devices that it can test.")
    missing: list[str] = Field(description="Why the testbed cannot run plans of the kind; empty: it can.")


class InventorySummary(Given):
    """An inventory in a list."""

    name: str = Field(examples=["lab1"])
    revision: int = Field(description="Grows with every change.")
    changed: datetime
    changed_by: str
    checked: datetime | None = Field(description="When `rackproof testbed check` last went to the hardware; null since the last change.")


class Inventory(InventorySummary):
    """What a testbed is made of. Secrets are references, never the secret itself."""

    text: str = Field(description="YAML, as it was written.")
    data: dict[str, Plain] = Field(description="The same as data.")
    kinds: list[Fit]
    check: dict[str, Plain] | None = Field(description="What the last check found.")

    @classmethod
    def of(cls, record: InventoryRecord) -> "Inventory":
        """As it is kept, with what follows from it."""
        return cls(
            name=record.name,
            revision=record.revision,
            changed=record.changed,
            changed_by=record.changed_by,
            checked=record.checked,
            text=record.text,
            data=record.inventory.as_text_data(),
            kinds=[Fit.model_validate(fit) for fit in fits(record.inventory)],
            check=None if record.check is None else dict(record.check),
        )


class Inventories(Given):
    """All inventories."""

    items: list[InventorySummary]


class InventoryRead(Given):
    """What was found when an inventory was read; nothing was touched."""

    valid: bool
    problems: list[Fault]
    name: str | None = Field(default=None, description="There where the inventory is valid, as all that follows.")
    kinds: list[Fit] | None = None


class OfflineDevice(Given):
    """A device that nothing starts on until somebody clears it."""

    testbed: str = Field(description="The testbed that took it offline, and at which it is cleared.")
    device: str
    reason: str
    campaign: int | None = Field(description="The campaign after which it was taken offline.")
    since: datetime


class OfflineDevices(Given):
    """Devices that are offline."""

    items: list[OfflineDevice]
