"""Are a trial's numbers the true ones, with their names, and is what cannot be trusted refused?"""

import dataclasses
from typing import Any

import numpy as np
import pytest

from rackproof.model.measurement import Measurement
from rackproof.model.traffic import Calibration, Samples, Tally
from rackproof.model.trial import Observation, TrialResult
from rackproof.model.verdict import Verdict
from testplans.xpfe_delay.analysis import analyse
from testplans.xpfe_delay.expansion import expand
from testplans.xpfe_delay.flow import flow
from testplans.xpfe_delay.validity import reason
from tests.unit.xpfe_delay.records import CALIBRATION, Chain, observe, plan, true_delay_us

CHAIN = Chain(fps=5000, planted_us={1: 10.0}, lose={3: (4000, 4001)})


def analysed(observation: Observation, **changes: Any) -> TrialResult:
    given = plan(**changes)
    return analyse(given, expand(given)[0], observation, CALIBRATION)


def doubts(observation: Observation, calibration: Calibration = CALIBRATION, **changes: Any) -> str:
    given = plan(**changes)
    found = flow(given, observation.capture, 2)
    return reason(given, expand(given)[0], observation, found, calibration)


def number(result: TrialResult, name: str, **subject: str) -> Measurement:
    (found,) = [each for each in result.measurements if each.name == name and dict(each.subject) == subject]
    return found


@pytest.fixture(scope="module")
def result() -> TrialResult:
    return analysed(observe(plan(), CHAIN), percentiles=[1, 99.9], rates_mbps=[40])


def test_the_numbers_are_the_true_ones(result: TrialResult) -> None:
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    mean = number(result, "delay.mean")
    assert mean.interval is not None
    assert mean.value == pytest.approx(true_delay_us(Chain(planted_us={1: 10.0})), abs=0.1)
    assert mean.interval.high - mean.interval.low < 0.1
    assert number(result, "delay.raw.mean").value > mean.value + 3
    assert number(result, "offered").value == pytest.approx(40, rel=1e-3)
    assert number(result, "throughput").value == pytest.approx(40, rel=1e-3)
    assert (number(result, "sent").value, number(result, "received").value) == (5_000, 4_998)
    loss = number(result, "loss")
    assert loss.interval is not None
    assert loss.interval.low < loss.value == 4e-4 < loss.interval.high


def test_every_percentile_has_its_interval_and_that_of_the_fit(result: TrialResult) -> None:
    for name in ("p1", "p50", "p99", "p99_9"):
        for prefix in ("delay", "delay.fit"):
            found = number(result, f"{prefix}.{name}")
            assert found.interval is not None
            assert found.interval.low <= found.value <= found.interval.high
            assert (found.unit, found.n, found.interval.confidence) == ("us", 4_998, 0.95)
    values = [number(result, f"delay.{name}").value for name in ("min", "p1", "p50", "p99", "p99_9", "max")]
    assert values == sorted(values)


def test_the_budget_of_each_hop_adds_up_to_the_whole(result: TrialResult) -> None:
    parts = 0.0
    for hop in ("1", "2", "3"):
        here = number(result, "hop.element.mean", hop=hop).value
        if hop != "3":
            here += sum(number(result, f"hop.{name}", hop=hop).value for name in ("queueing.mean", "serialisation", "excess.p50"))
        assert here == pytest.approx(number(result, "hop.delay.mean", hop=hop).value, abs=0.01)
        parts += here
    assert parts == pytest.approx(number(result, "delay.mean").value, abs=0.01)
    assert number(result, "hop.serialisation", hop="2").value == pytest.approx(8.336)
    excess = number(result, "hop.excess.p50", hop="1")
    assert excess.interval is not None
    assert excess.interval.low <= 10 <= excess.interval.high
    assert excess.interval.half_width < 1.5  # half of the lateness
    assert excess.value == pytest.approx(10, abs=0.1)
    assert [number(result, "hop.lost", hop=hop).value for hop in ("1", "2", "3")] == [0, 0, 2]


def test_fits_are_named_and_have_their_parameters(result: TrialResult) -> None:
    names = {each.subject["distribution"] for each in result.measurements if each.name == "fit.error"}
    assert {"gaussian", "gamma", "log-normal", "exponential"} <= names
    (chosen,) = [each for each in result.measurements if each.name == "fit.chosen"]
    assert chosen.subject["distribution"] in names
    assert number(result, "fit.parameter.mean", distribution="gaussian").value == pytest.approx(number(result, "delay.mean").value, abs=0.2)
    for name in names:
        assert number(result, "fit.error", distribution=name).unit == "1/us"
        assert 0 <= number(result, "fit.ks_p", distribution=name).value <= 1


def test_curves_are_those_of_the_contract(result: TrialResult) -> None:
    found = {(curve.name, *curve.subject.values()) for curve in result.curves}
    assert {("histogram",), ("fit", "gaussian"), ("delta-q",)} <= found
    assert {(name, hop) for name in ("delta-q", "hop.delta-q") for hop in ("1", "2", "3")} <= found
    (histogram,) = [curve for curve in result.curves if curve.name == "histogram"]
    assert float(np.diff(histogram.x) @ np.array(histogram.y[:-1])) == pytest.approx(1)
    assert (len(histogram.x), histogram.y[-1]) == (len(histogram.y), 0)
    whole, third = ([curve for curve in result.curves if curve.name == "delta-q"][at] for at in (0, -1))
    assert whole.y[-1] == pytest.approx(0.9996)
    assert whole.x == third.x
    assert all(len(curve.x) <= 256 for curve in result.curves)


def test_the_same_observation_gives_the_same_numbers(result: TrialResult) -> None:
    again = analysed(observe(plan(), CHAIN), percentiles=[1, 99.9], rates_mbps=[40])
    assert again.measurements == result.measurements


