"""A house in which something of everything has happened, for the pages to show."""

import hashlib
import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

from argon2 import PasswordHasher

from orchestrator.service.digests import compose
from rackproof.model.campaign import CampaignState
from rackproof.model.event import EventKind
from rackproof.model.measurement import Interval, Measurement
from rackproof.model.service import Role, SuiteRunState, TestbedState
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.accounts import Accounts
from rackproof.store.deliveries import EMAIL, WEBHOOK
from rackproof.store.firing import Firing
from rackproof.store.suites import Suites
from tests.integration.accounts.serving import PASSWORD
from tests.integration.web.delay import delayed
from tests.integration.web.flapping import flapping
from tests.integration.web.written import BOTH, FAULTY, PROVENANCE, plan_text, submitted, taken, written
from tests.unit.switch_qos.simulator import Defects

NIGHTS = 6
NIGHT = timedelta(days=1)
WORKER_S = 86_400.0
LIMITS: dict[str, Any] = {
    "send_fps": 200_000.0,
    "receive_fps": 200_000.0,
    "link_rate_bps_max": {"linux-htb": 200e6, "reference": 1e9},
    "device_models": {"linux-htb": "", "reference": "", "linux-ets": "the kernel has no ets"},
    "options": {"reference": ["leak", "unfair", "waste"]},
}
EXPECT = [{"device": "reference-faulty", "criteria": ["sp.leak", "sp.top_share", "fairness", "throughput.deviation"]}]
#: What people and devices write, and a page must not take for its own.
ODD = "<script>alert(1)</script> & \"quotes\" 'µ'"


@dataclass(frozen=True, kw_only=True, slots=True)
class Seeds:
    """Numbers of what is there.

    passed: with a fault that was expected; invalid: two of its trials are; running: half-way, in the hands of worker `bench-1`
    (incarnation); resumed: it has a seam; interrupted: nobody goes on with it by itself; broken: the lab failed; odd: with strange names
    and infinite numbers, without configurations; delay: of xpfe-delay, its trials have histograms; flaps: of mpls-flap, its trials have
    timelines. nights: the campaigns of the runs of a schedule, the oldest first.
    """

    passed: int
    failed: int
    invalid: int
    running: int
    waiting: tuple[int, int]
    aborted: int
    resumed: int
    interrupted: int
    broken: int
    odd: int
    schedule: int
    runs: tuple[int, ...]
    nights: tuple[int, ...]
    delay: int
    flaps: int
    report: int
    incarnation: str


