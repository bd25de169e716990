"""Do the pages of schedules say what runs when, and what came of it?"""

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from rackproof.model.service import Role, SuiteRunState
from rackproof.store.firing import Firing
from tests.integration.web.house import Client, Site
from tests.integration.web.seeds import ODD
from tests.integration.web.written import plan_text
from web.pages.schedules import RUNS

Get = Callable[[str], str]


@pytest.fixture
def get(quiet: Client) -> Get:
    """What an engineer is shown at an address."""
    browser = quiet(Role.ENGINEER)

    def ask(path: str) -> str:
        answer = browser.get(path)
        assert answer.status_code == 200, answer.text
        return html.unescape(answer.text)

    return ask


def test_the_list_says_when_what_came_out_last_and_how_long_it_takes(get: Get, quiet_site: Site) -> None:
    page = get("/schedules")
    seeds = quiet_site.seeds
    assert f'<a href="/schedules/{seeds.schedule}">Nightly</a>' in page
    assert "every day at 02:30" in page
    assert "Europe/Zurich" in page
    assert re.search(rf'<a href="/schedules/runs/{seeds.runs[-1]}"><span class="badge verdict-FAIL">', page)
    assert f'data-api="POST /api/v1/schedules/{seeds.schedule}/run"' in page
    assert page.count("Nightly</a>") >= 14  # in the list, and on nearly every one of the coming days


def test_the_calendar_is_in_the_zone_that_was_asked_for(get: Get) -> None:
    there, utc, nonsense = (
        set(re.findall(r'class="at">([\d:]+)</span> Nightly', get(f"/schedules{query}"))) for query in ("", "?zone=UTC", "?zone=x")
    )
    # On one night of the year there is no 02:30, and it is run at 03:00.
    assert {"02:30"} <= there <= {"02:30", "03:00"}
    assert nonsense == there
    assert utc <= {"01:30", "00:30", "01:00"}
    assert utc


def test_a_viewer_sees_everything_and_can_do_nothing(quiet: Client, quiet_site: Site) -> None:
    browser = quiet(Role.VIEWER)
    seeds = quiet_site.seeds
    for path in ("/schedules", f"/schedules/{seeds.schedule}", "/schedules/runs", f"/schedules/runs/{seeds.runs[-1]}"):
        answer = browser.get(path)
        assert answer.status_code == 200, path
        assert "/api/v1/schedules" not in answer.text, path
        assert "/schedules/new" not in answer.text, path
    for path in ("/schedules/new", f"/schedules/{seeds.schedule}/edit", "/schedules/moments?cron=x"):
        answer = browser.get(path)
        assert answer.status_code == 403, path
        assert "expected the role engineer" in answer.text.lower(), path


def test_a_run_tells_what_changed_since_the_last_and_who_was_told(get: Get, quiet_site: Site) -> None:
    runs, nights = quiet_site.seeds.runs, quiet_site.seeds.nights
    page = get(f"/schedules/runs/{runs[-1]}")
    assert f'What changed since <a href="/schedules/runs/{runs[-2]}">' in page
    assert "<td>the verdict</td><td>PASS</td><td>FAIL</td>" in page
    assert f'<a href="/campaigns/{nights[-1]}">' in page
    assert f'<a href="/campaigns/{nights[-2]}"><span class="badge verdict-PASS">' in page
    assert "lab@example.org" in page
    assert "https://chat.example.org/…" in page
    assert "chat.example.org/hook" not in page
    before = get(f"/schedules/runs/{runs[-2]}")
    assert "Nothing: verdicts and findings are as they were" in before
    assert "There is no earlier run to compare with." in get(f"/schedules/runs/{runs[0]}")


def test_a_schedule_shows_its_plans_its_next_moments_and_no_secret(get: Get, quiet_site: Site) -> None:
    for path in (f"/schedules/{quiet_site.seeds.schedule}", f"/schedules/{quiet_site.seeds.schedule}/edit"):
        page = get(path)
        assert "https://chat.example.org/…" in page
        assert "chat.example.org/hook" not in page
        assert "kind: switch-qos" in page
    page = get(f"/schedules/{quiet_site.seeds.schedule}")
    assert "Nightly, kernel scheduler" in page
    assert "4 trials" in page
    assert page.count(", 02:30</li>") + page.count(", 03:00</li>") == 5


def test_the_form_for_a_new_one_can_begin_with_the_plan_of_a_campaign(get: Get, quiet_site: Site) -> None:
    page = get(f"/schedules/new?campaign={quiet_site.seeds.passed}")
    assert "name: Two devices, one with planted faults" in page
    assert 'class="card plan"' not in get("/schedules/new").partition("<template")[0]
    assert '<option value="switch-qos/demo">' in get("/schedules/new")


