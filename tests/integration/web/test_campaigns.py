"""What do the pages of campaigns and trials say, to whom, and what is at their addresses?"""

import itertools
import re
from html import unescape

import httpx
import pytest

from rackproof.model.service import Role
from tests.integration.web.house import Client, Site
from tests.integration.web.seeds import ODD, Seeds


def text_of(html: str) -> str:
    """What a page says, without its markup."""
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", html).split()))


def listed(html: str) -> list[int]:
    """The campaigns of a list, in its order."""
    return [int(number) for number in re.findall(r'<td class="num"><a href="/campaigns/(\d+)">', html)]


TABS = ("", "/findings", "/trials", "/measurements", "/provenance", "/configurations", "/log")


def test_every_tab_of_every_campaign_is_shown_and_nobody_sees_one_without_signing_in(quiet: Client, seeds: Seeds) -> None:
    viewer, stranger = quiet(Role.VIEWER), quiet(None)
    for campaign in range(1, max(seeds.waiting) + 1):
        for tab in TABS:
            answer = viewer.get(f"/campaigns/{campaign}{tab}")
            assert answer.status_code == 200, f"{campaign}{tab}: {text_of(answer.text)[-300:]}"
            assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
            assert "style=" not in answer.text
    for tab in (*TABS, "/trials/1", "/chart.json", "/parts/standing", "/trials/1/samples.json"):
        assert stranger.get(f"/campaigns/{seeds.passed}{tab}").status_code in (303, 401)


@pytest.mark.parametrize(
    "path", ["/campaigns/999", "/campaigns/999/trials", "/campaigns/999/log", "/campaigns/999/parts/grid", "/campaigns/1/trials/999"]
)
def test_what_is_not_there_is_not_found(quiet: Client, path: str) -> None:
    assert quiet(Role.VIEWER).get(path).status_code == 404


@pytest.mark.parametrize(
    "query", ["state=GONE", "verdict=pass", "since=yesterday", "order=best", "after=0", "after=x", "before=99999999999999999999"]
)
def test_an_address_that_means_nothing_is_refused(quiet: Client, query: str) -> None:
    assert quiet(Role.VIEWER).get(f"/campaigns?{query}").status_code == 422


def test_a_list_is_filtered_by_its_address(quiet: Client, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)

    def found(query: str) -> list[int]:
        return listed(viewer.get(f"/campaigns?{query}").text)

    assert found("verdict=INVALID") == [seeds.invalid]
    assert found("state=RUNNING") == [seeds.running]
    assert found("state=INTERRUPTED") == [seeds.interrupted]
    assert found("state=PENDING&owner=ada") == [seeds.waiting[1]]
    assert found("name=NIGHTLY") == sorted(seeds.nights, reverse=True)
    assert found("name=nightly&order=oldest") == list(seeds.nights)
    assert found("name=100%25") == []
    assert found("testbed=lab-2") == []
    assert found("until=2000-01-01") == []
    assert found("state=&verdict=&kind=switch-qos&since=2000-01-01")[0] == seeds.waiting[1]
    assert "No campaign is like that" in text_of(viewer.get("/campaigns?testbed=lab-2").text)


def test_pages_hold_every_campaign_once_forwards_and_backwards(site: Site, client: Client) -> None:
    with site.store.transactions.step("more campaigns") as connection:
        connection.exec_driver_sql(
            "INSERT INTO campaigns (name, kind, testbed, plan, plan_text, plan_sha256, state, verdict, owner) "
            "SELECT 'Sweep ' || mod(n, 7), 'switch-qos', 'bench', '{}', '', '', 'DONE', 'PASS', 'ada' FROM generate_series(1, 100) n"
        )
    viewer = client(Role.VIEWER)
    for order in ("newest", "oldest", "name", "name-down"):
        _forwards_and_backwards(viewer, order)


def _forwards_and_backwards(viewer: httpx.Client, order: str) -> None:
    forwards, path = [], f"/campaigns?order={order}"
    for _ in range(10):
        html = viewer.get(path).text
        forwards.append(listed(html))
        following = re.search(r'rel="next" href="([^"]+)"', html)
        if following is None:
            break
        path = unescape(following[1])
    everything = [number for page in forwards for number in page]
    assert len(everything) == len(set(everything)) == 119
    assert [len(page) for page in forwards] == [50, 50, 19]
    if order in ("newest", "oldest"):
        assert everything == sorted(everything, reverse=order == "newest")
    html = viewer.get(path).text
    for expected in reversed(forwards[:-1]):
        previous = re.search(r'rel="prev" href="([^"]+)"', html)
        assert previous is not None
        html = viewer.get(unescape(previous[1])).text
        assert listed(html) == expected
    assert 'rel="prev"' not in html


