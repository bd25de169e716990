"""Do the pages show what a testbed is made of, what it can run, which devices wait for somebody, and who may change that?"""

import html
import re

import pytest

from rackproof.inventory import parse_inventory
from rackproof.model.service import Role
from rackproof.store import Store
from tests.integration.web.house import Client, Site
from tests.integration.web.seeds import ODD
from tests.inventories import LAB

CHECK = {
    "testbed": "lab1",
    "revision": 1,
    "passed": False,
    "items": [
        {"what": "device switch-1", "finding": "ok", "text": "reached and signed in", "facts": {"kernel": "6.1"}},
        {"what": "port trex-1:0", "finding": "failed", "text": f"the link is down {ODD}", "facts": {}},
    ],
}


def keep(store: Store, text: str = LAB) -> None:
    store.inventories.put(parse_inventory(text.encode(), "lab1")[1], text, by="ada")


def test_its_parts_cables_roles_and_last_check_are_shown(site: Site, client: Client) -> None:
    keep(site.store)
    browser = client(Role.VIEWER)
    page = html.unescape(browser.get("/testbeds/lab1").text)
    assert re.search(r'class="name"[^>]*>trex-1<', page)
    assert "trex-1:0 to switch-1:enp1s0f0, 1 Gbit/s, fibre" in page
    for words in ("192.0.2.11", "25 ns", ">p*<", "on switch-1", "missing: two hosts", "Revision 1, changed"):
        assert words in page
    assert "rackproof testbed check lab1" in page
    assert "file:/etc/rackproof" not in page
    site.store.inventories.checked("lab1", CHECK)
    page = browser.get("/testbeds/lab1").text
    assert "Not all is as the inventory says." in page
    assert 'state-FAILED">failed</span></td><td>the link is down' in page
    assert "<script>alert" not in page


def test_a_device_that_is_offline_is_named_and_an_admin_alone_clears_it(site: Site, client: Client) -> None:
    keep(site.store)
    site.store.devices.offline("lab1", "switch-1", f"it could not be restored {ODD}", site.seeds.failed)
    for role in Role:
        browser = client(role)
        for path in ("/testbeds/lab1", "/testbeds/lab1/now"):
            page = browser.get(path).text
            assert "<strong>switch-1 is offline:</strong> it could not be restored" in page
            assert f'<a href="/campaigns/{site.seeds.failed}">campaign {site.seeds.failed}</a>' in page
            assert ("DELETE /api/v1/testbeds/lab1/offline-devices/switch-1" in page) == (role is Role.ADMIN)
        assert "switch-1 is offline: it could not be restored" in browser.get("/parts/testbeds").text
        assert "<script>alert" not in page
    text = "kind: switch-qos\nname: x\ntestbed: lab1\ndevices: [switch-1]\ndisciplines: [strict-priority]\nload: {per_sender_mbps: [4]}\n"
    said = client(Role.ENGINEER).post("/campaigns/new/rehearsal", json={"text": text}).json()
    assert "switch-1 is offline until somebody clears it: it could not be restored" in said["html"]
    assert client(Role.ADMIN).delete("/api/v1/testbeds/lab1/offline-devices/switch-1").status_code == 204
    assert "switch-1 is offline" not in client(Role.ADMIN).get("/testbeds/lab1").text


def test_who_may_change_what(site: Site, client: Client) -> None:
    keep(site.store)
    pages = {role: client(role).get("/testbeds/lab1").text for role in Role}
    assert ["/api/v1/inventories/lab1/file" in pages[role] for role in Role] == [True, True, True]
    assert ["/inventory?testbed=lab1" in pages[role] for role in Role] == [False, False, True]
    assert ["DELETE /api/v1/inventories/lab1" in pages[role] for role in Role] == [False, False, True]
    assert [client(role).get("/inventory").status_code for role in Role] == [403, 403, 200]


def test_the_editor_begins_with_what_is_there_or_with_an_example_that_is_valid(site: Site, client: Client) -> None:
    keep(site.store)
    admin = client(Role.ADMIN)
    page = admin.get("/inventory?testbed=lab1").text
    assert 'data-name="lab1" data-revision="1"' in page
    assert f">{LAB}</textarea>" in html.unescape(page)
    begun = re.search(r"<textarea[^>]*>(.*?)</textarea>", admin.get("/inventory").text, re.S)
    assert begun is not None
    assert parse_inventory(html.unescape(begun[1]).encode(), "example")[1].name == "lab1"
    assert admin.get("/inventory?testbed=nowhere").status_code == 404


@pytest.mark.parametrize("testbed", ["bench", "lab-2"])
def test_a_testbed_without_an_inventory_shows_none(quiet: Client, testbed: str) -> None:
    page = quiet(Role.ADMIN).get(f"/testbeds/{testbed}").text
    assert "What it is made of" not in page
    assert "Remove it" not in page