def test_the_form_is_told_when_an_expression_is_due_or_what_is_wrong_with_it(get: Get) -> None:
    assert get("/schedules/moments?cron=15 4 * * 1-5&zone=Asia/Tokyo").count(", 04:15</li>") == 5
    assert "Monday to Friday at 04:15" in get("/schedules/moments?cron=15 4 * * 1-5&zone=Asia/Tokyo")
    assert "cron: expected a cron expression of five fields (30 22 * * 1-5), found 61 4 * * *" in get("/schedules/moments?cron=61 4 * * *")
    assert "zone: expected an IANA time zone" in get("/schedules/moments?cron=0 4 * * *&zone=Mars/Base")
    assert "cron: expected" in get("/schedules/moments")


def test_long_lists_of_runs_are_paged_with_none_left_out(site: Site, client: Client) -> None:
    firing = Firing(site.store.transactions)
    schedule = site.store.schedules.get(site.seeds.schedule)
    begins = datetime(2025, 1, 1, tzinfo=UTC)
    for day in range(2 * RUNS):
        firing.begin(schedule, due=begins + timedelta(days=day), state=SuiteRunState.SKIPPED, why="run 1 had not ended")
    everything = {run.id for run in site.store.schedules.runs(limit=1000)}
    browser = client(Role.VIEWER)
    for first in ("/schedules/runs", f"/schedules/{site.seeds.schedule}"):
        path, seen, pages = first, list[int](), 0
        while path:
            page = browser.get(path).text
            seen += [int(number) for number in re.findall(r'<th scope="row" class="num"><a href="/schedules/runs/(\d+)">', page)]
            following = re.search(r'<a href="([^"]+)" rel="next">Older', page)
            path = html.unescape(following[1]) if following else ""
            pages += 1
        assert pages == 3
        assert len(seen) == len(set(seen))
        assert set(seen) == everything


def test_a_run_that_goes_on_refreshes_itself_and_one_that_is_over_does_not(site: Site, client: Client) -> None:
    browser = client(Role.ENGINEER)
    run = site.store.schedules.run_now(site.seeds.schedule, by="engineer")
    page = browser.get(f"/schedules/runs/{run}").text
    assert f'hx-get="/schedules/runs/{run}/part"' in page
    assert "as soon as a worker lives" in page
    part = browser.get(f"/schedules/runs/{run}/part")
    assert "<html" not in part.text
    Firing(site.store.transactions).set_state(run, SuiteRunState.SKIPPED)
    assert "hx-get" not in browser.get(f"/schedules/runs/{run}").text


def test_names_and_plans_that_are_no_html_stay_text(site: Site, client: Client) -> None:
    made = site.store.schedules.create(name=ODD[:120], cron="0 4 * * *", zone="UTC", plans=[f"kind: {ODD!r}", plan_text("fine")], owner=ODD)
    Firing(site.store.transactions).begin(made, due=datetime.now(UTC), state=SuiteRunState.SKIPPED, why=ODD)
    browser = client(Role.ADMIN)
    for path in ("/schedules", "/schedules/runs", f"/schedules/{made.id}", f"/schedules/{made.id}/edit"):
        page = browser.get(path)
        assert page.status_code == 200, path
        assert "<script>alert" not in page.text, path
        assert "&lt;script&gt;alert" in page.text, path
    assert "a plan that cannot be used" in browser.get(f"/schedules/{made.id}").text
    assert "1 plan cannot be run" in browser.get("/schedules").text


def test_what_belongs_to_somebody_else_can_be_changed_by_an_admin_alone(site: Site, client: Client) -> None:
    made = site.store.schedules.create(name="ada's", cron="0 4 * * *", zone="UTC", plans=[plan_text("fine")], owner="ada")
    engineer, admin = client(Role.ENGINEER), client(Role.ADMIN)
    assert f"/schedules/{made.id}/edit" not in engineer.get(f"/schedules/{made.id}").text
    assert f"/schedules/{made.id}/edit" in admin.get(f"/schedules/{made.id}").text
    assert "ada's schedule: they or an admin can change it" in html.unescape(engineer.get(f"/schedules/{made.id}/edit").text)
    _says(engineer.patch(f"/api/v1/schedules/{made.id}", json={"priority": 3}), 403)
    _says(admin.patch(f"/api/v1/schedules/{made.id}", json={"priority": 3}), 200)


def test_an_empty_house_says_what_to_do_next(site: Site, client: Client) -> None:
    site.store.schedules.delete(site.seeds.schedule)
    assert 'href="/schedules/new">New schedule' in client(Role.ENGINEER).get("/schedules").text
    assert "An engineer can make one" in client(Role.VIEWER).get("/schedules").text


def _says(answer: httpx.Response, status: int) -> None:
    assert answer.status_code == status, answer.text
