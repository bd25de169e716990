"""Does what people decide happen, once, in their name, and only where it fits?"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from rackproof.model.service import Role, SuiteRunState
from rackproof.planfile import FILE_BYTES_MAX
from rackproof.store import Store
from rackproof.store.jobs import Job
from tests.integration.api.seeds import PLAN, Seeds, a_campaign
from tests.integration.api.test_reading import problem

YAML = {"Content-Type": "application/yaml"}
HOUR = timedelta(hours=1)
Client = Callable[[Role | None], httpx.Client]


def submit(client: httpx.Client, plan: str = PLAN, **headers: str) -> httpx.Response:
    return client.post("/campaigns", content=plan, headers={**YAML, **headers})


def test_a_plan_becomes_a_campaign_of_whoever_sent_it(engineer: httpx.Client, viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    answer = engineer.post("/campaigns?priority=7", content=PLAN, headers=YAML)
    assert answer.status_code == 201
    number = answer.json()["id"]
    assert answer.headers["location"] == answer.json()["url"] == f"/api/v1/campaigns/{number}"
    body = viewer.get(f"/campaigns/{number}").json()
    assert (body["owner"], body["priority"], body["state"], body["plan_text"]) == ("engineer", 7, "PENDING", PLAN)
    as_json = engineer.post("/campaigns", json=body["plan"])
    assert viewer.get(as_json.json()["url"].removeprefix("/api/v1")).json()["plan"] == body["plan"]
    done = [(entry.user_name, entry.action, entry.target) for entry in store.audit.list(before=None, limit=10)]
    assert ("engineer", "campaign.submit", f"campaign {number}") in done


def test_a_faulty_plan_is_refused_with_its_lines(engineer: httpx.Client, viewer: httpx.Client, seeds: Seeds) -> None:
    faulty = PLAN.replace("linux-htb", "no-such-model").replace("[4, 8, 12]", "[4, nonsense]")
    body = problem(submit(engineer, faulty), 422)
    assert body["type"] == "urn:rackproof:problem:plan"
    assert 5 in [fault["line"] for fault in body["problems"]]
    checked = viewer.post("/plans/check", content=faulty, headers=YAML).json()
    assert not checked["valid"]
    assert checked["problems"] == body["problems"]
    valid = viewer.post("/plans/check", content=PLAN, headers=YAML).json()
    assert (valid["valid"], valid["trials"], valid["problems"]) == (True, 3, [])
    assert valid["duration_s"] > 0
    assert len(viewer.get("/campaigns").json()["items"]) == 2
    problem(submit(engineer, PLAN + "testbed: nowhere\n"), 404)


def test_bodies_have_bounds(engineer: httpx.Client, served: str, seeds: Seeds) -> None:
    problem(engineer.post("/campaigns", content=PLAN, headers={"Content-Type": "text/html"}), 415)
    problem(submit(engineer, "#" * (FILE_BYTES_MAX + 1)), 413)
    problem(submit(engineer, "#" * (8 * FILE_BYTES_MAX)), 413)
    problem(engineer.post("/campaigns", content=(b"#" * 65536 for _ in range(100)), headers=YAML), 413)
    problem(submit(engineer, "a: " + "[" * 5000), 422)
    problem(engineer.post("/plans/check?x=" + "a" * 20_000, content=PLAN), 414)
    nested = b'{"changes": ' + b'{"a":' * 60 + b"1" + b"}" * 61
    problem(engineer.post(f"/campaigns/{seeds.done}/clone", content=nested, headers={"Content-Type": "application/json"}), 422)
    deepest = b'{"changes": ' + b"[" * 100_000
    answer = engineer.post(f"/campaigns/{seeds.done}/clone", content=deepest, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert engineer.get("/campaigns").status_code == 200


def test_a_submission_that_is_sent_again_is_one_campaign(engineer: httpx.Client, admin: httpx.Client, seeds: Seeds) -> None:
    key = {"Idempotency-Key": "d9f1c2"}
    first = submit(engineer, **key)
    again = submit(engineer, **key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert problem(submit(engineer, PLAN + "\n", **key), 422)["type"] == "urn:rackproof:problem:idempotency-key-reused"
    problem(engineer.post("/campaigns?priority=1", content=PLAN, headers={**YAML, **key}), 422)
    # Keys are each user's own.
    assert submit(admin, **key).status_code == 201
    # What was refused used up no key.
    refused = {"Idempotency-Key": "other"}
    problem(submit(engineer, "kind: nothing-like-it\n", **refused), 422)
    assert submit(engineer, **refused).status_code == 201
    problem(submit(engineer, **{"Idempotency-Key": "a b"}), 422)
    problem(submit(engineer, **{"Idempotency-Key": "a" * 256}), 422)


def test_of_many_submissions_at_once_with_one_key_one_counts(engineer: httpx.Client, seeds: Seeds) -> None:
    before = len(engineer.get("/campaigns").json()["items"])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: submit(engineer, **{"Idempotency-Key": "once"}), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(engineer.get("/campaigns").json()["items"]) == before + 1


def test_a_campaign_is_cloned_with_changes(engineer: httpx.Client, viewer: httpx.Client, seeds: Seeds) -> None:
    changes = {"name": "Twice", "repetitions": 2, "load": {"per_sender_mbps": [9]}}
    answer = engineer.post(f"/campaigns/{seeds.done}/clone", json={"changes": changes, "priority": 5})
    clone = viewer.get(f"/campaigns/{answer.json()['id']}").json()
    assert (clone["name"], clone["parent_id"], clone["priority"], clone["trial_count"]) == ("Twice", seeds.done, 5, 2)
    assert clone["plan"]["load"]["per_sender_mbps"] == [9.0]
    assert clone["plan"]["disciplines"] == viewer.get(f"/campaigns/{seeds.done}").json()["plan"]["disciplines"]
    without = engineer.post(f"/campaigns/{clone['id']}/clone", json={"changes": {"repetitions": None}})
    assert viewer.get(f"/campaigns/{without.json()['id']}").json()["trial_count"] == 1
    body = problem(engineer.post(f"/campaigns/{seeds.done}/clone", json={"changes": {"load": None}}), 422)
    assert [fault["where"] for fault in body["problems"]] == ["load"]
    half = '{"changes": {"x\\udcff": 1}}'  # half of a character, which JSON can escape
    answer = engineer.post(f"/campaigns/{seeds.done}/clone", content=half, headers={"Content-Type": "application/json"})
    assert [fault["where"] for fault in problem(answer, 422)["problems"]] == ["x?"]
    problem(engineer.post(f"/campaigns/{seeds.done}/clone", json={"changes": {"name": "a\0b"}}), 422)
    problem(engineer.post("/campaigns/4711/clone", json={}), 404)
    assert [item["id"] for item in viewer.get(f"/campaigns?parent={seeds.done}").json()["items"]] == [clone["id"]]


def test_a_plan_that_was_written_from_a_campaigns_names_it(engineer: httpx.Client, viewer: httpx.Client, seeds: Seeds) -> None:
    def send(parent: int, **headers: str) -> httpx.Response:
        return engineer.post(f"/campaigns?parent={parent}", content=f"{PLAN}repetitions: 2\n", headers={**YAML, **headers})

    key = {"Idempotency-Key": "written-from"}
    made, again = send(seeds.done, **key), send(seeds.done, **key)
    assert (made.status_code, again.status_code, made.json()["id"]) == (201, 200, again.json()["id"])
    assert viewer.get(f"/campaigns/{made.json()['id']}").json()["parent_id"] == seeds.done
    # The key stands for this parent, too.
    problem(send(seeds.waiting, **key), 422)
    before = len(viewer.get("/campaigns").json()["items"])
    problem(send(4711), 404)
    problem(send(0), 422)
    assert len(viewer.get("/campaigns").json()["items"]) == before


def test_a_campaign_is_run_again(engineer: httpx.Client, viewer: httpx.Client, seeds: Seeds) -> None:
    answers = [engineer.post(f"/campaigns/{seeds.done}/again", headers={"Idempotency-Key": "again"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    again, original = (viewer.get(f"/campaigns/{number}").json() for number in (answers[0].json()["id"], seeds.done))
    assert (again["plan_text"], again["plan_sha256"], again["parent_id"]) == (original["plan_text"], original["plan_sha256"], seeds.done)


def test_what_waits_is_moved_and_cancelled(engineer: httpx.Client, store: Store, seeds: Seeds) -> None:
    path = f"/campaigns/{seeds.waiting}"
    assert engineer.put(f"{path}/priority", json={"priority": -5}).json()["priority"] == -5
    problem(engineer.put(f"{path}/priority", json={"priority": 10**6}), 422)
    cancelled = engineer.post(f"{path}/cancel", json={"why": "not today"})
    assert cancelled.status_code == 202
    assert (cancelled.json()["state"], cancelled.json()["reason"]) == ("ABORTED", "cancelled by engineer: not today")
    problem(engineer.post(f"{path}/cancel"), 409)
    problem(engineer.put(f"{path}/priority", json={"priority": 1}), 409)
    assert engineer.post(f"{path}/resume").json()["state"] == "PENDING"
    problem(engineer.post(f"{path}/resume"), 409)
    actions = [entry.action for entry in store.audit.list(before=None, limit=10)]
    assert actions.count("campaign.cancel") == actions.count("campaign.resume") == actions.count("campaign.priority") == 1


def test_what_gave_no_valid_result_is_measured_again(engineer: httpx.Client, viewer: httpx.Client, seeds: Seeds) -> None:
    path = f"/campaigns/{seeds.done}"
    assert engineer.post(f"{path}/retry").json() == {"trials": 1}
    trials = viewer.get(f"{path}/trials").json()["items"]
    assert [trial["verdict"] for trial in trials] == ["PASS", None, "PASS"]
    problem(engineer.post(f"{path}/retry"), 409)


def test_a_viewer_decides_nothing(viewer: httpx.Client, engineer: httpx.Client, client: Client, seeds: Seeds) -> None:
    for path in ("cancel", "retry", "resume", "again", "reports"):
        assert problem(viewer.post(f"/campaigns/{seeds.done}/{path}"), 403)["detail"].startswith("expected the role engineer")
        problem(client(None).post(f"/campaigns/{seeds.done}/{path}"), 401)
    problem(submit(viewer), 403)
    problem(engineer.put("/testbeds/bench/state", json={"state": "OFFLINE"}), 403)
    problem(engineer.post("/workers/lab/adopt"), 403)


def test_a_testbed_goes_offline_and_comes_back(admin: httpx.Client, viewer: httpx.Client, seeds: Seeds) -> None:
    offline = admin.put("/testbeds/bench/state", json={"state": "OFFLINE", "reason": "being moved"}).json()
    assert (offline["state"], offline["reason"]) == ("OFFLINE", "being moved")
    assert admin.put("/testbeds/bench/state", json={"state": "ONLINE"}).json()["state"] == "ONLINE"
    problem(admin.put("/testbeds/nowhere/state", json={"state": "ONLINE"}), 404)
    problem(admin.put("/testbeds/bench/state", json={"state": "ONLINE", "colour": "red"}), 422)


def test_a_health_check_is_a_plan_for_its_testbed(admin: httpx.Client, seeds: Seeds) -> None:
    check = {"plan": PLAN, "cron": "0 5 * * *", "zone": "Europe/Berlin"}
    bed = admin.put("/testbeds/bench/health-check", json=check).json()
    assert (bed["golden_plan"], bed["golden_cron"], bed["golden_zone"]) == (PLAN, "0 5 * * *", "Europe/Berlin")
    problem(admin.put("/testbeds/bench/health-check", json={"plan": PLAN}), 422)
    problem(admin.put("/testbeds/bench/health-check", json={**check, "plan": "kind: switch-qos\n"}), 422)
    problem(admin.put("/testbeds/bench/health-check", json={**check, "plan": PLAN + "testbed: other\n"}), 422)
    assert admin.put("/testbeds/bench/health-check", json={}).json()["golden_plan"] is None


def test_a_testbed_is_kept_and_given_back(engineer: httpx.Client, admin: httpx.Client, viewer: httpx.Client, seeds: Seeds) -> None:
    now = datetime.now(UTC)
    asked = {"testbed": "bench", "reason": "cabling", "starts": (now + HOUR).isoformat(), "ends": (now + 2 * HOUR).isoformat()}
    made = engineer.post("/reservations", json=asked)
    assert made.status_code == 201
    number = made.json()["id"]
    assert (made.json()["owner"], made.json()["granted"]) == ("engineer", None)
    assert [item["id"] for item in viewer.get("/reservations?testbed=bench").json()["items"]] == [number]
    problem(admin.post("/reservations", json=asked), 409)
    problem(engineer.post("/reservations", json={**asked, "starts": asked["ends"]}), 422)
    problem(engineer.post("/reservations", json={**asked, "ends": "2030-01-01T00:00:00"}), 422)
    problem(engineer.post("/reservations", json={**asked, "testbed": "nowhere"}), 404)
    other = admin.post("/reservations", json={**asked, "starts": (now + 5 * HOUR).isoformat(), "ends": (now + 6 * HOUR).isoformat()})
    problem(engineer.delete(f"/reservations/{other.json()['id']}"), 403)
    assert admin.delete(f"/reservations/{number}").status_code == 204
    problem(engineer.delete(f"/reservations/{number}"), 409)
    assert [item["id"] for item in viewer.get("/reservations?past=true").json()["items"]] == [number]


def test_a_worker_is_taken_for_dead(admin: httpx.Client, viewer: httpx.Client, store: Store) -> None:
    store.workers.register("lab-1", ["bench"], timeout_s=3600)
    assert [(worker["name"], worker["alive"]) for worker in viewer.get("/workers").json()["items"]] == [("lab-1", True)]
    assert admin.post("/workers/lab-1/adopt").status_code == 204
    assert [worker["alive"] for worker in viewer.get("/workers").json()["items"]] == [False]
    problem(admin.post("/workers/lab-2/adopt"), 404)


def test_a_rehearsal_is_answered_by_a_worker(engineer: httpx.Client, viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    output = {
        "trials": [{"index": 1, "label": "first", "duration_s": 2.5}],
        "notes": {"1": "q0 saturates"},
        "refusals": [],
        "warnings": ["short"],
        "duration_s": 2.5,
    }
    incarnation = store.workers.register("lab-1", ["bench"], timeout_s=3600)
    with answering(store, incarnation, lambda job: store.jobs.done(job.id, incarnation, output)):
        answer = engineer.post("/rehearsals", content=PLAN, headers=YAML)
    assert answer.status_code == 200
    body = answer.json()
    assert body["state"] == "DONE"
    assert body["result"]["trials"] == [{"index": 1, "label": "first", "duration_s": 2.5, "note": "q0 saturates"}]
    assert viewer.get(answer.headers["location"].removeprefix("/api/v1")).json() == body
    with answering(store, incarnation, lambda job: store.jobs.fail(job.id, incarnation, "no such port")):
        failed = engineer.post("/rehearsals", content=PLAN + "seed: 2\n", headers=YAML).json()
    assert (failed["state"], failed["error"], failed["result"]) == ("FAILED", "no such port", None)
    problem(engineer.post("/rehearsals", content="kind: switch-qos\n", headers=YAML), 422)
    problem(engineer.post("/rehearsals", content=PLAN + "testbed: nowhere\n", headers=YAML), 404)
    problem(viewer.get(f"/rehearsals/{seeds.job}"), 404)


def test_a_rehearsal_that_nobody_makes_is_asked_for_later(engineer: httpx.Client, seeds: Seeds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.routes.plans.WAIT_S", 0.1)
    answer = engineer.post("/rehearsals", content=PLAN, headers=YAML)
    assert (answer.status_code, answer.json()["state"]) == (202, "WANTED")
    assert engineer.get(answer.headers["location"].removeprefix("/api/v1")).json() == answer.json()


def test_a_report_is_asked_for_once(engineer: httpx.Client, store: Store, seeds: Seeds) -> None:
    campaign = a_campaign(store)
    again = problem(engineer.get(f"/campaigns/{campaign}/report.pdf"), 404)["detail"]
    assert f"POST /api/v1/campaigns/{campaign}/reports" in again
    answers = [engineer.post(f"/campaigns/{campaign}/reports") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert engineer.get(answers[0].headers["location"].removeprefix("/api/v1")).json() == answers[0].json()


def test_a_report_is_pinned(engineer: httpx.Client, viewer: httpx.Client, seeds: Seeds) -> None:
    assert engineer.put(f"/reports/{seeds.report}/pin").json()["pinned_by"] == "engineer"
    listed = viewer.get(f"/campaigns/{seeds.done}/reports").json()["items"]
    assert [report["pinned"] is not None for report in listed] == [True]
    assert engineer.delete(f"/reports/{seeds.report}/pin").json()["pinned"] is None
    problem(engineer.put("/reports/4711/pin"), 404)


def test_a_schedule_lives_and_dies(engineer: httpx.Client, admin: httpx.Client, viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    asked: dict[str, Any] = {
        "name": "Nightly",
        "cron": "30 2 * * *",
        "zone": "Europe/Berlin",
        "plans": [PLAN, PLAN],
        "emails": ["lab@example.org"],
        "webhooks": ["https://hooks.example.org/services/secret"],
    }
    made = engineer.post("/schedules", json=asked)
    assert made.status_code == 201, made.text
    path = made.headers["location"].removeprefix("/api/v1")
    body = viewer.get(path).json()
    assert body == made.json()
    assert "secret" not in made.text
    assert (body["owner"], body["overlap"], body["missed"]) == ("engineer", "skip", "run-once")
    assert body["next_at"] is not None
    problem(engineer.post("/schedules", json=asked), 409)
    wrong = problem(engineer.post("/schedules", json={**asked, "name": "x", "cron": "61 * * * *"}), 422)
    assert [fault["where"] for fault in wrong["problems"]] == ["cron"]
    problem(engineer.post("/schedules", json={**asked, "name": "x", "plans": ["kind: switch-qos\n"]}), 422)
    assert engineer.patch(path, json={"cron": "0 3 * * *"}).json()["cron"] == "0 3 * * *"
    assert store.schedules.get(body["id"]).webhooks == ("https://hooks.example.org/services/secret",)
    assert engineer.post(f"{path}/pause").json()["paused"]
    assert not engineer.post(f"{path}/resume").json()["paused"]
    run = engineer.post(f"{path}/run")
    assert run.status_code == 202
    shown = viewer.get(run.headers["location"].removeprefix("/api/v1")).json()
    assert (shown["state"], shown["campaigns"], shown["deliveries"]) == (SuiteRunState.WANTED, [], [])
    problem(engineer.post(f"{path}/run"), 409)
    runs = viewer.get(f"/suite-runs?schedule={body['id']}").json()["items"]
    assert [item["id"] for item in runs] == [run.json()["id"]]
    of_admin = admin.post("/schedules", json={**asked, "name": "The admin's"}).headers["location"].removeprefix("/api/v1")
    problem(engineer.delete(of_admin), 403)
    problem(engineer.patch(of_admin, json={"paused": True}), 403)
    assert admin.delete(path).status_code == 204
    problem(viewer.get(path), 404)


def test_a_digest_is_sent_again(engineer: httpx.Client, viewer: httpx.Client, store: Store, seeds: Seeds) -> None:
    schedule = store.schedules.create(name="Nightly", cron="0 3 * * *", zone="UTC", plans=[PLAN], owner="ada")
    run = store.schedules.run_now(schedule.id)
    store.deliveries.add(run, "webhook", "https://hooks.example.org/secret")
    claimed = store.deliveries.claim(3600)
    assert claimed is not None
    problem(engineer.post(f"/deliveries/{claimed.id}/retry"), 409)
    store.deliveries.failed(claimed.id, "refused", None)
    answer = viewer.get(f"/suite-runs/{run}")
    assert [(one["state"], one["target"]) for one in answer.json()["deliveries"]] == [("FAILED", "https://hooks.example.org/…")]
    assert "secret" not in answer.text
    assert engineer.post(f"/deliveries/{claimed.id}/retry").status_code == 202
    assert store.deliveries.get(claimed.id).state == "PENDING"


class answering:  # noqa: N801  # reads as a sentence where it is used
    """A worker that answers the next rehearsal."""

    def __init__(self, store: Store, incarnation: str, answer: Callable[[Job], None]) -> None:
        self._thread = threading.Thread(target=self._work, args=(store, incarnation, answer))

    def _work(self, store: Store, incarnation: str, answer: Callable[[Job], None]) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            job = store.jobs.take(incarnation, ["bench"], ["rehearsal"])
            if job is not None:
                return answer(job)
            time.sleep(0.02)
        return None

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()
