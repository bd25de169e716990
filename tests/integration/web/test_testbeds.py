"""Do the pages of testbeds say who has them, who waits, who keeps them, and whether they are well?"""

import html
import re
from datetime import UTC, datetime, timedelta

from rackproof.model.campaign import CampaignState
from rackproof.model.service import Role, TestbedState
from rackproof.model.verdict import Verdict
from tests.integration.web.house import Client, Site
from tests.integration.web.seeds import ODD
from tests.integration.web.written import plan_text, written
from web.pages.testbeds import CHECKS, HISTORY

SOON = timedelta(days=3)


def test_the_list_says_what_runs_what_waits_and_why_not(quiet: Client, quiet_site: Site) -> None:
    page = html.unescape(quiet(Role.VIEWER).get("/testbeds").text)
    bench, lab = (re.search(rf'<a href="/testbeds/{name}">.*?</tr>', page, re.S) for name in ("bench", "lab-2"))
    assert bench is not None
    assert lab is not None
    assert f'<a href="/campaigns/{quiet_site.seeds.running}">Two disciplines, half-way</a>' in bench[0]
    assert '<td class="num">3</td>' in bench[0]  # two campaigns and a reservation
    assert "bench-1" in bench[0]
    assert "the health check failed: delay floor 41 us" in lab[0]
    assert 'state-OFFLINE">offline' in lab[0]


def test_workers_are_listed_and_an_admin_alone_lets_others_adopt(quiet: Client, quiet_site: Site) -> None:
    for role in Role:
        page = quiet(role).get("/testbeds").text
        assert f'<a href="/campaigns/{quiet_site.seeds.running}">{quiet_site.seeds.running}</a>' in page
        assert ("/api/v1/workers/bench-1/adopt" in page) == (role is Role.ADMIN)
    assert "<html" not in quiet(Role.VIEWER).get("/parts/testbeds").text


def test_a_testbed_shows_its_line_in_order_with_expected_starts(quiet: Client, quiet_site: Site) -> None:
    def expected() -> dict[int | None, datetime]:
        forecast = quiet_site.store.queue.forecast("bench")
        return {place.campaign: place.expected_start for place in forecast if place.expected_start is not None}

    # The forecast of what runs moves on with time: what the page says lies between what is so before it and after it.
    before = expected()
    page = quiet(Role.ENGINEER).get("/testbeds/bench").text
    after = expected()
    found = [int(number) for number in re.findall(r'<th scope="row"><a href="/campaigns/(\d+)">', page)]
    seeds = quiet_site.seeds
    assert found == [seeds.running, *seeds.waiting]
    for campaign in seeds.waiting:
        minutes = int((after[campaign] - before[campaign]).total_seconds() // 60) + 2
        moments = [f"{before[campaign] + timedelta(minutes=minute):%Y-%m-%d %H:%M}" for minute in range(minutes)]
        assert any(moment in page for moment in moments), campaign
    assert '<rect class="now"' in page
    assert '<rect class="kept"' in page
    assert "200 000 frames/s" in page.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "no: the kernel has no ets" in page


def test_who_may_do_what(quiet: Client) -> None:
    pages = {role: quiet(role).get("/testbeds/bench").text for role in Role}
    assert ["/api/v1/reservations" in pages[role] for role in Role] == [False, True, True]
    assert ["/health-check" in pages[role] for role in Role] == [False, False, True]
    assert ["/api/v1/testbeds/bench/state" in pages[role] for role in Role] == [False, False, True]
    # ada's reservation is nobody's here: only an admin gives it back.
    assert ["DELETE /api/v1/reservations/" in pages[role] for role in Role] == [False, False, True]


def test_an_unknown_one_is_not_found_and_says_which_there_are(quiet: Client) -> None:
    answer = quiet(Role.VIEWER).get("/testbeds/nowhere")
    assert answer.status_code == 404
    assert "there are: bench, lab-2" in answer.text
    assert "<h1>Not Found</h1>" in answer.text


def test_what_somebody_keeps_is_seen_and_can_be_given_back(site: Site, client: Client) -> None:
    browser = client(Role.ENGINEER)
    starts = datetime.now(UTC) + SOON
    asked = {"testbed": "lab-2", "reason": ODD, "starts": starts.isoformat(), "ends": (starts + timedelta(hours=1)).isoformat()}
    number = browser.post("/api/v1/reservations", json=asked).json()["id"]
    part = browser.get("/testbeds/lab-2/now").text
    assert f"DELETE /api/v1/reservations/{number}" in part
    assert "<script>alert" not in part
    assert "Kept" in browser.get("/testbeds/lab-2").text
    assert browser.delete(f"/api/v1/reservations/{number}").status_code == 204
    assert f"/api/v1/reservations/{number}" not in browser.get("/testbeds/lab-2/now").text
    assert "Kept before" in browser.get("/testbeds/lab-2").text


def test_the_history_of_health_checks_is_paged(site: Site, client: Client) -> None:
    admin = client(Role.ADMIN)
    assert "No health check" in admin.get("/testbeds/bench").text
    asked = {"plan": plan_text("golden"), "cron": "0 5 * * *", "zone": "UTC"}
    assert admin.put("/api/v1/testbeds/bench/health-check", json=asked).status_code == 200
    page = admin.get("/testbeds/bench").text
    assert "It has not been checked yet." in page
    assert "every day at 05:00" in page
    made = []
    for number in range(HISTORY + 4):
        check = written(site.store, plan_text("golden"), owner=CHECKS)
        verdict = Verdict.PASS if number % 5 else Verdict.FAIL
        check.leave(CampaignState.DONE, verdict, "" if verdict is Verdict.PASS else "the delay floor was 41 us")
        made.append(check.campaign)
    first = admin.get("/testbeds/bench").text
    following = re.search(r'<a href="(\?before=\d+)" rel="next">Older', first)
    assert following is not None
    second = admin.get(f"/testbeds/bench{following[1]}").text
    health = re.compile(r'<td class="num"><a href="/campaigns/(\d+)">')
    assert [int(number) for page in (first, second) for number in health.findall(page)] == made[::-1]
    assert "the delay floor was 41 us" in first


def test_without_a_worker_and_offline_it_says_so(site: Site, client: Client) -> None:
    site.store.workers.declare_dead("bench-1")
    browser = client(Role.VIEWER)
    assert "No worker serves it." in browser.get("/testbeds/bench").text
    site.store.testbeds.set_state("bench", TestbedState.OFFLINE, ODD)
    page = browser.get("/testbeds/bench").text
    assert "Nothing starts on it until it is brought back." in page
    assert "<script>alert" not in page
