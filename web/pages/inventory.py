"""How does somebody write down what a testbed is made of? YAML whose faults are shown at their lines, and what it can run."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import TheStore
from rackproof.inventory import parse_inventory
from rackproof.model.service import Role
from testplans.needs import fits
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.ADMIN)])

_BEGUN = """\
name: lab1
description: One TRex and one Linux switch.

devices:
  - name: switch-1
    platform: linux
    address: 192.0.2.11
    # Where the secret is, never the secret itself: env:NAME, file:/PATH or vault:/PATH#KEY.
    credentials: {user: rackproof, private_key: file:/etc/rackproof/keys/switch-1}
    # One line of `ssh-keyscan 192.0.2.11`, without the address.
    known_host: ""

generators:
  - name: trex-1
    kind: trex
    address: 192.0.2.20
    ports: [0, 1]

links:
  - {a: "trex-1:0", b: "switch-1:enp1s0f0", speed_mbps: 1000}
  - {a: "trex-1:1", b: "switch-1:enp1s0f1", speed_mbps: 1000}

# Which port of a device is which port of a plan; a pattern stands for many.
roles:
  switch-qos:
    switch-1: {"p*": enp1s0f0, out: enp1s0f1}
"""


@router.get("/inventory")
def write(request: Request, store: TheStore, testbed: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    record = store.inventories.get(testbed) if testbed is not None else None
    text = _BEGUN if record is None else record.text
    inventory = parse_inventory(_BEGUN.encode(), "example")[1] if record is None else record.inventory
    return page(request, "inventory.html.j2", record=record, text=text, fits=fits(inventory))
