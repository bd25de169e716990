"""One trial from end to end: synthetic captures in, numbers out that are known beforehand."""

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rackproof.model.measurement import Measurement
from rackproof.model.traffic import Calibration, Capture, Samples, Sent
from rackproof.model.trial import Observation, Trial, TrialResult
from rackproof.model.verdict import Verdict
from testplans.switch_qos import flows
from testplans.switch_qos.analysis import analyse
from testplans.switch_qos.expansion import expand
from testplans.switch_qos.of_plan import delays_us
from testplans.switch_qos.plan import SwitchQosPlan
from tests.unit.switch_qos.plans import plan
from tests.unit.switch_qos.simulator import CALIBRATION, START_NS, Defects, simulate

BENCH: dict[str, Any] = {
    "kind": "switch-qos",
    "name": "small",
    "devices": ["reference"],
    "disciplines": ["strict-priority", {"discipline": "wrr-bytes", "weights": [0.1, 0.2, 0.3, 0.4]}],
    "link": {"rate_mbps": 100},
    "queues": {"length_frames": 50},
    "load": {"per_sender_mbps": [10, 60]},
    "trial": {"duration_s": 0.5, "warmup_s": 0.2},
    "criteria": {"fairness_spread_max": 0.2},
}


def number(result: TrialResult, name: str, **subject: str) -> Measurement:
    (found,) = [m for m in result.measurements if m.name == name and dict(m.subject) == subject]
    return found


def trial_of(given: SwitchQosPlan, label: str, load: float) -> Trial:
    return next(trial for trial in expand(given) if trial.point["scheduler"] == label and trial.point["load_mbps"] == load)


def measured(given: SwitchQosPlan, label: str, load: float, defects: Defects | None = None) -> TrialResult:
    trial = trial_of(given, label, load)
    return analyse(given, trial, simulate(given, trial, defects), CALIBRATION)


WRR = "WRR 0.1 0.2 0.3 0.4 by bytes"


def test_strict_priority_at_saturation() -> None:
    result = measured(plan(BENCH), "SP", 60)
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    top = number(result, "throughput", queue="3")
    assert top.value == pytest.approx(100, abs=0.2)
    assert top.interval is not None
    assert top.interval.half_width < 0.5
    assert number(result, "throughput", queue="0").value == 0
    assert number(result, "delay.mean", queue="0").value == math.inf
    assert number(result, "wasted").value == pytest.approx(0, abs=0.2)
    assert number(result, "frame_loss_rate", queue="0").value == 1
    assert not [m for m in result.measurements if m.name == "delay_ratio"]


def test_round_robin_at_saturation() -> None:
    result = measured(plan(BENCH), WRR, 60)
    for queue, share in enumerate((0.1, 0.2, 0.3, 0.4)):
        ratio = number(result, "throughput_ratio", queue=str(queue))
        assert ratio.value == pytest.approx(share, abs=0.005)
        assert ratio.interval is not None
        assert ratio.interval.contains(share)
        deviation = number(result, "deviation.throughput", queue=str(queue))
        assert deviation.value == pytest.approx(0, abs=0.5)
    # Little's law on full queues: delays go as 1 / weight.
    expected = [12 / 25, 6 / 25, 4 / 25, 3 / 25]
    assert [number(result, "delay_ratio", queue=str(queue)).value for queue in range(4)] == pytest.approx(expected, abs=0.02)


def test_offered_and_loss_are_counted_exactly() -> None:
    given = plan(BENCH)
    trial = trial_of(given, WRR, 60)
    observation = simulate(given, trial)
    result = analyse(given, trial, observation, CALIBRATION)
    capture = observation.capture
    for sender in range(8):
        sent = capture.sent[sender]
        mine = capture.samples.sequence[capture.samples.stream == sender].astype(int)
        arrived = np.count_nonzero((mine >= sent.first_sequence[0]) & (mine < sent.first_sequence[-1]))
        loss, offered = number(result, "frame_loss_rate", flow=str(sender)), number(result, "offered", flow=str(sender))
        assert loss.n == sent.frames
        assert loss.value == pytest.approx(1 - arrived / sent.frames, abs=1e-12)
        assert offered.value == pytest.approx(sent.frames * (1518 + 20) * 8 / 0.5 / 1e6)
    assert number(result, "offered").value == pytest.approx(sum(number(result, "offered", flow=str(s)).value for s in range(8)))


def test_nothing_lost_below_saturation() -> None:
    result = measured(plan(BENCH), "SP", 10)
    loss = number(result, "frame_loss_rate")
    assert loss.value == 0
    assert loss.interval is not None
    assert loss.interval.high == pytest.approx(1 - 0.025 ** (1 / loss.n))
    curve = next(curve for curve in result.curves if curve.subject == {"queue": "3"})
    assert curve.y[-1] == 1
    assert len(curve.x) <= 200


