"""Who is next? Pure: the same rule decides what starts and foretells what will.

The order of those that wait: the higher priority, then whose owner started longest ago on that testbed (taking turns), then who waits
longest. Nobody overtakes another on a device that both need. A reservation whose time has come goes before every campaign; a campaign that
would not end before a reservation begins waits for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

#: What runs is expected to run at least this much longer: an estimate that has passed says nothing.
LEFT_S_MIN = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Bed:
    """A testbed. closed: why nothing starts on it ("" where it does)."""

    name: str
    resources: frozenset[str]
    closed: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A campaign that waits. check: a health check, which runs on a testbed that is offline too."""

    campaign: int
    name: str
    testbed: str
    owner: str
    priority: int
    queued: datetime
    duration_s: float
    check: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Booking:
    """A reservation that does not hold its testbed yet."""

    reservation: int
    testbed: str
    owner: str
    reason: str
    starts: datetime
    ends: datetime


def in_words(campaign: int | None, name: str, owner: str, ends: datetime) -> str:
    """Who has something: a campaign of that name, or else a reservation of that owner."""
    return f"campaign {campaign} ({name})" if campaign is not None else f"the reservation of {owner} until {ends:%Y-%m-%d %H:%M %Z}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Holding:
    """A campaign or a reservation that has its resources; ends: when it is expected to give them back."""

    campaign: int | None
    reservation: int | None
    testbed: str
    owner: str
    name: str
    resources: frozenset[str]
    since: datetime
    ends: datetime

    def words(self) -> str:
        """Who it is."""
        return in_words(self.campaign, self.name, self.owner, self.ends)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """Everything that the decision rests on. last: when an owner last started something on a testbed."""

    now: datetime
    beds: Mapping[str, Bed]
    waiting: Sequence[Waiting] = ()
    bookings: Sequence[Booking] = ()
    holdings: Sequence[Holding] = ()
    last: Mapping[tuple[str, str], datetime] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """One that waits, and why; where it may start now, waits_for is ""."""

    who: Waiting | Booking
    waits_for: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """When one that waits is expected to start and end; None where nobody can say."""

    who: Waiting | Booking
    waits_for: str
    start: datetime | None
    end: datetime | None


def in_order(waiting: Iterable[Waiting], last: Mapping[tuple[str, str], datetime]) -> list[Waiting]:
    """Those that wait in the order in which they may start."""
    lines: dict[tuple[str, str, int], list[Waiting]] = {}
    for one in waiting:
        lines.setdefault((one.testbed, one.owner, -one.priority), []).append(one)
    for line in lines.values():
        line.sort(key=lambda one: (one.queued, one.campaign), reverse=True)
    turns: dict[tuple[str, str], tuple[int, float]] = {pair: (1, when.timestamp()) for pair, when in last.items()}
    ordered: list[Waiting] = []
    while lines:
        testbed, owner, minus_priority = chosen = min(
            lines, key=lambda key: (key[2], turns.get(key[:2], (0, 0.0)), lines[key][-1].queued, lines[key][-1].campaign)
        )
        ordered.append(lines[chosen].pop())
        # Whoever had a turn is behind everybody who has not had one since.
        turns[testbed, owner] = (2, float(len(ordered)))
        if not lines[chosen]:
            del lines[testbed, owner, minus_priority]
    return ordered


def decide(line: Line) -> list[Decision]:
    """What may start now, and what everything else waits for; reservations whose time has come before campaigns."""
    return _decide(line, in_order(line.waiting, line.last))


