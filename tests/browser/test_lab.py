"""Can people keep a testbed, take it offline, have it checked, and see what changed over the nights?"""

import re

from playwright.sync_api import expect

from rackproof.model.service import Role, TestbedState
from tests.browser.conftest import Opener, caught, through, until
from tests.integration.web.house import Site
from tests.integration.web.written import plan_text

NAME = "Nightly, kernel scheduler"
#: More often a page does not ask for what is new.
POLL_MS = 5_500
#: Puts a button with the focus into a part, and notes what was stopped because of it.
HELD = """
    () => {
        document.querySelector("#now").insertAdjacentHTML("beforeend", "<button id=held>held</button>");
        document.querySelector("#held").focus();
        window.stopped = [];
        for (const stage of ["htmx:beforeRequest", "htmx:beforeSwap"])
            document.addEventListener(stage, (event) => { if (event.defaultPrevented) window.stopped.push(stage); });
    }
"""


def test_a_testbed_is_kept_and_given_back(opened: Opener, site: Site) -> None:
    site.store.testbeds.set_state("lab-2", TestbedState.ONLINE, "")
    page = opened(site, Role.ENGINEER, lenient=True).go("/testbeds/lab-2")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("What for").fill("a new cable")
    page.get_by_role("button", name="4 hours").click()
    through(page.get_by_role("button", name="Keep it", exact=True))
    kept = page.get_by_role("region", name="Reservations")
    expect(kept).to_contain_text("a new cable")
    reservation = site.store.reservations.list("lab-2")[0]
    assert 3.9 < (reservation.ends - reservation.starts).total_seconds() / 3600 < 4.1
    assert reservation.owner == "engineer"

    # Twice at once it cannot be kept, and the form says who has it.
    page.get_by_role("button", name="1 hour", exact=True).click()
    page.get_by_role("button", name="Keep it", exact=True).click()
    expect(page.locator("[data-reserve] .said")).to_contain_text("engineer has reserved lab-2")

    through(page.get_by_role("button", name="Give back what engineer keeps"))
    expect(page.get_by_role("heading", name="Kept before")).to_be_visible()
    assert site.store.reservations.list("lab-2") == []


def test_an_admin_takes_a_testbed_offline_has_it_checked_and_lets_others_adopt(opened: Opener, site: Site) -> None:
    page = opened(site, Role.ADMIN, lenient=True).go("/testbeds/bench")
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("summary", has_text="Take it offline").click()
    page.get_by_label("Why").fill("the switch is being replaced")
    through(page.get_by_role("button", name="Take it offline"))
    expect(page.locator(".callout")).to_contain_text("the switch is being replaced. Nothing starts on it")
    assert site.store.testbeds.get("bench").state is TestbedState.OFFLINE
    through(page.get_by_role("button", name="Bring it back"))
    expect(page.locator("summary", has_text="Take it offline")).to_be_visible()
    assert site.store.testbeds.get("bench").state is TestbedState.ONLINE

    page.locator("summary", has_text="Set a health check").click()
    page.get_by_label("Golden plan").fill(plan_text("Golden", testbed="lab-2"))
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".golden .said")).to_contain_text("expected a plan for the testbed bench, found one for lab-2")
    page.get_by_label("Golden plan").fill(plan_text("Golden"))
    page.get_by_label("When", exact=True).fill("0 5 * * 1-5")
    through(page.get_by_role("button", name="Save"))
    expect(page.locator("main")).to_contain_text("Monday to Friday at 05:00, UTC")
    page.locator("summary", has_text="Change the health check").click()
    through(page.get_by_role("button", name="Remove the health check"))
    expect(page.locator("summary", has_text="Set a health check")).to_be_visible()
    assert site.store.testbeds.get("bench").golden_plan is None

    page.goto(f"{site.address}/testbeds")
    expect(page.get_by_role("region", name="Workers")).to_contain_text("alive")
    through(page.get_by_role("button", name="Let others adopt the campaigns of bench-1"))
    expect(page.get_by_role("region", name="Workers")).to_contain_text("gone")


def test_a_testbeds_page_refreshes_itself_but_not_under_ones_hands(opened: Opener, site: Site) -> None:
    visit = opened(site, Role.ADMIN)
    visit.page.clock.install()
    page = visit.go("/testbeds/lab-2")
    expect(page.locator(".callout")).to_contain_text("delay floor")
    site.store.testbeds.set_state("lab-2", TestbedState.OFFLINE, "a cable is loose")
    page.clock.fast_forward(POLL_MS)
    expect(page.locator(".callout")).to_contain_text("a cable is loose")
    # A part with the focus in it waits, also where it was asked for before.
    late = caught(page, "**/testbeds/lab-2/now", lambda: page.clock.fast_forward(POLL_MS))
    site.store.testbeds.set_state("lab-2", TestbedState.OFFLINE, "two cables are loose")
    page.evaluate(HELD)
    late.continue_()
    until(page, "window.stopped.includes('htmx:beforeSwap')")
    page.clock.fast_forward(POLL_MS)
    until(page, "window.stopped.includes('htmx:beforeRequest')")
    expect(page.locator("#held")).to_be_focused()
    page.locator("#held").blur()
    page.clock.fast_forward(POLL_MS)
    expect(page.locator(".callout")).to_contain_text("two cables are loose")


def test_a_trend_is_chosen_and_a_point_leads_to_its_campaign(opened: Opener, site: Site) -> None:
    page = opened(site, Role.VIEWER, lenient=True).go("/trends")
    page.get_by_label("Measurement").select_option("wasted")
    page.wait_for_url(re.compile(r"quantity=wasted"))
    expect(page.locator(".answer")).to_contain_text("It changed once")
    expect(page.get_by_role("region", name="What was new")).to_contain_text("6.1.0-31-amd64")
    page.get_by_label("load [Mbit/s]").select_option("60")
    page.wait_for_url(re.compile(r"at\.load_mbps=60"))
    assert "quantity=wasted" in page.url
    # Something is drawn: the canvas has ink where the points are.
    inked = page.evaluate(
        "() => { const c = document.querySelector('#trend canvas');"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i]) n++; return n; }"
    )
    assert inked > 1000
    over = page.locator("#trend .u-over")
    box = over.bounding_box()
    assert box is not None
    over.hover(position={"x": box["width"] - 5, "y": box["height"] / 2})
    expect(page.locator(".tip")).to_contain_text(f"campaign {site.seeds.nights[-1]}")
    over.click(position={"x": box["width"] - 5, "y": box["height"] / 2})
    page.wait_for_url(re.compile(rf"/campaigns/{site.seeds.nights[-1]}$"))