def test_delay_of_the_top_priority_is_that_of_theory() -> None:
    """Non-preemptive M/G/1 with priorities, four seconds of it."""
    given = plan(BENCH, trial__duration_s=4.0, load__per_sender_mbps=[10])
    delay = number(measured(given, "SP", 10), "delay.mean", queue="3")
    assert delay.interval is not None
    assert delay.value == pytest.approx(delays_us(given, 10)[3], rel=0.05)


@pytest.mark.parametrize("layer", ["L1", "L2"])
def test_rates_are_at_the_plans_layer(layer: str) -> None:
    result = measured(plan(BENCH, link__layer=layer), "SP", 60)
    full = 100.0 if layer == "L1" else 100 * 1518 / 1538
    assert number(result, "throughput").value == pytest.approx(full, abs=0.2)
    assert number(result, "wasted").value == pytest.approx(0, abs=0.2)


def test_planted_defects_show_in_the_numbers() -> None:
    leaking = measured(plan(BENCH), "SP", 60, Defects(leak=0.05))
    assert number(leaking, "throughput_ratio", queue="0").value == pytest.approx(0.05, abs=0.015)
    assert number(leaking, "deviation.throughput", queue="3").value == pytest.approx(-5, abs=1.5)
    wasting = measured(plan(BENCH), "SP", 60, Defects(waste=0.1))
    assert number(wasting, "wasted").value == pytest.approx(10, abs=0.5)
    unfair = measured(plan(BENCH), "SP", 60, Defects(unfair=0.5))
    spread = number(unfair, "fairness.spread", queue="3")
    assert spread.value > 0.3
    assert spread.interval is not None
    assert spread.interval.low > 0.2
    assert number(unfair, "fairness.jain", queue="3").value < 0.98


def by_hand(rows: list[tuple[int, int, int]], sent_frames: int = 40) -> tuple[SwitchQosPlan, Trial, Capture]:
    """A capture of one sender, written down: (sequence, sent at, arrived at), times in ms; frames 10 to 10 + sent_frames are measured."""
    given = plan(
        BENCH,
        traffic={"senders": 1, "priorities": [5], "arrivals": "constant"},
        trial={"duration_s": 0.4, "warmup_s": 0.1, "batches": 10},
        load__per_sender_mbps=[sent_frames * 1538 * 8 / 0.4 / 1e6],
    )
    times = np.array(rows, np.int64)
    samples = Samples(
        tx_ns=START_NS + times[:, 1] * 1_000_000,
        rx_ns=START_NS + times[:, 2] * 1_000_000,
        sequence=times[:, 0].astype(np.uint32),
        stream=np.zeros(len(times), np.uint16),
        frame_bytes=np.full(len(times), 1518, np.uint16),
        port=np.zeros(len(times), np.uint16),
        pcp=np.full(len(times), 5, np.uint8),
    )
    first = 10 + np.linspace(0, sent_frames, 11).astype(np.int64)
    sent = {0: Sent(first_sequence=first, octets=first * 1518, intended_frames=sent_frames)}
    starts = START_NS + np.linspace(100e6, 500e6, 11).astype(np.int64)
    return given, expand(given)[0], Capture(samples=samples, sent=sent, batch_starts_ns=starts)


def regular(first: int = 0, last: int = 55) -> list[tuple[int, int, int]]:
    """One frame every 10 ms, 2 ms under way."""
    return [(number, number * 10, number * 10 + 2) for number in range(first, last)]


def analysed(rows: list[tuple[int, int, int]]) -> TrialResult:
    given, trial, capture = by_hand(rows)
    return analyse(given, trial, Observation(capture=capture), CALIBRATION)


def test_a_regular_flow() -> None:
    result = analysed(regular())
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    assert number(result, "frame_loss_rate").value == 0
    assert number(result, "delay.mean").value == pytest.approx(2000)
    assert number(result, "delay.p99").value == pytest.approx(2000)
    assert number(result, "delay_variation").value == pytest.approx(0, abs=1e-3)
    assert number(result, "delay_variation").n == 39
    assert number(result, "throughput").value == pytest.approx(40 * 1538 * 8 / 0.4 / 1e6)
    assert number(result, "fairness.jain", queue="2").value == 1


