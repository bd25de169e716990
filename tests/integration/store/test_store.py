"""Does the store give back what it was given, and refuse what would make results untrue?"""

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rackproof.errors import Conflict, NotFound, StoreError
from rackproof.model.campaign import CampaignState, SamplesFile
from rackproof.model.finding import Finding
from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.traffic import Calibration
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from tests.conftest import a_trial
from tests.integration.store.leasing import running

MakeCampaign = Callable[..., int]


def an_interval(**changes: Any) -> Interval:
    return Interval(**{"low": 1.0, "high": 2.0, "confidence": 0.95, "method": "batch means, 20 batches", **changes})


def a_result(measurements: int = 12, **changes: Any) -> TrialResult:
    values: dict[str, Any] = {
        "verdict": Verdict.PASS,
        "measurements": tuple(
            Measurement(
                name=f"delay.p{number % 3}",
                unit="us",
                value=number / 7,
                n=10**10 + number,
                interval=an_interval(low=number / 9) if number % 2 else None,
                subject={"queue": str(number), "flow": "µ"},
            )
            for number in range(measurements)
        ),
        "curves": (
            Curve(
                name="delta_q",
                x_name="delay",
                x_unit="us",
                y_name="probability",
                y_unit="1",
                x=(0.1, 1e300, math.inf),
                y=(0, 0.5, 0.9),
                n=3,
            ),
            Curve(name="delta_q", x_name="delay", x_unit="us", y_name="probability", y_unit="1", x=(), y=(), n=0, subject={"queue": "1"}),
        ),
        "health": {"lateness_p99_us": 1.25, "worst": math.inf, "huge": 1e300, "tiny": 5e-324},
        "counters": {"queue.3.dropped": 2**63 + 11},
    }
    return TrialResult(**{**values, **changes})


def a_finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "criterion": "sp.leak",
        "title": "Leak to lower priorities",
        "subject": {"device": "linux-htb"},
        "verdict": Verdict.FAIL,
        "value": math.inf,
        "unit": "1",
        "n": 20,
        "interval": an_interval(),
        "limit": "at most 1 %",
        "statement": "It leaks.",
        "trials": (1, 3),
        "detail": {"worst": 0.25},
    }
    return Finding(**{**values, **changes})


def test_a_campaign_comes_back_as_it_was_written(store: Store, campaign: MakeCampaign) -> None:
    number = campaign(trials=2)
    calibration = Calibration(
        delay_floor_us=1.5, timestamp_error_us_p50=0.5, timestamp_error_us_p99=math.inf, honest_fps=2e5, frames=9, detail={"x": [1, "y"]}
    )
    store.set_provenance(number, {"host": {"kernel": "6.1", "strange\0": "a\0b\udcff"}})
    store.set_calibration(number, calibration)
    store.add_configuration(number, "linux-htb, before", "qdisc\0")
    store.add_configuration(number, "a, before", "first")
    store.add_configuration(number, "a, before", "second")
    file = SamplesFile(path="1/1.parquet", sha256="ab", rows=3)
    with running(store, number) as leased:
        leased.start_trial(number, 1)
        leased.save_result(number, 1, a_result(), file)
        leased.finish(number, CampaignState.DONE, Verdict.FAIL, "because", [a_finding(), a_finding(interval=None, criterion="other")])

    record = store.campaign(number)

    assert (record.id, record.name, record.kind, record.testbed) == (number, "a campaign", "switch-qos", "bench")
    assert record.plan == {"kind": "switch-qos", "weights": [0.1, 0.2], "limits": {"most": math.inf}}
    assert (record.plan_text, record.plan_sha256) == ("kind: switch-qos\n", "0" * 64)
    assert (record.state, record.verdict, record.reason) == (CampaignState.DONE, Verdict.FAIL, "because")
    assert record.calibration == calibration
    assert record.provenance == {"host": {"kernel": "6.1", "strange\ufffd": "a\ufffdb?"}}
    assert record.configurations == {"linux-htb, before": "qdisc\ufffd", "a, before": "second"}
    assert record.findings == (a_finding(), a_finding(interval=None, criterion="other"))
    assert record.started is not None
    assert record.ended is not None
    assert record.created.tzinfo is not None
    assert record.created <= record.started <= record.ended
    first, second = record.trials
    assert (first.trial, second.trial) == (a_trial(1), a_trial(2))
    assert first.result == a_result()
    assert first.samples == file
    assert first.started is not None
    assert first.ended is not None
    assert first.started <= first.ended
    assert (second.result, second.samples, second.started, second.ended) == (None, None, None, None)
    assert store.latest() == number


