"""The page on which a plan is written, over HTTP: what it begins with, how form and YAML write each other, what is foreseen."""

import html
import re
from typing import Any

import httpx
import pytest

from rackproof.model.service import Role
from rackproof.store import Store
from testplans.switch_qos.kind import SwitchQos
from tests.integration.web.house import Client, Site

DEMO = (SwitchQos.folder / "demo.yaml").read_text()


def textarea(page: httpx.Response) -> str:
    assert page.status_code == 200, page.text
    found = re.search(r'<textarea id="plan-text"[^>]*>(.*?)</textarea>', page.text, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def foreseen(client: httpx.Client, text: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/campaigns/new/rehearsal", json={"text": text, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_it_begins_with_the_demo_another_ready_plan_or_nothing(quiet: Client) -> None:
    engineer = quiet(Role.ENGINEER)
    assert textarea(engineer.get("/campaigns/new?kind=switch-qos")) == DEMO
    assert textarea(engineer.get("/campaigns/new?kind=switch-qos&plan=paper")) == (SwitchQos.folder / "paper.yaml").read_text()
    blank = engineer.get("/campaigns/new?kind=switch-qos&plan=blank")
    assert textarea(blank) == "kind: switch-qos\nname: New Switch QoS campaign\n"
    assert "devices" in html.unescape(blank.text)
    assert engineer.get("/campaigns/new?plan=nothing-like-it").status_code == 404
    assert engineer.get("/campaigns/new?kind=nothing-like-it").status_code == 404
    assert engineer.get("/campaigns/new?from=999999").status_code == 404


def test_an_earlier_campaign_is_begun_with_as_it_was_written(quiet: Client, quiet_site: Site) -> None:
    engineer = quiet(Role.ENGINEER)
    number = quiet_site.seeds.failed
    sent = engineer.get(f"/campaigns/{number}/clone")
    assert (sent.status_code, sent.headers["location"]) == (303, f"/campaigns/new?from={number}")
    assert textarea(engineer.get(sent.headers["location"])) == quiet_site.store.browse.detail(number).plan_text


def test_a_campaign_says_from_whose_plan_it_was_written(client: Client, site: Site) -> None:
    engineer, original = client(Role.ENGINEER), site.seeds.failed
    headers = {"Content-Type": "application/yaml"}
    made = engineer.post(f"/api/v1/campaigns?parent={original}", content=f"{DEMO}\nrepetitions: 2\n", headers=headers).json()
    assert f'<dt>Cloned from</dt><dd><a href="/campaigns/{original}">' in engineer.get(f"/campaigns/{made['id']}").text


def test_a_plan_that_a_program_sent_is_made_readable(client: Client, site: Site) -> None:
    engineer = client(Role.ENGINEER)
    plan = {
        "kind": "switch-qos",
        "name": "sent by a program",
        "devices": ["reference"],
        "disciplines": ["strict-priority"],
        "load": {"per_sender_mbps": [1, 2]},
    }
    made = engineer.post("/api/v1/campaigns", json=plan).json()
    text = textarea(engineer.get(f"/campaigns/new?from={made['id']}"))
    assert text.startswith("kind: switch-qos\nname: sent by a program\n")
    assert "  per_sender_mbps: [1, 2]\n" in text


@pytest.mark.parametrize("path", ["/campaigns/new", "/campaigns/1/clone"])
def test_it_is_for_engineers(quiet: Client, path: str) -> None:
    assert quiet(Role.VIEWER).get(path).status_code == 403
    assert quiet(None).get(path).headers["location"].startswith("/sign-in?next=")


def test_what_is_sent_is_protected_and_bounded(quiet: Client) -> None:
    engineer = quiet(Role.ENGINEER)
    assert engineer.post("/campaigns/new/form", json={"text": DEMO}, headers={"X-CSRF-Token": "wrong"}).status_code == 403
    assert engineer.post("/campaigns/new/form", json={"text": "x" * 300_000}).status_code == 422
    assert quiet(Role.VIEWER).post("/campaigns/new/rehearsal", json={"text": DEMO}).status_code == 403


def test_yaml_writes_the_form(quiet: Client) -> None:
    engineer = quiet(Role.ENGINEER)
    text = DEMO.replace("senders: 8", "senders: 4").replace("duration_s: 1.0", "duration_s: soon")
    answer = engineer.post("/campaigns/new/form", json={"text": text}).json()
    assert re.search(r'data-path="/traffic/senders"[^>]*value="4"', answer["form"])
    assert [(problem["where"], problem["found"]) for problem in answer["problems"]] == [("trial.duration_s", "'soon'")]
    assert answer["problems"][0]["line"] == text.splitlines().index("  duration_s: soon") + 1
    broken = engineer.post("/campaigns/new/form", json={"text": "kind: [\n"}).json()
    assert "form" not in broken
    assert broken["problems"]
    unknown = engineer.post("/campaigns/new/form", json={"text": "kind: mpls\n"}).json()
    assert [problem["where"] for problem in unknown["problems"]] == ["kind"]


def test_the_form_writes_yaml_and_keeps_its_comments(quiet: Client) -> None:
    engineer = quiet(Role.ENGINEER)
    edits = [{"op": "set", "path": "/load/per_sender_mbps", "value": "5, 50"}]
    answer = engineer.post("/campaigns/new/yaml", json={"text": DEMO, "edits": edits}).json()
    assert answer["text"] == DEMO.replace("[10, 15, 22, 40, 60]", "[5, 50]")
    assert answer["problems"] == []
    assert "form" not in answer
    added = engineer.post("/campaigns/new/yaml", json={"text": DEMO, "edits": [{"op": "add", "path": "/devices"}]}).json()
    assert 'data-path="/devices/3/name"' in added["form"]
    assert {problem["where"] for problem in added["problems"]} == {"devices[3].name", "devices[3].model"}
    assert engineer.post("/campaigns/new/yaml", json={"text": DEMO, "edits": [{"op": "explode", "path": "/"}]}).status_code == 422


def test_what_people_write_is_escaped(quiet: Client) -> None:
    engineer = quiet(Role.ENGINEER)
    strange = DEMO.replace("name: Strict priority and weighted round robin at 100 Mbit/s", "name: </textarea><script>alert(1)</script>")
    answer = engineer.post("/campaigns/new/form", json={"text": strange}).json()
    assert "<script>" not in answer["form"]
    unknown = engineer.post("/campaigns/new/rehearsal", json={"text": DEMO.replace("testbed: bench", "testbed: <script>x")}).json()
    assert "<script>" not in unknown["html"]
    assert "No worker has ever announced the testbed &lt;script&gt;x" in unknown["html"]


def test_what_it_would_do_is_foreseen_without_a_worker(quiet: Client) -> None:
    engineer = quiet(Role.ENGINEER)
    found = foreseen(engineer, DEMO)
    assert "<dd>30</dd>" in found["html"]
    assert "SP, 60 Mbit/s" in found["html"]
    assert "q0 starves" in found["html"]
    assert 'data-by="published"' in found["html"]
    offline = foreseen(engineer, DEMO.replace("testbed: bench", "testbed: lab-2"))
    assert "lab-2 is offline" in offline["html"]
    assert "No worker serves lab-2" in offline["html"]
    assert not offline["ask"]
    refused = foreseen(engineer, DEMO.replace("- linux-htb", "- linux-ets"))
    assert refused["refused"]
    assert "the kernel has no ets" in refused["html"]
    assert "1 fault in the plan" in foreseen(engineer, DEMO.replace("senders: 8", "senders: 0"))["html"]


def test_a_testbed_of_which_nothing_is_known_leaves_what_the_plan_says(client: Client, site: Site) -> None:
    site.store.testbeds.announce("new", "bench", ["host:new"])
    found = foreseen(client(Role.ENGINEER), DEMO.replace("testbed: bench", "testbed: new"))
    assert 'data-by="plan"' in found["html"]
    assert "<dd>30</dd>" in found["html"]


def rehearsed_by_a_worker(store: Store, text: str, incarnation: str, refusals: list[str]) -> int:
    number = store.jobs.want("rehearsal", testbed="bench", input={"plan_text": text})
    job = store.jobs.take(incarnation, ["bench"], ["rehearsal"])
    assert job is not None
    store.jobs.done(number, incarnation, {"trials": [], "notes": {"1": "as the worker sees it"}, "refusals": refusals, "warnings": []})
    return number


def test_what_a_worker_says_is_shown_for_the_plan_that_it_saw(client: Client, site: Site) -> None:
    engineer = client(Role.ENGINEER)
    assert foreseen(engineer, DEMO)["ask"]
    number = rehearsed_by_a_worker(site.store, DEMO, site.seeds.incarnation, ["port 3 is not cabled"])
    found = foreseen(engineer, DEMO, rehearsal=number)
    assert found["refused"]
    assert not found["ask"]
    assert "port 3 is not cabled" in found["html"]
    assert 'data-by="worker"' in found["html"]
    assert 'data-by="published"' in foreseen(engineer, DEMO.replace("seed: 2004", "seed: 1"), rehearsal=number)["html"]
    assert 'data-by="published"' in foreseen(engineer, DEMO, rehearsal=999_999)["html"]