def test_a_verdict_is_said_in_words_and_what_was_expected_is_not_held_against_a_device(quiet: Client, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)
    passed, failed, invalid = (text_of(viewer.get(f"/campaigns/{one}").text) for one in (seeds.passed, seeds.failed, seeds.invalid))
    assert "PASS Every criterion holds" in passed
    assert "reference-faulty fails what it is known to fail" in passed
    assert "FAIL as expected reference-faulty under SP" in passed
    assert "FAIL The device is not what was promised." in failed
    assert "as expected" not in failed
    assert "INVALID It ran, but the measurement cannot be trusted" in invalid
    assert "8 valid" in invalid
    assert "2 INVALID" in invalid
    assert "Every criterion holds" not in invalid


def test_every_finding_has_its_number_unit_interval_and_n(quiet: Client, seeds: Seeds, quiet_site: Site) -> None:
    said_ = text_of(quiet(Role.VIEWER).get(f"/campaigns/{seeds.failed}/findings").text)
    findings = quiet_site.store.browse.detail(seeds.failed).findings
    assert findings
    for one in findings:
        assert one.statement in said_
        assert one.limit in said_
        assert one.interval is None or one.interval.method in said_
    leak = next(one for one in findings if one.criterion == "sp.leak")
    assert leak.interval is not None
    assert f"{100 * leak.value:.4g} %" in said_
    assert f"[{100 * leak.interval.low:.4g}, {100 * leak.interval.high:.4g}] %" in said_
    only = text_of(quiet(Role.VIEWER).get(f"/campaigns/{seeds.failed}/findings?verdict=FAIL").text)
    assert leak.statement in only
    assert not any(one.statement in only for one in findings if one.verdict != "FAIL")


def test_numbers_of_a_trial_that_is_not_valid_are_struck_out(quiet: Client, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)
    assert 'class="dense pivot broken"' in viewer.get(f"/campaigns/{seeds.invalid}/trials/3").text
    assert "broken" not in viewer.get(f"/campaigns/{seeds.invalid}/trials/4").text
    of_trial = viewer.get(f"/campaigns/{seeds.invalid}/measurements?trial=3").text
    assert '<tbody class="broken">' in of_trial
    assert "INVALID not to be trusted: the receiver's ring had no room for 37 frames" in text_of(of_trial)
    assert "broken" not in viewer.get(f"/campaigns/{seeds.invalid}/measurements?trial=4").text


def test_measurements_are_paged_and_none_is_left_out(quiet: Client, quiet_site: Site, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)
    path, rows = f"/campaigns/{seeds.nights[0]}/measurements?name=throughput", 0
    while True:
        html = viewer.get(path).text
        rows += len(re.findall(r"<td>throughput</td>", html))
        following = re.search(r'rel="next" href="([^"]+)"', html)
        if following is None:
            break
        path = unescape(following[1])
    assert rows == sum(len(lot) for lot in quiet_site.store.browse.all_measurements(seeds.nights[0], "throughput")) == 52


def test_the_seam_of_a_resumed_campaign_is_seen(quiet: Client, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)
    overview = viewer.get(f"/campaigns/{seeds.resumed}").text
    assert re.findall(r'class="cell v-PASS seam" href="/campaigns/\d+/trials/(\d+)"', overview) == ["6"]
    assert re.search(r"went on .{5,40} before trial 6: the process of worker bench-0 has ended", text_of(overview))
    trials = viewer.get(f"/campaigns/{seeds.resumed}/trials").text
    assert trials.index("was interrupted and went on") < trials.index("trials/6")
    assert trials.index("was interrupted and went on") > trials.index("trials/5")
    assert "seam" not in viewer.get(f"/campaigns/{seeds.invalid}/trials").text


def test_only_an_engineer_sees_what_may_be_done_and_only_what_can_be_done(quiet: Client, seeds: Seeds) -> None:
    viewer, engineer = quiet(Role.VIEWER), quiet(Role.ENGINEER)

    def deeds(campaign: int) -> set[str]:
        html = engineer.get(f"/campaigns/{campaign}").text
        return set(re.findall(rf'data-api="\w+ /api/v1/campaigns/{campaign}/(\w+)"', html)) - {"reports"}

    assert deeds(seeds.passed) == set()
    assert deeds(seeds.invalid) == {"retry"}
    assert deeds(seeds.running) == {"cancel"}
    assert deeds(seeds.waiting[0]) == {"cancel", "priority"}
    assert deeds(seeds.interrupted) == {"cancel", "resume"}
    assert deeds(seeds.aborted) == {"resume"}
    for campaign in range(1, max(seeds.waiting) + 1):
        html = viewer.get(f"/campaigns/{campaign}").text
        assert "/api/v1/campaigns" not in "".join(re.findall(r'data-api="[^"]+"', html))
        assert "/clone" not in html
    assert "report.pdf" in viewer.get(f"/campaigns/{seeds.passed}").text
    assert "report.pdf" not in viewer.get(f"/campaigns/{seeds.failed}").text