def _decide(line: Line, ordered: Sequence[Waiting], thoroughly: bool = True) -> list[Decision]:
    busy = {resource: holding.words() for holding in line.holdings for resource in holding.resources}
    before: dict[str, str] = {}
    decisions = []

    def take(who: Waiting | Booking, needs: frozenset[str], otherwise: str = "") -> None:
        why = otherwise or next((busy[one] for one in sorted(needs) if one in busy), "")
        why = why or next((f"{before[one]}, which is before it" for one in sorted(needs) if one in before), "")
        decisions.append(Decision(who=who, waits_for=why))
        words = f"campaign {who.campaign} ({who.name})" if isinstance(who, Waiting) else f"the reservation of {who.owner}"
        for resource in needs:
            (before if why else busy).setdefault(resource, words)

    for booking in sorted(line.bookings, key=lambda one: (one.starts, one.reservation)):
        bed = line.beds.get(booking.testbed)
        if booking.starts <= line.now and bed is not None:
            take(booking, bed.resources)
        else:
            decisions.append(Decision(who=booking, waits_for=f"its time, {booking.starts:%Y-%m-%d %H:%M %Z}"))
    everything = frozenset().union(*(bed.resources for bed in line.beds.values())) if not thoroughly else frozenset()
    for one in ordered:
        if not thoroughly and everything <= busy.keys() | before.keys():
            break
        bed = line.beds.get(one.testbed)
        if bed is None:
            decisions.append(Decision(who=one, waits_for=f"testbed {one.testbed}, which is not there"))
        elif bed.closed and not (one.check and bed.closed.startswith(OFFLINE)):
            decisions.append(Decision(who=one, waits_for=bed.closed))
        else:
            take(one, bed.resources, _in_the_way(line, one, bed.resources))
    return decisions


#: How the reason begins for which a testbed is closed, where only a health check may start.
OFFLINE = "the testbed, which is offline"


def _in_the_way(line: Line, one: Waiting, needs: frozenset[str]) -> str:
    """The reservation that begins before the campaign would end; "" where there is none."""
    ends = line.now + timedelta(seconds=one.duration_s)
    for booking in line.bookings:
        bed = line.beds.get(booking.testbed)
        if bed is not None and line.now < booking.starts < ends and needs & bed.resources:
            return f"the reservation of {booking.owner} from {booking.starts:%Y-%m-%d %H:%M %Z}"
    return ""


def forecast(line: Line) -> list[Expected]:
    """When everything that waits is expected to start: the rule above, played through."""
    ordered = in_order(line.waiting, line.last)
    whys = {_key(decision.who): decision.waits_for for decision in _decide(line, ordered)}
    expected: dict[tuple[str, int], Expected] = {}
    while True:
        thoroughly = len(line.beds) > 1 and len(ordered) <= 100
        for decision in _decide(line, ordered, thoroughly):
            who = decision.who
            if decision.waits_for:
                continue
            end = who.ends if isinstance(who, Booking) else line.now + timedelta(seconds=who.duration_s)
            expected[_key(who)] = Expected(who=who, waits_for=whys[_key(who)], start=line.now, end=end)
            line = replace(line, holdings=(*line.holdings, _holding(who, line, end)))
        ordered = [one for one in ordered if _key(one) not in expected]
        bookings = [one for one in line.bookings if _key(one) not in expected]
        moments = [holding.ends for holding in line.holdings] + [booking.starts for booking in bookings]
        later = [moment for moment in moments if moment > line.now]
        if not (ordered or bookings) or not later:
            break
        now = min(later)
        line = replace(line, now=now, bookings=bookings, holdings=[one for one in line.holdings if one.ends > now])
    left: list[Waiting | Booking] = [*bookings, *ordered]
    for who in left:
        expected[_key(who)] = Expected(who=who, waits_for=whys[_key(who)], start=None, end=None)
    return list(expected.values())


def _holding(who: Waiting | Booking, line: Line, end: datetime) -> Holding:
    campaign = isinstance(who, Waiting)
    return Holding(
        campaign=who.campaign if isinstance(who, Waiting) else None,
        reservation=None if isinstance(who, Waiting) else who.reservation,
        testbed=who.testbed,
        owner=who.owner,
        name=who.name if isinstance(who, Waiting) else who.reason,
        resources=line.beds[who.testbed].resources,
        since=line.now,
        ends=max(end, line.now + timedelta(seconds=LEFT_S_MIN if campaign else 0)),
    )


def _key(who: Waiting | Booking) -> tuple[str, int]:
    return ("campaign", who.campaign) if isinstance(who, Waiting) else ("reservation", who.reservation)
