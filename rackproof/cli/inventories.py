"""Where are the inventories that the commands speak of: in the database of this machine's settings, or at a service?"""

import builtins
import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rackproof.client import Client
from rackproof.client.values import Fit, Inventory, InventorySummary, OfflineDevice
from rackproof.model.inventory import Inventory as Parts
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.inventories import InventoryRecord
from testplans.needs import fits


class Inventories(Protocol):
    """What a Client's inventories offer, too."""

    def list(self) -> builtins.list[InventorySummary]: ...

    def get(self, name: str) -> Inventory: ...

    def put(self, name: str, text: str, *, source: str) -> Inventory: ...

    def offline_devices(self, testbed: str) -> builtins.list[OfflineDevice]: ...

    def clear_device(self, testbed: str, device: str) -> None: ...


class Here:
    """Those of this machine's database. What is changed stands in the audit trail."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(self) -> builtins.list[InventorySummary]:
        return [InventorySummary.model_validate(_shown(record)) for record in self._store.inventories.list()]

    def get(self, name: str) -> Inventory:
        return _inventory(self._store.inventories.get(name))

    def put(self, name: str, text: str, *, source: str) -> Inventory:
        from rackproof.inventory import parse_inventory

        _, parts = parse_inventory(text.encode(), source)
        with self._store.transactions.together(f"the inventory {name} could not be stored"):
            record = self._store.inventories.put(parts, text, by=doer())
            self._audit("inventory.put", name, revision=record.revision)
        return _inventory(record)

    def offline_devices(self, testbed: str) -> builtins.list[OfflineDevice]:
        columns = ("testbed", "device", "reason", "campaign", "since")
        found = self._store.devices.of(testbed, self._store.testbeds.get(testbed).resources)
        return [OfflineDevice.model_validate({name: getattr(one, name) for name in columns}) for one in found]

    def clear_device(self, testbed: str, device: str) -> None:
        with self._store.transactions.together(f"device {device} of testbed {testbed} could not be cleared"):
            self._store.devices.clear(testbed, device)
            self._audit("device.clear", testbed, device=device)

    def _audit(self, action: str, testbed: str, **detail: object) -> None:
        self._store.audit.record(user=None, user_name=doer(), action=action, target=f"testbed {testbed}", detail=detail)


@contextmanager
def inventories(server: str | None) -> Iterator[Inventories]:
    """Those of a service, or of this machine."""
    if server is not None:
        from rackproof.cli import keyring

        with Client(server, keyring.token_for(server)) as client:
            yield client.inventories
    else:
        with Store.open(Settings.load()) as store:
            yield Here(store)


def doer() -> str:
    """Who works on this machine, for the audit trail."""
    return f"{getpass.getuser()} on this machine"


def fits_of(parts: Parts) -> tuple[Fit, ...]:
    """Which kinds of plan a testbed can run, as a service says it."""
    return tuple(Fit(kind=fit.kind, title=fit.title, devices=fit.devices, missing=fit.missing) for fit in fits(parts))


def _shown(record: InventoryRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in InventorySummary.model_fields}


def _inventory(record: InventoryRecord) -> Inventory:
    values = {"text": record.text, "data": record.inventory.as_text_data(), "kinds": fits_of(record.inventory), "check": record.check}
    return Inventory.model_validate({**_shown(record), **values})
