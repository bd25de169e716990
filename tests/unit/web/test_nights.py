"""Do the coming nights say what fires when, and do the words of a cron expression mean what it says?"""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rackproof.model.service import Missed, Overlap, TestbedState
from rackproof.store.cron import upcoming
from rackproof.store.queue import Place
from rackproof.store.reservations import Reservation
from rackproof.store.schedules import Schedule
from rackproof.store.testbeds import TestbedRecord
from web.agents import browser
from web.audit import target_path
from web.cronwords import in_words
from web.lane import WIDTH, lane
from web.nights import Day, coming, zone_of

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)  # a Monday
PLAN = "kind: switch-qos\nname: Short\ndevices: [linux-htb]\ndisciplines: [strict-priority]\nload: {per_sender_mbps: [4, 8]}\n"
SCHEDULE = Schedule(
    id=7,
    name="Nightly",
    user_id=None,
    owner="ada",
    cron="30 2 * * *",
    zone="Europe/Zurich",
    paused=False,
    overlap=Overlap.SKIP,
    missed=Missed.RUN_ONCE,
    priority=0,
    plans=(PLAN,),
    emails=(),
    webhooks=(),
    created=NOW,
    updated=NOW,
    next_at=None,
)
TESTBED = TestbedRecord(
    name="bench",
    driver="bench",
    description="",
    resources=(),
    state=TestbedState.ONLINE,
    reason="",
    limits=None,
    facts={},
    workers=(),
    in_use_by="",
    golden_plan=PLAN,
    golden_cron="0 5 * * 0",
    golden_zone="UTC",
    golden_next=None,
    golden_campaign_id=None,
)
RESERVATION = Reservation(
    id=3,
    testbed="bench",
    user_id=None,
    owner="ada",
    reason="",
    created=NOW,
    starts=NOW + timedelta(days=1),
    ends=NOW + timedelta(days=1, hours=2),
    granted=None,
    released=None,
)


def days(*schedules: Schedule, zone: str = "UTC", count: int = 14) -> list[Day]:
    return coming(schedules, [TESTBED], [RESERVATION], zone=zone, now=NOW, days=count)


def test_every_firing_stands_on_its_day_in_the_zone_that_was_asked_for() -> None:
    for zone in ("UTC", "America/New_York"):
        found = days(SCHEDULE, zone=zone)
        there = ZoneInfo(zone)
        assert [day.date for day in found] == [NOW.astimezone(there).date() + timedelta(days=step) for step in range(14)]
        shown = [entry.at for day in found for entry in day.entries if entry.kind == "schedule"]
        end = datetime.combine(found[-1].date + timedelta(days=1), datetime.min.time(), there)
        assert shown == [moment for moment in upcoming(SCHEDULE.cron, SCHEDULE.zone, NOW, 20) if moment < end]
        assert all(entry.at.date() == day.date for day in found for entry in day.entries)
    assert {entry.at.strftime("%H:%M") for day in days(SCHEDULE) for entry in day.entries if entry.kind == "schedule"} == {"01:30"}


def test_health_checks_and_reservations_are_there_with_where_they_lead() -> None:
    found = [(day.date, entry.kind, entry.path) for day in days() for entry in day.entries]
    assert found == [
        (date(2026, 3, 3), "reservation", "/testbeds/bench"),
        (date(2026, 3, 8), "check", "/testbeds/bench"),
        (date(2026, 3, 15), "check", "/testbeds/bench"),
    ]
    expected_s = 7200
    assert days()[1].entries[0].duration_s == expected_s


def test_what_is_paused_does_not_fire_and_what_fires_often_is_not_listed_out() -> None:
    assert not any(entry.kind == "schedule" for day in days(replace(SCHEDULE, paused=True)) for entry in day.entries)
    often = days(replace(SCHEDULE, cron="* * * * *", zone="UTC"))
    for day in often:
        entries = [entry for entry in day.entries if entry.kind == "schedule"]
        assert [entry.more for entry in entries] == [False, False, True]
        first = NOW + timedelta(minutes=1) if day is often[0] else datetime.combine(day.date, datetime.min.time(), UTC)
        assert entries[0].at == first


def test_a_schedule_that_is_never_due_again_is_no_trouble() -> None:
    assert not any(entry.kind == "schedule" for day in days(replace(SCHEDULE, cron="0 0 29 2 *")) for entry in day.entries)


def test_the_zone_is_that_of_most_schedules() -> None:
    utc = replace(SCHEDULE, zone="UTC")
    assert zone_of([]) == "UTC"
    assert zone_of([utc, SCHEDULE, SCHEDULE]) == "Europe/Zurich"


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("0 22 * * *", "every day at 22:00"),
        ("5 3 * * 1-5", "Monday to Friday at 03:05"),
        ("0 4 * * 0", "Sunday at 04:00"),
        ("0 4 * * 7", "Sunday at 04:00"),
        ("0 4 * * sat,sun", "Saturday and Sunday at 04:00"),
        ("0 4 * * 1,3,5", "Monday, Wednesday and Friday at 04:00"),
        ("15 6 1 * *", "on day 1 of the month at 06:15"),
        ("*/10 * * * *", "every 10 minutes"),
        ("30 * * * *", "every hour at :30"),
        ("* * * * *", "every minute"),
        # What is said in no short words stands as it is.
        ("0 4 1 * 1", "0 4 1 * 1"),
        ("0 4 * 2 *", "0 4 * 2 *"),
        ("0 4-6 * * *", "0 4-6 * * *"),
        ("0 4 * * 1#2", "0 4 * * 1#2"),
        ("0 4 * * 9", "0 4 * * 9"),
        ("nonsense", "nonsense"),
    ],
)
def test_cron_in_words(cron: str, words: str) -> None:
    assert in_words(cron) == words


def test_the_lane_shows_what_lies_within_it() -> None:
    def place(start_h: float | None, end_h: float | None, position: int = 1, campaign: int | None = 1) -> Place:
        start, end = (None if hours is None else NOW + timedelta(hours=hours) for hours in (start_h, end_h))
        names = {"testbed": "bench", "owner": "ada", "name": "x", "waits_for": ""}
        return Place(campaign=campaign, reservation=None, position=position, expected_start=start, expected_end=end, **names)

    places = [place(-1, 3, 0), place(3, 6), place(6, None, campaign=None), place(None, None), place(12, 13), place(-2, -1)]
    found = lane(places, NOW, timedelta(hours=12))
    assert [(block.x, block.width, block.kind) for block in found] == [
        (0, WIDTH / 4, "now"),
        (WIDTH / 4, WIDTH / 4, "next"),
        (WIDTH / 2, WIDTH / 2, "kept"),
    ]


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("campaign 12", "/campaigns/12"),
        ("user:7", "/users/7"),
        ("schedule 3", "/schedules/3"),
        ("testbed lab 2/x", "/testbeds/lab%202%2Fx"),
        ("worker lab-7", "/testbeds"),
        ("token:4", None),
        ("campaign ../../x", None),
        ("", None),
    ],
)
def test_where_a_target_of_the_audit_trail_stands(target: str, path: str | None) -> None:
    assert target_path(target) == path


def test_browsers_in_words() -> None:
    assert browser("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0") == "Firefox on Linux"
    chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
    assert browser(chrome) == "Chrome on Windows"
    assert browser(f"{chrome} Edg/142.0") == "Edge on Windows"
    assert browser("") == "unknown"
    assert browser("a robot") == "a robot"
