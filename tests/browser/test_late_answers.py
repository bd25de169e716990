"""Does what comes late, from a service or a line that is slow, do harm to what was done meanwhile?"""

import re

from playwright.sync_api import expect

from rackproof.model.service import Role
from tests.browser.conftest import Opener, caught, until
from tests.integration.accounts.serving import PASSWORD
from tests.integration.web.house import Site
from tests.integration.web.written import held

ASKED = "**/campaigns/new/yaml"
CHART = "**/chart.json?*"


def test_a_form_that_is_sent_before_the_scripts_are_there_waits_for_them(opened: Opener, site: Site) -> None:
    page = opened(site, None).page
    script = caught(page, "**/app.js?*", lambda: page.goto(f"{site.address}/sign-in?next=/trends", wait_until="commit"))
    page.get_by_label("Name").fill("engineer")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    assert PASSWORD not in page.url
    with page.expect_navigation(url=f"{site.address}/trends"):
        script.continue_()
    expect(page.locator("header summary")).to_have_text("engineer")


def test_what_is_selected_in_a_field_stays_selected_when_the_form_is_made_anew(opened: Opener, site: Site) -> None:
    site.store.workers.declare_dead("bench-1")  # it would answer nobody
    page = opened(site).go("/campaigns/new?kind=switch-qos")
    answer = caught(page, ASKED, page.get_by_role("button", name="Remove Device 3").click)
    field = page.locator('[data-op=set][data-path="/trial/duration_s"]')
    field.select_text()
    answer.continue_()
    expect(page.get_by_role("button", name="Remove Device 3")).to_have_count(0)
    page.keyboard.type("2.5")
    expect(field).to_have_value("2.5")


def test_a_chart_that_comes_late_does_not_take_the_place_of_a_newer_one(opened: Opener, site: Site) -> None:
    run = held(site.store, site.seeds.running, site.seeds.incarnation)
    page = opened(site).page
    chart = page.locator("#points [role=img]").first
    late = caught(page, CHART, lambda: page.goto(f"{site.address}/campaigns/{run.campaign}"))
    old = late.fetch()
    expect(page.locator("#connection")).to_have_text("live")
    run.end(5)
    expect(chart).to_have_attribute("aria-label", re.compile(": 20 points"))
    with page.expect_response(CHART) as answer:
        late.fulfill(response=old)
    answer.value.finished()
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    expect(chart).to_have_attribute("aria-label", re.compile(": 20 points"))


def test_a_menu_stays_open_when_buttons_that_were_asked_for_before_arrive(opened: Opener, site: Site) -> None:
    page = opened(site).go(f"/campaigns/{site.seeds.running}")
    late = caught(page, "**/parts/actions", lambda: page.evaluate("htmx.trigger('#actions', 'refresh')"))
    page.get_by_text("Cancel", exact=True).click()
    page.get_by_label("Why").fill("lunch")
    page.evaluate("document.addEventListener('htmx:beforeSwap', (event) => { window.stopped = event.defaultPrevented; })")
    late.continue_()
    until(page, "window.stopped === true")
    expect(page.get_by_label("Why")).to_have_value("lunch")


def test_a_list_that_was_asked_for_before_it_was_filtered_does_not_come_back(opened: Opener, site: Site) -> None:
    visit = opened(site, Role.VIEWER)
    visit.page.clock.install()
    page = visit.go("/campaigns")
    expect(page.locator("#list tbody tr").nth(1)).to_be_visible()
    late = caught(page, f"{site.address}/campaigns", lambda: page.clock.fast_forward(5_500))
    page.get_by_label("Verdict").select_option("INVALID")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.evaluate("document.addEventListener('htmx:beforeSwap', (event) => { window.stopped = event.defaultPrevented; })")
    late.continue_()
    until(page, "window.stopped === true")
    expect(page.locator("#list tbody tr")).to_have_count(1)


def test_hours_for_which_a_testbed_is_kept_are_as_long_when_the_clocks_change(opened: Opener, site: Site) -> None:
    visit = opened(site)
    # In Zurich the clocks go from 2:00 to 3:00 an hour later.
    visit.page.clock.install(time="2027-03-28T00:00:00Z")
    page = visit.go("/testbeds/lab-2")
    page.get_by_role("button", name="4 hours").click()
    expect(page.get_by_label("Until", exact=True)).to_have_value("2027-03-28T06:00")
