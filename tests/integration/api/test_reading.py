"""Does the API tell what is in the store, page by page and form by form, and refuse what makes no sense?"""

import csv
import io
import json
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pyarrow.parquet as pq
import pytest

from rackproof.planfile import parse_plan
from rackproof.store import Store
from tests.integration.api.seeds import ODD, Seeds, a_campaign


def problem(answer: httpx.Response, status: int) -> Any:
    """The body of a refusal."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["instance"].startswith("/")
    return body


def test_a_list_of_campaigns_holds_each_once_whatever_the_page(viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    for number in range(5):
        a_campaign(store, f"Night {number}")
    for limit in (1, 2, 3, 7, 200):
        found: list[int] = []
        url: str | None = f"/campaigns?limit={limit}"
        while url is not None:
            answer = viewer.get(url)
            body = answer.json()
            assert len(body["items"]) <= limit
            found += [item["id"] for item in body["items"]]
            link = answer.links.get("next")
            assert (link is None) == (body["next"] is None)
            url = link["url"].removeprefix("/api/v1") if link else None
        assert found == sorted(found, reverse=True)
        assert len(found) == len(set(found)) == 7


def test_campaigns_are_filtered(viewer: httpx.Client, seeds: Seeds) -> None:
    expected = {
        "state=DONE": ["done"],
        "state=PENDING": ["waiting"],
        "state=RUNNING": [],
        "state=INTERRUPTED": [],
        "verdict=FAIL": ["done"],
        "verdict=PASS": [],
        "kind=switch-qos": ["waiting", "done"],
        "kind=no-such-kind": [],
        "owner=ada": ["waiting"],
        "testbed=bench&name=ONE": ["waiting", "done"],
        "name=%25": [],
        "name=_": [],
        "since=2000-01-01T00:00:00Z&until=9999-12-31T23:59:59Z": ["waiting", "done"],
        "until=2000-01-01T00:00:00%2B01:00": [],
        "suite_run=1": [],
        "parent=1": [],
    }
    found = {query: [item["id"] for item in viewer.get(f"/campaigns?{query}").json()["items"]] for query in expected}
    assert found == {query: [getattr(seeds, name) for name in names] for query, names in expected.items()}


def test_a_parameter_that_cannot_be_is_named(viewer: httpx.Client, seeds: Seeds) -> None:
    expected = {
        "/campaigns?limit=0": "query.limit",
        "/campaigns?limit=201": "query.limit",
        "/campaigns?cursor=%C3%A4": "query.cursor",
        "/campaigns?cursor=WyJhIl0": "query.cursor",
        "/campaigns?cursor=WzEsMl0": "query.cursor",
        "/campaigns?cursor=W3RydWVd": "query.cursor",
        "/campaigns?cursor=WzFlOTld": "query.cursor",
        "/campaigns?state=done": "query.state",
        "/campaigns?since=yesterday": "query.since",
        "/campaigns?since=0001-01-01T00:00:00%2B14:00": "query.since",
        "/campaigns?suite_run=9223372036854775808": "query.suite_run",
        "/campaigns/0": "path.campaign",
        "/campaigns/9223372036854775808": "path.campaign",
        "/campaigns/1/trials/2147483648": "path.index",
        "/campaigns/1/measurements?format=xml": "query.format",
        "/campaigns/1/measurements?cursor=WzFd": "query.cursor",
        "/campaigns/1/events?after=-1": "query.after",
    }
    found = {path: problem(viewer.get(path), 422)["problems"] for path in expected}
    assert {path: [fault["where"] for fault in faults] for path, faults in found.items()} == {
        path: [where] for path, where in expected.items()
    }


def test_nul_is_refused(viewer: httpx.Client) -> None:
    for path in "/campaigns/9%00", "/campaigns?name=a%00b", "/kinds/%00", "/testbeds/a%00":
        assert "NUL" in problem(viewer.get(path), 422)["detail"]


def test_what_is_not_there_is_not_found(viewer: httpx.Client, seeds: Seeds) -> None:
    for path in (
        "/campaigns/4711",
        "/campaigns/4711/trials",
        "/campaigns/4711/trials/1",
        "/campaigns/4711/measurements",
        "/campaigns/4711/measurements?format=csv",
        "/campaigns/4711/configurations",
        "/campaigns/4711/events",
        "/campaigns/4711/verdict.xml",
        "/campaigns/4711/report.pdf",
        "/campaigns/4711/reports",
        "/campaigns/4711/trials/1/samples",
        "/reports/4711",
        "/jobs/4711",
        "/rehearsals/4711",
        "/reservations/4711",
        "/schedules/4711",
        "/suite-runs/4711",
        "/testbeds/nowhere",
        "/queue?testbed=nowhere",
        "/kinds/no-such-kind",
        "/nothing",
    ):
        problem(viewer.get(path), 404)


def test_a_campaign_is_told_whole(viewer: httpx.Client, seeds: Seeds) -> None:
    body = viewer.get(f"/campaigns/{seeds.done}").json()
    assert (body["state"], body["verdict"], body["reason"], body["trial_count"], body["trials_done"]) == ("DONE", "FAIL", "it leaks", 3, 3)
    assert body["plan"]["load"]["per_sender_mbps"] == [4.0, 8.0, 12.0]
    assert body["calibration"]["timestamp_error_us_p99"] == "Infinity"
    assert body["provenance"]["Host"]["strange"] == ODD
    assert [finding["value"] for finding in body["findings"]] == ["Infinity", 0.5]
    assert body["findings"][0]["interval"]["high"] == 0.2
    configurations = viewer.get(f"/campaigns/{seeds.done}/configurations").json()["items"]
    assert configurations == [{"name": "linux-htb, before", "text": f"qdisc {ODD}"}]


def test_what_a_client_has_is_not_sent_again(viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    for path in (f"/campaigns/{seeds.waiting}", f"/campaigns/{seeds.done}/trials/1", "/kinds/switch-qos"):
        first = viewer.get(path)
        etag = first.headers["etag"]
        again = viewer.get(path, headers={"If-None-Match": f'"other", W/{etag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert viewer.get(path, headers={"If-None-Match": '"other"'}).content == first.content
    etag = viewer.get(f"/campaigns/{seeds.waiting}").headers["etag"]
    store.queue.set_priority(seeds.waiting, 4)
    assert viewer.get(f"/campaigns/{seeds.waiting}", headers={"If-None-Match": etag}).json()["priority"] == 4


def test_trials_come_in_their_order(viewer: httpx.Client, seeds: Seeds) -> None:
    first = viewer.get(f"/campaigns/{seeds.done}/trials?limit=2").json()
    second = viewer.get(f"/campaigns/{seeds.done}/trials", params={"limit": 2, "cursor": first["next"]}).json()
    assert [trial["index"] for trial in (*first["items"], *second["items"])] == [1, 2, 3]
    assert second["next"] is None
    invalid = viewer.get(f"/campaigns/{seeds.done}/trials?verdict=INVALID").json()["items"]
    assert [(trial["index"], trial["reason"]) for trial in invalid] == [(2, f"too late {ODD}")]


def test_a_trial_is_told_whole(viewer: httpx.Client, seeds: Seeds) -> None:
    body = viewer.get(f"/campaigns/{seeds.done}/trials/1").json()
    assert (len(body["measurements"]), body["samples_rows"], body["verdict"]) == (7, 1000, "PASS")
    assert body["health"] == {"lateness_p99_us": 1.25, "worst": "Infinity"}
    assert body["counters"] == {"queue.3.dropped": 2**63 + 11}
    assert body["curves"][0]["x"] == [0.5, "Infinity"]
    bare, certain = body["measurements"][:2]
    assert (bare["low"], bare["high"], bare["confidence"], bare["method"]) == (None, None, None, None)
    assert (certain["low"], certain["high"], certain["confidence"]) == (1.0, "Infinity", 0.95)
    assert certain["subject"] == {"queue": "1", "flow": "µ"}


def test_measurements_are_the_same_in_every_form(viewer: httpx.Client, seeds: Seeds) -> None:
    path = f"/campaigns/{seeds.done}/measurements"
    paged: list[Any] = []
    cursor = None
    while True:
        page = viewer.get(path, params={"limit": 5, **({"cursor": cursor} if cursor else {})}).json()
        paged += page["items"]
        if (cursor := page["next"]) is None:
            break
    assert [(row["trial"], row["position"]) for row in paged] == [(1, n) for n in range(7)] + [(3, n) for n in range(5)]
    assert paged == viewer.get(path).json()["items"]

    as_csv = viewer.get(path, headers={"Accept": "text/csv"})
    assert as_csv.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(as_csv.text)))
    as_parquet = viewer.get(path, params={"format": "parquet"})
    table = pq.read_table(io.BytesIO(as_parquet.content)).to_pylist()
    assert len(rows) == len(table) == len(paged)
    for shown, cells, record in zip(paged, rows, table, strict=True):
        assert float(shown["value"]) == float(cells["value"]) == record["value"]
        assert shown["subject"] == json.loads(cells["subject"]) == json.loads(record["subject"])
        assert (shown["name"], shown["n"]) == (cells["name"], int(cells["n"])) == (record["name"], record["n"])
        # A spreadsheet would take the method for a formula.
        assert (shown["method"] or "") == cells["method"].removeprefix("'") == (record["method"] or "")
        assert not cells["method"].startswith("=")
    assert {row["name"] for row in viewer.get(path, params={"name": "delay.p99"}).json()["items"]} == {"delay.p99"}
    problem(viewer.get(path, headers={"Accept": "image/png"}), 406)
    assert viewer.get(path, headers={"Accept": "image/png, */*;q=0.1"}).headers["content-type"] == "application/json"


def test_long_exports_are_whole(viewer: httpx.Client, store: Store, seeds: Seeds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rackproof.store.browse_results._EXPORT_ROWS", 4)
    path = f"/campaigns/{seeds.done}/measurements"
    assert len(viewer.get(path, params={"format": "csv"}).text.strip().splitlines()) == 13
    assert pq.read_table(io.BytesIO(viewer.get(path, params={"format": "parquet"}).content)).num_rows == 12


def test_a_ci_system_can_read_the_verdict(viewer: httpx.Client, seeds: Seeds) -> None:
    answer = viewer.get(f"/campaigns/{seeds.done}/verdict.xml")
    assert answer.headers["content-type"].startswith("application/xml")
    suite = ET.fromstring(answer.content).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
    }
    assert [[child.tag for child in case if child.tag != "system-out"] for case in suite.findall("testcase")] == [
        ["failure"],
        [],
        ["error"],
    ]
    waiting = ET.fromstring(viewer.get(f"/campaigns/{seeds.waiting}/verdict.xml").content).find("testsuite")
    assert waiting is not None
    assert waiting.get("tests") == "0"


def test_kinds_are_described_for_forms(viewer: httpx.Client) -> None:
    assert "switch-qos" in [kind["name"] for kind in viewer.get("/kinds").json()["items"]]
    kind = viewer.get("/kinds/switch-qos").json()
    assert {"demo", "paper", "bench_nightly"} <= {plan["name"] for plan in kind["plans"]}
    schema = viewer.get("/kinds/switch-qos/schema").json()
    assert schema == kind["plan_schema"]
    trial = schema["$defs"]["TrialPart"]["properties"]["duration_s"]
    assert trial["x-unit"] == "s"
    assert trial["title"]
    for plan in kind["plans"]:
        answer = viewer.post("/plans/check", content=plan["text"], headers={"Content-Type": "application/yaml"})
        assert answer.json()["valid"], answer.text


@pytest.mark.parametrize("kind", ["congestion-control", "switch-qos", "xpfe-delay"])
def test_what_is_offered_as_ready_to_run_is_a_plan_of_the_kind(viewer: httpx.Client, kind: str) -> None:
    plans = viewer.get(f"/kinds/{kind}").json()["plans"]
    assert "demo" in [plan["name"] for plan in plans]
    for plan in plans:
        answer = viewer.post("/plans/check", content=plan["text"], headers={"Content-Type": "application/yaml"}).json()
        assert answer["valid"], (plan["name"], answer)
        assert parse_plan(plan["text"].encode(), plan["name"]).data["kind"] == kind


def test_the_lab_is_told(viewer: httpx.Client, seeds: Seeds) -> None:
    bed = viewer.get("/testbeds/bench").json()
    assert viewer.get("/testbeds").json()["items"] == [bed]
    assert (bed["name"], bed["state"], bed["limits"], bed["resources"]) == ("bench", "ONLINE", {"links": 4}, ["host:test"])
    assert [(place["campaign"], place["owner"]) for place in viewer.get("/queue").json()["items"]] == [(seeds.waiting, "ada")]
    assert viewer.get("/workers").json() == {"items": []}
    job = viewer.get(f"/jobs/{seeds.job}").json()
    assert (job["kind"], job["state"], job["campaign"]) == ("report", "WANTED", seeds.done)


def test_trends_are_told(viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    for _ in range(3):
        a_campaign(store)
    measured = viewer.get("/trends/measured", params={"name": "One switch"}).json()["items"]
    assert {"quantity": "delay.p99", "unit": "us", "subject": {"queue": "1", "flow": "µ"}} in measured
    wanted = {"name": "One switch", "quantity": "throughput", "subject": ["queue=0", "flow=µ"], "point": ["load_mbps=4"]}
    trend = viewer.get("/trends", params=wanted).json()
    assert [(point["value"], point["n"]) for point in trend["points"]] == [(1.25, 1)] * 4
    assert (trend["unit"], trend["changes"]) == ("us", [])
    starved = viewer.get("/trends", params={**wanted, "point": ["load_mbps=12"]}).json()
    assert {point["value"] for point in starved["points"]} == {"Infinity"}
    problem(viewer.get("/trends", params={**wanted, "quantity": "nothing"}), 404)
    assert problem(viewer.get("/trends", params={**wanted, "subject": "queue"}), 422)["problems"][0]["where"] == "query.subject.0"
