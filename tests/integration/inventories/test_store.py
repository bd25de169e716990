"""Are inventories kept as they were written, and does nothing start on a device that is offline?"""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from rackproof.errors import Conflict, NotFound
from rackproof.inventory import parse_inventory
from rackproof.model.service import TestbedState
from rackproof.store import Store
from rackproof.store.inventories import InventoryRecord
from rackproof.store.line import Decision, decide
from rackproof.store.lineup import load
from tests.conftest import a_trial
from tests.inventories import LAB

WHY = "its configuration could not be brought back: connection refused"


def keep(store: Store, written: str = LAB, revision: int | None = None) -> InventoryRecord:
    _, inventory = parse_inventory(written.encode(), "lab1")
    return store.inventories.put(inventory, written, by="ada", revision=revision)


def submit(store: Store, testbed: str = "lab1") -> int:
    values = {"name": "one", "kind": "switch-qos", "testbed": testbed, "plan": {}, "plan_text": "", "plan_sha256": ""}
    return store.queue.submit(**values, trials=[a_trial(1)], owner="ada")  # type: ignore[arg-type]


def waiting(store: Store) -> list[Decision]:
    with store.transactions.step("test") as connection:
        return decide(load(connection))


def test_an_inventory_is_kept_as_it_was_written(store: Store) -> None:
    kept = keep(store)
    found = store.inventories.get("lab1")
    assert found == kept
    assert (found.text, found.revision, found.changed_by, found.check, found.checked) == (LAB, 1, "ada", None, None)
    assert found.inventory == parse_inventory(LAB.encode(), "lab1")[1]
    assert [each.name for each in store.inventories.list()] == ["lab1"]
    assert store.inventories.find("lab2") is None
    with pytest.raises(NotFound, match="there is no inventory 'lab2'; there are: lab1"):
        store.inventories.get("lab2")


def test_its_testbed_is_there_before_a_worker_serves_it(store: Store) -> None:
    keep(store)
    bed = store.testbeds.get("lab1")
    assert (bed.driver, bed.resources, bed.state, bed.workers) == ("lab", ("switch-1", "trex-1"), TestbedState.ONLINE, ())
    assert bed.description == "One TRex and one Linux switch."


def test_a_change_counts_and_the_same_text_does_not(store: Store) -> None:
    keep(store)
    found = {"revision": 1, "passed": True, "items": [{"what": "loopback", "delay_us": float("inf")}]}
    store.inventories.checked("lab1", found)
    assert store.inventories.get("lab1").check == found
    assert keep(store).revision == 1
    changed = keep(store, LAB.replace("speed_mbps: 1000,", "speed_mbps: 10000,"), revision=1)
    # What was checked is not what stands there now.
    assert (changed.revision, changed.check, changed.checked) == (2, None, None)
    with pytest.raises(Conflict, match="the inventory lab1 was changed while it was checked"):
        store.inventories.checked("lab1", found)
    with pytest.raises(NotFound, match="there is no inventory 'lab2'"):
        store.inventories.checked("lab2", found)


def test_a_change_of_somebody_else_is_not_overwritten(store: Store) -> None:
    keep(store)
    keep(store, LAB.replace("One TRex", "1 TRex"), revision=1)
    with pytest.raises(Conflict, match="expected revision 1, found revision 2 by ada"):
        keep(store, LAB.replace("One TRex", "A TRex"), revision=1)
    with pytest.raises(Conflict, match="expected revision 0, found revision 2 by ada"):
        keep(store, revision=0)


def test_a_testbed_of_another_driver_keeps_its_name(store: Store) -> None:
    store.testbeds.announce("lab1", "bench", ["host:test"])
    with pytest.raises(Conflict, match="testbed lab1 is served by the driver bench: give the inventory another name"):
        keep(store)


def test_what_somebody_keeps_is_changed_but_not_deleted(store: Store) -> None:
    keep(store)
    until = datetime.now(UTC) + timedelta(hours=1)
    reservation = store.reservations.reserve(testbed="lab1", user_id=None, owner="ada", ends=until)
    assert keep(store, LAB.replace("One TRex", "1 TRex")).revision == 2
    with pytest.raises(Conflict, match="cannot be deleted while switch-1, trex-1 is in use"):
        store.inventories.delete("lab1")
    store.reservations.release(reservation)
    submit(store)
    store.inventories.delete("lab1")
    assert store.inventories.find("lab1") is None
    assert store.testbeds.names() == []
    assert [decision.waits_for for decision in waiting(store)] == ["testbed lab1, which is not there"]
    with pytest.raises(NotFound):
        store.inventories.delete("lab1")


