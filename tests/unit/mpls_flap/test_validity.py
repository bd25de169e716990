"""Which trials are not to be trusted, and what is the routers' own doing?"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from rackproof.model.lsp import EventKind
from rackproof.model.traffic import Calibration, Capture, Samples
from rackproof.model.trial import Observation
from testplans.mpls_flap.expansion import expand
from testplans.mpls_flap.traffic import stable_streams, traffic
from testplans.mpls_flap.validity import missing, reason
from testplans.sending import merged
from tests.unit.mpls_flap.plans import BEGAN_NS, events, plan, sent_of, up

PLAN = plan()
TRIAL = expand(PLAN)[1]
CALIBRATION = Calibration(delay_floor_us=1.0, timestamp_error_us_p50=0.1, timestamp_error_us_p99=1.0, honest_fps=150e3, frames=1000)
TEARS = tuple((1.02 + 0.0005 * at, EventKind.TEAR_SENT, 0) for at in range(6))
#: Phases begin 20 ms after the traffic.
PHASES = events(
    (1.02, EventKind.FLAP_BEGIN, 1), *TEARS, (1.419, EventKind.FLAP_END, 1), (1.42, EventKind.FLAP_BEGIN, 2), (1.62, EventKind.FLAP_END, 2)
)


def observed(phases: Samples = PHASES, lsps: range = range(10), health: Mapping[str, float] | None = None) -> Observation:
    asked = traffic(PLAN, TRIAL, 1, up(lsps), stable_streams(PLAN, TRIAL))
    generated = sent_of(asked)
    signalled = Capture(samples=phases, sent={}, batch_starts_ns=np.empty(0, np.int64))
    return Observation(capture=replace(merged(generated, signalled, "lsp."), health=health or {}), notes={"refused": ""})


def why(observation: Observation) -> str:
    return reason(PLAN, TRIAL, observation, CALIBRATION)


def test_a_trial_that_did_what_was_intended_is_valid() -> None:
    assert (missing(PLAN, TRIAL, observed()), why(observed())) == ("", "")


def test_lsps_that_a_router_refuses_do_not_make_a_trial_invalid() -> None:
    some = observed(lsps=range(2, 8))
    assert (missing(PLAN, TRIAL, some), why(some)) == ("", "")
    none = replace(observed(lsps=range(4, 10)), notes={"refused": "PATH_ERR 1/0: 4"})
    assert missing(PLAN, TRIAL, none) == ("none of the 4 stable LSPs came up within 60 s, so nothing was sent (refused: PATH_ERR 1/0: 4)")
    past = observed(lsps=range(0), health={"lsp.phantoms": 10.0})
    assert (missing(PLAN, TRIAL, past), why(past)) == ("", "")


def test_a_control_plane_that_the_host_held_up_is_not_the_routers() -> None:
    held = replace(observed(), counters={"r1.rsvp.late_max_us": 50_000, "r2.rsvp.late_max_us": 3_400_000, "r2.rsvp.path.received": 99})
    assert why(held) == "the host kept the control plane of r2 from running for 3400 ms (allowed 50 ms)"


def test_traffic_that_stopped_early_cannot_be_analysed() -> None:
    whole = observed()
    cut = replace(whole, capture=replace(whole.capture, batch_starts_ns=whole.capture.batch_starts_ns[:9]))
    assert missing(PLAN, TRIAL, cut) == "expected 21 marks of the batches, found 9, 21: sending stopped early"


@pytest.mark.parametrize(
    ("health", "said"),
    [
        ({"lateness_p99_us": 6000.0}, "1 % of what the generator sent left 6000 us late or more (allowed 5000 us)"),
        ({"ring_drops": 3.0}, "the ring of the generator had no room for 3 frames"),
        ({"lsp.ring_drops": 2.0}, "the ring of the emulated LERs had no room for 2 frames"),
        ({"lsp.overflow": 1.0}, "the memory of the emulated LERs had no room for 1 frames"),
        ({"lsp.lateness_p99_us": 7000.0}, "1 % of what the emulated LERs sent left 7000 us late"),
        ({"stalled_ms": 300.0}, "the host kept the generator from running for 300.0 of 1850 ms (allowed 10 %)"),
        ({"clock_step_us": -80.0}, "the wall clock was moved by 80 us"),
    ],
)
def test_what_the_host_did_is_not_the_routers_doing(health: dict[str, float], said: str) -> None:
    assert said in why(observed(health=health))


def _fewer(capture: Capture) -> Capture:
    one = capture.sent[2]
    return replace(capture, sent={**capture.sent, 2: replace(one, first_sequence=one.first_sequence * 9 // 10)})


def _other_rate(capture: Capture) -> Capture:
    return replace(capture, sent={lsp: replace(one, intended_frames=2 * one.intended_frames) for lsp, one in capture.sent.items()})


def _shorter(capture: Capture) -> Capture:
    return replace(capture, batch_starts_ns=BEGAN_NS + (capture.batch_starts_ns - BEGAN_NS) * 9 // 10)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_fewer, "1 LSPs were not sent what was intended; LSP 2 was sent 3515 frames instead of 3906"),
        (_fewer, "15233 frames were sent where 15624 were intended (-2.50 %, allowed 0.5 %)"),
        (_other_rate, "LSP 0 was given a schedule of 7812 frames, but its share of the plan's rate is 3906 frames"),
        (_shorter, "the measured span lasted 1.4400 s instead of 1.6 s"),
    ],
)
def test_traffic_that_was_not_as_intended(change: Callable[[Capture], Capture], said: str) -> None:
    whole = observed()
    assert said in why(replace(whole, capture=change(whole.capture)))


@pytest.mark.parametrize(
    ("phases", "said"),
    [
        (events((1.02, EventKind.FLAP_BEGIN, 1)), "expected 2 flaps, found 1 that began and 0 that ended"),
        (
            events(
                (1.02, EventKind.FLAP_BEGIN, 1), (1.6, EventKind.FLAP_END, 1), (1.6, EventKind.FLAP_BEGIN, 2), (1.8, EventKind.FLAP_END, 2)
            ),
            "flap 2 began +180 ms from when it should (allowed 50 ms)",
        ),
        (
            events(
                (1.52, EventKind.FLAP_BEGIN, 1),
                (1.9, EventKind.FLAP_END, 1),
                (1.92, EventKind.FLAP_BEGIN, 2),
                (2.12, EventKind.FLAP_END, 2),
            ),
            "the last window ended 270 ms after the measured traffic (allowed 50 ms)",
        ),
        (
            events(
                (0.8, EventKind.FLAP_BEGIN, 1), (1.19, EventKind.FLAP_END, 1), (1.2, EventKind.FLAP_BEGIN, 2), (1.4, EventKind.FLAP_END, 2)
            ),
            "the first flap began 200 ms before its time in the traffic",
        ),
    ],
)
def test_flaps_that_were_not_at_their_time(phases: Samples, said: str) -> None:
    assert said in why(observed(phases))


def _with(*more: tuple[float, EventKind, int]) -> Samples:
    return events(
        *((1.02, EventKind.FLAP_BEGIN, 1), (1.419, EventKind.FLAP_END, 1), (1.42, EventKind.FLAP_BEGIN, 2), (1.62, EventKind.FLAP_END, 2)),
        *more,
    )


def test_messages_that_left_faster_or_slower_than_their_pace() -> None:
    burst = _with(*((1.05, EventKind.PATH_SENT, 0) for _ in range(300)))
    assert "300 PATH were sent within 100 ms where 200 were intended" in why(observed(burst))
    slow = _with(*((1.02 + 0.05 * at, EventKind.TEAR_SENT, 0) for at in range(6)))
    assert "the 6 PATH_TEAR of flap 1 took 250 ms to send where 3 ms were intended" in why(observed(slow))


def test_more_frames_than_the_generator_is_honest_for() -> None:
    poor = replace(CALIBRATION, honest_fps=5000.0)
    assert reason(PLAN, TRIAL, observed(), poor) == (
        "9766 frames/s are needed, but the calibration found the generator honest up to 5000 frames/s"
    )