def test_infinity_is_a_number_and_nan_is_not(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    starved = Measurement(name="delay.mean", unit="us", value=math.inf, n=0, interval=an_interval(low=-math.inf, high=math.inf))
    store.save_result(number, 1, TrialResult(verdict=Verdict.PASS, measurements=(starved,)))
    result = store.campaign(number).trials[0].result
    assert result is not None
    assert result.measurements == (starved,)

    for wrong in (
        Measurement(name="delay.mean", unit="us", value=math.nan, n=0),
        Measurement(name="delay.mean", unit="us", value=1.0, n=0, interval=an_interval(high=math.nan)),
    ):
        with pytest.raises(StoreError, match=r"trial 2 of campaign \d+ could not be stored: delay\.mean \{\} is not a number"):
            store.save_result(number, 2, TrialResult(verdict=Verdict.PASS, measurements=(wrong,)))
    assert store.campaign(number).trials[1].result is None


def test_a_measurement_stands_there_once(store: Store, campaign: MakeCampaign) -> None:
    twice = Measurement(name="throughput", unit="Mbit/s", value=1.0, n=1, subject={"queue": "1"})
    with pytest.raises(StoreError, match="stands there twice"):
        store.save_result(campaign(), 1, TrialResult(verdict=Verdict.PASS, measurements=(twice, twice)))


def test_a_curve_has_equal_axes(store: Store, campaign: MakeCampaign) -> None:
    curve = Curve(name="c", x_name="x", x_unit="1", y_name="y", y_unit="1", x=(1.0,), y=(), n=1)
    with pytest.raises(StoreError, match="unequal axes"):
        store.save_result(campaign(), 1, TrialResult(verdict=Verdict.PASS, curves=(curve,)))


def test_a_trial_has_one_result(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    store.save_result(number, 1, a_result())
    with pytest.raises(StoreError, match="has a result already"):
        store.save_result(number, 1, a_result(measurements=1))
    with pytest.raises(StoreError, match="has a result already"):
        store.start_trial(number, 1)
    assert store.campaign(number).trials[0].result == a_result()

    store.clear_result(number, 1)
    assert store.campaign(number).trials[0].result is None
    again = a_result(measurements=2, verdict=Verdict.INVALID, reason="too slow")
    store.save_result(number, 1, again)
    assert store.campaign(number).trials[0].result == again


def test_of_many_results_for_one_trial_at_once_one_is_kept(store: Store, campaign: MakeCampaign) -> None:
    number = campaign(trials=1)
    outcomes: list[str] = []
    barrier = threading.Barrier(8)

    def save(measurements: int) -> None:
        barrier.wait()
        try:
            store.save_result(number, 1, a_result(measurements))
            outcomes.append("kept")
        except StoreError:
            outcomes.append("refused")

    run_all(save, range(1, 9))
    assert sorted(outcomes) == ["kept"] + ["refused"] * 7
    result = store.campaign(number).trials[0].result
    assert result is not None
    assert result == a_result(len(result.measurements))


def test_many_results_at_once_are_all_kept(store: Store, campaign: MakeCampaign) -> None:
    """Every one adds the same new quantities, in another order: nobody waits in a circle."""
    number = campaign(trials=16)

    def save(index: int) -> None:
        measurements = a_result(40).measurements
        store.save_result(number, index, TrialResult(verdict=Verdict.PASS, measurements=measurements[:: (-1) ** index]))

    run_all(save, range(1, 17))
    results = [record.result for record in store.campaign(number).trials]
    assert [len(result.measurements) for result in results if result is not None] == [40] * 16


def test_a_half_written_result_is_no_result(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    too_many = Measurement(name="n", unit="1", value=1.0, n=2**70)
    with pytest.raises(StoreError, match="trial 1 of campaign"):
        store.save_result(number, 1, TrialResult(verdict=Verdict.PASS, measurements=(*a_result().measurements, too_many)))
    assert store.campaign(number).trials[0].result is None
    store.save_result(number, 1, a_result())
    assert store.campaign(number).trials[0].result == a_result()


def test_what_is_done_stays_as_it_is(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    store.save_result(number, 1, a_result())
    store.finish(number, CampaignState.DONE, Verdict.PASS)
    with pytest.raises(StoreError, match="is done and cannot be changed"):
        store.finish(number, CampaignState.FAILED, Verdict.ERROR)
    with pytest.raises(Conflict, match="is done"), running(store, number):
        pass
    with pytest.raises(StoreError, match="is done"):
        store.mark_resumed(number)
    with pytest.raises(StoreError, match="is done"):
        store.clear_result(number, 1)
    assert store.campaign(number).state is CampaignState.DONE


def test_an_end_is_an_end(store: Store, campaign: MakeCampaign) -> None:
    with pytest.raises(ValueError, match="ABORTED, DONE, FAILED, found RUNNING"):
        store.finish(campaign(), CampaignState.RUNNING, None)


def test_a_campaign_that_was_aborted_can_go_on(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    with running(store, number) as leased:
        leased.finish(number, CampaignState.ABORTED, Verdict.ABORTED, "Ctrl-C", [a_finding()])
    started = store.campaign(number).started
    store.mark_resumed(number)
    with running(store, number):
        record = store.campaign(number)
    assert (record.state, record.verdict, record.reason, record.ended, record.findings) == (CampaignState.RUNNING, None, "", None, ())
    assert len(record.resumed) == 1
    assert record.started == started


def test_what_is_not_there_is_not_found(store: Store, campaign: MakeCampaign) -> None:
    with pytest.raises(NotFound, match="no campaign yet"):
        store.latest()
    assert store.campaigns() == []
    number = campaign(trials=1)
    with pytest.raises(NotFound, match="there is no campaign 99"):
        store.campaign(99)
    for write in (
        lambda: store.save_result(99, 1, a_result()),
        lambda: store.save_result(number, 2, a_result()),
        lambda: store.start_trial(number, 0),
        lambda: store.clear_result(number, 2),
        lambda: store.finish(99, CampaignState.DONE, None),
        lambda: store.set_provenance(99, {}),
        lambda: store.add_configuration(99, "a", "b"),
        lambda: store.add_event(99, "x", {}),
        lambda: store.mark_resumed(99),
    ):
        with pytest.raises(NotFound):
            write()
    with pytest.raises(NotFound), running(store, 99):
        pass


def test_the_list_shows_the_newest_first_page_by_page(store: Store, campaign: MakeCampaign) -> None:
    numbers = [campaign(trials=trials, name=f"with {trials}") for trials in (0, 1, 2)]
    store.save_result(numbers[2], 2, a_result())
    store.finish(numbers[1], CampaignState.FAILED, Verdict.ERROR, "no device")
    newest, older = store.campaigns(limit=2)
    assert (newest.id, newest.name, newest.trials, newest.trials_done, newest.state) == (numbers[2], "with 2", 2, 1, CampaignState.PENDING)
    assert (older.id, older.state, older.verdict, older.reason) == (numbers[1], CampaignState.FAILED, Verdict.ERROR, "no device")
    (oldest,) = store.campaigns(limit=2, before=older.id)
    assert (oldest.id, oldest.trials, oldest.trials_done) == (numbers[0], 0, 0)
    asked = [numbers[0], 99, numbers[2]]
    assert [row.id for row in store.browse.several(asked)] == [numbers[0], numbers[2]], "in the order asked for, without what is not there"


def test_events_come_in_order_and_from_where_one_left(store: Store, campaign: MakeCampaign) -> None:
    number, other = campaign(), campaign()
    first = store.add_event(number, "trial.started", {"index": 1, "left_s": math.inf})
    store.add_event(other, "noise", {})
    second = store.add_event(number, "trial.ended", {"index": 1})
    assert first < second
    assert [(event.seq, event.kind, event.data) for event in store.events(number)] == [
        (first, "trial.started", {"index": 1, "left_s": math.inf}),
        (second, "trial.ended", {"index": 1}),
    ]
    assert [event.seq for event in store.events(number, after=first)] == [second]
    assert [event.seq for event in store.events(number, limit=1)] == [first]


def test_a_reader_of_events_misses_none_that_many_write_at_once(store: Store, campaign: MakeCampaign) -> None:
    number = campaign()
    seen: list[int] = []
    done = threading.Event()

    def read() -> None:
        while True:
            ended = done.is_set()
            fresh = [event.seq for event in store.events(number, after=seen[-1] if seen else 0)]
            seen.extend(fresh)
            if ended and not fresh:
                return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        run_all(lambda writer: [store.add_event(number, "e", {"writer": writer}) for _ in range(25)], range(6))
    finally:
        done.set()
        reader.join(timeout=60)
    assert len(seen) == 150
    assert seen == sorted(seen)


def run_all(work: Callable[[int], object], numbers: range) -> None:
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001  # raised below, where the test sees it
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failures == []
