"""What begins on the coming days and nights: schedules that fire, health checks, reservations?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from rackproof.store.cron import next_moment
from rackproof.store.reservations import Reservation
from rackproof.store.schedules import Schedule
from rackproof.store.testbeds import TestbedRecord
from web.suites import described

#: Of something that fires more often than this in a day, only so many moments are shown.
_SHOWN_MAX = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """Something that begins on a day. kind: schedule, check or reservation; more: it begins again after this, too often to be listed."""

    at: datetime
    kind: str
    name: str
    path: str
    duration_s: float | None
    more: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """One day and what begins on it, the earliest first."""

    date: date
    entries: tuple[Entry, ...]


def coming(
    schedules: Sequence[Schedule],
    testbeds: Sequence[TestbedRecord],
    reservations: Sequence[Reservation],
    *,
    zone: str,
    now: datetime,
    days: int,
) -> list[Day]:
    """The coming days in a time zone, today first."""
    there = ZoneInfo(zone)
    first = now.astimezone(there).date()
    ends = datetime.combine(first + timedelta(days=days), time(), there)
    found: list[Entry] = []
    for schedule in schedules:
        if not schedule.paused:
            span = sum(described(text).duration_s for text in schedule.plans)
            found += _firings(schedule.cron, schedule.zone, there, now, ends, "schedule", schedule.name, f"/schedules/{schedule.id}", span)
    for testbed in testbeds:
        if testbed.golden_cron is not None and testbed.golden_plan is not None:
            span, name = described(testbed.golden_plan).duration_s, f"health check of {testbed.name}"
            found += _firings(testbed.golden_cron, testbed.golden_zone, there, now, ends, "check", name, f"/testbeds/{testbed.name}", span)
    for one in reservations:
        if one.starts < ends:
            name, span = f"{one.testbed} kept by {one.owner}", (one.ends - one.starts).total_seconds()
            at = max(one.starts, now).astimezone(there)
            found.append(Entry(at=at, kind="reservation", name=name, path=f"/testbeds/{one.testbed}", duration_s=span))
    of_day: dict[date, list[Entry]] = {first + timedelta(days=day): [] for day in range(days)}
    for entry in sorted(found, key=lambda entry: entry.at.astimezone(UTC)):
        of_day[entry.at.date()].append(entry)
    return [Day(date=day, entries=tuple(entries)) for day, entries in of_day.items()]


def zone_of(schedules: Sequence[Schedule]) -> str:
    """The time zone of most schedules."""
    zones = [schedule.zone for schedule in schedules] or ["UTC"]
    return max(zones, key=zones.count)


def _firings(
    cron: str, zone: str, there: ZoneInfo, now: datetime, ends: datetime, kind: str, name: str, path: str, duration_s: float
) -> Iterator[Entry]:
    """One entry for each firing; the last one of a day that has too many of them says so."""
    after = now
    while True:
        moments: list[datetime] = []
        while (moment := next_moment(cron, zone, after)) is not None and moment < ends:
            at = moment.astimezone(there)
            if moments and (at.date() != moments[0].date() or len(moments) > _SHOWN_MAX):
                break
            moments.append(at)
            after = moment
        for index, at in enumerate(moments[:_SHOWN_MAX]):
            more = index == _SHOWN_MAX - 1 and len(moments) > _SHOWN_MAX
            yield Entry(at=at, kind=kind, name=name, path=path, duration_s=duration_s or None, more=more)
        if not moments:
            return
        if len(moments) > _SHOWN_MAX:
            after = datetime.combine(moments[0].date() + timedelta(days=1), time(), there) - timedelta(seconds=1)
