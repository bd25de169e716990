"""When is a cron expression due, in a time zone with summer time?

Expressions are Debian's: five fields; an expression for fixed hours fires once on the night on which the clock is put back, and just after
the gap on the night on which it is put forward (02:30 becomes 03:00). One for every hour or every few minutes goes on evenly.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from rackproof.errors import PlanError, Problem

_FIELDS = 5
# Looked through backwards until a moment is found: a schedule of every minute needs few steps, one of every year few windows.
_WINDOWS = (timedelta(hours=2), timedelta(days=2), timedelta(days=70), timedelta(days=800))


def check(cron: str, zone: str, source: str = "the schedule") -> None:
    """Refuse an expression or a time zone that cannot be used, or that is never due. Raises PlanError."""
    problems = []
    try:
        known = _zone(zone)
    except ValueError:
        known = _zone("UTC")
        problems.append(Problem(where="zone", expected="an IANA time zone (Europe/Zurich)", found=zone))
    expected = "a cron expression of five fields (30 22 * * 1-5)"
    try:
        if len(cron.split()) != _FIELDS:
            raise CronSimError
        if next(_moments(cron, known, datetime.now(UTC)), None) is None:
            problems.append(Problem(where="cron", expected=expected, found=f"{cron}, which is never due"))
    except (CronSimError, ValueError):
        problems.append(Problem(where="cron", expected=expected, found=cron))
    if problems:
        raise PlanError(source, problems)


def next_moment(cron: str, zone: str, after: datetime) -> datetime | None:
    """The first moment after another, in UTC; None where there is none within 50 years."""
    return next(_moments(cron, _zone(zone), after), None)


def upcoming(cron: str, zone: str, after: datetime, count: int) -> list[datetime]:
    """The next moments, in UTC."""
    return [moment for moment, _ in zip(_moments(cron, _zone(zone), after), range(count), strict=False)]


def latest_moment(cron: str, zone: str, first: datetime, upto: datetime) -> datetime:
    """The latest moment that is not after `upto`; `first` is one that is known not to be."""
    for window in (*_WINDOWS, None):
        start = first if window is None else max(first, upto - window)
        latest = None
        for moment in _moments(cron, _zone(zone), start):
            if moment > upto:
                break
            latest = moment
        if latest is not None:
            return latest
        if start == first:
            break
    return first


def _moments(cron: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    latest = after
    # Times in the repeated hour are read as the first of the two; what that brings back before `after` is passed over.
    for moment in CronSim(cron, after.astimezone(zone)):
        found = moment.astimezone(UTC)
        if found > latest:
            latest = found
            yield found


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        raise ValueError(f"expected an IANA time zone, found {name}") from None
