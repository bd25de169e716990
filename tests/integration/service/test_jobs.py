"""Is what is asked of the workers done once, and by somebody who lives?"""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import func, insert, update

from rackproof.errors import Conflict, NotFound
from rackproof.model.service import JobState
from rackproof.store import Store, schema, schema_service
from rackproof.store.transactions import JOBS, WORK


def a_worker(store: Store, name: str, lives_s: float = 3600) -> str:
    """A worker's row as the worker itself writes it; its incarnation."""
    incarnation = f"incarnation of {name}"
    expires = func.clock_timestamp() + timedelta(seconds=lives_s)
    with store.transactions.step("a worker") as connection:
        connection.execute(
            insert(schema_service.Worker).values(
                name=name, incarnation=incarnation, host="a host", pid=1, pid_started=1, version="1", testbeds=["bench"], expires=expires
            )
        )
    return incarnation


def dies(store: Store, incarnation: str) -> None:
    with store.transactions.step("a worker") as connection:
        worker = schema_service.Worker
        connection.execute(update(worker).where(worker.incarnation == incarnation).values(expires=func.clock_timestamp()))


def test_a_job_goes_from_wanted_to_done(store: Store, campaign: Callable[..., int]) -> None:
    number, worker = campaign(), a_worker(store, "one")
    job = store.jobs.want("report", campaign=number, input={"paper": "A4"})
    assert (store.jobs.get(job).state, store.jobs.get(job).campaign) == (JobState.WANTED, number)
    taken = store.jobs.take(worker, ["bench"])
    assert taken is not None
    assert (taken.id, taken.state, taken.attempts, taken.input) == (job, JobState.TAKEN, 1, {"paper": "A4"})
    assert store.jobs.take(worker, ["bench"]) is None
    store.jobs.done(job, worker, {"pages": 3, "most": float("inf")})
    ended = store.jobs.get(job)
    assert (ended.state, ended.output) == (JobState.DONE, {"pages": 3, "most": float("inf")})
    assert ended.ended is not None
    with pytest.raises(Conflict, match=f"job {job} is no longer"):
        store.jobs.fail(job, worker, "too late")


def test_the_same_job_is_not_asked_for_twice_unless_the_campaign_ended_again(store: Store, campaign: Callable[..., int]) -> None:
    number, worker = campaign(), a_worker(store, "one")
    ended = update(schema.Campaign).where(schema.Campaign.id == number).values(ended=func.clock_timestamp())
    with store.transactions.step("a campaign ends") as connection:
        connection.execute(ended)
    first = store.jobs.want("report", campaign=number)
    assert store.jobs.want("report", campaign=number) == first
    assert store.jobs.want("report", campaign=campaign()) != first
    store.jobs.take(worker, [], ["report"])
    assert store.jobs.want("report", campaign=number) == first
    # A retry of some trials ended while the report of the first run is being written.
    with store.transactions.step("a campaign ends") as connection:
        connection.execute(ended)
    again = store.jobs.want("report", campaign=number)
    assert again != first
    store.jobs.done(first, worker, {})
    assert store.jobs.want("report", campaign=number) == again
    with pytest.raises(NotFound, match="no campaign 99"):
        store.jobs.want("report", campaign=99)


def test_a_worker_takes_what_its_testbeds_can_do(store: Store) -> None:
    worker = a_worker(store, "one")
    elsewhere = store.jobs.want("rehearsal", testbed="rack", input={"plan_text": "a"})
    here = store.jobs.want("rehearsal", testbed="bench", input={"plan_text": "a"})
    assert store.jobs.take(worker, ["bench"], ["report"]) is None
    taken = store.jobs.take(worker, ["bench"], ["rehearsal", "report"])
    assert taken is not None
    assert taken.id == here
    assert store.jobs.take(worker, ["bench"]) is None
    other = store.jobs.take(a_worker(store, "two"), ["rack"])
    assert other is not None
    assert other.id == elsewhere


def test_young_jobs_can_be_left_for_later(store: Store) -> None:
    worker = a_worker(store, "one")
    store.jobs.want("report")
    assert store.jobs.take(worker, [], older_than_s=60) is None
    assert store.jobs.take(worker, []) is not None


def test_jobs_of_a_dead_worker_come_back_three_times(store: Store) -> None:
    job = store.jobs.want("report")
    for attempt in (1, 2, 3):
        worker = a_worker(store, f"worker {attempt}")
        taken = store.jobs.take(worker, [])
        assert taken is not None
        assert (taken.id, taken.attempts) == (job, attempt)
        assert store.jobs.take(a_worker(store, f"other {attempt}"), []) is None
        dies(store, worker)
        with pytest.raises(Conflict):
            store.jobs.done(job + 1, worker, {})
    assert store.jobs.take(a_worker(store, "the last"), []) is None
    ended = store.jobs.get(job)
    assert (ended.state, ended.error) == (JobState.FAILED, "its worker died, 3 times")


def test_a_worker_that_came_back_cannot_end_a_job_that_another_has(store: Store) -> None:
    job = store.jobs.want("report")
    first, second = a_worker(store, "one"), a_worker(store, "two")
    store.jobs.take(first, [])
    dies(store, first)
    assert store.jobs.take(second, []) is not None
    with pytest.raises(Conflict):
        store.jobs.done(job, first, {"from": "the first"})
    store.jobs.done(job, second, {"from": "the second"})
    assert store.jobs.get(job).output == {"from": "the second"}


def test_what_a_worker_took_and_is_not_doing_goes_back(store: Store) -> None:
    worker = a_worker(store, "one")
    jobs = [store.jobs.want("report", input={"number": number}) for number in range(3)]
    for _ in jobs:
        store.jobs.take(worker, [])
    store.jobs.done(jobs[0], worker, {})
    assert store.jobs.give_back(worker) == 2
    assert [store.jobs.get(job).state for job in jobs] == [JobState.DONE, JobState.WANTED, JobState.WANTED]


def test_many_workers_take_each_job_once(store: Store) -> None:
    jobs = [store.jobs.want("report", input={"number": number}) for number in range(40)]
    taken: list[int] = []

    def work(worker: str) -> None:
        while (job := store.jobs.take(worker, [])) is not None:
            taken.append(job.id)

    threads = [threading.Thread(target=work, args=(a_worker(store, f"worker {number}"),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert sorted(taken) == jobs


def test_whoever_waits_is_told(store: Store) -> None:
    import psycopg

    worker = a_worker(store, "one")
    with psycopg.connect(store.url.replace("postgresql+psycopg", "postgresql"), autocommit=True) as listener:
        listener.execute(f"LISTEN {WORK}".encode())
        listener.execute(f"LISTEN {JOBS}".encode())
        job = store.jobs.want("report")
        store.jobs.take(worker, [])
        store.jobs.fail(job, worker, "no paper")
        told = [(each.channel, each.payload) for each in listener.notifies(timeout=60, stop_after=2)]
    assert told == [(WORK, f"job {job}"), (JOBS, str(job))]
