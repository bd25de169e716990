"""Does a trend show what was measured, where it changed, and what was not the same there?"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from sqlalchemy import insert

from rackproof.errors import NotFound
from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.stats.pooling import REPETITIONS_MIN, repetitions
from rackproof.store import Store, means, schema

Point = Mapping[str, float | int | str]


def quantity(store: Store, name: str = "delay.p99", unit: str = "us", method: str | None = "batch means", **subject: str) -> int:
    confidence = None if method is None else 0.95
    with store.transactions.step("a quantity") as connection:
        return connection.scalars(
            insert(schema.Quantity)
            .values(name=name, unit=unit, subject=subject, confidence=confidence, method=method)
            .returning(schema.Quantity.id)
        ).one()


def a_campaign(
    store: Store,
    trials: Sequence[tuple[Point, Verdict | None, float]],
    of: int,
    *,
    name: str = "night",
    half_width: float | None = 1.0,
    commit: str = "aaa",
    **columns: Any,
) -> int:
    """A campaign that is done, with one measurement a trial."""
    values = {
        "name": name,
        "kind": "nothing",
        "testbed": "nothing",
        "plan": {},
        "plan_text": "",
        "plan_sha256": "0" * 64,
        "state": CampaignState.DONE,
        "verdict": Verdict.PASS,
        "provenance": {"Rackproof": {"commit": commit, "version": "1"}, "Host": {"name": "lab"}},
        **columns,
    }
    with store.transactions.step("a campaign") as connection:
        campaign = connection.scalars(insert(schema.Campaign).values(**values).returning(schema.Campaign.id)).one()
        for index, (point, verdict, value) in enumerate(trials, start=1):
            row = {"label": "", "point": point, "repetition": 1, "seed": 1, "duration_s": 1.0, "verdict": verdict}
            trial = connection.scalars(
                insert(schema.Trial).values(campaign_id=campaign, index=index, **row).returning(schema.Trial.id)
            ).one()
            ends = (None, None) if half_width is None else (value - half_width, value + half_width)
            measured = {"trial_id": trial, "position": 0, "quantity_id": of, "value": value, "low": ends[0], "high": ends[1], "n": 100}
            connection.execute(insert(schema.Measurement).values(**measured))
    return campaign


LOAD: dict[str, float | int | str] = {"load_mbps": 60.5, "device": "linux-htb"}


def test_a_planted_change_is_found_with_what_changed_there(store: Store) -> None:
    source = random.Random(11)
    of = quantity(store)
    campaigns = [
        a_campaign(
            store,
            [(LOAD, Verdict.PASS, source.gauss(50 if number < 12 else 60, 1)) for _ in range(3)],
            of,
            half_width=2.0,
            commit="aaa" if number < 12 else "bbb",
            plan_sha256=("0" if number < 12 else "1") * 64,
        )
        for number in range(20)
    ]
    trend = store.trends.series(name="night", quantity="delay.p99")
    assert [one.campaign for one in trend.points] == campaigns
    assert (trend.unit, trend.left_out, trend.without) == ("us", 0, ())
    assert all(one.n == 3 and one.interval is not None for one in trend.points)
    (change,) = trend.changes
    assert (change.campaign_before, change.campaign_after) == (campaigns[11], campaigns[12])
    assert change.before == pytest.approx(50, abs=1)
    assert change.after == pytest.approx(60, abs=1)
    assert [(one.name, one.before, one.after) for one in change.provenance] == [
        ("Plan.SHA-256", "0" * 64, "1" * 64),
        ("Rackproof.commit", "aaa", "bbb"),
    ]


def test_noise_within_intervals_shows_no_change(store: Store) -> None:
    source = random.Random(12)
    of = quantity(store)
    for number in range(40):
        a_campaign(store, [(LOAD, Verdict.PASS, source.gauss(50, 1))], of, half_width=2.0, commit=str(number))
    assert store.trends.series(name="night", quantity="delay.p99").changes == ()


def test_invalid_trials_are_left_out_and_counted(store: Store) -> None:
    of = quantity(store)
    trials = [(LOAD, Verdict.PASS, 10.0), (LOAD, Verdict.INVALID, 999.0), (LOAD, Verdict.FAIL, 12.0), (LOAD, None, 5.0)]
    first = a_campaign(store, trials, of)
    second = a_campaign(store, [(LOAD, Verdict.INVALID, 999.0)], of)
    trend = store.trends.series(name="night", quantity="delay.p99")
    (point,) = trend.points
    assert (point.campaign, point.value, point.n, point.left_out) == (first, 11.0, 2, 1)
    assert (trend.left_out, trend.without) == (1, (second,))


def test_only_what_was_asked_for_is_in_the_series(store: Store) -> None:
    whole, queue = quantity(store), quantity(store, queue="3")
    other_way = quantity(store, method="jackknife")
    wanted = a_campaign(store, [(LOAD, Verdict.PASS, 1.0), ({**LOAD, "load_mbps": 80}, Verdict.PASS, 3.0)], whole)
    again = a_campaign(store, [(LOAD, Verdict.PASS, 2.0)], other_way, testbed="rack 2")
    of_queue = a_campaign(store, [(LOAD, Verdict.PASS, 9.0)], queue)
    a_campaign(store, [(LOAD, Verdict.PASS, 8.0)], whole, name="another")
    a_campaign(store, [(LOAD, Verdict.PASS, 7.0)], whole, state=CampaignState.ABORTED)

    def values(**more: Any) -> dict[int, float]:
        return {one.campaign: one.value for one in store.trends.series(name="night", quantity="delay.p99", **more).points}

    assert values() == {wanted: 2.0, again: 2.0}
    assert values(point={"load_mbps": 60.5}) == {wanted: 1.0, again: 2.0}
    assert values(point={"load_mbps": 80.0}) == {wanted: 3.0}
    assert values(testbed="rack 2") == {again: 2.0}
    assert values(subject={"queue": "3"}) == {of_queue: 9.0}
    assert values(limit=2) == {again: 2.0}
    assert values(kind="nothing") == {wanted: 2.0, again: 2.0}
    for nothing in ({"kind": "switch-qos"}, {"subject": {"queue": "4"}}, {"point": {"load_mbps": 61}}, {"testbed": "rack 3"}):
        with pytest.raises(NotFound, match=r"measured delay\.p99"):
            values(**nothing)
    assert [(one.quantity, one.unit, one.subject) for one in store.trends.measured("night")] == [("delay.p99", "us", {"queue": "3"})]
    with pytest.raises(NotFound):
        store.trends.measured("nobody")


def test_numbers_of_another_unit_are_not_mixed_in(store: Store) -> None:
    old = a_campaign(store, [(LOAD, Verdict.PASS, 0.001)], quantity(store, unit="ms"))
    new = a_campaign(store, [(LOAD, Verdict.PASS, 1.0)], quantity(store, unit="us"))
    trend = store.trends.series(name="night", quantity="delay.p99")
    assert (trend.unit, [one.campaign for one in trend.points], trend.without) == ("us", [new], (old,))


def test_infinite_values_are_kept_and_are_a_change(store: Store) -> None:
    of = quantity(store)
    for value in (10.0, 10.0, float("inf")):
        a_campaign(store, [(LOAD, Verdict.PASS, value)], of, half_width=None)
    trend = store.trends.series(name="night", quantity="delay.p99")
    (change,) = trend.changes
    assert (change.before, change.after, change.provenance) == (10.0, float("inf"), ())


def points_of(*values: float) -> list[tuple[Point, Verdict | None, float]]:
    return [({"load_mbps": 10 + value // 100}, Verdict.PASS, value) for value in values]


@pytest.mark.parametrize(
    ("values", "half_width", "expected"),
    [
        ((10.0,), 1.0, 1.0),
        ((10.0, 10.5), 1.0, 1 / math.sqrt(2)),
        ((10.0, 1000.0), 1.0, 1 / math.sqrt(2)),
        ((10.0, 11.0, 1000.0), 1.0, 1 / math.sqrt(3)),
        ((10.0, 1000.0), None, None),
        ((9.0, 10.0, 11.0, 10.0), None, None),
    ],
)
def test_a_mean_is_as_sure_as_its_points_and_not_as_wide_as_they_lie_apart(
    store: Store, values: tuple[float, ...], half_width: float | None, expected: float | None
) -> None:
    a_campaign(store, points_of(*values), quantity(store), half_width=half_width)
    (point,) = store.trends.series(name="night", quantity="delay.p99").points
    assert point.value == pytest.approx(sum(values) / len(values))
    if len(values) == 4:
        _, by_hand = repetitions(values)
        assert by_hand is not None
        expected = by_hand.half_width
    assert (None if point.interval is None else point.interval.half_width) == (None if expected is None else pytest.approx(expected))


def test_what_a_campaign_came_to_is_kept_until_it_runs_again(store: Store) -> None:
    campaign = a_campaign(store, [(LOAD, Verdict.PASS, 10.0)], quantity(store))

    def value() -> float:
        (point,) = store.trends.series(name="night", quantity="delay.p99").points
        return point.value

    def change(sql: str) -> None:
        with store.transactions.step("a change") as connection:
            connection.exec_driver_sql(sql)

    assert value() == 10.0
    change("UPDATE measurements SET value = 20")
    assert value() == 10.0, "what is done does not change, so it is not worked out again"
    change(f"UPDATE campaigns SET fence = fence + 1 WHERE id = {campaign}")
    assert value() == 20.0


def test_all_that_a_campaign_measured_is_kept_at_its_end_as_a_trend_would_find_it(store: Store) -> None:
    of = [quantity(store, method=method) for method in ("batch means, 20 batches", "batch means, 19 batches")]
    other = quantity(store, "throughput", "Mbit/s")
    trials = [(LOAD, Verdict.PASS, value) for value in (10.0, 12.0)] + [(LOAD, Verdict.INVALID, 99.0)]
    campaign = a_campaign(store, trials, of[0])
    with store.transactions.step("what it came to") as connection:
        connection.exec_driver_sql(f"UPDATE measurements SET quantity_id = {of[1]} WHERE value = 12")
        connection.exec_driver_sql(f"INSERT INTO measurements SELECT trial_id, 1, {other}, value * 2, NULL, NULL, 5 FROM measurements")
        found = means.kept(connection, [campaign], of)
        connection.exec_driver_sql("DELETE FROM means")
        means.keep(connection, campaign)
        rows = connection.exec_driver_sql("SELECT quantity_id, n, left_out, mean, known FROM means ORDER BY quantity_id").all()
        again = means.kept(connection, [campaign], of)
    assert rows == [(of[0], 2, 1, 11.0, True), (other, 2, 1, 22.0, False)]
    assert again == found


def test_repetitions_count_as_they_do_everywhere_else() -> None:
    assert means._REPETITIONS_MIN == REPETITIONS_MIN
