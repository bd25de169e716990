"""An engineer's day against the real service: first account, a plan through the form, live on the bench, report, schedule."""

import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect
from pypdf import PdfReader

from rackproof.store.embedded import stop_if_unused
from tests.e2e.plans import write_plan
from tests.e2e.serving import clean_environment, service

pytestmark = [pytest.mark.netns, pytest.mark.slow]

PASSWORD = "three herons on one pond"
#: The bench measures, and a report is drawn, on two processors beside the browser.
LONG_MS = 120_000


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Page]:
    """A browser at the service, signed in as the first admin, whose account was made with the code that the service printed."""
    folder = tmp_path_factory.mktemp("day")
    data, log = folder / "data", folder / "log"
    try:
        with service(clean_environment(data), log) as (_, address):
            context = browser.new_context(base_url=address, viewport={"width": 1360, "height": 900}, accept_downloads=True)
            made = context.new_page()
            code = re.search(r"with the code (\S+)", log.read_text())
            assert code is not None
            made.goto("/")
            made.get_by_label("Code").fill(code[1])
            made.get_by_label("Name").fill("ada")
            made.get_by_label("Password").fill(PASSWORD)
            made.get_by_role("button", name="Make the account").click()
            made.wait_for_url(f"{address}/")
            yield made
            context.close()
    finally:
        stop_if_unused(data)


def test_a_day(page: Page, tmp_path: Path) -> None:
    first = _submit(page, write_plan(tmp_path, name="good", loads="2, 12").read_text(), correct=True)
    _see_it_end(page, "PASS")
    _read_the_report(page, "PASS")

    second = _submit(page, write_plan(tmp_path, name="long", loads="2, 6, 8, 10, 12", duration_s=3).read_text())
    expect(page.locator('#grid [data-trial="1"]')).to_have_class(re.compile("v-PASS"), timeout=LONG_MS)
    page.get_by_text("Cancel", exact=True).click()
    page.get_by_label("Why").fill("lunch")
    page.get_by_role("button", name="Cancel the campaign").click()
    expect(page.locator("#standing .callout")).to_contain_text("ABORTED", timeout=LONG_MS)
    expect(page.locator("#standing")).to_contain_text("cancelled by ada: lunch")
    with page.expect_navigation():
        page.get_by_role("button", name=re.compile(r"^(Go on|Retry)")).first.click()
    _see_it_end(page, "PASS")

    page.goto(f"/compare?campaign={first}&campaign={second}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare")
    expect(page.locator("main")).to_contain_text("throughput")

    page.goto("/testbeds/bench")
    expect(page.locator("main")).to_contain_text("online")


def _submit(page: Page, plan: str, correct: bool = False) -> int:
    """Write a plan as YAML, with a mistake that is corrected in the form where asked, and submit it; the campaign."""
    page.goto("/campaigns/new")
    if correct:
        page.locator("#plan-text").fill(plan.replace("duration_s: 0.3", "duration_s: 9999"))
        wrong = page.locator('.field[data-where="trial.duration_s"]')
        expect(wrong).to_have_class(re.compile("wrong"))
        expect(page.get_by_role("button", name="Submit")).to_be_disabled()
        asked = page.locator('[data-op=set][data-path="/trial/duration_s"]')
        with page.expect_response("**/campaigns/new/yaml"):
            asked.fill("0.3")
            asked.press("Tab")
        expect(wrong).not_to_have_class(re.compile("wrong"))
    else:
        page.locator("#plan-text").fill(plan)
    expect(page.locator("#yaml-state")).to_have_text("valid")
    expect(page.locator("#foresight")).to_contain_text("Trials")
    # The worker's own answer takes the place of what the plan alone foretells.
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(re.compile(r"/campaigns/\d+$"), timeout=LONG_MS)
    return int(page.url.rpartition("/")[2])


def _see_it_end(page: Page, verdict: str) -> None:
    loaded = page.evaluate("performance.timeOrigin")
    expect(page.locator("#standing .callout")).to_contain_text(verdict, timeout=LONG_MS)
    assert page.evaluate("performance.timeOrigin") == loaded, "the page was loaded again"


def _read_the_report(page: Page, verdict: str) -> None:
    link = page.get_by_role("link", name="Report (PDF)")
    expect(link).to_be_visible(timeout=LONG_MS)
    answer = page.request.get(link.get_attribute("href") or "")
    assert answer.headers["content-type"] == "application/pdf"
    assert verdict in PdfReader(io.BytesIO(answer.body())).pages[0].extract_text()


def _patiently(page: Page, ready: Callable[[], bool], looks: int) -> None:
    for _ in range(looks):
        if ready():
            return
        page.wait_for_timeout(1000)
    raise AssertionError("it did not happen in time")


@pytest.mark.skipif(os.environ.get("RACKPROOF_LONG") != "1", reason="waits for a full minute; the night is tested end to end elsewhere")
def test_a_suite_fires_by_itself(page: Page, tmp_path: Path) -> None:
    plan = write_plan(tmp_path, name="nightly", loads="12").read_text()
    answer = page.request.post(
        "/api/v1/schedules",
        data={"name": "Nightly", "cron": "* * * * *", "plans": [plan]},
        headers={"X-CSRF-Token": page.locator("meta[name=csrf]").get_attribute("content") or ""},
    )
    assert answer.status == 201, answer.text()
    page.goto("/schedules")
    expect(page.locator("main")).to_contain_text("Nightly")

    def fired() -> bool:
        page.goto("/campaigns?name=nightly")
        return page.get_by_role("link", name="nightly", exact=True).count() > 0

    _patiently(page, fired, looks=90)
    page.once("dialog", _accept)
    page.goto("/schedules")
    page.get_by_role("button", name="Pause").first.click()
    expect(page.locator("main")).to_contain_text("paused")


def _accept(dialog: Dialog) -> None:
    dialog.accept()
