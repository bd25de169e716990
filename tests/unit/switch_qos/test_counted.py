"""A generator that counts: the same trial with every frame kept and with tallies alone must say the same, as far as tallies can say it."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rackproof.model.measurement import Measurement
from rackproof.model.traffic import RECORD_DTYPE, Capture, Samples, Tally
from rackproof.model.trial import Observation, Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.stats.order import order_of
from testplans.switch_qos.analysis import analyse
from testplans.switch_qos.expansion import expand
from testplans.switch_qos.plan import SwitchQosPlan
from tests.unit.switch_qos.plans import plan
from tests.unit.switch_qos.simulator import CALIBRATION, simulate
from tests.unit.switch_qos.test_analysis import BENCH

NOTHING = Samples.of(np.empty(0, RECORD_DTYPE))
#: Bins of the histogram, ten a decade.
EDGES_US = np.geomspace(1, 1e6, 61)


def counted(observation: Observation, *, delays: bool = True) -> Observation:
    """What a generator that counts would have said of it."""
    capture = observation.capture
    tallies = {stream: _tally(capture, stream, delays) for stream in capture.sent}
    return replace(observation, capture=replace(capture, samples=NOTHING, tallies=tallies))


def _tally(capture: Capture, stream: int, delays: bool) -> Tally:
    samples, sent, starts = capture.samples, capture.sent[stream], capture.batch_starts_ns
    mine = samples.stream == stream
    sequence, rx_ns, octets = samples.sequence[mine], samples.rx_ns[mine], samples.frame_bytes[mine]
    inside = (sequence >= sent.first_sequence[0]) & (sequence < sent.first_sequence[-1])
    delay_us = (rx_ns - samples.tx_ns[mine])[inside] / 1e3
    bins = np.searchsorted(EDGES_US, delay_us)
    edges = np.searchsorted(rx_ns, starts)
    total = np.concatenate([[0], np.cumsum(octets, dtype=np.int64)])
    frames = np.bincount(bins, minlength=len(EDGES_US))
    used = np.flatnonzero(frames) if delays else np.empty(0, np.int64)
    return Tally(
        rx_frames=np.diff(edges),
        rx_octets=np.diff(total[edges]),
        received=int(inside.sum()),
        delays_us=EDGES_US[used],
        delay_frames=frames[used],
        reordered=order_of(sequence[inside]).reordered,
    )


def given(**changes: Any) -> tuple[SwitchQosPlan, dict[float, Trial]]:
    """The plan, and its trials under strict priority by their load."""
    chosen = plan({**BENCH, **changes})
    return chosen, {float(trial.point["load_mbps"]): trial for trial in expand(chosen) if trial.point["scheduler"] == "SP"}


def found(result: TrialResult, name: str, **subject: str) -> list[Measurement]:
    return [each for each in result.measurements if each.name == name and dict(each.subject) == subject]


@pytest.mark.parametrize("load", [10.0, 60.0])
def test_tallies_say_what_samples_say(load: float) -> None:
    chosen, trials = given()
    observation = simulate(chosen, trials[load])
    kept = analyse(chosen, trials[load], observation, CALIBRATION)
    tallied = analyse(chosen, trials[load], counted(observation), CALIBRATION)
    assert (tallied.verdict, tallied.reason) == (Verdict.PASS, "")
    same = {"offered", "throughput", "frame_loss_rate", "wasted", "deviation.throughput", "throughput_ratio", "fairness.jain", "reordered"}
    for one in kept.measurements:
        (other,) = found(tallied, one.name, **one.subject) if one.name != "delay_variation" else (None,)
        if other is None:
            continue
        if one.name in same:
            assert other.value == pytest.approx(one.value, abs=1e-9)
            assert other.n == one.n
        elif one.name in ("delay.p50", "delay.p99", "delay.max") and math.isfinite(one.value):
            assert one.value <= other.value * 1.000001 <= one.value * EDGES_US[1] * 1.00001


def test_what_counters_cannot_say_is_left_out() -> None:
    chosen, trials = given()
    result = analyse(chosen, trials[60.0], counted(simulate(chosen, trials[60.0])), CALIBRATION)
    assert not found(result, "delay_variation", queue="3")
    (loss,) = found(result, "frame_loss_rate", queue="3")
    assert 0 < loss.value < 1
    assert loss.interval is not None
    assert loss.interval.method.startswith("arrivals by batch")
    assert loss.interval.contains(loss.value)
    (delay,) = found(result, "delay.mean", queue="3")
    assert delay.interval is None, "delays by batch are not known"
    (throughput,) = found(result, "throughput", queue="3")
    assert throughput.interval is not None
    (starved,) = found(result, "delay.mean", queue="0")
    assert math.isinf(starved.value)


def test_without_a_histogram_there_is_no_delay() -> None:
    chosen, trials = given()
    result = analyse(chosen, trials[10.0], counted(simulate(chosen, trials[10.0]), delays=False), CALIBRATION)
    assert result.verdict is Verdict.PASS
    assert found(result, "throughput", queue="3")
    assert not [each for each in result.measurements if each.name.startswith("delay")]
    assert not result.curves


def test_delta_q_ends_at_what_arrived() -> None:
    chosen, trials = given()
    result = analyse(chosen, trials[60.0], counted(simulate(chosen, trials[60.0])), CALIBRATION)
    for curve in result.curves:
        (loss,) = found(result, "frame_loss_rate", **curve.subject)
        assert curve.y[-1] == pytest.approx(1 - loss.value, abs=1e-9)


def test_counts_that_cannot_be_make_the_trial_invalid() -> None:
    chosen, trials = given()
    observation = counted(simulate(chosen, trials[10.0]))
    tallies = dict(observation.capture.tallies)
    tallies[2] = replace(tallies[2], received=observation.capture.sent[2].frames + 10)
    result = analyse(chosen, trials[10.0], replace(observation, capture=replace(observation.capture, tallies=tallies)), CALIBRATION)
    assert result.verdict is Verdict.INVALID
    assert "frames of sender 2 are counted as received" in result.reason
    del tallies[2]
    result = analyse(chosen, trials[10.0], replace(observation, capture=replace(observation.capture, tallies=tallies)), CALIBRATION)
    assert result.reason == "the generator counted nothing of the senders 2"
