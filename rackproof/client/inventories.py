"""What can a program ask about testbeds of real parts?"""

import builtins

from rackproof.client.reading import items, read
from rackproof.client.transport import Transport
from rackproof.client.values import Inventory, InventorySummary, OfflineDevice


class Inventories:
    """Inventories of a service, and the devices that it took offline."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> builtins.list[InventorySummary]:
        """All inventories by name."""
        return items(InventorySummary, self._transport.json("GET", "/inventories"))

    def get(self, name: str) -> Inventory:
        """One inventory with the kinds of plan that its testbed can run. Raises NotFound."""
        return read(Inventory, self._transport.json("GET", f"/inventories/{name}"))

    def put(self, name: str, text: str | bytes, *, source: str = "inventory") -> Inventory:
        """Keep an inventory (YAML), in place of an earlier one of its name. Raises InventoryError, Conflict."""
        headers = {"Content-Type": "application/yaml"}
        return read(Inventory, self._transport.json("PUT", f"/inventories/{name}", content=text, headers=headers, source=source))

    def delete(self, name: str) -> None:
        """Forget an inventory and its testbed; campaigns stay. Raises NotFound, Conflict where it is in use."""
        self._transport.request("DELETE", f"/inventories/{name}")

    def offline_devices(self, testbed: str) -> builtins.list[OfflineDevice]:
        """Devices for which nothing starts on a testbed until somebody clears them. Raises NotFound."""
        return items(OfflineDevice, self._transport.json("GET", f"/testbeds/{testbed}/offline-devices"))

    def clear_device(self, testbed: str, device: str) -> None:
        """Let campaigns have a device again. Raises NotFound where it is not offline."""
        self._transport.request("DELETE", f"/testbeds/{testbed}/offline-devices/{device}")
