"""What is in the database beside which the service is measured? Years of nights: a million trials, ten million measurements and more."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import psycopg

from benchmarks.service_tree import Row, Service, row
from rackproof.settings import Settings
from rackproof.store.schema import Finding
from tests.integration.web.seeds import LIMITS, Seeds, seeded

CAMPAIGNS, TRIALS, MEASUREMENTS = 5000, 200, 10
#: Large campaigns of one plan, each of LARGE_TRIALS trials.
LARGE, LARGE_TRIALS = 200, 1000
LARGE_NAME = "large sweep"
TESTBEDS, WAITING = 20, 40

_FILL = (
    """INSERT INTO quantities (name, unit, subject) SELECT 'filled.value', '1', jsonb_build_object('number', n::text)
       FROM generate_series(1, {measurements}) n""",
    """INSERT INTO campaigns (name, kind, testbed, plan, plan_text, plan_sha256, state, verdict, created, started, ended, trial_count,
                              trials_done, duration_s)
       SELECT 'night ' || c % 50, 'nothing', 'n1', '{{"kind": "nothing", "name": "a", "testbed": "n1"}}', 'kind: nothing',
              repeat('0', 64), 'DONE', CASE WHEN c % 7 = 0 THEN 'FAIL' ELSE 'PASS' END, at, at, at + interval '5 min', {trials}, {trials}, 1
       FROM (SELECT c, now() - make_interval(mins => 10 * ({campaigns} - c)) AS at FROM generate_series(1, {campaigns}) c) night""",
    """INSERT INTO trials (campaign_id, "index", label, point, repetition, seed, duration_s, started, ended, verdict)
       SELECT id, t, 'nothing ' || t, jsonb_build_object('load_mbps', t), 1, t, 1, started, started, 'PASS'
       FROM campaigns, generate_series(1, {trials}) t WHERE name LIKE 'night %'""",
    """INSERT INTO measurements (trial_id, position, quantity_id, value, low, high, n)
       SELECT trials.id, q.place, q.id, random(), 0, 1, 100
       FROM trials, (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM quantities WHERE subject->>'number' IS NOT NULL
                     ORDER BY id DESC LIMIT {measurements}) q
       WHERE label LIKE 'nothing %' AND campaign_id IN (SELECT id FROM campaigns WHERE name LIKE 'night %')""",
    "VACUUM ANALYZE",
)

# Plan, provenance, findings and configurations are those of a campaign that exists ({model}); each ran in a night of a suite.
_FILL_LARGE = (
    """INSERT INTO suite_runs (schedule_id, name, due, created, ended, state)
       SELECT {schedule}, 'Nightly', at, at, at + interval '1 hour', 'DONE'
       FROM (SELECT date_trunc('day', now()) - make_interval(days => 10 + n) AS at FROM generate_series(1, 1000) n) night""",
    """INSERT INTO campaigns (name, kind, testbed, owner, plan, plan_text, plan_sha256, provenance, calibration, state, verdict, created,
                              started, ended, trial_count, trials_done, duration_s, suite_run_id)
       SELECT '{name}', kind, testbed, 'engineer', plan, plan_text, plan_sha256, provenance, calibration, 'DONE', 'FAIL', due, due,
              due + interval '40 min', {trials}, {trials}, 2400, night
       FROM campaigns,
            (SELECT id AS night, due FROM suite_runs WHERE due < now() - interval '10 days' ORDER BY due DESC LIMIT {campaigns}) nights
       WHERE campaigns.id = {model} ORDER BY due""",
    """INSERT INTO trials (campaign_id, "index", label, point, repetition, seed, duration_s, started, ended, verdict, reason,
                           health, counters)
       SELECT id, t, 'device ' || d || ', load ' || l,
              jsonb_build_object('device', 'device ' || d, 'discipline', 'weights ' || w, 'scheduler', 'WRR', 'load_mbps', l),
              (t - 1) % 5 + 1, t, 2.4, started + make_interval(secs => 2.4 * t), started + make_interval(secs => 2.4 * (t + 1)),
              CASE WHEN t % 97 = 0 THEN 'INVALID' ELSE 'PASS' END, '', '{{"ring_drops": 0, "stalled_s": 0.001}}', '{{"sent": 100000}}'
       FROM campaigns, generate_series(1, {trials}) t,
            LATERAL (SELECT (t - 1) / 5 % 20 + 1 AS l, (t - 1) / 100 % 5 AS w, (t - 1) / 500 AS d) sweep
       WHERE name = '{name}' ORDER BY id, t""",
    """INSERT INTO measurements (trial_id, position, quantity_id, value, low, high, n)
       SELECT trials.id, q.place, q.id, value, value * 0.99, value * 1.01, 10000
       FROM trials JOIN campaigns ON campaigns.id = campaign_id AND name = '{name}',
            (SELECT id, row_number() OVER (ORDER BY name DESC, id) - 1 AS place FROM quantities
             WHERE id IN (SELECT min(id) FROM quantities WHERE name IN ('throughput', 'delay.p99')
                          AND (subject IN ('{{"queue": "0"}}', '{{"queue": "1"}}', '{{"queue": "2"}}', '{{"queue": "3"}}'))
                          GROUP BY name, subject) OR name = 'offered' AND subject = '{{}}') q,
            LATERAL (SELECT (1 + (index - 1) / 5 % 20) * (1 + 0.01 * random()) AS value) made
       ORDER BY trials.id""",
    """INSERT INTO findings SELECT campaigns.id, {columns} FROM findings, campaigns
       WHERE findings.campaign_id = {model} AND campaigns.name = '{name}'""",
    """INSERT INTO configurations (campaign_id, name, text) SELECT campaigns.id, configurations.name, text FROM configurations, campaigns
       WHERE configurations.campaign_id = {model} AND campaigns.name = '{name}'""",
    """INSERT INTO events (campaign_id, at, kind, data)
       SELECT campaign_id, moment, what,
              jsonb_build_object('text', label, 'at', moment, 'trial', index, 'label', label, 'verdict', trials.verdict)
       FROM trials JOIN campaigns ON campaigns.id = campaign_id AND campaigns.name = '{name}',
            LATERAL (VALUES (trials.started, 'trial_started'), (trials.ended, 'trial_ended')) told (moment, what)
       ORDER BY trials.id, moment""",
    """INSERT INTO audit (user_name, action, target, address)
       SELECT 'engineer', 'campaign.submit', 'campaign ' || n, '192.0.2.1' FROM generate_series(1, 100000) n""",
    "INSERT INTO users (name, full_name, role) SELECT 'user' || n, 'User ' || n, 'viewer' FROM generate_series(1, 300) n",
    "VACUUM ANALYZE",
)


def fill(running: Service) -> list[Row]:
    """A million trials and ten million measurements."""
    return [*_run(running, "api.filled", _FILL, {}), row("database.insert_commit", running.round_trip_ms(), "ms", "", None)]


def fill_for_pages(running: Service, settings: Settings) -> tuple[list[Row], Seeds]:
    """What fill() does, beside something of everything, large campaigns of one plan that were judged, testbeds and a line before each."""
    store = running.store
    seeds = seeded(store, settings)
    rows = fill(running)
    for number in range(1, TESTBEDS + 1):
        store.testbeds.announce(f"lab{number}", "nothing", [f"switch{number}"], limits=LIMITS, facts={"kernel": "6.1.0-28-amd64"})
    for number in range(WAITING):
        running.submit(f"lab{number % TESTBEDS + 1}", trials=50)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    for number in range(1, 6):
        store.schedules.create(
            name=f"Suite {number}", cron=f"{number} 3 * * *", zone="UTC", plans=[store.browse.detail(seeds.passed).plan_text], owner="ada"
        )
        store.reservations.reserve(
            testbed=f"lab{number}", user_id=None, owner="ada", reason="", starts=tomorrow, ends=tomorrow + timedelta(hours=2)
        )
    rows += _run(running, "pages.filled", _FILL_LARGE, {"model": seeds.failed, "schedule": seeds.schedule})
    return rows, seeds


def _run(running: Service, name: str, statements: Sequence[str], values: Mapping[str, int]) -> list[Row]:
    began = time.perf_counter()
    sizes = {"campaigns": CAMPAIGNS, "trials": TRIALS, "measurements": MEASUREMENTS}
    if statements is _FILL_LARGE:
        sizes |= {"campaigns": LARGE, "trials": LARGE_TRIALS}
    columns = ", ".join(f'findings."{column.name}"' for column in Finding.__table__.columns if column.name != "campaign_id")
    with psycopg.connect(running.server.url.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.format(**sizes, **values, name=LARGE_NAME, columns=columns).encode())
        counted = connection.execute("SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM measurements)").fetchone()
    assert counted is not None
    return [row(name, time.perf_counter() - began, "s", f"{counted[0]} trials, {counted[1]} measurements", None)]
