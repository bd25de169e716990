"""An engineer writes a plan in a real browser: form and YAML write each other, a mistake is corrected where it is shown."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, Page, expect

from rackproof.model.service import Role
from testplans.switch_qos.kind import SwitchQos
from tests.browser.conftest import BOUND_MS, Opener, Visit
from tests.integration.web.house import Site

DEMO = (SwitchQos.folder / "demo.yaml").read_text()


@pytest.fixture(autouse=True)
def _nobody_works(request: pytest.FixtureRequest) -> None:
    """The worker of the house answers nobody: without it, no page waits for what it says."""
    name = "quiet_site" if "visit" in request.fixturenames else "site"
    request.getfixturevalue(name).store.workers.declare_dead("bench-1")


def text(page: Page) -> str:
    return page.locator("#plan-text").input_value()


def field(page: Page, pointer: str) -> str:
    return page.locator(f'[data-op=set][data-path="{pointer}"]').input_value()


def fill(page: Page, pointer: str, value: str) -> None:
    asked = page.locator(f'[data-op=set][data-path="{pointer}"]')
    with page.expect_response("**/campaigns/new/yaml"):
        asked.fill(value)
        asked.press("Tab")
    written(page)


def written(page: Page) -> None:
    """Wait until what was changed in the form is in the text, and the form is as the text has it."""
    expect(page.locator("#plan-form")).not_to_have_attribute("aria-busy", "true")


def test_a_plan_is_written_in_the_form_and_submitted(opened: Opener, site: Site) -> None:
    page = opened(site).go("/campaigns/new?kind=switch-qos&plan=demo")
    expect(page.locator("#foresight")).to_contain_text("30")
    fill(page, "/name", "Written in the form")
    fill(page, "/load/per_sender_mbps", "10, 40")
    expect(page.locator("#plan-text")).to_have_value(
        DEMO.replace("name: Strict priority and weighted round robin at 100 Mbit/s", "name: Written in the form").replace(
            "[10, 15, 22, 40, 60]", "[10, 40]"
        )
    )
    expect(page.locator("#foresight dd").first).to_have_text("12")
    page.locator("#priority").fill("3")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/campaigns/\d+$"))
    number = int(page.url.rpartition("/")[2])
    made = site.store.browse.detail(number)
    assert (made.row.name, made.row.priority, made.row.trial_count, made.row.owner) == ("Written in the form", 3, 12, "engineer")
    assert "# Poisson: constant streams that share a queue lock phase" in made.plan_text


def test_a_mistake_is_shown_at_its_field_and_at_its_line_and_is_corrected_there(opened: Opener, site: Site) -> None:
    page = opened(site).go("/campaigns/new?kind=switch-qos")
    fill(page, "/trial/duration_s", "5000")
    wrong = page.locator('.field[data-where="trial.duration_s"]')
    expect(wrong).to_have_class(re.compile("wrong"))
    expect(wrong.locator(".fault")).to_have_text("Expected less than or equal to 3600, found 5000")
    line = text(page).splitlines().index("  duration_s: 5000") + 1
    expect(page.locator("#gutter .bad")).to_have_text(str(line))
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    expect(page.locator("#foresight")).to_contain_text("1 fault in the plan")
    page.get_by_role("button", name=re.compile(f"Line {line}: trial.duration_s")).click()
    assert page.evaluate("document.activeElement.dataset.path") == "/trial/duration_s"
    fill(page, "/trial/duration_s", "0.5")
    expect(wrong).not_to_have_class(re.compile("wrong"))
    expect(page.get_by_role("button", name="Submit")).to_be_enabled()
    expect(page.locator("#foresight dd").first).to_have_text("30")


def test_what_is_typed_as_yaml_is_in_the_form(opened: Opener, site: Site) -> None:
    page = opened(site).go("/campaigns/new?kind=switch-qos&plan=blank")
    expect(page.locator("#yaml-faults li")).to_have_count(3)
    page.locator("#plan-text").fill(DEMO.replace("senders: 8", "senders: 4"))
    expect(page.locator('[data-op=set][data-path="/traffic/senders"]')).to_have_value("4")
    expect(page.locator("#yaml-state")).to_have_text("valid")
    page.locator("#plan-text").fill("kind: [")
    expect(page.locator("#form-waits")).to_be_visible()
    expect(page.locator('[data-path="/traffic/senders"]')).to_be_disabled()
    page.locator("#plan-text").fill(DEMO)
    expect(page.locator("#form-waits")).to_be_hidden()
    assert field(page, "/traffic/senders") == "8"


def test_devices_are_added_moved_and_removed_by_keyboard(opened: Opener, site: Site) -> None:
    page = opened(site).go("/campaigns/new?kind=switch-qos")
    page.get_by_role("button", name="Add to devices").press("Enter")
    expect(page.locator('[data-path="/devices/3/name"]')).to_be_focused()
    expect(page.locator('.field[data-where="devices[3].name"] .fault')).to_contain_text("Expected this key")
    fill(page, "/devices/3/name", "second reference")
    fill(page, "/devices/3/model", "reference")
    expect(page.locator("#yaml-state")).to_have_text("valid")
    with page.expect_response("**/campaigns/new/yaml"):
        page.get_by_role("button", name="Move Device 4 up").press("Enter")
    written(page)
    expect(page.locator('[data-path="/devices/2/name"]')).to_have_value("second reference")
    with page.expect_response("**/campaigns/new/yaml"):
        page.get_by_role("button", name="Remove Device 1").press("Enter")
    written(page)
    expect(page.locator("[data-where=devices] > .item")).to_have_count(3)
    said = page.locator("#plan-text")
    expect(said).not_to_have_value(re.compile("linux-htb"))
    # What a short form stands for is written out only where more is said of it.
    expect(said).to_have_value(re.compile("^  - reference$", re.MULTILINE))
    fill(page, "/devices/0/options", "leak: 0.1")
    expect(said).not_to_have_value(re.compile("^  - reference$", re.MULTILINE))


def test_a_limit_is_taken_out_and_put_back(opened: Opener, site: Site) -> None:
    page = opened(site).go("/campaigns/new?kind=switch-qos")
    none = page.get_by_label("Leak: none")
    none.check()
    expect(page.locator("#plan-text")).to_have_value(re.compile("^  sp_leak_share_max: null$", re.MULTILINE))
    page.get_by_label("Leak: none").uncheck()
    expect(page.locator("#plan-text")).to_have_value(DEMO)


def test_a_campaign_is_sent_again_as_it_was_or_changed(opened: Opener, site: Site) -> None:
    page = opened(site).go(f"/campaigns/{site.seeds.failed}/clone")
    assert text(page) == site.store.browse.detail(site.seeds.failed).plan_text
    expect(page.locator("#yaml-state")).to_have_text("valid")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/campaigns/\d+$"))
    again = site.store.browse.detail(int(page.url.rpartition("/")[2]))
    assert again.row.parent_id == site.seeds.failed


def test_a_refused_plan_is_submitted_only_by_who_insists(opened: Opener, site: Site) -> None:
    page = opened(site).go("/campaigns/new?kind=switch-qos")
    fill(page, "/devices/0/model", "linux-ets")
    expect(page.locator("#foresight")).to_contain_text("the kernel has no ets")
    said: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    page.once("dialog", dismiss)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("button", name="Submit")).to_be_enabled()
    assert said
    assert "/campaigns/new" in page.url


def test_what_a_worker_says_takes_the_place_of_what_was_foreseen(opened: Opener, site: Site) -> None:
    incarnation = site.store.workers.register("bench-2", ["bench"], 3600.0)
    page = opened(site).go("/campaigns/new?kind=switch-qos")
    expect(page.locator("#foresight-state")).to_have_text("asking the testbed")
    expect(page.locator("#foresight dd").first).to_have_text("30")
    job = None
    for _ in range(BOUND_MS // 50):
        if (job := site.store.jobs.take(incarnation, ["bench"], ["rehearsal"])) is not None:
            break
        page.wait_for_timeout(50)
    assert job is not None
    assert job.input["plan_text"] == DEMO
    site.store.jobs.done(job.id, incarnation, {"trials": [], "notes": {}, "refusals": ["port 3 is not cabled"], "warnings": []})
    expect(page.locator("#foresight")).to_contain_text("port 3 is not cabled")
    expect(page.locator("#foresight [data-by=worker]")).to_be_visible()


def test_a_service_that_is_away_loses_nothing_of_what_was_written(opened: Opener, site: Site) -> None:
    visit = opened(site, lenient=True)
    page = visit.go("/campaigns/new?kind=switch-qos")
    fill(page, "/name", "While the service is away")
    page.context.set_offline(True)
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#submit .said")).to_contain_text("what you wrote is still here")
    page.context.set_offline(False)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/campaigns/\d+$"))
    assert site.store.browse.detail(int(page.url.rpartition("/")[2])).row.name == "While the service is away"


@pytest.mark.parametrize(("theme", "phone"), [("light", False), ("dark", True)])
def test_a_plan_with_a_fault_can_be_used_by_everybody(visit: Callable[..., Visit], theme: str, phone: bool) -> None:
    made = visit(Role.ENGINEER, theme=theme, phone=phone)
    page = made.go("/campaigns/new?kind=switch-qos")
    expect(page.locator("#foresight dd").first).to_have_text("30")
    fill(page, "/trial/duration_s", "5000")
    expect(page.locator("#yaml-faults li")).to_have_count(1)
    assert made.faults() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
