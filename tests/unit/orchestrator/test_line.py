"""Is the next one always the right one: nothing used twice, nobody overtaken, everybody's turn, and what was foretold is what happens?"""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from rackproof.store.line import OFFLINE, Bed, Booking, Holding, Line, Waiting, decide, forecast, in_order

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
ONE = Bed(name="one", resources=frozenset({"a"}))


def waits(campaign: int, **changes: object) -> Waiting:
    values: dict[str, object] = {
        "campaign": campaign,
        "name": f"c{campaign}",
        "testbed": "one",
        "owner": "",
        "priority": 0,
        "queued": NOW + timedelta(seconds=campaign),
        "duration_s": 60.0,
    }
    return Waiting(**{**values, **changes})  # type: ignore[arg-type]


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def booked(reservation: int, starts_s: float, ends_s: float, testbed: str = "one") -> Booking:
    return Booking(reservation=reservation, testbed=testbed, owner="anna", reason="", starts=after(starts_s), ends=after(ends_s))


def started(line: Line) -> list[int]:
    return [decision.who.campaign for decision in decide(line) if isinstance(decision.who, Waiting) and not decision.waits_for]


def test_the_higher_priority_goes_first_then_whoever_waits_longest() -> None:
    ordered = in_order([waits(1), waits(2, priority=5), waits(3, queued=after(-1))], {})
    assert [one.campaign for one in ordered] == [2, 3, 1]


def test_people_take_turns() -> None:
    waiting = [waits(1, owner="anna"), waits(2, owner="anna"), waits(3, owner="anna"), waits(4, owner="bert"), waits(5, owner="bert")]
    assert [one.campaign for one in in_order(waiting, {})] == [1, 4, 2, 5, 3]
    last = {("one", "anna"): after(-10), ("one", "bert"): after(-20)}
    assert [one.campaign for one in in_order(waiting, last)] == [4, 1, 5, 2, 3]
    # Who has not had a turn yet goes before all who have.
    assert in_order([*waiting, waits(6, owner="cleo")], last)[0].campaign == 6


def test_a_turn_counts_whatever_its_priority_was() -> None:
    waiting = [waits(1, owner="anna", priority=1), waits(2, owner="anna"), waits(3, owner="bert")]
    assert [one.campaign for one in in_order(waiting, {})] == [1, 3, 2]


def test_nobody_overtakes_on_a_device_that_both_need() -> None:
    beds = {
        "both": Bed(name="both", resources=frozenset({"a", "b"})),
        "a": Bed(name="a", resources=frozenset({"a"})),
        "c": Bed(name="c", resources=frozenset({"c"})),
    }
    busy = Holding(campaign=9, reservation=None, testbed="x", owner="", name="n", resources=frozenset({"b"}), since=NOW, ends=after(60))
    line = Line(now=NOW, beds=beds, waiting=[waits(1, testbed="both"), waits(2, testbed="a"), waits(3, testbed="c")], holdings=[busy])
    decisions = {decision.who.campaign: decision.waits_for for decision in decide(line) if isinstance(decision.who, Waiting)}
    assert decisions == {1: "campaign 9 (n)", 2: "campaign 1 (c1), which is before it", 3: ""}


def test_a_testbed_that_is_offline_or_has_no_worker_blocks_nobody() -> None:
    beds = {
        "off": Bed(name="off", resources=frozenset({"a"}), closed=f"{OFFLINE}: it smokes"),
        "alone": Bed(name="alone", resources=frozenset({"a"}), closed="a worker that serves testbed alone"),
        "one": ONE,
    }
    waiting = [waits(1, testbed="off"), waits(2, testbed="alone"), waits(3), waits(4, testbed="nowhere")]
    assert started(Line(now=NOW, beds=beds, waiting=waiting)) == [3]
    whys = {
        decision.who.campaign: decision.waits_for
        for decision in decide(Line(now=NOW, beds=beds, waiting=waiting))
        if isinstance(decision.who, Waiting)
    }
    assert whys[1] == "the testbed, which is offline: it smokes"
    assert whys[2] == "a worker that serves testbed alone"
    assert "nowhere" in whys[4]
    assert {each.start for each in forecast(Line(now=NOW, beds=beds, waiting=waiting)) if each.who != waiting[2]} == {None}


def test_a_health_check_runs_on_a_testbed_that_is_offline() -> None:
    beds = {"one": replace(ONE, closed=f"{OFFLINE}: it smokes")}
    assert started(Line(now=NOW, beds=beds, waiting=[waits(1), waits(2, check=True)])) == [2]
    nobody = {"one": replace(ONE, closed="a worker that serves testbed one")}
    assert started(Line(now=NOW, beds=nobody, waiting=[waits(1, check=True)])) == []