def test_reordered_frames_and_duplicates_are_exact() -> None:
    rows = regular()
    rows[20] = (20, 200, 215)  # overtaken by 21
    rows.append((30, 300, 333))  # a copy
    rows.append((30, 300, 334))
    rows.append((5, 50, 340))  # a late frame of the warm-up, no matter
    result = analysed(sorted(rows, key=lambda row: row[2]))
    assert number(result, "reordered").value == 1
    assert number(result, "duplicates").value == 2
    assert number(result, "frame_loss_rate").value == 0
    assert number(result, "delay.mean").value == pytest.approx((39 * 2000 + 15000) / 40)
    assert number(result, "delay.max").value == pytest.approx(15000)


def test_only_frames_sent_within_the_span_count_and_late_ones_do() -> None:
    rows = [row for row in regular() if row[0] not in (3, 12, 13, 49, 52)]
    rows.append((49, 490, 590))  # the last measured frame, arriving long after the span
    result = analysed(sorted(rows, key=lambda row: row[2]))
    loss = number(result, "frame_loss_rate")
    assert (loss.value, loss.n) == (2 / 40, 40)
    assert number(result, "delay.max").value == pytest.approx(100_000)
    # Received within the span: 40 places, less two lost, less the late one.
    assert number(result, "throughput").n == 37


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    given = plan(BENCH)
    trial = trial_of(given, WRR, 60)
    observation = simulate(given, trial)
    whole = analyse(given, trial, observation, CALIBRATION)
    monkeypatch.setattr(flows, "PIECE", 777)
    assert analyse(given, trial, observation, CALIBRATION) == whole


def altered(capture: Capture, **changes: Any) -> Capture:
    return dataclasses.replace(capture, **changes)


def with_health(**health: float) -> Callable[[Capture], Capture]:
    return lambda capture: altered(capture, health={**capture.health, **health})


def fewer_sent(capture: Capture) -> Capture:
    sent = dict(capture.sent)
    sent[3] = dataclasses.replace(sent[3], intended_frames=round(sent[3].intended_frames * 1.01))
    return altered(capture, sent=sent)


def without_flow(capture: Capture) -> Capture:
    kept = capture.samples.stream != 7
    columns = {field.name: getattr(capture.samples, field.name)[kept] for field in dataclasses.fields(Samples)}
    return altered(capture, samples=Samples(**columns))


def wrong_priority(capture: Capture) -> Capture:
    return altered(capture, samples=dataclasses.replace(capture.samples, pcp=np.where(capture.samples.pcp == 6, 0, capture.samples.pcp)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (fewer_sent, r"sender 3 sent \d+ frames where \d+ were intended \(-0\.9\d %, allowed 0\.5 %\)"),
        (with_health(stalled_ms=500), r"took the processor away for 500.0 of \d+ ms \(allowed 1 %\)"),
        (with_health(lateness_p99_us=1600), r"sent 1600 us late or more \(allowed 1538 us\)"),
        (with_health(ring_drops=3), "ring had no room for 3 frames"),
        (with_health(overflow=2), "memory had no room for 2 frames"),
        (with_health(clock_step_us=-80), "moved by 80 us"),
        (without_flow, "no frame of sender 7 arrived, though an ideal switch passes 2032"),
        (wrong_priority, "frames of sender 6 arrived with another VLAN priority than 6"),
        (lambda capture: altered(capture, batch_starts_ns=capture.batch_starts_ns[:-3]), "sending stopped early"),
        (lambda capture: altered(capture, sent={s: sent for s, sent in capture.sent.items() if s != 2}), "nothing of the senders 2"),
    ],
)
def test_what_cannot_be_trusted_is_invalid(change: Callable[[Capture], Capture], reason: str) -> None:
    given = plan(BENCH)
    trial = trial_of(given, "SP", 60)
    observation = simulate(given, trial)
    result = analyse(given, trial, dataclasses.replace(observation, capture=change(observation.capture)), CALIBRATION)
    assert result.verdict is Verdict.INVALID
    assert re.search(reason, result.reason), result.reason


def test_a_generator_that_calibration_found_too_slow_is_not_trusted() -> None:
    given = plan(BENCH)
    trial = trial_of(given, "SP", 60)
    slow = Calibration(delay_floor_us=1, timestamp_error_us_p50=1, timestamp_error_us_p99=1, honest_fps=30_000, frames=1)
    result = analyse(given, trial, simulate(given, trial), slow)
    assert result.verdict is Verdict.INVALID
    assert "39012 frames/s are needed" in result.reason
    assert number(result, "throughput").value > 0


def test_frames_lost_by_the_host_are_not_the_devices() -> None:
    given = plan(BENCH)
    trial = trial_of(given, "SP", 60)
    result = analyse(given, trial, dataclasses.replace(simulate(given, trial), counters={"ring_drops": 4}), CALIBRATION)
    assert result.verdict is Verdict.INVALID
    assert "the host lost 4 frames before the emulated switch saw them" in result.reason
