"""Does every schedule fire once for every moment, and does nothing that goes wrong with one keep the others from firing?"""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from orchestrator.service.nights import GRACE, Nights
from rackproof.errors import Conflict, NotFound, PlanError, StoreError
from rackproof.model.service import Missed, Overlap, SuiteRunState
from rackproof.model.trial import Trial
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.cron import upcoming
from rackproof.store.listening import Listener
from rackproof.store.transactions import WORK
from tests.integration.nights.suites import ABOUT, START, Clock, a_plan, a_schedule, a_testbed, end, nights


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tick(settings: Settings, store: Store, clock: Clock) -> Nights:
    a_testbed(store)
    return nights(settings, store, clock)


def test_a_schedule_fires_at_its_moment_with_all_its_plans_and_not_before(store: Store, clock: Clock, tick: Nights) -> None:
    schedule = a_schedule(store, clock, plans=[a_plan("one"), a_plan("two", trials=5)], priority=3)
    assert schedule.next_at == datetime(2026, 3, 2, 22, tzinfo=UTC)
    assert tick.run() == 30.0
    clock.forward(hours=9, minutes=59, seconds=50)
    assert tick.run() == pytest.approx(10)
    assert store.schedules.runs() == []
    clock.forward(seconds=10)
    tick.run()
    tick.run()
    (run,) = store.schedules.runs()
    assert (run.state, run.due, run.since, run.why, run.refused) == (SuiteRunState.RUNNING, schedule.next_at, None, "", ())
    assert run == store.schedules.run(run.id) == store.schedules.runs(schedule.id)[0]
    campaigns = [store.campaign(number) for number in run.campaigns]
    assert [(campaign.name, len(campaign.trials)) for campaign in campaigns] == [("one", 2), ("two", 5)]
    places = store.queue.forecast("nothing")
    assert [(place.campaign, place.owner) for place in places] == [(number, "ada") for number in run.campaigns]
    assert store.schedules.get(schedule.id).next_at == datetime(2026, 3, 3, 22, tzinfo=UTC)


def test_a_firing_is_heard_of_by_those_who_dispatch(store: Store, clock: Clock, tick: Nights) -> None:
    a_schedule(store, clock)
    clock.forward(hours=10)
    with Listener(store.url, [WORK]) as listener:
        assert listener.wait(60) == [(WORK, "")]  # it begins with "something may have been missed"
        tick.run()
        heard = listener.wait(60)
    assert (WORK, "queue") in heard


def test_ticks_of_many_workers_at_once_fire_once(settings: Settings, store: Store, clock: Clock, tick: Nights) -> None:
    schedules = [a_schedule(store, clock, name=f"night {number}", plans=[a_plan(trials=20)]) for number in range(5)]
    clock.forward(hours=10)
    barrier = threading.Barrier(4)
    failures: list[BaseException] = []

    def worker() -> None:
        try:
            barrier.wait(timeout=30)
            nights(settings, store, clock).run()
        except BaseException as error:  # noqa: BLE001  # looked at below
            failures.append(error)

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    tick.run()
    assert failures == []
    runs = store.schedules.runs()
    assert sorted(run.name for run in runs) == sorted(schedule.name for schedule in schedules)
    assert all(len(run.campaigns) == 1 for run in runs)
    assert len(store.campaigns()) == 5


