"""Can an admin write down a testbed in the browser, is told what is wrong where, and clear a device?"""

from playwright.sync_api import expect

from rackproof.model.service import Role
from tests.browser.conftest import Opener, through
from tests.integration.web.house import Site
from tests.inventories import LAB, SECRET


def test_a_testbed_is_written_down_loaded_saved_and_its_device_cleared(opened: Opener, site: Site) -> None:
    visit = opened(site, Role.ADMIN)
    page = visit.go("/testbeds")
    through(page.get_by_role("link", name="Add a testbed"))
    text = page.get_by_role("textbox", name="The inventory as YAML")
    expect(page.locator("#yaml-state")).to_have_text("valid")
    text.fill(LAB.replace("become: env:SUDO", f"password: {SECRET}"))
    fault = page.locator("#yaml-faults button")
    expect(fault).to_have_count(1)
    expect(fault).to_contain_text("Line 7: devices[0].credentials.password: expected a reference to the secret")
    expect(page.locator("#gutter .bad")).to_have_text("7")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    page.set_input_files("#load", {"name": "lab1.yaml", "mimeType": "application/yaml", "buffer": LAB.encode()})
    expect(text).to_have_value(LAB)
    expect(page.locator("#fits")).to_contain_text("Switch QoS on switch-1")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/testbeds/lab1")
    expect(page.get_by_role("img", name="trex-1:0 to switch-1:enp1s0f0, 1 Gbit/s, fibre")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.path().read_text() == LAB

    site.store.devices.offline("lab1", "switch-1", "it did not answer")
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    through(page.get_by_role("button", name="Clear switch-1"))
    expect(page.get_by_text("switch-1 is offline")).to_have_count(0)
    assert site.store.devices.list() == []
