"""Can inventories be read, written and exported over the API, by those who may, and does no secret get in or out?"""

import json
from typing import Any

import httpx
import pytest

from rackproof.store import Store
from tests.integration.api.test_reading import problem
from tests.inventories import LAB, SECRET

YAML = {"Content-Type": "application/yaml"}
LITERAL = LAB.replace("become: env:SUDO", f"password: {SECRET}")


def put(client: httpx.Client, text: str = LAB, name: str = "lab1", **params: Any) -> httpx.Response:
    return client.put(f"/inventories/{name}", content=text, headers=YAML, params=params)


def test_an_inventory_is_kept_read_exported_and_deleted(admin: httpx.Client, viewer: httpx.Client, store: Store) -> None:
    kept = put(admin)
    assert kept.status_code == 200, kept.text
    body = viewer.get("/inventories/lab1").json()
    assert body == kept.json()
    assert (body["revision"], body["changed_by"], body["text"], body["check"]) == (1, "admin", LAB, None)
    assert body["data"]["devices"][0]["credentials"]["private_key"] == "file:/etc/rackproof/keys/switch-1"
    assert {fit["kind"]: fit["missing"] for fit in body["kinds"]}["switch-qos"] == []
    (listed,) = viewer.get("/inventories").json()["items"]
    assert listed == {key: body[key] for key in ("name", "revision", "changed", "changed_by", "checked")}
    assert viewer.get("/testbeds/lab1").json()["driver"] == "lab"
    assert admin.delete("/inventories/lab1").status_code == 204
    problem(viewer.get("/inventories/lab1"), 404)
    lines = [(line.user_name, line.action, line.target, line.detail.get("revision")) for line in store.audit.list()]
    assert lines == [("admin", "inventory.delete", "testbed lab1", None), ("admin", "inventory.put", "testbed lab1", 1)]


def test_an_export_is_what_was_written(admin: httpx.Client, viewer: httpx.Client) -> None:
    put(admin)
    file = viewer.get("/inventories/lab1/file")
    assert file.text == LAB
    assert file.headers["content-type"].startswith("application/yaml")
    assert file.headers["content-disposition"] == 'attachment; filename="lab1.yaml"'
    held = {"If-None-Match": file.headers["etag"]}
    assert viewer.get("/inventories/lab1/file", headers=held).status_code == 304
    put(admin, f"# Rack 7\n{LAB}")
    assert viewer.get("/inventories/lab1/file", headers=held).text.startswith("# Rack 7\n")
    # What was exported can be imported.
    assert put(admin, viewer.get("/inventories/lab1/file").text).json()["revision"] == 2


def test_what_a_client_has_is_not_sent_again(admin: httpx.Client, viewer: httpx.Client, store: Store) -> None:
    put(admin)
    held = {"If-None-Match": viewer.get("/inventories/lab1").headers["etag"]}
    assert viewer.get("/inventories/lab1", headers=held).status_code == 304
    found = {"revision": 1, "passed": True, "items": []}
    store.inventories.checked("lab1", found)
    assert viewer.get("/inventories/lab1", headers=held).json()["check"] == found


def test_only_an_admin_writes(engineer: httpx.Client, viewer: httpx.Client, store: Store) -> None:
    for client in (engineer, viewer):
        problem(put(client), 403)
        problem(client.delete("/inventories/lab1"), 403)
        problem(client.delete("/testbeds/lab1/offline-devices/switch-1"), 403)
    assert store.inventories.list() == []


def test_a_change_of_somebody_else_is_not_overwritten(admin: httpx.Client) -> None:
    assert put(admin, revision=0).status_code == 200
    assert "expected revision 0, found revision 1 by admin" in problem(put(admin, f"# mine\n{LAB}", revision=0), 409)["detail"]


def test_faults_have_their_lines(admin: httpx.Client, viewer: httpx.Client, store: Store) -> None:
    said = problem(put(admin, LAB.replace("trex-1:1", "trex-1:7")), 422)
    assert (said["type"], said["detail"]) == ("urn:rackproof:problem:inventory", "inventory: the inventory cannot be used")
    assert said["problems"] == [{"where": "links[1].a", "line": 12, "expected": "a port of trex-1 (0, 1)", "found": "7"}]
    (name,) = problem(put(admin, name="lab2"), 422)["problems"]
    assert name == {"where": "name", "line": 1, "expected": "lab2", "found": "lab1"}
    read = viewer.post("/inventories/check", content=LAB.replace("trex-1:1", "trex-1:7"), headers=YAML).json()
    assert (read["valid"], read["problems"]) == (False, said["problems"])
    read = viewer.post("/inventories/check", content=LAB, headers=YAML).json()
    assert (read["valid"], read["problems"], read["name"]) == (True, [], "lab1")
    assert store.inventories.list() == []


def test_json_is_understood_and_anything_else_is_not(admin: httpx.Client) -> None:
    assert admin.put("/inventories/lab9", json={"name": "lab9"}).status_code == 200
    problem(admin.put("/inventories/lab9", content=b"name: lab9", headers={"Content-Type": "text/plain"}), 415)
    problem(admin.put("/inventories/lab9", content=b"#" * 300_000, headers=YAML), 413)
    problem(admin.put("/inventories/lab9", content=b"name: lab9\ndescription: a\0b\n", headers=YAML), 422)


def test_a_literal_secret_is_refused_and_is_nowhere_afterwards(
    admin: httpx.Client, viewer: httpx.Client, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    answers = [put(admin, LITERAL), viewer.post("/inventories/check", content=LITERAL, headers=YAML)]
    (fault,) = problem(answers[0], 422)["problems"]
    assert fault["line"] == 7
    assert fault["expected"] == "a reference to the secret, never the secret itself: env:NAME, file:/PATH or vault:/PATH#KEY"
    assert all(SECRET not in answer.text for answer in answers)
    put(admin)
    everything = [viewer.get(path).text for path in ("/inventories", "/inventories/lab1", "/inventories/lab1/file", "/testbeds")]
    assert SECRET not in "".join([*everything, caplog.text, json.dumps([dict(line.detail) for line in store.audit.list()])])


def test_a_device_is_offline_until_an_admin_clears_it(admin: httpx.Client, viewer: httpx.Client, store: Store) -> None:
    put(admin)
    store.devices.offline("lab1", "switch-1", "it did not answer")
    (one,) = viewer.get("/testbeds/lab1/offline-devices").json()["items"]
    assert (one["device"], one["reason"], one["campaign"]) == ("switch-1", "it did not answer", None)
    # Another testbed that has the device is told, too.
    put(admin, LAB.replace("name: lab1", "name: lab2"), "lab2")
    assert viewer.get("/testbeds/lab2/offline-devices").json()["items"] == [one]
    problem(viewer.get("/testbeds/nowhere/offline-devices"), 404)
    assert admin.delete("/testbeds/lab1/offline-devices/switch-1").status_code == 204
    assert viewer.get("/testbeds/lab1/offline-devices").json()["items"] == []
    problem(admin.delete("/testbeds/lab1/offline-devices/switch-1"), 404)
    line = store.audit.list()[0]
    assert (line.action, line.target, line.detail["device"]) == ("device.clear", "testbed lab1", "switch-1")
