"""What are testbeds of real parts made of, which kinds of plan can they run, and which devices wait for somebody to look at them?"""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from api import plans
from api.conditions import conditional, holds
from api.identity import GuardedRoute, Identity, needs
from api.problems import Fault, responses
from api.schemas.inventories import Fit, Inventories, Inventory, InventoryRead, InventorySummary, OfflineDevice, OfflineDevices
from api.wiring import BIGINT_MAX, TheStore
from rackproof.errors import InventoryError, Problem
from rackproof.inventory import parse_inventory
from rackproof.model.service import Role
from testplans.needs import fits

router = APIRouter(tags=["testbeds"], route_class=GuardedRoute)

Viewer = Annotated[Identity, needs(Role.VIEWER)]
Admin = Annotated[Identity, needs(Role.ADMIN)]
Name = Annotated[str, Path(max_length=200, examples=["lab1"])]

SOURCE = "inventory"
_YAML = "application/yaml"
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "An inventory (docs/testbeds.md).",
        "content": {"application/yaml": {"schema": {"type": "string"}}, "application/json": {"schema": {"type": "object"}}},
    }
}
_TEXT: dict[int | str, dict[str, Any]] = {200: {"description": "The inventory as it was written.", "content": {_YAML: {}}}}


async def _inventory_bytes(request: Request) -> bytes:
    return await plans.body_bytes(request, "an inventory")


InventoryBytes = Annotated[bytes, Depends(_inventory_bytes)]


@router.get("/inventories", responses=responses(401, 403))
def list_inventories(store: TheStore, _who: Viewer) -> Inventories:
    """All inventories by name."""
    return Inventories(items=[InventorySummary.model_validate(one) for one in store.inventories.list()])


@router.post("/inventories/check", responses=responses(401, 403, 413, 415), openapi_extra=_BODY)
def check_inventory(_who: Viewer, content: InventoryBytes) -> InventoryRead:
    """Read an inventory: its faults with their lines, or which kinds of plan the testbed could run. Nothing is kept or touched."""
    try:
        _, inventory = parse_inventory(content, SOURCE)
    except InventoryError as error:
        return InventoryRead(valid=False, problems=[Fault.of(problem) for problem in error.problems])
    return InventoryRead(valid=True, problems=[], name=inventory.name, kinds=[Fit.model_validate(fit) for fit in fits(inventory)])


@router.get("/inventories/{inventory}", response_model=Inventory, responses=responses(304, 401, 403, 404))
def get_inventory(request: Request, store: TheStore, _who: Viewer, inventory: Name) -> Response:
    """One inventory, with the kinds of plan that its testbed can run and what is missing for the others."""
    return conditional(request, Inventory.of(store.inventories.get(inventory)))


@router.get("/inventories/{inventory}/file", response_class=Response, responses={**_TEXT, **responses(304, 401, 403, 404)})
def export_inventory(request: Request, store: TheStore, _who: Viewer, inventory: Name) -> Response:
    """The inventory as a file, as it was written; secrets are references in it."""
    found = store.inventories.get(inventory)
    headers = {"ETag": f'"{found.revision}"', "Cache-Control": "private, no-cache"}
    if holds(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{found.name}.yaml"'
    return Response(found.text, headers=headers, media_type=_YAML)


@router.put("/inventories/{inventory}", responses=responses(401, 403, 409, 413, 415), openapi_extra=_BODY)
def put_inventory(
    store: TheStore,
    who: Admin,
    inventory: Name,
    content: InventoryBytes,
    revision: Annotated[
        int | None,
        Query(ge=0, le=BIGINT_MAX, description="The revision that was changed (0: none); another one by now is not overwritten."),
    ] = None,
) -> Inventory:
    """Keep an inventory, in place of an earlier one of its name."""
    file, read = parse_inventory(content, SOURCE)
    if read.name != inventory:
        problem = Problem(where="name", expected=inventory, found=read.name, line=file.line_of(("name",)))
        raise InventoryError(SOURCE, [problem])
    with who.does(store, "inventory.put", f"testbed {inventory}") as deed:
        kept = store.inventories.put(read, file.text, by=who.user.name, revision=revision)
        deed.detail["revision"] = kept.revision
    return Inventory.of(kept)


@router.delete("/inventories/{inventory}", status_code=204, response_class=Response, responses=responses(401, 403, 404, 409))
def delete_inventory(store: TheStore, who: Admin, inventory: Name) -> None:
    """Forget an inventory, its testbed and the testbed's reservations; campaigns stay."""
    with who.does(store, "inventory.delete", f"testbed {inventory}"):
        store.inventories.delete(inventory)


@router.get("/testbeds/{testbed}/offline-devices", responses=responses(401, 403, 404))
def list_offline_devices(store: TheStore, _who: Viewer, testbed: Name) -> OfflineDevices:
    """Devices for which nothing starts on a testbed until somebody clears them, those that it shares with another testbed included."""
    found = store.devices.of(testbed, store.testbeds.get(testbed).resources)
    return OfflineDevices(items=[OfflineDevice.model_validate(one) for one in found])


@router.delete("/testbeds/{testbed}/offline-devices/{device}", status_code=204, response_class=Response, responses=responses(401, 403, 404))
def clear_device(store: TheStore, who: Admin, testbed: Name, device: Name) -> None:
    """Let campaigns have a device again: somebody has looked at it."""
    with who.does(store, "device.clear", f"testbed {testbed}", device=device):
        store.devices.clear(testbed, device)