def test_on_hardware_only_the_whole_is_known() -> None:
    found = analysed(observe(plan(), Chain(late_us=0.0, fps=1000), taps=False), rates_mbps=[8], testbed="lab1")
    assert found.verdict is Verdict.PASS
    assert number(found, "delay.mean").value == pytest.approx(true_delay_us(Chain()), abs=0.05)
    assert not [each for each in found.measurements if each.name.startswith(("hop.", "delay.raw"))]


def test_loss_alone_is_no_reason_for_doubt() -> None:
    found = analysed(observe(plan(), Chain(fps=1000, lose={2: tuple(range(200, 600))})), rates_mbps=[8])
    assert found.verdict is Verdict.PASS
    assert number(found, "hop.lost", hop="2").value == 400
    assert number(found, "loss").value == pytest.approx(0.4)


def test_a_link_that_is_mostly_idle_loses_nothing() -> None:
    made = observe(plan(), Chain(drop={1: (2000, 2001)}))
    assert "2 frames were lost at emulated links that are 8 % full" in doubts(made)
    # With a queue this short, or a link this full, it may.
    assert doubts(made, link={"queue_frames": 5}) == ""
    assert doubts(made, link={"rate_mbps": 90}) == ""


@pytest.mark.parametrize(
    ("health", "said"),
    [
        ({"ring_drops": 2.0}, "the receiver's ring had no room for 2 frames"),
        ({"lateness_p99_us": 6000.0}, "sent 6000 us late or more"),
        ({"clock_step_us": -80.0}, "the wall clock was moved by 80 us"),
        ({"stalled_ms": 120.0}, "kept the sender from running for 120.0 of 1100 ms"),
        ({"wires.ring_drops": 3.0}, "3 frames the host lost before an emulated link saw them"),
        ({"wires.overflow": 3.0}, "the record of the emulated links had no room for"),
        ({"wires.send_errors": 1.0}, "an emulated link could not hand on"),
        ({"wires.lateness_p50_us.1": 21.0}, "half of the frames left an emulated link 21.0 us late"),
        ({"wires.stalled_ms": 60.0}, "kept the emulated links from running for 60.0 of 1100 ms"),
        ({"wires.lateness_p99_us": 6000.0}, "left an emulated link 6000 us late or more"),
    ],
)
def test_what_the_host_did_is_told_from_what_the_chain_did(health: dict[str, float], said: str) -> None:
    made = observe(plan(), Chain())
    assert doubts(made) == ""
    assert said in doubts(_with(made, health={**made.capture.health, **health}))


def test_what_cannot_be_trusted_is_kept_all_the_same() -> None:
    made = observe(plan(), Chain(fps=1000))
    found = analysed(_with(made, health={**made.capture.health, "wires.overflow": 1.0}), rates_mbps=[8])
    assert found.verdict is Verdict.INVALID
    assert number(found, "delay.mean").n == 1000


def test_what_was_not_intended_is_invalid() -> None:
    made = observe(plan(), Chain())
    assert "the plan's rate is 20000 frames" in doubts(made, rates_mbps=[160])
    short = {0: dataclasses.replace(made.capture.sent[0], intended_frames=10_300)}
    assert "sent 10000 frames where 10300 were intended" in doubts(_with(made, sent=short))
    slow = dataclasses.replace(CALIBRATION, honest_fps=5000.0)
    assert "honest up to 5000" in doubts(made, calibration=slow)
    assert "reports nothing of the streams 1, 2" in analysed(made, background={"per_hop_mbps": 10}).reason
    assert "sending stopped early" in analysed(_with(made, batch_starts_ns=made.capture.batch_starts_ns[:-1])).reason


def test_where_nothing_arrives_there_is_no_delay() -> None:
    lost = analysed(observe(plan(), Chain(lose={1: tuple(range(11_000))})))
    assert "0 of 10000 frames arrived" in lost.reason
    assert number(lost, "loss").value == 1
    assert not [each for each in lost.measurements if each.name.startswith("delay.")]


def test_a_frame_that_no_link_saw_is_no_frame_of_the_chain() -> None:
    made = observe(plan(), Chain())
    samples = made.capture.samples
    kept = np.delete(np.arange(len(samples)), np.flatnonzero(samples.port >= 1000)[5000])
    columns = {name: getattr(samples, name)[kept] for name in ("tx_ns", "rx_ns", "sequence", "stream", "frame_bytes", "port", "pcp")}
    assert "1 frames arrived that an emulated link has no record of" in doubts(_with(made, samples=Samples(**columns)))


def test_a_generator_that_counts_gives_delays_without_intervals() -> None:
    made = observe(plan(), Chain(), taps=False)
    tally = Tally(
        rx_frames=np.full(20, 500),
        rx_octets=np.full(20, 500_000),
        received=9_990,
        delays_us=np.array([10.0, 20.0, 50.0]),
        delay_frames=np.array([4990, 4950, 50]),
    )
    empty = Samples(**{name: getattr(made.capture.samples, name)[:0] for name in Samples.__slots__})
    found = analysed(_with(made, samples=empty, tallies={0: tally}))
    assert found.verdict is Verdict.PASS
    assert [number(found, f"delay.{name}").value for name in ("p1", "p50", "p99")] == [10, 20, 20]
    assert number(found, "delay.p99").interval is None
    assert number(found, "loss").value == pytest.approx(1e-3)
    (curve,) = found.curves
    assert curve.y[-1] == pytest.approx(0.999)


def _with(made: Observation, **changes: Any) -> Observation:
    return dataclasses.replace(made, capture=dataclasses.replace(made.capture, **changes))
