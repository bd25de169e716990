"""What `testbed check` finds where a rack is not as its inventory says."""

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.bench import links
from orchestrator.interruption import Interruption
from orchestrator.lab.checking import Finding, Item, check
from rackproof.errors import Conflict
from rackproof.inventory import parse_inventory
from rackproof.settings import Settings
from rackproof.store import Store
from tests.lab.cables import IFF_RUNNING
from tests.lab.rack import SPEED_MBPS, SWITCH, Rack, rack
from tests.waiting import until

pytestmark = pytest.mark.netns


@pytest.fixture
def standing(store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rack]:
    monkeypatch.setenv("LAB_BECOME", "nothing asks for it")
    monkeypatch.setenv("RACKPROOF_DATA_DIR", str(settings.data_dir))
    with rack() as found:
        # The receiver's cable is said to be slower than it is.
        text = found.inventory.replace(f'"{SWITCH}:eth2", speed_mbps: {SPEED_MBPS}', f'"{SWITCH}:eth2", speed_mbps: 1000')
        _, inventory = parse_inventory(text.encode(), "lab1")
        store.inventories.put(inventory, text, by="a test")
        yield found


def items(store: Store) -> dict[str, Item]:
    """What a check finds, by what was looked at."""
    interruption = Interruption()
    try:
        found = check(store, "lab1", lambda text: None, interruption)
    finally:
        interruption.close()
    kept = store.inventories.get("lab1").check
    assert kept is not None
    assert kept == found.plain()
    assert not kept["passed"]
    return {item.what: item for item in found.items}


def test_each_thing_that_is_wrong_is_found_and_kept(store: Store, standing: Rack) -> None:
    os.kill(standing.box.pid, signal.SIGKILL)
    port = links.index(standing.box.namespace, "eth1")
    standing.box.namespace.route.link("set", index=port, state="down")
    until(lambda: not links.flags(standing.box.far, "eth1") & IFF_RUNNING)
    found = items(store)
    device = found[f"device {SWITCH}"]
    assert device.finding is Finding.FAILED
    assert SWITCH in device.text
    assert found["port engine:eth1"].text == "the link is down: is the cable in, and the port at its other end up?"
    speed = f"expected 1000 Mbit/s, as the inventory says of its cable, found {SPEED_MBPS} Mbit/s"
    assert found["port engine:eth2"] == Item(what="port engine:eth2", finding=Finding.FAILED, text=speed)
    assert found["loopback"].finding is Finding.OK
    assert not store.devices.list("lab1"), "a check takes nothing offline"


def test_a_testbed_that_somebody_uses_is_not_checked(store: Store, standing: Rack) -> None:
    assert standing.name == "lab1"
    store.reservations.reserve(testbed="lab1", user_id=None, owner="ada", ends=datetime.now(UTC) + timedelta(minutes=5))
    with pytest.raises(Conflict, match="ada"):
        items(store)