def test_a_firing_that_fails_half_way_leaves_nothing_and_comes_again_while_others_fire(
    store: Store, clock: Clock, tick: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = a_schedule(store, clock, name="first", plans=[a_plan("fine"), a_plan("bad")])
    second = a_schedule(store, clock, name="second", plans=[a_plan("good")])
    submit = type(store.queue).submit
    broken = True

    def failing(self: Any, **values: Any) -> int:
        if values["name"] == "bad" and broken:
            raise StoreError("the disk is full")
        return submit(self, **values)

    monkeypatch.setattr(type(store.queue), "submit", failing)
    clock.forward(hours=10)
    with pytest.raises(StoreError, match="the disk is full"):
        tick.run()
    assert [run.schedule_id for run in store.schedules.runs()] == [second.id]
    assert [summary.name for summary in store.campaigns()] == ["good"]
    assert store.schedules.get(first.id).next_at == first.next_at
    broken = False
    tick.run()
    assert [run.schedule_id for run in store.schedules.runs()] == [first.id, second.id]
    assert {summary.name for summary in store.campaigns()} == {"good", "fine", "bad"}


def test_a_plan_that_no_longer_fits_is_written_down_and_the_others_run(
    store: Store, clock: Clock, tick: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = [
        a_plan("fine"),
        "kind: nothing\nname: old\nturns: 3\n",
        a_plan("elsewhere", testbed="gone"),
        "{",
        a_plan("crash", trials=7),
        a_plan(),
    ]
    from testplans.registry import kind

    nothing = kind("nothing")
    expand = type(nothing).expand

    def crash(self: Any, plan: Any) -> tuple[Trial, ...]:
        if plan.name == "crash":
            raise ZeroDivisionError("division by zero")
        return expand(self, plan)

    monkeypatch.setattr(type(nothing), "expand", crash)
    a_schedule(store, clock, plans=plans)
    clock.forward(hours=10)
    tick.run()
    (run,) = store.schedules.runs()
    assert run.state is SuiteRunState.RUNNING
    assert [store.campaign(number).name for number in run.campaigns] == ["fine", "night"]
    said = {refused["plan"]: refused["error"] for refused in run.refused}
    assert said.keys() == {2, 3, 4, 5}
    assert "turns" in said[2]
    assert "there is no testbed 'gone'" in said[3]
    assert "ZeroDivisionError" in said[5]
    assert [refused["name"] for refused in run.refused if refused["plan"] == 3] == ["elsewhere"]


@pytest.mark.parametrize("missed", list(Missed))
def test_moments_missed_while_the_service_was_down_are_one_run_or_none(store: Store, clock: Clock, tick: Nights, missed: Missed) -> None:
    schedule = a_schedule(store, clock, missed=missed)
    clock.forward(days=3)  # three nights, the last of them 14 hours ago
    tick.run()
    tick.run()
    (run,) = store.schedules.runs()
    assert run.due == datetime(2026, 3, 4, 22, tzinfo=UTC)
    assert run.since == datetime(2026, 3, 2, 22, tzinfo=UTC)
    assert "the service was down" in run.why
    match missed:
        case Missed.RUN_ONCE:
            assert run.state is SuiteRunState.RUNNING
            assert len(run.campaigns) == 1
        case Missed.SKIP:
            assert run.state is SuiteRunState.SKIPPED
            assert run.ended is not None
            assert run.campaigns == ()
    assert store.schedules.get(schedule.id).next_at == datetime(2026, 3, 5, 22, tzinfo=UTC)


def test_a_little_late_is_not_missed(store: Store, clock: Clock, tick: Nights) -> None:
    a_schedule(store, clock, missed=Missed.SKIP)
    clock.forward(hours=10, seconds=GRACE.total_seconds())
    tick.run()
    (run,) = store.schedules.runs()
    assert (run.state, run.since) == (SuiteRunState.RUNNING, None)


def test_what_was_missed_before_a_moment_that_is_on_time_is_skipped_on_its_own(store: Store, clock: Clock, tick: Nights) -> None:
    a_schedule(store, clock, missed=Missed.SKIP)
    clock.forward(days=2, hours=10, seconds=5)
    tick.run()
    now, before = store.schedules.runs()
    assert (now.state, now.due, now.since) == (SuiteRunState.RUNNING, datetime(2026, 3, 4, 22, tzinfo=UTC), None)
    assert (before.state, before.due) == (SuiteRunState.SKIPPED, datetime(2026, 3, 3, 22, tzinfo=UTC))
    assert before.since == datetime(2026, 3, 2, 22, tzinfo=UTC)


@pytest.mark.parametrize("overlap", list(Overlap))
def test_a_run_that_has_not_ended_makes_the_next_one_wait_or_be_left_out(
    store: Store, clock: Clock, tick: Nights, overlap: Overlap
) -> None:
    schedule = a_schedule(store, clock, overlap=overlap)
    clock.forward(hours=10)
    tick.run()
    clock.forward(days=1)
    tick.run()
    second, first = store.schedules.runs()
    match overlap:
        case Overlap.SKIP:
            assert second.state is SuiteRunState.SKIPPED
            assert second.why == f"run {first.id} had not ended"
            assert second.campaigns == ()
            with pytest.raises(Conflict, match=f"run {first.id} of the schedule nightly has not ended"):
                store.schedules.run_now(schedule.id)
        case Overlap.QUEUE:
            assert second.state is SuiteRunState.RUNNING
            assert [place.campaign for place in store.queue.forecast()] == [*first.campaigns, *second.campaigns]
    for campaign in (*first.campaigns, *second.campaigns):
        end(store, campaign)
    clock.forward(days=1)
    tick.run()
    assert store.schedules.runs()[0].state is SuiteRunState.RUNNING


def test_a_run_that_is_asked_for_is_submitted_by_the_next_tick_and_once(store: Store, clock: Clock, tick: Nights) -> None:
    schedule = a_schedule(store, clock)
    with Listener(store.url, [WORK]) as listener:
        assert listener.wait(60) == [(WORK, "")]
        run = store.schedules.run_now(schedule.id, by="grace", now=clock())
        assert (WORK, "schedule") in listener.wait(60)
    assert store.schedules.run(run).state is SuiteRunState.WANTED
    with pytest.raises(Conflict):
        store.schedules.run_now(schedule.id)
    tick.run()
    tick.run()
    found = store.schedules.run(run)
    assert (found.state, found.why, found.due) == (SuiteRunState.RUNNING, "asked for by grace", START)
    assert len(found.campaigns) == len(store.campaigns()) == 1
    assert store.schedules.get(schedule.id).next_at == schedule.next_at


def test_a_run_whose_schedule_is_deleted_before_it_was_submitted_is_skipped(store: Store, clock: Clock, tick: Nights) -> None:
    schedule = a_schedule(store, clock)
    run = store.schedules.run_now(schedule.id)
    store.schedules.delete(schedule.id)
    tick.run()
    assert store.schedules.run(run).state is SuiteRunState.SKIPPED
    assert store.campaigns() == []


def test_a_paused_schedule_neither_fires_nor_catches_up(store: Store, clock: Clock, tick: Nights) -> None:
    schedule = a_schedule(store, clock)
    assert store.schedules.pause(schedule.id, True).paused
    clock.forward(days=2)
    tick.run()
    assert not store.schedules.pause(schedule.id, False, now=clock()).paused
    tick.run()
    assert store.schedules.runs() == []
    assert store.schedules.get(schedule.id).next_at == datetime(2026, 3, 4, 22, tzinfo=UTC)


def test_a_schedule_is_changed_in_part(store: Store, clock: Clock) -> None:
    schedule = a_schedule(store, clock, emails=["ada@example.org"], webhooks=["https://hooks.example.org/T1/secret"])
    changed = store.schedules.update(schedule.id, name="weekly", overlap=Overlap.QUEUE)
    assert (changed.name, changed.overlap, changed.next_at) == ("weekly", Overlap.QUEUE, schedule.next_at)
    assert (changed.emails, changed.webhooks, changed.plans) == (schedule.emails, schedule.webhooks, schedule.plans)
    assert changed.updated > schedule.updated
    moved = store.schedules.update(schedule.id, zone="Europe/Zurich", emails=[], now=clock())
    assert (moved.next_at, moved.emails) == (datetime(2026, 3, 2, 21, tzinfo=UTC), ())
    assert store.schedules.get(schedule.id) == moved == store.schedules.list()[0]
    with pytest.raises(TypeError, match="owner"):
        store.schedules.update(schedule.id, owner="somebody else")


def test_names_are_unique_whatever_their_case(store: Store) -> None:
    a_schedule(store, name="Nightly")
    with pytest.raises(Conflict, match="choose another name"):
        a_schedule(store, name="nightly")
    other = a_schedule(store, name="other")
    with pytest.raises(Conflict, match="choose another name"):
        store.schedules.update(other.id, name="NIGHTLY")
    assert store.schedules.update(other.id, name="Other").name == "Other"


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"cron": "nightly"}, "cron"),
        ({"zone": "Zurich"}, "zone"),
        ({"plans": []}, "plans"),
        ({"name": " "}, "name"),
        ({"emails": ["ada@example.org, eve@example.org"]}, r"emails\[0\]"),
        ({"emails": ["ada@example.org\nBcc: eve@example.org"]}, r"emails\[0\]"),
        ({"webhooks": ["https://hooks.example.org/x", "file:///etc/passwd"]}, r"webhooks\[1\]"),
        ({"webhooks": ["https://"]}, r"webhooks\[0\]"),
    ],
)
def test_what_cannot_be_used_is_refused_when_it_is_entered(store: Store, change: dict[str, Any], where: str) -> None:
    with pytest.raises(PlanError, match=where):
        a_schedule(store, **change)
    schedule = a_schedule(store)
    with pytest.raises(PlanError, match=where):
        store.schedules.update(schedule.id, **change)
    assert store.schedules.get(schedule.id) == schedule


