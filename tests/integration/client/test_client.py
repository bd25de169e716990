"""Does the client do with a real service what a person would do with it?"""

import time
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

from rackproof.client import Client, NotAllowed, Unreachable
from rackproof.errors import Conflict, NotFound, PlanError, SettingsError
from rackproof.model.account import Scope
from rackproof.model.campaign import CampaignState
from rackproof.model.service import Role
from rackproof.model.verdict import Verdict
from tests.integration.client.conftest import PASSWORD, WAIT_S, Service
from tests.integration.client.plans import nothing


def _until_running(client: Client, campaign: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while client.campaign(campaign).state is not CampaignState.RUNNING:
        assert time.monotonic() < deadline, client.campaign(campaign)
        time.sleep(0.05)


def _finished(client: Client, campaign: int) -> None:
    for _ in client.events(campaign):
        pass


def test_a_plan_is_submitted_followed_and_reported(client: Client, tmp_path: Path) -> None:
    number = client.submit(nothing("followed", trials=5, setups=2), priority=3)
    events = list(client.events(number))
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    kinds = [event.kind for event in events]
    assert kinds.count("trial_ended") == 5
    assert kinds.index("campaign_started") < kinds.index("trial_started")
    assert "campaign_ended" in kinds
    # A worker may say afterwards that the report is ready.
    left = len(events) - 3
    assert [event.seq for event in client.events(number, after=events[2].seq)][:left] == [event.seq for event in events[3:]]
    assert client.last_event(number) >= events[-1].seq
    campaign = client.campaign(number)
    assert (campaign.name, campaign.owner, campaign.priority, campaign.state) == ("followed", "engineer", 3, CampaignState.DONE)
    assert (campaign.verdict, campaign.trials, campaign.trials_done) == (Verdict.PASS, 5, 5)
    assert campaign.plan["trials"] == 5
    assert campaign.findings[0].criterion == "nothing.value"
    trials = list(client.trials(number, page=2))
    assert [(trial.index, trial.verdict) for trial in trials] == [(index, Verdict.PASS) for index in range(1, 6)]
    report = client.make_report(number)
    pdf, html = client.download_report(report, tmp_path / "new" / "report.pdf")
    assert pdf.read_bytes().startswith(b"%PDF-")
    assert "followed" in html.read_text()
    assert {path.name for path in pdf.parent.iterdir()} == {"report.pdf", "report.html"}


def test_a_submission_that_is_sent_twice_is_one_campaign(client: Client) -> None:
    plan = nothing("once", trials=1)
    first = client.submit(plan, key="the-same")
    assert client.submit(plan, key="the-same") == first
    second = client.submit(plan, parent=first)
    assert second != first
    assert client.campaign(second).parent_id == first


def test_campaigns_come_page_by_page(client: Client) -> None:
    numbers = [client.submit(nothing(f"page {number}", trials=1)) for number in range(3)]
    found = [campaign.id for campaign in islice(client.campaigns(page=2), 3)]
    assert found == numbers[::-1]
    for number in numbers:
        _finished(client, number)
    assert {each.state for each in client.campaigns(state=CampaignState.DONE, testbed="nothing")} == {CampaignState.DONE}
    assert list(client.campaigns(owner="nobody")) == []


def test_a_plan_at_fault_says_where(client: Client) -> None:
    with pytest.raises(PlanError) as caught:
        client.submit(b"kind: nothing\nname: x\ntrials: many\n", source="mine.yaml")
    (problem,) = caught.value.problems
    assert (caught.value.source, problem.where, problem.line) == ("mine.yaml", "trials", 3)
    with pytest.raises(NotFound, match="elsewhere"):
        client.submit(nothing(testbed="elsewhere"))


def test_cancel_resume_retry_and_clone(client: Client, tmp_path: Path) -> None:
    number = client.submit(nothing("long", trials=3, sleep_s=300))
    _until_running(client, number)
    place = next(each for each in client.queue("nothing") if each.campaign == number)
    assert (place.position, place.owner) == (0, "engineer")
    behind = client.submit(nothing("behind", trials=1))
    assert [each.position for each in client.queue() if each.campaign == behind] == [1]
    client.cancel(number, "the test is over")
    _finished(client, number)
    ended = client.campaign(number)
    assert ended.verdict is Verdict.ABORTED
    assert "the test is over" in ended.reason
    with pytest.raises(Conflict):
        client.cancel(number)
    _finished(client, behind)
    after = client.last_event(behind)
    with pytest.raises(Conflict):
        client.retry(behind)
    assert {event.kind for event in client.events(behind, after=after)} <= {"report_ready"}

    plant = [{"trials": [2], "verdict": "INVALID", "times": 50}]
    invalid = client.submit(nothing("planted", plant=plant, marker=str(tmp_path / "marks")))
    _finished(client, invalid)
    assert [trial.verdict for trial in client.trials(invalid)].count(Verdict.INVALID) == 1
    after = client.last_event(invalid)
    assert client.retry(invalid) == 1
    kinds = [event.kind for event in client.events(invalid, after=after)]
    assert kinds.count("trial_ended") >= 1

    clone = client.clone(behind, {"name": "cloned", "trials": 2})
    _finished(client, clone)
    cloned = client.campaign(clone)
    assert (cloned.name, cloned.trials, cloned.parent_id, cloned.verdict) == ("cloned", 2, behind, Verdict.PASS)


def test_what_there_is(client: Client) -> None:
    rehearsal = client.rehearse(nothing("rehearsed", trials=4, sleep_s=0.5))
    assert (len(rehearsal.trials), rehearsal.refusals, rehearsal.duration_s) == (4, (), 2.0)
    assert rehearsal.trials[0].note == "nothing happens"
    with pytest.raises(PlanError):
        client.rehearse("kind: nothing\n")
    assert {"nothing", "switch-qos"} <= {kind.name for kind in client.kinds()}
    detail = client.kind("switch-qos")
    assert detail.plan_schema["properties"]
    assert "demo" in {plan.name for plan in detail.plans}
    (testbed,) = client.testbeds()
    assert (testbed.name, testbed.workers) == ("nothing", ("w",))
    with pytest.raises(NotFound):
        client.campaign(987654321)


def test_schedules(client: Client) -> None:
    made = client.create_schedule(name="nightly", cron="30 2 * * *", zone="Europe/Berlin", plans=[nothing()], paused=True)
    assert made.paused
    client.pause_schedule(made.id, paused=False)
    (found,) = client.schedules()
    assert (found.id, found.paused, found.zone) == (made.id, False, "Europe/Berlin")
    assert found.next_at is not None
    assert client.run_schedule(made.id) > 0
    client.delete_schedule(made.id)
    assert client.schedules() == []


def test_who_asks_and_what_they_may(service: Service, client: Client) -> None:
    who = client.who()
    assert (who.user.name, who.by, who.scopes) == ("engineer", "token", frozenset({Scope.READ, Scope.SUBMIT}))
    assert who.token in {token.id for token in client.tokens()}
    with service.client(Role.VIEWER) as viewer, pytest.raises(NotAllowed, match="expected the role engineer") as refused:
        viewer.submit(nothing())
    assert refused.value.status == 403
    for token in ("rp_unknown", None):
        with Client(service.url, token) as stranger, pytest.raises(NotAllowed):
            stranger.kinds()


def test_a_token_is_made_with_a_password_and_the_session_ends(service: Service) -> None:
    expires = datetime.now(UTC) + timedelta(days=1)
    with Client(service.url) as stranger:
        made = stranger.new_token(user="viewer", password=PASSWORD, name="made", scopes=None, expires=expires)
        assert made.token.scopes == {Scope.READ}
        with pytest.raises(NotAllowed):
            stranger.who()
        with pytest.raises(NotAllowed, match="name or password"):
            stranger.new_token(user="viewer", password="wrong password", name="made", scopes=None, expires=expires)
    with Client(service.url, made.secret) as client:
        assert client.who().user.name == "viewer"
        client.revoke_this_token()
        with pytest.raises(NotAllowed):
            client.who()
    with Client("http://rack.example", timeout_s=1) as far, pytest.raises(SettingsError, match="https"):
        far.new_token(user="viewer", password=PASSWORD, name="made", scopes=None, expires=expires)


def test_events_go_on_when_the_service_was_killed(service: Service, client: Client) -> None:
    number = client.submit(nothing("killed in between", trials=12, sleep_s=0.25))
    seen = []
    killed = False
    for event in client.events(number):
        seen.append(event)
        if not killed and event.kind == "trial_ended":
            killed = True
            service.kill_api()
            service.restart_api()
    assert killed
    assert [event.seq for event in seen] == sorted({event.seq for event in seen})
    assert [event.kind for event in seen].count("trial_ended") == 12
    assert client.campaign(number).verdict is Verdict.PASS


def test_a_service_that_is_not_there(client: Client) -> None:
    with Client("http://127.0.0.1:9", "rp_x", timeout_s=2) as nobody:
        with pytest.raises(Unreachable, match="does not answer"):
            nobody.kinds()
        with pytest.raises(Unreachable, match="has sent nothing"):
            list(nobody.events(1, patience_s=0.3))
    with pytest.raises(SettingsError, match="expected http"):
        Client("rack.example")
