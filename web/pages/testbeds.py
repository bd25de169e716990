"""Which testbeds are there, who has them, and are they well?"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import BIGINT_MAX, TheStore
from rackproof.errors import PlanError
from rackproof.model.service import Role, TestbedState
from rackproof.store import Store
from rackproof.store import cron as crons
from rackproof.store.browse_rows import CampaignFilter
from rackproof.store.inventories import InventoryRecord
from rackproof.store.queue import Place
from rackproof.store.testbeds import TestbedRecord
from testplans.needs import fits
from web.cabling import drawing, speed
from web.cronwords import in_words
from web.lane import lane
from web.rendering import page
from web.suites import described

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

#: Whose the campaigns of health checks are.
CHECKS = "health check"
HISTORY = 15
LANE = timedelta(hours=12)

Name = Annotated[str, Path(max_length=200)]
Before = Annotated[int | None, Query(ge=1, le=BIGINT_MAX)]


@router.get("/testbeds")
def every(request: Request, store: TheStore) -> Response:
    return page(request, "testbeds.html.j2", **_all(store))


@router.get("/parts/testbeds")
def every_part(request: Request, store: TheStore) -> Response:
    """What changes by itself."""
    return page(request, "part_testbeds.html.j2", **_all(store))


@router.get("/testbeds/{name}")
def one(request: Request, store: TheStore, name: Name, before: Before = None) -> Response:
    with store.transactions.together(f"testbed {name} could not be read"):
        found = store.testbeds.get(name)
        checks = store.browse.campaigns(CampaignFilter(testbed=name, owner=CHECKS), place=before, limit=HISTORY + 1)
        past = store.reservations.list(name, past=True)[:5]
        inventory = store.inventories.find(name)
        values = _now(store, found)
    return page(
        request,
        "testbed.html.j2",
        testbed=found,
        limits=_limits(found.limits or {}),
        checks=checks[:HISTORY],
        following=checks[HISTORY - 1].id if len(checks) > HISTORY else None,
        golden=described(found.golden_plan) if found.golden_plan is not None else None,
        golden_words=in_words(found.golden_cron or ""),
        golden_due=_due(found.golden_cron, found.golden_zone),
        past=past,
        offline=TestbedState.OFFLINE,
        inventory=inventory,
        offline_names={device.device for device in values["offline_devices"]},
        **(_parts(inventory) if inventory is not None else {}),
        **values,
    )


@router.get("/testbeds/{name}/now")
def now(request: Request, store: TheStore, name: Name) -> Response:
    """Who has it, who waits, who keeps it: what changes by itself."""
    found = store.testbeds.get(name)
    return page(request, "part_testbed.html.j2", testbed=found, offline=TestbedState.OFFLINE, **_now(store, found))


def _all(store: Store) -> dict[str, Any]:
    with store.transactions.together("the testbeds could not be read"):
        places = store.queue.forecast()
        found = store.testbeds.list()
        checks = store.browse.several([bed.golden_campaign_id for bed in found if bed.golden_campaign_id is not None])
        workers = store.workers.list()
        offline = {bed.name: store.devices.of(bed.name, bed.resources) for bed in found}
    latest = {check.id: check for check in checks}
    return {
        "testbeds": found,
        "now_on": {place.testbed: place for place in places if place.position == 0},
        "waiting": {bed.name: [place for place in places if place.testbed == bed.name and place.position > 0] for bed in found},
        "checks": {bed.name: latest.get(bed.golden_campaign_id or 0) for bed in found},
        "workers": workers,
        "offline_devices": offline,
    }


def _parts(record: InventoryRecord) -> dict[str, Any]:
    """What a testbed of real parts is made of."""
    return {
        "cabling": drawing(record.inventory),
        "fits": fits(record.inventory),
        "speed": speed,
        "checked_items": (record.check or {}).get("items", ()),
    }


def _now(store: Store, bed: TestbedRecord) -> dict[str, Any]:
    places: list[Place] = store.queue.forecast(bed.name)
    moment = datetime.now(UTC)
    return {
        "places": places,
        "reservations": store.reservations.list(bed.name),
        "offline_devices": store.devices.of(bed.name, bed.resources),
        "lane": lane(places, moment, LANE),
        "lane_hours": int(LANE.total_seconds() // 3600),
    }


def _due(cron: str | None, zone: str) -> datetime | None:
    try:
        return crons.upcoming(cron, zone, datetime.now(UTC), 1)[0] if cron is not None else None
    except (PlanError, ValueError, IndexError):
        return None


def _limits(limits: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a testbed can carry, flat and in words."""
    found = []
    for key, value in limits.items():
        if isinstance(value, dict):
            found += [(f"{_words(key)}, {name}", _said(key, inner)) for name, inner in value.items()]
        else:
            found.append((_words(key), _said(key, value)))
    return found


def _words(key: str) -> str:
    for suffix in ("_fps", "_bps_max", "_bps", "_max"):
        key = key.removesuffix(suffix)
    return key.replace("_", " ")


def _said(key: str, value: object) -> str:
    if isinstance(value, int | float) and "bps" in key:
        return f"{value / 1e9:g} Gbit/s" if value >= 1e9 else f"{value / 1e6:g} Mbit/s"
    if isinstance(value, int | float) and key.endswith("fps"):
        return f"{value:,.0f} frames/s".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"no: {value}" if value and key == "device_models" else "yes" if key == "device_models" else str(value)
