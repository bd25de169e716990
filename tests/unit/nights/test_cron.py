"""Is a schedule due when people expect it, also on the two nights on which the clock is changed?"""

import functools
import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackproof.errors import PlanError
from rackproof.store.cron import check, latest_moment, next_moment, upcoming

ZURICH = "Europe/Zurich"
FORWARD = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)  # 02:00 CET becomes 03:00 CEST
BACK = datetime(2026, 10, 25, 1, 0, tzinfo=UTC)  # 03:00 CEST becomes 02:00 CET


def utc(*numbers: int) -> datetime:
    return datetime(*numbers, tzinfo=UTC)  # type: ignore[misc, arg-type]  # year, month, day, ...


def test_a_time_that_does_not_exist_is_made_up_for_right_after_the_gap_and_only_once() -> None:
    assert upcoming("30 2 * * *", ZURICH, utc(2026, 3, 27, 12), 4) == [
        utc(2026, 3, 28, 1, 30),
        FORWARD,
        utc(2026, 3, 30, 0, 30),
        utc(2026, 3, 31, 0, 30),
    ]
    assert next_moment("30 2 * * *", ZURICH, FORWARD) == utc(2026, 3, 30, 0, 30)


def test_a_time_that_comes_twice_fires_the_first_time_only() -> None:
    first = utc(2026, 10, 25, 0, 30)
    assert upcoming("30 2 * * *", ZURICH, utc(2026, 10, 24, 12), 2) == [first, utc(2026, 10, 26, 1, 30)]
    for minutes in range(0, 120, 7):
        assert next_moment("30 2 * * *", ZURICH, first + timedelta(minutes=minutes)) == utc(2026, 10, 26, 1, 30)


def test_a_night_before_and_after_the_changes_is_at_the_same_hour_on_the_wall() -> None:
    assert upcoming("0 22 * * 1-5", ZURICH, utc(2026, 3, 27, 12), 2) == [utc(2026, 3, 27, 21), utc(2026, 3, 30, 20)]
    assert upcoming("0 22 * * 1-5", ZURICH, utc(2026, 10, 23, 12), 2) == [utc(2026, 10, 23, 20), utc(2026, 10, 26, 21)]


def test_every_quarter_of_an_hour_goes_on_evenly_through_both_changes() -> None:
    for change in (FORWARD, BACK):
        moments = upcoming("*/15 * * * *", ZURICH, change - timedelta(hours=3), 24)
        assert {later - earlier for earlier, later in itertools.pairwise(moments)} == {timedelta(minutes=15)}


@given(
    cron=st.sampled_from(["30 2 * * *", "0,30 2 * * *", "*/15 2 * * *", "0 */2 * * *", "15 1-3 * * *", "59 2 25 10 *", "* * * * *"]),
    change=st.sampled_from([FORWARD, BACK]),
    seconds=st.integers(-(26 * 3600), 26 * 3600),
)
def test_going_from_moment_to_moment_finds_what_one_walk_finds(cron: str, change: datetime, seconds: int) -> None:
    """Whoever asks anew after each firing, as the service does, skips none, repeats none and never goes back."""
    walked = _walk(cron, change - timedelta(hours=27))
    assert list(walked) == sorted(set(walked))
    now = change + timedelta(seconds=seconds)
    found = next_moment(cron, ZURICH, now)
    assert found == next((moment for moment in walked if moment > now), found)
    assert found is not None
    assert found > now
    passed = [moment for moment in walked if moment <= now]
    if passed:
        assert latest_moment(cron, ZURICH, passed[0], now) == passed[-1]


@functools.cache
def _walk(cron: str, start: datetime) -> tuple[datetime, ...]:
    return tuple(upcoming(cron, ZURICH, start, 4000 if cron.startswith("* ") else 60))


def test_the_latest_of_many_missed_moments_is_found_at_once() -> None:
    assert latest_moment("* * * * *", "UTC", utc(2016, 1, 1), utc(2026, 1, 1, 0, 0, 30)) == utc(2026, 1, 1)
    assert latest_moment("0 0 29 2 *", "UTC", utc(2016, 2, 29), utc(2026, 1, 1)) == utc(2024, 2, 29)
    assert latest_moment("0 0 1 1 *", "UTC", utc(2026, 1, 1), utc(2026, 6, 1)) == utc(2026, 1, 1)


@pytest.mark.parametrize(
    ("cron", "zone", "where"),
    [
        ("61 * * * *", "UTC", "cron"),
        ("* * * *", "UTC", "cron"),
        ("* * * * * *", "UTC", "cron"),
        ("0 0 30 2 *", "UTC", "cron"),
        ("", "UTC", "cron"),
        ("0 0 * * *", "Europe/Zuerich", "zone"),
        ("0 0 * * *", "../../etc/passwd", "zone"),
        ("0 0 * * *", "", "zone"),
        ("0 0 * * *", "a\0b", "zone"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_was_expected(cron: str, zone: str, where: str) -> None:
    with pytest.raises(PlanError, match=f"{where}: expected") as caught:
        check(cron, zone)
    assert [problem.where for problem in caught.value.problems] == [where]


def test_both_faults_are_told_at_once() -> None:
    with pytest.raises(PlanError) as caught:
        check("a b c d e", "nowhere")
    assert {problem.where for problem in caught.value.problems} == {"cron", "zone"}