def test_what_is_not_there_is_not_found(store: Store) -> None:
    for ask in (store.schedules.get, store.schedules.delete, store.schedules.run, store.schedules.run_now):
        with pytest.raises(NotFound):
            ask(404)


@pytest.mark.parametrize("begin", [datetime(2026, 3, 25, tzinfo=UTC), datetime(2026, 10, 21, tzinfo=UTC)])
def test_every_night_around_a_change_of_the_clock_has_one_run(store: Store, clock: Clock, tick: Nights, begin: datetime) -> None:
    """Through the service, not the expression alone: 02:30 in Zurich, which is missing on one night and comes twice on another."""
    clock.now = begin
    schedule = a_schedule(store, clock, cron="30 2 * * *", zone="Europe/Zurich", plans=["kind: none\n"], overlap=Overlap.QUEUE)
    while clock.now < begin + timedelta(days=10):
        clock.forward(minutes=30)
        tick.run()
    runs = store.schedules.runs(schedule.id)
    assert [run.due for run in reversed(runs)] == upcoming("30 2 * * *", "Europe/Zurich", begin, 10)
    assert len({run.due.astimezone(ZoneInfo("Europe/Zurich")).date() for run in runs}) == 10


def test_the_duty_uses_the_databases_clock_by_itself(settings: Settings, store: Store) -> None:
    a_testbed(store)
    schedule = a_schedule(store, cron="* * * * *")
    duty = Nights(settings, store, ABOUT)
    wait_s = duty.run()
    assert schedule.next_at is not None
    assert 0 <= wait_s <= 30
    assert store.schedules.runs() == [] or wait_s > 25