def test_what_devices_and_people_write_is_text(quiet: Client, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)
    for path in ("/", "/campaigns", *(f"/campaigns/{seeds.odd}{tab}" for tab in TABS), f"/campaigns/{seeds.odd}/trials/1"):
        html = viewer.get(path).text
        assert "<script>alert" not in html
    assert ODD in text_of(viewer.get(f"/campaigns/{seeds.odd}/provenance").text.replace("<title>", ""))
    measured = text_of(viewer.get(f"/campaigns/{seeds.odd}/measurements").text)
    assert "delay.p99 queue 0 ∞ µs [1, ∞] 12" in measured


def test_charts_have_every_number_of_the_trials_that_ended_and_room_for_the_others(quiet: Client, quiet_site: Site, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)
    running = viewer.get(f"/campaigns/{seeds.running}/chart.json?quantity=throughput&of=queue").json()
    assert [panel["title"] for panel in running["panels"]] == ["SP", "WRR 0.1 0.2 0.3 0.4 by bytes"]
    assert running["x"] == {"name": "load", "unit": "Mbit/s", "from": 10.0, "to": 60.0}
    drawn = [point for series in running["panels"][0]["series"] for point in series["points"]]
    assert {point["trial"] for point in drawn} == {1, 2, 3, 4}
    assert running["panels"][1]["series"] == []
    rows = quiet_site.store.browse.measurements(seeds.running, name="throughput", limit=1000)
    stored = {(row.trial, row.value, row.low, row.high, row.n) for row in rows if "queue" in row.subject}
    assert {(point["trial"], point["y"], point["low"], point["high"], point["n"]) for point in drawn} == stored
    assert [series["colour"] for series in running["panels"][0]["series"]] == ["queue-0", "queue-1", "queue-2", "queue-3"]
    odd = viewer.get(f"/campaigns/{seeds.odd}/chart.json?quantity=delay.p99&of=queue").json()
    (point,) = odd["panels"][0]["series"][0]["points"]
    assert (point["y"], point["infinite"], point["low"], point["high"]) == (None, True, 1.0, None)
    assert viewer.get(f"/campaigns/{seeds.waiting[0]}/chart.json").json() == {"panels": []}
    assert viewer.get("/campaigns/999/chart.json").status_code == 404


def test_a_campaign_of_many_trials_is_shown_in_blocks(site: Site, client: Client, seeds: Seeds) -> None:
    with site.store.transactions.step("more trials") as connection:
        connection.exec_driver_sql(
            "INSERT INTO trials (campaign_id, index, label, point, repetition, seed, duration_s) "
            "SELECT %(id)s, 10 + n, 'more', '{}', 1, 1, 1 FROM generate_series(1, 990) n",
            {"id": seeds.invalid},
        )
        connection.exec_driver_sql("UPDATE campaigns SET trial_count = 1000 WHERE id = %(id)s", {"id": seeds.invalid})
    html = client(Role.VIEWER).get(f"/campaigns/{seeds.invalid}").text
    assert re.findall(r'<span class="num">(\d+–\d+)</span>', html) == [f"{first}–{first + 49}" for first in range(1, 1000, 50)]
    assert 'class="grid"' not in html


def test_the_log_leads_back_to_the_beginning_and_forth_again(site: Site, client: Client, seeds: Seeds) -> None:
    for number in range(450):
        site.store.add_event(seeds.aborted, "warning", {"text": f"note {number}"})
    viewer = client(Role.VIEWER)
    seen: list[list[str]] = []
    path, rel = f"/campaigns/{seeds.aborted}/log", "prev"
    for rel in ("prev", "next"):
        while True:
            html = viewer.get(path).text
            seen.append(re.findall(r'<li data-seq="(\d+)"', html))
            link = re.search(rf'rel="{rel}" href="([^"]+)"', html)
            if link is None:
                break
            path = unescape(link[1])
    numbers = [str(event.seq) for event in site.store.events(seeds.aborted)]
    # Three pages to the beginning, the last of which is the first of the way back.
    assert list(itertools.chain.from_iterable(reversed(seen[:3]))) == numbers
    assert list(itertools.chain.from_iterable(seen[3:])) == numbers


def test_the_home_page_says_what_runs_what_is_next_and_what_changed(quiet: Client, seeds: Seeds) -> None:
    said_ = text_of(quiet(Role.VIEWER).get("/").text)
    assert re.search(r"now Two disciplines, half-way 4 / 10 engineer bench", said_)
    assert "1 Next in line waits for campaign" in said_
    assert re.search(r"Nightly FAIL .* What changed the verdict PASS → FAIL", said_)
    assert "lab-2 offline the health check failed" in said_
    assert "New campaign" not in said_
    assert "New campaign" in text_of(quiet(Role.ENGINEER).get("/").text)


def test_what_a_campaign_was_run_for_stands_on_its_own_page_though_it_passed(quiet: Client, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)
    overview = text_of(viewer.get(f"/campaigns/{seeds.delay}").text)
    assert re.search(r"PASS CPRI \(100 µs at the 99th percentile\): at least 3 hops", overview)
    findings = text_of(viewer.get(f"/campaigns/{seeds.delay}/findings").text)
    assert "CPRI (100 µs" in findings
    assert "answer" not in findings.replace("answers", "")
