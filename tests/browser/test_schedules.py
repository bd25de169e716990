"""Can an engineer schedule a suite, correct a mistake where it is shown, run it at once, and pause it?"""

from playwright.sync_api import expect

from rackproof.model.service import Role, SuiteRunState
from rackproof.store.firing import Firing
from tests.browser.conftest import Opener, through
from tests.integration.web.house import Site

BROKEN = "kind: switch-qos\nname: Broken\ndevices: [linux-htb]\ndisciplines: [strict-priority]\nload: {per_sender_mbps: [-4]}\n"


def test_a_suite_is_scheduled_corrected_run_and_paused(opened: Opener, site: Site) -> None:
    visit = opened(site, Role.ENGINEER, lenient=True)  # a refused form is an error to the console
    page = visit.go("/schedules/new")
    moments = page.locator("#moments")
    expect(moments).to_contain_text("Every day at 22:00")
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Zurich")

    # The choice writes the expression, and the expression makes the choice.
    page.get_by_label("How often").select_option("Monday to Friday")
    page.get_by_label("At", exact=True).fill("03:15")
    expect(page.get_by_label("Cron expression")).to_have_value("15 3 * * 1-5")
    expect(moments).to_contain_text("Monday to Friday at 03:15")
    page.get_by_label("Cron expression").fill("15 3 * *")
    expect(moments).to_contain_text("expected a cron expression of five fields")
    page.get_by_label("Cron expression").fill("0 4 * * 6")
    expect(moments).to_contain_text("Saturday at 04:00")
    expect(page.get_by_label("How often")).to_have_value("* 6")
    expect(page.get_by_label("At", exact=True)).to_have_value("04:00")

    # Without a plan there is nothing to make.
    page.get_by_role("button", name="Make the schedule").click()
    expect(page.locator("#no-plans")).to_be_visible()
    page.get_by_label("A plan that is ready").select_option("switch-qos/demo")
    page.locator("#add-ready").click()
    plans = page.locator(".plan")
    expect(plans.first.get_by_role("status")).to_contain_text("switch-qos on bench")
    expect(page.locator("#no-plans")).to_be_hidden()
    page.get_by_role("button", name="Write one").click()
    plans.nth(1).get_by_role("textbox").fill(BROKEN)
    expect(plans.nth(1).get_by_role("status")).to_contain_text("line 5: load.per_sender_mbps[0]: expected")

    # What is wrong is said where it is wrong, and nothing is lost.
    page.get_by_label("Mail the digest to").fill("lab@example.org\nada@example.org")
    page.get_by_label("Send it to webhooks").fill("https://chat.example.org/secret")
    page.get_by_role("button", name="Make the schedule").click()
    expect(page.locator('[data-field="name"]')).to_contain_text("expected")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.get_by_label("Name", exact=True).fill("Saturdays")
    page.get_by_role("button", name="Make the schedule").click()
    expect(page.locator("#schedule > .said")).to_contain_text("plan 2: the plan cannot be used")
    plans.nth(1).get_by_role("button", name="Remove").click()
    through(page.get_by_role("button", name="Make the schedule"))

    expect(page.get_by_role("heading", level=1)).to_have_text("Saturdays")
    made = next(one for one in site.store.schedules.list() if one.name == "Saturdays")
    assert (made.cron, made.zone, len(made.plans), made.owner) == ("0 4 * * 6", "Europe/Zurich", 1, "engineer")
    assert (made.emails, made.webhooks) == (("lab@example.org", "ada@example.org"), ("https://chat.example.org/secret",))
    expect(page.locator(".facts")).to_contain_text("https://chat.example.org/…")

    through(page.get_by_role("button", name="Pause Saturdays"))
    expect(page.get_by_role("button", name="Let Saturdays fire again")).to_be_visible()
    assert site.store.schedules.get(made.id).paused
    through(page.get_by_role("button", name="Let Saturdays fire again"))
    expect(page.get_by_role("button", name="Pause Saturdays")).to_be_visible()

    # What is edited keeps what nobody is shown.
    through(page.get_by_role("link", name="Edit"))
    expect(page.get_by_label("Name", exact=True)).to_have_value("Saturdays")
    page.get_by_label("If the last run has not ended").select_option("Queue behind it")
    page.get_by_label("Mail the digest to").fill("")
    through(page.get_by_role("button", name="Save"))
    expect(page.locator(".facts")).to_contain_text("queue behind it")
    changed = site.store.schedules.get(made.id)
    assert (changed.emails, changed.webhooks) == ((), ("https://chat.example.org/secret",))
    assert changed.plans == made.plans

    through(page.get_by_role("button", name="Run Saturdays now"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Saturdays, run")
    expect(page.locator("main")).to_contain_text("as soon as a worker lives")
    # Without a reload, the page says what became of it.
    run = int(page.url.rsplit("/", 1)[1])
    Firing(site.store.transactions).set_state(run, SuiteRunState.SKIPPED)
    expect(page.locator("main")).to_contain_text("This run was left out")

    page.goto(f"{site.address}/schedules/{made.id}")
    page.on("dialog", lambda dialog: dialog.accept())
    through(page.get_by_role("button", name="Delete"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
    assert "Saturdays" not in [one.name for one in site.store.schedules.list()]
