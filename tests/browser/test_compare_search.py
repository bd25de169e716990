"""Comparing and searching in a real browser."""

import re
from collections.abc import Callable

from playwright.sync_api import expect

from rackproof.model.service import Role
from tests.browser.conftest import Visit, through


def test_two_campaigns_are_chosen_and_put_side_by_side(visit: Callable[..., Visit]) -> None:
    made = visit(Role.VIEWER)
    seeds = made.site.seeds
    page = made.go("/compare")
    page.locator(f"#choose-{seeds.passed}").check()
    page.locator(f"#choose-{seeds.failed}").check()
    through(page.get_by_role("button", name="Compare"))
    expect(page.locator("#measured")).to_contain_text("throughput")
    page.get_by_label("Measurement").select_option("delay.p99")
    through(page.get_by_role("button", name="Show", exact=True))
    expect(page.locator("#measured")).to_contain_text("delay.p99")
    assert page.url.count("campaign=") == 2
    page.get_by_label("Add campaign").fill(str(seeds.nights[-1]))
    through(page.get_by_role("button", name="Add"))
    expect(page.locator(".sides > section")).to_have_count(3)
    through(page.get_by_role("button", name=f"Leave out campaign {seeds.passed}"))
    expect(page.locator(".sides > section")).to_have_count(2)
    expect(page.locator("#measured")).to_contain_text("delay.p99")


def test_a_search_from_anywhere_leads_to_its_campaign(visit: Callable[..., Visit]) -> None:
    made = visit(Role.VIEWER)
    page = made.go("/compare")
    page.get_by_role("searchbox", name="Search").fill("new firmware")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/search\?q=new"))
    expect(page.get_by_role("link", name="Reference switch of the new firmware")).to_have_attribute(
        "href", f"/campaigns/{made.site.seeds.failed}"
    )
