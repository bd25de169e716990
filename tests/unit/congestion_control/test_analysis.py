"""What one trial measures: cases that can be worked out by hand, and what must hold whatever the packets."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackproof.model.path import DROPPED, IN_FLIGHT, Packets
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from testplans.congestion_control.analysis import measure
from testplans.congestion_control.metrics import ALL
from testplans.congestion_control.validity import Expectations
from tests.unit.congestion_control.packets import MS, T0, Row, observation, packets, steady


def _measured(
    rows: list[Row],
    runtime_s: float = 1.0,
    counters: dict[str, int] | None = None,
    capacity_bps: float | None = None,
    floor_ms: float | None = None,
) -> TrialResult:
    seen = observation(packets(rows), counters=counters)
    return measure(seen, Expectations(runtime_s=runtime_s), capacity_bps=capacity_bps, floor_ms=floor_ms)


def _values(result: TrialResult, flow: str = ALL) -> dict[str, float]:
    return {each.name: each.value for each in result.measurements if each.subject["flow"] == flow}


def test_a_case_by_hand() -> None:
    """Ten packets of 1000 bytes, one a 100 ms; the fourth is dropped, the last is still on its way."""
    rows: list[Row] = [(100.0 * k, 100.0 * k + 20 + k, 1, 1000) for k in range(10)]
    rows[3] = (300.0, DROPPED, 1, 1000)
    rows[9] = (900.0, IN_FLIGHT, 1, 1000)
    found = _values(_measured(rows, capacity_bps=1e6, floor_ms=20.0))
    # Eight packets left, from 20 ms to 828 ms.
    assert found["throughput"] == pytest.approx(8 * 8000 / 0.808 / 1e6)
    assert found["loss"] == pytest.approx(0.1)
    assert found["loss.pantheon"] == pytest.approx(0.2)
    # Delays 20, 21, 22, 24, 25, 26, 27, 28: the 95th percentile stands at the rounded 0.95 * 7 = 6.65.
    assert found["delay.p95"] == 28
    assert found["delay.p50"] == 24
    assert found["delay.mean"] == pytest.approx(193 / 8)
    assert found["delay.spread"] == 8
    assert (found["delay.floor"], found["queueing.p50"], found["queueing.p95"]) == (20, 4, 8)
    assert found["capacity"] == 1
    assert found["utilisation"] == pytest.approx(found["throughput"])
    assert found["power"] == pytest.approx(found["throughput"] / 28)
    assert "jain" not in found
    assert "convergence" not in found


def test_two_flows_pool_their_packets() -> None:
    rows = [*steady(1, 0, 1000, 1, delay_ms=20), *steady(2, 0, 1000, 2, delay_ms=40)]
    result = _measured(rows)
    whole, first, second = _values(result), _values(result, "1"), _values(result, "2")
    assert first["throughput"] == pytest.approx(1000 * 8000 / 0.999 / 1e6)
    assert second["throughput"] == pytest.approx(500 * 8000 / 0.998 / 1e6)
    assert whole["throughput"] == pytest.approx(1500 * 8000 / 1.018 / 1e6)
    assert (first["delay.p95"], second["delay.p95"], whole["delay.p95"], whole["delay.p50"]) == (20, 40, 40, 20)
    # The floor is the path's: of all flows.
    assert second["queueing.p50"] == 20


def test_fairness_counts_while_all_flows_run() -> None:
    """Flow 1 runs from 0 to 4 s, flow 2 from 2 s on; together 2 : 1 for a second, then 1 : 1."""
    rows = [*steady(1, 0, 4000, 1, 1), *steady(2, 2000, 3000, 2, 1), *steady(2, 3000, 4000, 1, 1)]
    spans = {"flow.1.start_ns": T0, "flow.1.end_ns": T0 + 4000 * MS, "flow.2.start_ns": T0 + 2000 * MS, "flow.2.end_ns": T0 + 4000 * MS}
    found = _values(_measured(rows, runtime_s=4, counters=spans))
    assert found["jain"] == pytest.approx(3500**2 / (2 * (2000**2 + 1500**2)), rel=1e-3)
    assert found["convergence"] == 1.0


def test_flows_that_never_agree_do_not_converge() -> None:
    rows = [*steady(1, 0, 4000, 1), *steady(2, 0, 4000, 4)]
    found = _values(_measured(rows, runtime_s=4))
    assert found["convergence"] == math.inf
    assert found["jain"] == pytest.approx(25 / (2 * 17), rel=1e-3)


def test_flows_that_do_not_overlap_share_nothing() -> None:
    found = _values(_measured([*steady(1, 0, 1000, 1), *steady(2, 2000, 3000, 1)], runtime_s=3))
    assert "jain" not in found
    assert "convergence" not in found


def test_a_starved_flow_makes_the_index_smallest() -> None:
    rows = [*steady(1, 0, 2000, 1), *[(float(at), float(DROPPED), 2, 1000) for at in range(0, 2000, 10)]]
    result = _measured(rows, runtime_s=2)
    assert _values(result)["jain"] == pytest.approx(0.5)
    starved = _values(result, "2")
    assert (starved["throughput"], starved["loss"], starved["loss.pantheon"]) == (0, 1, 1)
    assert "delay.p95" not in starved


def test_no_packets() -> None:
    result = _measured([])
    assert (result.verdict, result.reason) == (Verdict.INVALID, "no packet came to the path")
    assert _values(result) == {"throughput": 0.0}
    assert result.curves == ()


def test_one_packet() -> None:
    result = _measured([(5.0, 25.0, 1, 1000)])
    assert result.verdict is Verdict.INVALID
    found = _values(result)
    assert (found["throughput"], found["delay.p50"], found["delay.p95"], found["delay.p99"], found["loss"]) == (0, 20, 20, 20, 0)


def test_everything_lost() -> None:
    result = _measured([(float(at), float(DROPPED), 1, 1000) for at in range(0, 1000, 10)])
    assert (result.verdict, result.reason) == (Verdict.INVALID, "none of 100 packets left the path")
    assert _values(result) == {"throughput": 0.0, "loss": 1.0, "loss.pantheon": 1.0}
    assert {curve.name for curve in result.curves} == {"throughput.ingress"}


def test_curves_count_in_bins() -> None:
    rows = [*steady(1, 0, 1000, 10, delay_ms=20), *steady(1, 1600, 2000, 10, delay_ms=30)]
    result = _measured(rows)
    curves = {curve.name: curve for curve in result.curves}
    ingress = curves["throughput.ingress"]
    assert ingress.x == (0.0, 0.5, 1.0, 1.5)
    # The stream ends 490 ms into the last bin.
    assert ingress.y == pytest.approx((0.8, 0.8, 0, 40 * 8000 / 1e6 / 0.49))
    # Three packets leave within 20 ms of a fifth bin: that is no rate.
    assert curves["throughput.egress"].x == ingress.x
    assert sum(curves["throughput.egress"].y) * 0.5 == pytest.approx(137 * 8000 / 1e6)
    assert curves["delay.p95.over_time"].x == (0.0, 0.5, 1.0, 1.5, 2.0)
    assert curves["delay.p95.over_time"].y == (20.0, 20.0, 20.0, 30.0, 30.0)
    assert curves["delay.cdf"].y[-1] == 1.0
    assert (curves["delay.cdf"].x[0], curves["delay.cdf"].x[-1]) == (20.0, 30.0)


def test_the_distribution_ends_at_one_minus_loss() -> None:
    rows: list[Row] = [*steady(1, 0, 1000, 10), *[(float(at), float(DROPPED), 1, 1000) for at in range(5, 1000, 40)]]
    result = _measured(rows)
    (curve,) = [curve for curve in result.curves if curve.name == "delay.cdf"]
    assert curve.y[-1] == pytest.approx(1 - _values(result)["loss"])
    assert curve.y[-1] == pytest.approx(0.8)


def test_processor_time_is_by_what_was_delivered() -> None:
    counters = {"cpu_us.sender.1": 80_000, "cpu_us.receiver.1": 40_000}
    found = _values(_measured(steady(1, 0, 1000, 1), counters=counters))
    assert found["cpu.sender"] == pytest.approx(10)
    assert found["cpu.receiver"] == pytest.approx(5)


def test_processor_time_of_all_needs_every_flow() -> None:
    rows = [*steady(1, 0, 1000, 1), *steady(2, 0, 1000, 1)]
    result = _measured(rows, counters={"cpu_us.sender.1": 80_000})
    assert "cpu.sender" not in _values(result)
    assert _values(result, "1")["cpu.sender"] == pytest.approx(10)


def test_pantheons_rule_of_the_length() -> None:
    assert _measured(steady(1, 0, 810, 1)).verdict is Verdict.PASS
    short = _measured(steady(1, 0, 790, 1))
    assert short.verdict is Verdict.INVALID
    assert short.reason == "packets left the path over 0.79 s of a runtime of 1 s (needed: 0.80 s)"
    assert _values(short)["throughput"] > 0


SEEN = {"algorithm.1": "cubic"}


@pytest.mark.parametrize(
    ("health", "notes", "why"),
    [
        ({"ring_drops": 3.0}, SEEN, "the host lost 3 packets: their loss is not the path's"),
        ({"overflow": 7.0}, SEEN, "the record had no room for 7 packets: their loss is not the path's"),
        ({"lateness_p99_us": 3000.0}, SEEN, "1 % of the packets left the path 3000 us late or more (allowed 2000 us): the host was busy"),
        ({}, {"algorithm.1": "bbr"}, "flow 1 was to use cubic, but its sender used bbr"),
        ({}, SEEN, ""),
        ({}, {"algorithm.1": ""}, "flow 1 was to use cubic, but what its sender used could not be seen"),
    ],
)
def test_what_makes_a_trial_invalid(health: dict[str, float], notes: dict[str, str], why: str) -> None:
    seen = observation(packets(steady(1, 0, 1000, 1)), health=health, notes=notes)
    result = measure(seen, Expectations(runtime_s=1, algorithms={1: "cubic"}, lateness_p99_us_max=2000))
    assert result.reason == why
    assert result.verdict is (Verdict.INVALID if why else Verdict.PASS)


# --- whatever the packets ---

_ROW = st.tuples(
    st.integers(0, 3_000_000),
    st.one_of(st.integers(1, 400_000), st.sampled_from([DROPPED, IN_FLIGHT])),
    st.integers(1, 3),
    st.integers(40, 1500),
)


@given(st.lists(_ROW, min_size=1, max_size=200))
def test_what_always_holds(drawn: list[tuple[int, int, int, int]]) -> None:
    rows: list[Row] = [(came / 1e3, (came + fate) / 1e3 if fate > 0 else fate, flow, octets) for came, fate, flow, octets in drawn]
    of = packets(rows)
    result = _measured(rows)
    _check(of, result)


def _check(of: Packets, result: TrialResult) -> None:
    flows = sorted({int(flow) for flow in of.flow})
    for label, mine in [(ALL, np.ones(len(of), np.bool_)), *((str(flow), of.flow == flow) for flow in flows)]:
        found = _values(result, label)
        left = mine & of.delivered
        egress = of.egress_ns[left]
        delays_ms = (egress - of.ingress_ns[left]) / MS
        if left.any() and egress.max() > egress.min():
            span_s = float(egress.max() - egress.min()) / 1e9
            assert found["throughput"] * 1e6 * span_s == pytest.approx(8 * int(of.packet_bytes[left].sum(dtype=np.int64)))
        if left.any():
            assert found["delay.p95"] == np.percentile(delays_ms, 95, method="nearest")
            assert delays_ms.min() <= found["delay.p50"] <= found["delay.p95"] <= found["delay.p99"] <= delays_ms.max()
            assert delays_ms.min() - 1e-9 <= found["delay.mean"] <= delays_ms.max() + 1e-9
        assert found["loss"] == pytest.approx(float((of.egress_ns[mine] == DROPPED).mean()))
        assert -1e-12 <= found["loss.pantheon"] <= 1
        if "jain" in found:
            assert 1 / len(flows) <= found["jain"] <= 1
    for each in result.measurements:
        assert not math.isnan(each.value)
        if each.interval is not None:
            assert each.interval.low <= each.value <= each.interval.high
    for curve in result.curves:
        assert len(curve.x) == len(curve.y)
        assert list(curve.x) == sorted(curve.x)


@given(st.integers(1, 50), st.integers(1, 20))
def test_what_is_in_flight_is_lost_for_pantheon_alone(delivered: int, in_flight: int) -> None:
    rows: list[Row] = [(float(at), at + 20.0, 1, 1000) for at in range(delivered)]
    rows += [(float(delivered + at), float(IN_FLIGHT), 1, 1000) for at in range(in_flight)]
    found = _values(_measured(rows))
    assert found["loss"] == 0
    assert found["loss.pantheon"] == pytest.approx(in_flight / (delivered + in_flight))