def cheap(store: Store) -> Store:
    """The same store with a hasher of passwords that costs nothing."""
    store.accounts = Accounts(store.transactions, PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    return store


def seeded(store: Store, settings: Settings) -> Seeds:
    """Fill an empty store. Users are called as their roles are, and have the password of the tests."""
    cheap(store)
    users = {role: store.accounts.create_user(name=role.value, role=role, password=PASSWORD, full_name="Ada Lovelace") for role in Role}
    engineer = {"user_id": users[Role.ENGINEER].id, "owner": "engineer"}
    store.testbeds.announce("bench", "bench", ["host:test"], limits=LIMITS, facts={"kernel": "6.1.0-28-amd64", "cpus": "2"})
    store.testbeds.announce("lab-2", "bench", ["host:other"], limits=LIMITS, facts={"kernel": "6.1.0-28-amd64", "cpus": "8"})
    store.testbeds.set_state("lab-2", TestbedState.OFFLINE, "the health check failed: delay floor 41 us, at most 10 us")
    incarnation = store.workers.register("bench-1", ["bench"], WORKER_S)
    now = datetime.now(UTC)
    schedule, runs, nights = _nights(store, now)

    passed = written(store, plan_text("Two devices, one with planted faults", devices=["linux-htb", FAULTY], expect=EXPECT), **engineer)
    passed.begin()
    for index in passed.indices:
        passed.trial(index, samples=index <= 5)
    passed.conclude()
    passed.lay_out(now - timedelta(hours=5))
    report = a_report(store, settings, passed.campaign)

    failed = written(store, plan_text("Reference switch of the new firmware", devices=[FAULTY]), **engineer)
    failed.begin()
    for index in failed.indices:
        failed.trial(index, samples=True)
    failed.conclude()
    failed.lay_out(now - timedelta(hours=3))

    invalid = written(store, plan_text("Kernel scheduler beside a busy host"), **engineer)
    invalid.begin()
    for index in invalid.indices:
        invalid.trial(index, late=index in (3, 8))
    invalid.conclude()
    invalid.lay_out(now - timedelta(hours=2))

    aborted = written(store, plan_text("Stopped for a demonstration"), **engineer)
    aborted.begin()
    for index in (1, 2, 3):
        aborted.trial(index)
    aborted.leave(CampaignState.ABORTED, Verdict.ABORTED, "cancelled by engineer: the switch is needed elsewhere")
    aborted.lay_out(now - timedelta(minutes=100))

    resumed = written(store, plan_text("Over a restart of the worker"), **engineer)
    resumed.begin()
    for index in resumed.indices:
        if index == 6:
            resumed.start(6)
            resumed.tell(EventKind.ADOPTED, "the process of worker bench-0 has ended", fence=2)
            resumed.resume("the process of worker bench-0 has ended")
        resumed.trial(index)
    resumed.conclude()
    resumed.lay_out(now - timedelta(minutes=80))
    with store.transactions.step("the seam could not be set") as connection:
        connection.exec_driver_sql(
            "UPDATE campaigns SET resumed = ARRAY[(SELECT started - interval '1 millisecond' FROM trials"
            " WHERE campaign_id = campaigns.id AND index = 6)] WHERE id = %(id)s",
            {"id": resumed.campaign},
        )

    broken = written(store, plan_text("On a kernel without a scheduler"), **engineer)
    broken.begin()
    broken.leave(CampaignState.FAILED, Verdict.ERROR, "testbed bench cannot run this plan: the model linux-ets cannot be used here")
    broken.lay_out(now - timedelta(minutes=60))

    odd = _odd(store)
    interrupted = _interrupted(store, now)
    running = submitted(store, plan_text("Two disciplines, half-way", disciplines=BOTH), **engineer)
    lease = taken(store, running, incarnation)
    assert lease.fence == 1
    running.begin()
    for index in running.indices[:4]:
        running.trial(index)
    running.start(5)
    waiting = (
        submitted(store, plan_text("Next in line"), **engineer, priority=5).campaign,
        submitted(store, plan_text("After that", devices=["linux-htb", FAULTY]), owner="ada").campaign,
    )
    store.reservations.reserve(
        testbed="bench", user_id=None, owner="ada", reason="a demonstration", starts=now + timedelta(hours=6), ends=now + timedelta(hours=8)
    )
    store.audit.record(user=users[Role.ENGINEER], user_name="engineer", action="campaign.submit", target=f"campaign {waiting[0]}")
    return Seeds(
        passed=passed.campaign,
        failed=failed.campaign,
        invalid=invalid.campaign,
        running=running.campaign,
        waiting=waiting,
        aborted=aborted.campaign,
        resumed=resumed.campaign,
        interrupted=interrupted,
        broken=broken.campaign,
        odd=odd,
        schedule=schedule,
        runs=runs,
        nights=nights,
        delay=delayed(store, now - timedelta(minutes=30)),
        flaps=flapping(store, now - timedelta(minutes=25)),
        report=report,
        incarnation=incarnation,
    )


def a_report(store: Store, settings: Settings, campaign: int) -> int:
    """A report whose files are there; nobody would take them for a real one."""
    settings.reports_dir.mkdir(parents=True, exist_ok=True)
    files = {}
    for form, content in (
        ("pdf", b"%PDF-1.7 " + bytes(range(256)) * 8),
        ("html", b"<!doctype html><title>report</title>"),
        ("json", b"{}"),
    ):
        sha256 = hashlib.sha256(content).hexdigest()
        name = f"report-{campaign}-{sha256[:16]}.{form}"
        (settings.reports_dir / name).write_bytes(content)
        files[form] = (name, sha256)
    return store.reports.add(campaign, pdf=files["pdf"], html=files["html"], json=files["json"])


def _nights(store: Store, now: datetime) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """A suite that ran every night; in the last one a kernel was new, and wastes some of the link."""
    load = {"per_sender_mbps": [22, 60]}
    text = plan_text("Nightly, kernel scheduler", load=load)
    schedule = store.schedules.create(
        name="Nightly",
        cron="30 2 * * *",
        zone="Europe/Zurich",
        plans=[text],
        owner="engineer",
        emails=["lab@example.org"],
        webhooks=["https://chat.example.org/hook"],
    )
    firing, suites = Firing(store.transactions), Suites(store.transactions)
    runs, nights = [], []
    for night in range(NIGHTS):
        due = datetime.combine((now - (NIGHTS - night) * NIGHT).date(), time(0, 30), UTC) + NIGHT
        run = firing.begin(schedule, due=due, state=SuiteRunState.RUNNING)
        assert run is not None
        last = night == NIGHTS - 1
        campaign = written(store, plan_text("Nightly, kernel scheduler", load=load, seed=2000 + night), owner="engineer", suite_run_id=run)
        with store.transactions.step("the plan's hash could not be set") as connection:
            # The same plan every night; only the simulator needs another seed.
            connection.exec_driver_sql("UPDATE campaigns SET plan_sha256 = repeat('c', 64) WHERE id = %(id)s", {"id": campaign.campaign})
        if last:
            campaign.defects = lambda trial: Defects(waste=0.1)
        kernel = "6.1.0-31-amd64" if last else "6.1.0-28-amd64"
        campaign.begin({**PROVENANCE, "Testbed": {**PROVENANCE["Testbed"], "kernel": kernel}})
        for index in campaign.indices:
            campaign.trial(index)
        campaign.conclude()
        campaign.lay_out(due + timedelta(seconds=2))
        found = store.schedules.run(run)
        previous = suites.previous(found)
        before = suites.outcomes(previous.id) if previous is not None else []
        suites.finish(run, compose(found, schedule, suites.outcomes(run), previous, before, ""))
        store.deliveries.add(run, EMAIL, "lab@example.org")
        store.deliveries.add(run, WEBHOOK, "https://chat.example.org/hook")
        with store.transactions.step("the run's times could not be set") as connection:
            connection.exec_driver_sql(
                "UPDATE suite_runs SET created = due, ended = due + interval '1 minute' WHERE id = %(id)s", {"id": run}
            )
        runs.append(run)
        nights.append(campaign.campaign)
    return schedule.id, tuple(runs), tuple(nights)


def _odd(store: Store) -> int:
    """A campaign whose texts are none that a page may take for its own, and whose numbers are not all finite."""
    odd = written(store, plan_text("Odd names and numbers", load={"per_sender_mbps": [60]}, disciplines=BOTH[:1]), owner="ada")
    with store.transactions.step("the name could not be set") as connection:
        connection.exec_driver_sql("UPDATE campaigns SET name = %(name)s WHERE id = %(id)s", {"name": ODD, "id": odd.campaign})
    odd.store.set_provenance(odd.campaign, {ODD: {ODD: ODD}})
    interval = Interval(low=1.0, high=math.inf, confidence=0.95, method="batch means, 20 batches")
    measurements = (
        Measurement(name="delay.p99", unit="us", value=math.inf, n=12, interval=interval, subject={"queue": "0"}),
        Measurement(name="throughput", unit="Mbit/s", value=0.0, n=0, subject={"queue": ODD}),
    )
    odd.trial(1, result=TrialResult(verdict=Verdict.PASS, measurements=measurements, health={"worst": math.inf}))
    odd.leave(CampaignState.DONE, Verdict.PASS, "")
    odd.lay_out(datetime.now(UTC) - timedelta(minutes=50))
    return odd.campaign


def _interrupted(store: Store, now: datetime) -> int:
    """The command line ran it, and its process is gone."""
    gone = written(store, plan_text("Left behind by a command line"))
    gone.begin()
    gone.trial(1)
    gone.start(2)
    gone.lay_out(now - timedelta(minutes=40))
    with store.transactions.step("the campaign could not be left behind") as connection:
        connection.exec_driver_sql(
            "UPDATE campaigns SET state = 'INTERRUPTED', worker = 'local-bench-1-4711' WHERE id = %(id)s", {"id": gone.campaign}
        )
    return gone.campaign


def filler(store: Store, count: int) -> None:
    """So many small campaigns that have ended, for lists that are long."""
    for number in range(count):
        one = written(
            store, plan_text(f"Sweep {number}", load={"per_sender_mbps": [60]}, disciplines=BOTH[:1]), owner=("ada", "engineer")[number % 2]
        )
        result = TrialResult(verdict=Verdict.PASS)
        one.trial(
            1, result=result if number % 7 else replace(result, verdict=Verdict.INVALID, reason="37 frames were lost by the receiver")
        )
        one.conclude() if number % 7 == 0 else one.leave(CampaignState.DONE, Verdict.PASS, "")
        one.lay_out(datetime.now(UTC) - timedelta(days=10) + timedelta(hours=number))
