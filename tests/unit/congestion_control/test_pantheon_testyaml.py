"""Pantheon's descriptions of tests become plans; what cannot is refused at its line."""

import textwrap

import pytest

from rackproof.errors import PlanError
from rackproof.planfile import parse_plan, validate
from testplans.congestion_control.pantheon.testyaml import as_plan, is_test
from testplans.congestion_control.plan import CongestionControlPlan


def _plan(text: str) -> CongestionControlPlan:
    file = parse_plan(textwrap.dedent(text).encode(), "test.yml")
    assert is_test(file)
    return validate(CongestionControlPlan, as_plan(file))


def test_a_calibrated_emulator() -> None:
    plan = _plan(
        """
        test-name: Nepal to AWS India
        schemes: default_tcp bbr quic vivace_lte
        flows: 3
        interval: 10
        runtime: 30
        run-times: 5
        random-order: true
        uplink-trace: traces/0.57mbps.trace
        downlink-trace: 0.57mbps.trace
        prepend-mm-cmds: mm-delay 28 mm-loss uplink 0.0477
        extra-mm-link-args: --uplink-queue=droptail --uplink-queue-args=packets=14
        """
    )
    assert (plan.name, plan.schemes) == ("Nepal to AWS India", ("cubic", "bbr", "quic-cubic", "vivace-lte"))
    assert (plan.flows, plan.flow_interval_s, plan.runtime_s, plan.repetitions, plan.order) == (3, 10, 30, 5, "shuffled")
    forward, backward = plan.path.known, plan.path.backward
    assert forward is not None
    assert backward is not None
    assert (forward.rate_mbps, forward.delay_ms, forward.buffer_packets) == (0.57, 28, 14)
    assert forward.loss_share == pytest.approx(0.0477)
    assert (backward.rate_mbps, backward.delay_ms, backward.buffer_packets, backward.loss_share) == (0.57, 28, None, 0)


def test_a_scheme_for_each_flow() -> None:
    plan = _plan("test-name: x\nflows:\n  - scheme: cubic\n  - scheme: bbr\nuplink_trace: cellular-40.trace\n")
    assert (plan.schemes, plan.mixes) == ((), (("cubic", "bbr"),))
    assert plan.path.known is not None
    assert plan.path.known.trace == "cellular-40"


def test_flows_of_one_scheme() -> None:
    plan = _plan("test-name: x\nflows:\n  - scheme: bbr\n  - scheme: bbr\n")
    assert (plan.schemes, plan.flows, plan.mixes) == (("bbr",), 2, ())


def test_pantheons_defaults() -> None:
    plan = _plan("test-name: x\nschemes: [cubic]\n")
    assert plan.path.known is not None
    assert (plan.path.known.rate_mbps, plan.path.known.delay_ms, plan.runtime_s, plan.repetitions) == (12, 0, 30, 1)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("mode: remote", "line 3: mode: expected local: a test between two hosts needs a testbed that has them, found remote"),
        ("uplink-trace: unknown.trace", "line 3: uplink-trace: expected a constant rate (12mbps.trace) or a trace of the box"),
        ("prepend-mm-cmds: mm-delay fast", "line 3: prepend-mm-cmds: expected mm-delay MS, or mm-loss uplink SHARE"),
        ("append_mm_cmds: mm-onoff uplink 1 2", "found mm-onoff uplink 1 2"),
        ("extra-mm-link-args: --uplink-queue=codel", "line 3: extra-mm-link-args: expected --uplink-queue=droptail"),
        ("extra-mm-link-args: --uplink-queue-args=target=5", "expected packets=N or bytes=N, found target=5"),
        ("runtime: long", "line 3: runtime: expected seconds, found long"),
        ("run-times: 1.5", "line 3: run-times: expected a whole number, found 1.5"),
        ("ntp-addr: time.stanford.edu", "line 3: ntp-addr: expected one of mode, schemes"),
        ("flows: [{scheme: bbr, weight: 2}]", "line 3: flows[0]: expected scheme: NAME"),
        ("flows: [{scheme: bbr}]", "line 3: flows: expected schemes once, found twice"),
    ],
)
def test_what_cannot_be_mapped_is_refused(line: str, why: str) -> None:
    with pytest.raises(PlanError) as refused:
        _plan(f"test-name: x\nschemes: cubic\n{line}\n")
    assert why in str(refused.value)


def test_what_our_plan_refuses_stands_at_pantheons_line() -> None:
    with pytest.raises(PlanError) as refused:
        _plan("test-name: x\nschemes: cubic\n\nruntime: 0.5\n")
    assert "line 4: runtime_s: expected" in str(refused.value)


def test_a_plan_of_ours_is_none_of_pantheons() -> None:
    assert not is_test(parse_plan(b"kind: congestion-control\ntest-name: x\n", "plan.yaml"))