def test_nothing_starts_while_a_device_is_offline(store: Store) -> None:
    keep(store)
    incarnation = store.workers.register("w", ["lab1"], timeout_s=60)
    campaign = submit(store)
    store.devices.offline("lab1", "switch-1", "an earlier reason")
    store.devices.offline("lab1", "switch-1", WHY, campaign)
    (held,) = store.devices.list("lab1")
    assert (held.testbed, held.device, held.reason, held.campaign) == ("lab1", "switch-1", WHY, campaign)
    why = f"device switch-1, which is offline until somebody clears it: {WHY}"
    assert [decision.waits_for for decision in waiting(store)] == [why]
    assert store.leases.dispatch(incarnation, ["lab1"]).lease is None
    with pytest.raises(Conflict, match="nothing may start on testbed lab1: it has device switch-1, which is offline"):
        store.leases.free("lab1", ["switch-1", "trex-1"])
    store.devices.clear("lab1", "switch-1")
    assert store.devices.list("lab1") == []
    lease = store.leases.dispatch(incarnation, ["lab1"]).lease
    assert lease is not None
    assert lease.campaign == campaign
    with pytest.raises(Conflict, match=f"the inventory lab1 cannot be changed while campaign {campaign} uses it"):
        keep(store, LAB.replace("One TRex", "1 TRex"))
    with pytest.raises(NotFound, match="no device 'switch-1' of testbed lab1 is offline"):
        store.devices.clear("lab1", "switch-1")


def test_a_campaign_beside_the_queue_is_refused_with_the_reason(store: Store) -> None:
    keep(store)
    incarnation = store.workers.register("w", ["lab1"], timeout_s=60)
    values = {
        "name": "one",
        "kind": "switch-qos",
        "testbed": "lab1",
        "plan": {},
        "plan_text": "",
        "plan_sha256": "",
        "trials": [a_trial(1)],
    }
    campaign = store.create_campaign(**values)  # type: ignore[arg-type]
    store.devices.offline("lab1", "switch-1", WHY)
    with pytest.raises(Conflict, match=f"it would need device switch-1, which is offline until somebody clears it: {WHY}"):
        store.leases.take(campaign, incarnation=incarnation, resources=["switch-1", "trex-1"])


def test_a_device_that_two_testbeds_share_is_offline_in_both(store: Store) -> None:
    keep(store)
    keep(store, LAB.replace("name: lab1", "name: lab2"))
    keep(store, LAB.replace("name: lab1", "name: lab3").replace("switch-1", "switch-3").replace("trex-1", "trex-3"))
    store.devices.offline("lab1", "switch-1", WHY)
    for testbed in ("lab1", "lab2", "lab3"):
        submit(store, testbed)
        store.workers.register(f"of-{testbed}", [testbed], timeout_s=60)
    held = {decision.who.testbed: decision.waits_for for decision in waiting(store)}
    assert [held[testbed].startswith("device switch-1") for testbed in ("lab1", "lab2", "lab3")] == [True, True, False]
    assert [one.testbed for one in store.devices.of("lab2", ["switch-1", "trex-1"])] == ["lab1"]


def test_a_health_check_does_not_start_on_such_a_device_either(store: Store) -> None:
    keep(store)
    store.workers.register("w", ["lab1"], timeout_s=60)
    campaign = submit(store)
    with store.transactions.step("test") as connection:
        connection.execute(text("UPDATE testbeds SET golden_campaign_id = :id"), {"id": campaign})
    store.testbeds.set_state("lab1", TestbedState.OFFLINE, "being repaired")
    assert [decision.waits_for for decision in waiting(store)] == [""]
    store.devices.offline("lab1", "switch-1", WHY)
    assert [decision.waits_for for decision in waiting(store)] == [f"device switch-1, which is offline until somebody clears it: {WHY}"]
