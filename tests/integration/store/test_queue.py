"""Does the queue start what is next, all that it needs or nothing, whoever asks and however many at once?"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from rackproof.errors import Conflict, LeaseLost, NotFound
from rackproof.model.campaign import CampaignState
from rackproof.model.service import TestbedState
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.leases import Lease
from rackproof.store.listening import Listener
from rackproof.store.transactions import WORK
from tests.conftest import a_trial

Submit = Callable[..., int]


@pytest.fixture
def submit(store: Store) -> Submit:
    """Puts a campaign with so many trials of 1.5 s into the queue."""

    def put(testbed: str = "one", trials: int = 2, name: str = "a campaign", **values: Any) -> int:
        return store.queue.submit(
            name=name,
            kind="nothing",
            testbed=testbed,
            plan={},
            plan_text="",
            plan_sha256="",
            trials=[a_trial(number) for number in range(1, trials + 1)],
            **values,
        )

    return put


def serve(store: Store, worker: str, **testbeds: list[str]) -> str:
    """Announce testbeds with their resources, and register a worker for them; its incarnation."""
    for name, resources in testbeds.items():
        store.testbeds.announce(name, "nothing", resources)
    return store.workers.register(worker, [*testbeds], 600)


def finish(store: Store, lease: Lease) -> None:
    store.under(lease).finish(lease.campaign, CampaignState.DONE, Verdict.PASS)


def test_a_campaign_is_submitted_starts_and_ends(store: Store, submit: Submit) -> None:
    with pytest.raises(NotFound, match=r"there is no testbed 'one'; there are: none yet: start a worker"):
        submit()
    me = serve(store, "w", one=["a", "b"])
    campaign = submit(owner="anna")
    assert store.campaign(campaign).state is CampaignState.PENDING
    place = store.queue.place(campaign)
    assert place is not None
    assert (place.position, place.owner, place.waits_for) == (1, "anna", "a worker, which is about to start it")
    lease = store.leases.dispatch(me, ["one"]).lease
    assert lease is not None
    assert (lease.campaign, lease.fence, lease.run, lease.why) == (campaign, 1, 0, "")
    assert store.leases.dispatch(me, ["one"]).lease is None
    place = store.queue.place(campaign)
    assert place is not None
    assert (place.position, place.waits_for) == (0, "")
    assert store.testbeds.get("one").in_use_by == f"campaign {campaign} (a campaign)"
    (worker,) = store.workers.list()
    assert worker.campaigns == (campaign,)
    leased = store.under(lease)
    leased.save_result(campaign, 1, TrialResult(verdict=Verdict.PASS))
    (summary,) = store.campaigns()
    assert (summary.trials, summary.trials_done) == (2, 1)
    finish(store, lease)
    assert store.queue.place(campaign) is None
    assert store.testbeds.get("one").in_use_by == ""
    assert [event.kind for event in store.events(campaign)] == ["queued"]
    with pytest.raises(LeaseLost):
        leased.save_result(campaign, 2, TrialResult(verdict=Verdict.PASS))


def test_many_dispatchers_at_once_use_nothing_twice_and_take_all_or_nothing(store: Store, submit: Submit) -> None:
    beds = {"ab": ["a", "b"], "bc": ["b", "c"], "ca": ["c", "a"], "d": ["d"]}
    workers = [serve(store, f"w{number}", **beds) for number in range(4)]
    campaigns = [submit(testbed=[*beds][number % 4], owner=f"u{number % 3}", priority=number % 2) for number in range(40)]
    using: Counter[str] = Counter()
    order: list[int] = []
    guard, failures = threading.Lock(), []

    def work(me: str) -> None:
        deadline = time.monotonic() + 240
        try:
            while len(order) < len(campaigns) and time.monotonic() < deadline:
                lease = store.leases.dispatch(me, [*beds]).lease
                if lease is None:
                    time.sleep(0.005)
                    continue
                mine = beds[lease.testbed]
                with store.transactions.step("test") as connection:
                    held = connection.execute(text("SELECT resource FROM leases WHERE campaign_id = :id"), {"id": lease.campaign}).scalars()
                    assert sorted(held) == sorted(mine)
                with guard:
                    order.append(lease.campaign)
                    using.update(mine)
                    assert max(using.values()) == 1, "a resource is used twice"
                time.sleep(0.005)
                with guard:
                    using.subtract(mine)
                finish(store, lease)
        except BaseException as error:  # noqa: BLE001  # looked at below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(me,)) for me in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert failures == []
    assert sorted(order) == campaigns


def test_a_worker_starts_only_what_it_serves(store: Store, submit: Submit) -> None:
    here = serve(store, "here", one=["a"])
    there = serve(store, "there", two=["b"])
    first, second = submit("two"), submit("one")
    lease = store.leases.dispatch(here, ["one"]).lease
    assert lease is not None
    assert lease.campaign == second
    # Its worker is gone: what waits there waits, and says for what.
    store.workers.stop(there)
    place = store.queue.place(first)
    assert place is not None
    assert (place.expected_start, place.waits_for) == (None, "a worker that serves testbed two")


def test_the_forecast_is_what_happens(store: Store, submit: Submit) -> None:
    me = serve(store, "w", one=["a"])
    running = submit(trials=4)
    assert store.leases.dispatch(me, ["one"]).lease is not None
    waiting = [submit(trials=2, owner="anna"), submit(trials=2, owner="anna"), submit(trials=2, owner="bert")]
    places = store.queue.forecast("one")
    assert [(place.campaign, place.position) for place in places] == [(running, 0), (waiting[0], 1), (waiting[2], 2), (waiting[1], 3)]
    ends = places[0].expected_end
    assert ends is not None
    for number, place in enumerate(places[1:]):
        assert place.expected_start is not None
        assert (place.expected_start - ends).total_seconds() == pytest.approx(3.0 * number, abs=0.1)
    assert places[1].waits_for == f"campaign {running} (a campaign)"
    assert store.queue.forecast("two") == []
    store.queue.set_priority(waiting[1], 3)
    assert [place.campaign for place in store.queue.forecast("one")] == [running, waiting[1], waiting[2], waiting[0]]
    with pytest.raises(Conflict, match="does not wait"):
        store.queue.set_priority(running, 3)


def test_a_reservation_counts_like_a_campaign(store: Store, submit: Submit) -> None:
    me = serve(store, "w", one=["a"], two=["a", "b"])
    now = datetime.now(UTC)
    with pytest.raises(NotFound):
        store.reservations.reserve(testbed="three", user_id=None, owner="anna", ends=now + timedelta(hours=1))
    with pytest.raises(Conflict, match="would end before it begins"):
        store.reservations.reserve(testbed="one", user_id=None, owner="anna", ends=now - timedelta(hours=1))
    kept = store.reservations.reserve(testbed="one", user_id=None, owner="anna", reason="cabling", ends=now + timedelta(hours=1))
    assert store.reservations.get(kept).granted is not None
    assert store.testbeds.get("one").in_use_by.startswith("the reservation of anna until")
    with pytest.raises(Conflict, match="anna has reserved one"):
        store.reservations.reserve(testbed="two", user_id=None, owner="bert", ends=now + timedelta(hours=2))
    later = store.reservations.reserve(
        testbed="two", user_id=None, owner="bert", starts=now + timedelta(hours=1), ends=now + timedelta(hours=2)
    )
    campaign = submit("one")
    dispatch = store.leases.dispatch(me, ["one", "two"])
    assert dispatch.lease is None
    place = store.queue.place(campaign)
    assert place is not None
    assert place.expected_start is not None
    assert place.expected_start >= now + timedelta(hours=2)
    assert [reservation.id for reservation in store.reservations.list()] == [kept, later]
    store.reservations.release(kept)
    with pytest.raises(Conflict, match="has ended already"):
        store.reservations.release(kept)
    lease = store.leases.dispatch(me, ["one", "two"]).lease
    assert lease is not None
    assert [reservation.id for reservation in store.reservations.list(past=True)] == [kept]
    # The next one begins while the campaign runs: it is granted with its end.
    with store.transactions.step("test") as connection:
        connection.execute(text("UPDATE reservations SET starts = now() - interval '1 s' WHERE id = :id"), {"id": later})
    submit("one")
    assert store.leases.dispatch(me, ["one", "two"]).lease is None
    assert store.reservations.get(later).granted is None
    finish(store, lease)
    assert store.leases.dispatch(me, ["one", "two"]).lease is None
    assert store.reservations.get(later).granted is not None
    with store.transactions.step("test") as connection:
        connection.execute(text("UPDATE reservations SET ends = now() WHERE id = :id"), {"id": later})
    assert store.leases.dispatch(me, ["one", "two"]).lease is not None


def test_an_offline_testbed_waits_except_for_its_health_check(store: Store, submit: Submit) -> None:
    me = serve(store, "w", one=["a"])
    campaign = submit()
    store.testbeds.set_state("one", TestbedState.OFFLINE, "the golden plan failed")
    assert store.leases.dispatch(me, ["one"]).lease is None
    place = store.queue.place(campaign)
    assert place is not None
    assert place.waits_for == "the testbed, which is offline: the golden plan failed"
    check = submit(name="golden")
    with store.transactions.step("test") as connection:
        connection.execute(text("UPDATE testbeds SET golden_campaign_id = :id"), {"id": check})
    lease = store.leases.dispatch(me, ["one"]).lease
    assert lease is not None
    assert lease.campaign == check
    finish(store, lease)
    store.testbeds.announce("one", "nothing", ["a"])  # a worker that starts again changes nothing about that
    assert store.leases.dispatch(me, ["one"]).lease is None
    store.testbeds.set_state("one", TestbedState.ONLINE, "")
    # Nothing starts before it is known what the check found.
    assert store.leases.dispatch(me, ["one"]).lease is None
    place = store.queue.place(campaign)
    assert place is not None
    assert place.waits_for == "the judgement of its health check"
    with store.transactions.step("test") as connection:
        connection.execute(text("UPDATE testbeds SET golden_judged = golden_campaign_id"))
    lease = store.leases.dispatch(me, ["one"]).lease
    assert lease is not None
    assert lease.campaign == campaign


def test_what_waits_or_has_no_worker_is_cancelled_at_once(store: Store, submit: Submit) -> None:
    me = serve(store, "w", one=["a"])
    first, second = submit(), submit()
    store.queue.cancel(second, "a typo in the plan")
    record = store.campaign(second)
    assert (record.state, record.verdict, record.reason) == (CampaignState.ABORTED, Verdict.ABORTED, "a typo in the plan")
    with pytest.raises(Conflict, match="has ended already: it is ABORTED"):
        store.queue.cancel(second, "again")
    lease = store.leases.dispatch(me, ["one"]).lease
    assert lease is not None
    assert lease.campaign == first
    store.queue.cancel(first, "too slow")
    assert store.campaign(first).state is CampaignState.RUNNING  # its worker ends it
    assert store.queue.cancel_of(first) == "too slow"
    assert store.workers.renew(me, 600) == {first: "too slow"}
    store.workers.stop(me)
    store.queue.cancel(first, "its worker is gone")
    assert store.campaign(first).state is CampaignState.ABORTED
    with pytest.raises(LeaseLost):
        store.under(lease).save_result(first, 1, TrialResult(verdict=Verdict.PASS))
    with pytest.raises(NotFound):
        store.queue.cancel(99, "")


def test_what_is_cancelled_while_it_is_about_to_start_never_runs(store: Store, submit: Submit) -> None:
    me = serve(store, "w", one=["a"])
    for _ in range(15):
        campaign = submit()
        started: list[Lease | None] = []
        barrier = threading.Barrier(2)

        def dispatch(barrier: threading.Barrier = barrier, started: list[Lease | None] = started) -> None:
            barrier.wait()
            started.append(store.leases.dispatch(me, ["one"]).lease)

        thread = threading.Thread(target=dispatch)
        thread.start()
        barrier.wait()
        store.queue.cancel(campaign, "a typo")
        thread.join()
        state = store.campaign(campaign).state
        (lease,) = started
        assert state is (CampaignState.ABORTED if lease is None else CampaignState.RUNNING)
        if lease is not None:
            assert store.queue.cancel_of(campaign) == "a typo"
            finish(store, lease)


def test_only_what_is_not_valid_runs_again(store: Store, submit: Submit) -> None:
    me = serve(store, "w", one=["a"])
    campaign = submit(trials=4)
    with pytest.raises(Conflict, match="has not ended"):
        store.queue.retry(campaign)
    lease = store.leases.dispatch(me, ["one"]).lease
    assert lease is not None
    leased = store.under(lease)
    for index, verdict in enumerate((Verdict.PASS, Verdict.INVALID, Verdict.ERROR), start=1):
        leased.save_result(campaign, index, TrialResult(verdict=verdict))
    leased.finish(campaign, CampaignState.DONE, Verdict.ERROR, "it smokes")
    with pytest.raises(Conflict, match="there is nothing to resume"):
        store.queue.resume(campaign)
    assert store.queue.retry(campaign) == 3
    record = store.campaign(campaign)
    assert (record.state, record.verdict, record.reason, record.findings) == (CampaignState.PENDING, None, "", ())
    assert [trial.result.verdict if trial.result is not None else None for trial in record.trials] == [Verdict.PASS, None, None, None]
    (summary,) = store.campaigns()
    assert summary.trials_done == 1
    lease = store.leases.dispatch(me, ["one"]).lease
    assert lease is not None
    assert (lease.run, lease.fence) == (1, 3)
    leased = store.under(lease)
    for index in (2, 3, 4):
        leased.save_result(campaign, index, TrialResult(verdict=Verdict.PASS))
    leased.finish(campaign, CampaignState.DONE, Verdict.PASS)
    with pytest.raises(Conflict, match="nothing to retry"):
        store.queue.retry(campaign)


def test_a_worker_that_is_gone_is_followed_by_one_that_serves_the_testbed(store: Store, submit: Submit) -> None:
    me, other, stranger = serve(store, "w", one=["a"]), serve(store, "x", one=["a"]), serve(store, "y", two=["b"])
    campaign = submit()
    lease = store.leases.dispatch(me, ["one"]).lease
    assert lease is not None
    assert store.leases.adopt(other, ["one"], ()) == []
    store.workers.stop(me)
    assert store.campaign(campaign).state is CampaignState.INTERRUPTED
    assert store.leases.adopt(stranger, ["two"], ()) == []
    (adopted,) = store.leases.adopt(other, ["one"], ())
    assert (adopted.campaign, adopted.fence, adopted.why) == (campaign, 2, "worker w was stopped")
    assert store.campaign(campaign).state is CampaignState.RUNNING
    # What a worker let go of, it takes up again; what it is at, it does not.
    assert store.leases.adopt(other, ["one"], {campaign}) == []
    (again,) = store.leases.adopt(other, ["one"], ())
    assert (again.fence, again.why) == (3, "worker x could not go on with it")
    with pytest.raises(LeaseLost):
        store.workers.renew(me, 600)
    with pytest.raises(LeaseLost):
        store.under(lease).finish(campaign, CampaignState.DONE, Verdict.PASS)
    with pytest.raises(NotFound, match="no worker 'z'"):
        store.workers.declare_dead("z")


def test_whoever_listens_hears_at_once_and_is_told_when_something_may_have_been_missed(
    store: Store, submit: Submit, settings: Settings
) -> None:
    me = serve(store, "w", one=["a"])
    with Listener(store.url, [WORK]) as listener:
        assert listener.wait(60) == [(WORK, "")]
        campaign = submit()
        assert (WORK, "queue") in listener.wait(60)
        assert store.leases.dispatch(me, ["one"]).lease is not None
        store.queue.cancel(campaign, "")
        heard = listener.wait(60)
        while (WORK, f"cancel {campaign}") not in heard:
            assert heard, "the cancellation was not told"
            heard = listener.wait(60)
        assert listener.wait(0.01) == []
        timer = threading.Timer(0.1, listener.wake)
        timer.start()
        begun = time.monotonic()
        assert listener.wait(120) == []
        assert time.monotonic() - begun < 100
        timer.join()
        with store.transactions.step("test") as connection:
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rackproof listening'")
            )
        deadline = time.monotonic() + 60
        while (WORK, "") not in listener.wait(1):
            assert time.monotonic() < deadline, "the connection was not made again"
    listener.wake()  # a signal may come as late as that