def test_a_reservation_goes_before_campaigns_when_its_time_has_come() -> None:
    line = Line(now=NOW, beds={"one": ONE}, waiting=[waits(1, priority=9)], bookings=[booked(7, 0, 600)])
    booking, campaign = decide(line)
    assert (booking.who, booking.waits_for) == (line.bookings[0], "")
    assert campaign.waits_for == "the reservation of anna"
    later = replace(line, bookings=[booked(7, 61, 600)])
    assert started(later) == [1]
    # It would not end before: it waits, and nobody slips in.
    soon = replace(line, bookings=[booked(7, 59, 600)], waiting=[waits(1), waits(2, duration_s=1.0)])
    assert started(soon) == []
    expected = {each.who: each.start for each in forecast(soon)}
    assert expected[soon.bookings[0]] == after(59)
    assert expected[soon.waiting[0]] == after(600)
    assert expected[soon.waiting[1]] == after(660)


@dataclass
class Night:
    """A laboratory in which everything takes exactly as long as expected."""

    line: Line
    starts: dict[int, datetime] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)

    def pass_by(self) -> None:
        while True:
            self._start()
            moments = [one.ends for one in self.line.holdings] + [one.starts for one in self.line.bookings]
            later = [moment for moment in moments if moment > self.line.now]
            if not later or not (self.line.waiting or self.line.bookings):
                return
            now = min(later)
            self.line = replace(self.line, now=now, holdings=[one for one in self.line.holdings if one.ends > now])

    def _start(self) -> None:
        ordered = in_order(self.line.waiting, self.line.last)
        for decision in decide(self.line):
            if decision.waits_for:
                continue
            who, bed = decision.who, self.line.beds[decision.who.testbed]
            used = [resource for one in self.line.holdings for resource in one.resources]
            assert not bed.resources & set(used), "a resource would be used twice"
            campaign = who.campaign if isinstance(who, Waiting) else None
            end = self.line.now + timedelta(seconds=who.duration_s) if isinstance(who, Waiting) else who.ends
            holding = Holding(
                campaign=campaign,
                reservation=None if isinstance(who, Waiting) else who.reservation,
                testbed=who.testbed,
                owner=who.owner,
                name="",
                resources=bed.resources,
                since=self.line.now,
                ends=end,
            )
            last = dict(self.line.last)
            if isinstance(who, Waiting):
                for other in ordered[: ordered.index(who)]:
                    shared = bed.resources & self.line.beds[other.testbed].resources
                    assert other.campaign in self.starts or not shared, "somebody was overtaken"
                self.starts[who.campaign] = self.line.now
                self.order.append(who.campaign)
                last[who.testbed, who.owner] = self.line.now + timedelta(microseconds=len(self.order))
            self.line = replace(
                self.line,
                holdings=[*self.line.holdings, holding],
                waiting=[one for one in self.line.waiting if one is not who],
                bookings=[one for one in self.line.bookings if one is not who],
                last=last,
            )


RESOURCES = st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=3)


@st.composite
def lines(draw: st.DrawFn) -> Line:
    beds = {name: Bed(name=name, resources=draw(RESOURCES)) for name in ("one", "two", "three")}
    waiting = [
        waits(
            number,
            testbed=draw(st.sampled_from(sorted(beds))),
            owner=draw(st.sampled_from(["anna", "bert", "cleo"])),
            priority=draw(st.integers(0, 2)),
            queued=after(-draw(st.integers(0, 100))),
            duration_s=float(draw(st.integers(1, 200))),
        )
        for number in range(1, draw(st.integers(1, 12)) + 1)
    ]
    bookings = []
    for number in range(draw(st.integers(0, 2))):
        begins = draw(st.integers(0, 300)) + 1000 * number
        bookings.append(booked(number, begins, begins + draw(st.integers(1, 300)), draw(st.sampled_from(sorted(beds)))))
    return Line(now=NOW, beds=beds, waiting=waiting, bookings=bookings)


@given(lines())
def test_nothing_is_used_twice_nobody_is_overtaken_and_everything_starts_as_foretold(line: Line) -> None:
    foretold = {each.who.campaign: each.start for each in forecast(line) if isinstance(each.who, Waiting)}
    night = Night(line)
    night.pass_by()
    assert night.starts.keys() == {one.campaign for one in line.waiting}
    assert foretold == night.starts


@given(st.lists(st.sampled_from(["anna", "bert", "cleo"]), min_size=1, max_size=20))
def test_turns_are_fair(owners: list[str]) -> None:
    night = Night(Line(now=NOW, beds={"one": ONE}, waiting=[waits(number, owner=owner) for number, owner in enumerate(owners)]))
    night.pass_by()
    wanted, had = Counter(owners), Counter[str]()
    for campaign in night.order:
        had[owners[campaign]] += 1
        for owner in wanted:
            # Nobody has had two turns more than somebody who still waits.
            assert had[owners[campaign]] - had[owner] <= 1 or had[owner] == wanted[owner]
