"""What does an engineer do with campaigns in the browser, and does the page keep up with what happens?"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

from rackproof.model.campaign import CampaignState
from rackproof.model.service import Role
from rackproof.model.verdict import Verdict
from tests.browser.conftest import Opener, Visit, seqs, through
from tests.browser.wire import Wire, wired
from tests.integration.web.house import Site
from tests.integration.web.seeds import Seeds, a_report
from tests.integration.web.written import Run, held, plan_text, submitted

#: How long a connection is cut: long enough for the browser to try in vain.
CUT_MS = 2500


def running(site: Site) -> Run:
    """The campaign that is half-way, in the hands of its worker."""
    return held(site.store, site.seeds.running, site.seeds.incarnation)


def test_a_trial_is_seen_to_begin_and_to_end(opened: Opener, site: Site) -> None:
    run = running(site)
    page = opened(site).go(f"/campaigns/{run.campaign}")
    expect(page.locator("#connection")).to_have_text("live")
    fifth = page.locator('#grid [data-trial="5"]')
    expect(fifth).to_have_class(re.compile("v-now"))
    run.end(5)
    expect(fifth).to_have_class(re.compile("v-PASS"))
    expect(page.locator("#log li").last).to_contain_text("trial ended")
    run.start(6)
    expect(page.locator('#grid [data-trial="6"]')).to_have_class(re.compile("v-now"))
    expect(page.locator("#standing")).to_contain_text("Trial 6 of 10")
    expect(page.locator("#standing")).to_contain_text("5 valid")
    run.end(6, late=True)
    expect(page.locator('#grid [data-trial="6"]')).to_have_text("?")
    expect(page.locator("#standing")).to_contain_text("1 INVALID")
    # The chart has grown by what the trial measured.
    expect(page.locator("#points [role=img]").nth(1)).to_have_attribute("aria-label", re.compile("WRR.*: 4 points"))


def test_after_a_cut_nothing_is_missing_and_nothing_is_there_twice(opened: Opener, site: Site) -> None:
    run = running(site)
    with wired(site.address) as wire:
        # A browser complains about a connection that is cut: that is no fault of the page.
        page = opened(replace(site, address=wire.address), lenient=True).go(f"/campaigns/{run.campaign}")
        _through_a_cut(page, wire, run)
        assert seqs(page) == [event.seq for event in site.store.events(run.campaign)]


def _through_a_cut(page: Page, wire: Wire, run: Run) -> None:
    expect(page.locator("#connection")).to_have_text("live")
    loaded = page.evaluate("performance.timeOrigin")
    run.end(5)
    expect(page.locator('#grid [data-trial="5"]')).to_have_class(re.compile("v-PASS"))
    wire.cut()
    expect(page.locator("#connection")).to_contain_text("the connection is cut")
    for index in (6, 7, 8):
        run.trial(index, late=index == 7)
    page.wait_for_timeout(CUT_MS)
    expect(page.locator('#grid [data-trial="8"]')).to_have_class("cell v-none")
    wire.mend()
    expect(page.locator("#connection")).to_have_text("live")
    expect(page.locator('#grid [data-trial="8"]')).to_have_class(re.compile("v-PASS"))
    expect(page.locator('#grid [data-trial="7"]')).to_have_class(re.compile("v-INVALID"))
    expect(page.locator("#standing")).to_contain_text("7 valid")
    run.trial(9)
    expect(page.locator('#grid [data-trial="9"]')).to_have_class(re.compile("v-PASS"))
    assert page.evaluate("performance.timeOrigin") == loaded


def test_the_end_of_a_campaign_is_seen_without_a_reload(opened: Opener, site: Site) -> None:
    run = running(site)
    page = opened(site).go(f"/campaigns/{run.campaign}")
    expect(page.locator("#connection")).to_have_text("live")
    run.end(5)
    for index in (6, 7, 8, 9, 10):
        run.trial(index)
    assert run.conclude() is Verdict.PASS
    expect(page.locator("#standing .callout")).to_contain_text("PASS Every criterion holds")
    expect(page.locator("#actions")).not_to_contain_text("Cancel")
    expect(page.locator("#connection")).to_have_text("")
    a_report(site.store, site.settings, run.campaign)
    page.reload()
    expect(page.get_by_role("link", name="Report (PDF)")).to_have_attribute("href", f"/api/v1/campaigns/{run.campaign}/report.pdf")


def test_an_engineer_cancels_a_campaign_and_goes_on_with_it(opened: Opener, site: Site) -> None:
    waiting = site.seeds.waiting[1]
    page = opened(site).go(f"/campaigns/{waiting}")
    page.get_by_text("Cancel", exact=True).click()
    page.get_by_label("Why").fill("the switch is needed elsewhere")
    through(page.get_by_role("button", name="Cancel the campaign"))
    expect(page.locator("#standing .callout")).to_contain_text("ABORTED")
    expect(page.locator("#standing")).to_contain_text("cancelled by engineer: the switch is needed elsewhere")
    through(page.get_by_role("button", name="Go on: 20 trials left"))
    expect(page.locator("#standing")).to_contain_text("in line")
    assert site.store.browse.campaign(waiting).state is CampaignState.PENDING


def test_an_engineer_retries_what_gave_no_valid_result(opened: Opener, site: Site) -> None:
    seeds = site.seeds
    page = opened(site).go(f"/campaigns/{seeds.invalid}")
    asked: list[str] = []

    def refuse(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.once("dialog", refuse)
    page.get_by_role("button", name="Retry 2 trials").click()
    assert asked == ["2 trials gave no valid result. Forget what they gave, and measure them again?"]
    assert site.store.browse.campaign(seeds.invalid).state is CampaignState.DONE
    page.once("dialog", lambda dialog: dialog.accept())
    through(page.get_by_role("button", name="Retry 2 trials"))
    expect(page.locator("#standing")).to_contain_text("2 to run")
    expect(page.locator('#grid [data-trial="3"]')).to_have_class(re.compile("v-none"))
    assert site.store.browse.campaign(seeds.invalid).state is CampaignState.PENDING


def test_a_report_is_asked_for_and_is_there_when_a_worker_has_written_it(opened: Opener, site: Site) -> None:
    failed = site.seeds.failed
    page = opened(site).go(f"/campaigns/{failed}")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Make the report").click()
    expect(page.locator("#notices")).to_contain_text("A worker has been asked for the report.")
    job = site.store.jobs.take(site.seeds.incarnation, ["bench"])
    assert job is not None
    assert (job.kind, job.campaign) == ("report", failed)
    a_report(site.store, site.settings, failed)
    site.store.jobs.done(job.id, site.seeds.incarnation, {})
    expect(page.locator("#notices")).to_contain_text("The report is ready.")
    address = page.get_by_role("link", name="Report (PDF)").get_attribute("href")
    answer = page.request.get(f"{site.address}{address}")
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.body().startswith(b"%PDF-")


def test_a_priority_that_cannot_be_is_refused_where_it_is_typed(opened: Opener, site: Site) -> None:
    waiting = site.seeds.waiting[1]
    page = opened(site, lenient=True).go(f"/campaigns/{waiting}")
    page.get_by_text("Priority 0").click()
    field = page.get_by_label("Priority", exact=True)
    field.evaluate("(input) => input.removeAttribute('max')")
    field.fill("5000")
    page.get_by_role("button", name="Set").click()
    expect(page.locator("#priority-help")).to_contain_text("found 5000")
    field.fill("9")
    through(page.get_by_role("button", name="Set"))
    expect(page.get_by_text("Priority 9")).to_be_visible()
    assert site.store.browse.campaign(waiting).priority == 9


def test_a_list_that_is_filtered_is_a_link(visit: Callable[..., Visit], seeds: Seeds) -> None:
    page = visit().go("/campaigns")
    page.get_by_label("Verdict").select_option("INVALID")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/campaigns\?verdict=INVALID$"))
    page.get_by_role("searchbox", name="Name").fill("busy")
    expect(page).to_have_url(re.compile(r"name=busy&verdict=INVALID$"))
    page.reload()
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page.get_by_role("searchbox", name="Name")).to_have_value("busy")
    page.get_by_role("searchbox", name="Name").fill("nothing is called this")
    expect(page.locator("#list")).to_contain_text("No campaign is like that")
    page.go_back()
    expect(page.locator("#list tbody tr")).to_have_count(1)


def test_every_frame_of_a_trial_can_be_looked_at_closely(visit: Callable[..., Visit], seeds: Seeds) -> None:
    page = visit().go(f"/campaigns/{seeds.passed}/trials/5")
    said = page.locator("#samples-said")
    expect(said).to_contain_text("frames, 0 s to")
    whole = said.inner_text()
    with page.expect_response(re.compile(r"samples\.json\?.*from=")) as answer:
        page.get_by_role("button", name="Zoom in").click()
    part: dict[str, Any] = answer.value.json()
    assert part["to"] - part["from"] == pytest.approx(part["until"] / 2)
    expect(said).not_to_have_text(whole)
    expect(page).to_have_url(re.compile(r"\?from=.*&to="))
    page.reload()
    expect(said).not_to_have_text(whole)
    box = page.locator("#samples .u-over").bounding_box()
    assert box is not None
    with page.expect_response(re.compile(r"samples\.json\?.*from=")) as closer:
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=4)
        page.mouse.up()
    found: dict[str, Any] = closer.value.json()
    assert found["to"] - found["from"] == pytest.approx((part["to"] - part["from"]) / 5, rel=0.05)
    page.get_by_role("button", name="All").click()
    expect(said).to_have_text(whole)


def test_a_point_of_a_chart_says_what_it_is_and_leads_to_its_trial(visit: Callable[..., Visit], seeds: Seeds) -> None:
    page = visit().go(f"/campaigns/{seeds.passed}?quantity=delay.p50&of=queue")
    chart = page.locator("#points figure").first.locator(".u-over")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    tip = chart.locator(".tip")
    for step in range(1, 40):
        page.mouse.move(box["x"] + box["width"] * 0.05, box["y"] + box["height"] * step / 40)
        if tip.is_visible():
            break
    expect(tip).to_contain_text(re.compile(r"queue \d: [\d.\s]+ µs.*n \d+.*trial \d+", re.DOTALL))
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(rf"/campaigns/{seeds.passed}/trials/\d+$"))


def test_a_viewer_can_do_nothing_but_look(visit: Callable[..., Visit], seeds: Seeds) -> None:
    page = visit(Role.VIEWER).go(f"/campaigns/{seeds.running}")
    expect(page.locator("#actions")).to_contain_text("More")
    for word in ("Cancel", "Again", "New campaign", "Make the report"):
        assert page.get_by_text(word, exact=True).count() == 0


def test_a_campaign_that_is_submitted_elsewhere_appears_on_the_home_page(opened: Opener, site: Site) -> None:
    page = opened(site).go("/")
    run = submitted(site.store, plan_text("Came while somebody looked"), owner="ada")
    expect(page.locator("#now")).to_contain_text("Came while somebody looked")
    expect(page.locator("#now a", has_text="Came while")).to_have_attribute("href", f"/campaigns/{run.campaign}")


def test_a_histogram_is_zoomed_and_its_fits_are_switched(opened: Opener, site: Site) -> None:
    page = opened(site, role=Role.VIEWER).go(f"/campaigns/{site.seeds.delay}")
    part = page.locator("#histogram")
    expect(part.locator("canvas")).to_be_visible()
    expect(part.get_by_role("status")).to_have_text("3\u202f000 frames")
    fits = part.locator(".keys button")
    shown = fits.evaluate_all("all => all.map((one) => one.getAttribute('aria-pressed'))")
    assert shown[:2] == ["true", "true"]
    assert set(shown[2:]) == {"false"}
    whole = _picture(page)
    fits.last.click()
    with_another = _picture(page)
    assert with_another != whole
    part.get_by_role("button", name="Zoom in").click()
    zoomed = _picture(page)
    assert zoomed != with_another
    part.get_by_role("button", name="All").click()
    assert _picture(page) == with_another
    over = part.locator(".u-over")
    over.drag_to(over, source_position={"x": 150, "y": 100}, target_position={"x": 250, "y": 100})
    assert _picture(page) != with_another
    part.get_by_role("button", name="Next trial").click()
    expect(part.get_by_role("link", name="The trial")).to_have_attribute("href", f"/campaigns/{site.seeds.delay}/trials/2")


def test_a_timeline_is_read_and_zoomed_in_all_its_strips_at_once(opened: Opener, site: Site) -> None:
    page = opened(site, role=Role.VIEWER).go(f"/campaigns/{site.seeds.flaps}/trials/3")
    first, second = page.locator("[data-timeline]").all()
    strips = first.locator(".u-over")
    expect(strips).to_have_count(5)
    last, other = "[data-timeline] figure:last-child canvas", "[data-timeline] ~ [data-timeline] figure:last-child canvas"
    whole, of_other = _picture(page, last), _picture(page, other)
    strips.first.hover(position={"x": 150, "y": 30})
    # The other strips tell of the same moment.
    expect(first.locator(".tip").nth(0)).to_contain_text("tears sent: 500")
    moments = first.locator(".tip").evaluate_all("all => all.map((one) => one.textContent.split('\\n')[0])")
    assert len({float(each.removesuffix(" s")) for each in moments}) <= 2
    assert second.locator(".tip:visible").count() == 0
    first.get_by_role("button", name="Zoom in").click()
    zoomed = _picture(page, last)
    assert zoomed != whole
    first.get_by_role("button", name="All").click()
    assert _picture(page, last) == whole
    strips.first.drag_to(strips.first, source_position={"x": 100, "y": 30}, target_position={"x": 200, "y": 30})
    assert _picture(page, last) not in (whole, zoomed)
    assert _picture(page, other) == of_other


def _picture(page: Page, canvas: str = "#histogram canvas") -> str:
    """What a canvas shows, once it is drawn."""
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    picture: str = page.locator(canvas).first.evaluate("canvas => canvas.toDataURL()")
    return picture
