"""Does a health check that fails take its testbed offline, and one that passes bring it back, but never against a person's will?"""

from datetime import timedelta

import pytest

from orchestrator.service.golden import OWNER, Golden
from rackproof.model.campaign import CampaignState
from rackproof.model.service import TestbedState
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.health import Health
from rackproof.store.testbeds import TestbedRecord
from tests.integration.nights.suites import ABOUT, START, Clock, a_plan, a_testbed, end


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def golden(settings: Settings, store: Store, clock: Clock) -> Golden:
    a_testbed(store)
    store.testbeds.set_golden("nothing", a_plan("golden"), "0 * * * *", "UTC")
    duty = Golden(settings, store, ABOUT, clock=clock)
    assert duty.run() == 30.0
    assert store.campaigns() == []
    return duty


def now(store: Store) -> TestbedRecord:
    return store.testbeds.get("nothing")


def check(store: Store, clock: Clock, golden: Golden) -> int:
    """The next hour comes; the campaign that checks."""
    clock.forward(hours=1)
    golden.run()
    found = now(store).golden_campaign_id
    assert found is not None
    return found


def checked(store: Store, clock: Clock, golden: Golden, verdict: Verdict, reason: str = "") -> TestbedRecord:
    """The next hour comes and the check ends so; the testbed."""
    end(store, check(store, clock, golden), verdict, reason)
    golden.run()
    return now(store)


def test_a_check_is_submitted_when_it_is_due_ahead_of_everybody(store: Store, clock: Clock, golden: Golden) -> None:
    assert now(store).golden_next == START + timedelta(hours=1)
    clock.forward(minutes=59)
    golden.run()
    assert store.campaigns() == []
    campaign = check(store, clock, golden)
    (place,) = store.queue.forecast("nothing")
    assert (place.campaign, place.owner, place.name) == (campaign, OWNER, "golden")
    assert now(store).golden_next == START + timedelta(hours=2)
    check(store, clock, golden)
    assert [summary.id for summary in store.campaigns()] == [campaign], "the last one has not ended: no second"


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.ERROR, Verdict.INVALID, Verdict.TIMEOUT])
def test_a_check_that_does_not_pass_takes_the_testbed_offline_and_one_that_does_brings_it_back(
    store: Store, clock: Clock, golden: Golden, verdict: Verdict
) -> None:
    assert checked(store, clock, golden, Verdict.PASS).state is TestbedState.ONLINE
    after = checked(store, clock, golden, verdict, "the generator is mute")
    assert after.state is TestbedState.OFFLINE
    assert after.reason == f"health check: campaign {after.golden_campaign_id} ended {verdict}: the generator is mute"
    again = checked(store, clock, golden, Verdict.ERROR)
    assert (again.state, again.reason) == (TestbedState.OFFLINE, f"health check: campaign {again.golden_campaign_id} ended ERROR")
    back = checked(store, clock, golden, Verdict.PASS)
    assert (back.state, back.reason) == (TestbedState.ONLINE, "")


def test_a_person_brings_it_back_and_the_old_failure_does_not_count_again(store: Store, clock: Clock, golden: Golden) -> None:
    checked(store, clock, golden, Verdict.FAIL)
    store.testbeds.set_state("nothing", TestbedState.ONLINE, "")
    golden.run()
    assert now(store).state is TestbedState.ONLINE


def test_a_testbed_that_a_person_took_offline_is_neither_checked_nor_brought_back(store: Store, clock: Clock, golden: Golden) -> None:
    campaign = check(store, clock, golden)
    store.testbeds.set_state("nothing", TestbedState.OFFLINE, "new cables")
    end(store, campaign, Verdict.PASS)
    golden.run()
    assert now(store).reason == "new cables"
    assert check(store, clock, golden) == campaign
    store.testbeds.set_state("nothing", TestbedState.ONLINE, "")
    assert check(store, clock, golden) != campaign


def test_a_person_who_keeps_offline_what_the_check_took_has_the_last_word(store: Store, clock: Clock, golden: Golden) -> None:
    checked(store, clock, golden, Verdict.FAIL)
    campaign = check(store, clock, golden)
    store.testbeds.set_state("nothing", TestbedState.OFFLINE, "waiting for a spare part")
    end(store, campaign, Verdict.PASS)
    golden.run()
    assert (now(store).state, now(store).reason) == (TestbedState.OFFLINE, "waiting for a spare part")


def test_a_check_that_somebody_cancelled_says_nothing(store: Store, clock: Clock, golden: Golden) -> None:
    campaign = check(store, clock, golden)
    store.queue.cancel(campaign, "not now")
    assert store.campaign(campaign).state is CampaignState.ABORTED
    golden.run()
    assert now(store).state is TestbedState.ONLINE


@pytest.mark.parametrize(
    ("plan", "said"), [("kind: nothing\nname: x\nturns: 3\n", "turns"), (a_plan("x", testbed="other"), "found one for other")]
)
def test_a_check_that_cannot_run_proves_nothing(store: Store, clock: Clock, golden: Golden, plan: str, said: str) -> None:
    store.testbeds.set_golden("nothing", plan, "0 * * * *", "UTC")
    golden.run()
    clock.forward(hours=1)
    golden.run()
    assert now(store).state is TestbedState.OFFLINE
    assert said in now(store).reason
    store.testbeds.set_golden("nothing", a_plan("golden"), "0 * * * *", "UTC")
    golden.run()
    assert checked(store, clock, golden, Verdict.PASS).state is TestbedState.ONLINE


def test_a_time_that_cannot_be_used_stops_no_other_check(store: Store, clock: Clock, golden: Golden) -> None:
    a_testbed(store, "another")
    store.testbeds.set_golden("another", a_plan("golden", testbed="another"), "at noon", "UTC")
    check(store, clock, golden)
    assert [summary.testbed for summary in store.campaigns()] == ["nothing"]


def test_a_check_can_be_asked_for_at_once(store: Store, golden: Golden, clock: Clock) -> None:
    Health(store.transactions).check_now("nothing")
    asked = now(store).golden_next
    assert asked is not None
    clock.now = asked
    golden.run()
    assert now(store).golden_campaign_id is not None


def test_only_the_check_may_run_while_the_testbed_is_offline(store: Store, clock: Clock, golden: Golden) -> None:
    checked(store, clock, golden, Verdict.FAIL)
    from testplans.submission import submission

    store.queue.submit(**submission(a_plan("of a person").encode()).columns(), owner="ada", priority=1000)
    campaign = check(store, clock, golden)
    line = {place.campaign: place for place in store.queue.forecast("nothing")}
    assert line[campaign].position == 1
    assert "offline" not in line[campaign].waits_for
