"""Can the main way be gone without a mouse: sign in, write a campaign, submit it, and see it?"""

import re

from playwright.sync_api import Locator, Page, expect

from rackproof.model.service import Role
from tests.browser.conftest import Opener
from tests.integration.accounts.serving import PASSWORD
from tests.integration.web.house import Site

#: Nothing on the way is further off than this many presses of a key.
STEPS_MAX = 150


#: Whether what has the focus looks like it.
_IS_MARKED = """
    (element) => {
        const look = () => {
            const { outline, boxShadow, borderColor } = getComputedStyle(element);
            return outline + boxShadow + borderColor;
        };
        const focused = look();
        element.blur();
        const plain = look();
        element.focus();
        return focused !== plain;
    }
"""


def to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press a key until the focus is where it is wanted; on its way everybody can see where it is."""
    expect(wanted).to_have_count(1)
    for _ in range(STEPS_MAX):
        page.keyboard.press(key)
        if wanted.evaluate("(element) => element === document.activeElement"):
            assert wanted.evaluate(_IS_MARKED), wanted
            return
    raise AssertionError(f"{wanted} is not reached by pressing {key} {STEPS_MAX} times")


def test_from_signing_in_to_a_campaign_without_a_mouse(opened: Opener, site: Site) -> None:
    site.store.workers.declare_dead("bench-1")  # it would answer nobody
    page = opened(site, None).go("/")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("engineer")
    to(page, page.get_by_label("Password"))
    page.keyboard.type(PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator("header summary")).to_have_text("engineer")

    # The first stop of every page leads past what all pages have.
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    to(page, page.locator("header").get_by_role("link", name="New campaign"))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/campaigns/new"))

    to(page, page.locator('[data-op=set][data-path="/name"]'))
    page.keyboard.press("Control+A")
    page.keyboard.type("Written without a mouse")
    page.keyboard.press("Tab")
    expect(page.locator("#plan-text")).to_have_value(re.compile("Written without a mouse"))
    expect(page.locator("#yaml-state")).to_have_text("valid")
    # The text of the plan is on the way, and does not hold whoever comes by.
    to(page, page.locator("#plan-text"))
    to(page, page.get_by_role("button", name="Submit"))
    # The testbed of the house cannot do everything; a question of the browser is answered by a key.
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/campaigns/\d+$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Written without a mouse")

    # What belongs to it can be done in the same way.
    to(page, page.locator("summary", has_text="Cancel"))
    page.keyboard.press("Enter")
    to(page, page.get_by_label("Why"))
    page.keyboard.type("a trial of the keys")
    page.keyboard.press("Enter")
    expect(page.locator("#standing .callout")).to_contain_text("ABORTED")
    assert site.store.browse.campaign(int(page.url.rpartition("/")[2])).owner == Role.ENGINEER.value
