"""LSPs that are flapped by configuration: counted by what their own frames do."""

from dataclasses import replace

import numpy as np
import pytest

from rackproof.model.lsp import FIRST_EVENT, NO_LSP, EventKind
from rackproof.model.traffic import Samples
from rackproof.model.trial import Observation, TrialResult
from rackproof.model.verdict import Verdict
from testplans.mpls_flap.analysis import analyse
from testplans.mpls_flap.configured import FRAME_BYTES, flapping_fps
from testplans.mpls_flap.plan import BATCHES
from tests.unit.mpls_flap.devices import Truth
from tests.unit.mpls_flap.synthetic import BEGAN_NS, CALIBRATION, observe, plan, together, trial

#: The last of these LSPs comes back after the first window only.
TRUTH = Truth(flapped=10, probe_fps=1000.0)
PLAN = plan(TRUTH, signalling={"by": "configuration"})
OUT_S, BACK_S, LATE_S = 0.05, 0.25, 1.2


def taken_out() -> Observation:
    """Flapped LSPs are out of the configuration from OUT_S to BACK_S after each flap, the last one until LATE_S after the first."""
    whole = observe(TRUTH)
    fps, first = flapping_fps(PLAN, TRUTH.flapped), TRUTH.stable
    gap_s = 1 / fps
    sent_s = np.arange(0, TRUTH.flaps_s[-1], gap_s)
    parts, sent = [], dict(whole.capture.sent)
    like = whole.capture.sent[0]
    for lsp in range(first, first + TRUTH.flapped):
        since = sent_s[:, None] - np.array(TRUTH.flaps_s[:-1])[None, :]
        out = ((since >= OUT_S) & (since < BACK_S)).any(axis=1)
        if lsp == first + TRUTH.flapped - 1:
            out |= (since[:, 0] >= OUT_S) & (since[:, 0] < LATE_S)
        came = np.flatnonzero(~out)
        tx_ns = BEGAN_NS + np.rint(sent_s[came] * 1e9).astype(np.int64)
        parts.append(_samples(tx_ns, tx_ns + 40_000, came, lsp, FRAME_BYTES, 1))
        marks = np.linspace(0, len(sent_s), BATCHES + 1).astype(np.int64)
        sent[lsp] = replace(like, first_sequence=marks, octets=marks * FRAME_BYTES, intended_frames=len(sent_s))
    for number, begin_s in enumerate(TRUTH.flaps_s[:-1], 1):
        for kind, after_s in ((EventKind.FLAP_BEGIN, 0.0), (EventKind.FLAP_END, TRUTH.windows_s[number - 1] - 1e-3)):
            when = np.array([BEGAN_NS + round((begin_s + after_s) * 1e9)])
            parts.append(_samples(when, np.zeros(1, np.int64), np.array([number]), NO_LSP, 0, FIRST_EVENT + kind))
    stable = whole.capture.samples
    kept = Samples(**{name: getattr(stable, name)[stable.port < 2000] for name in stable.__slots__})
    return replace(whole, capture=replace(whole.capture, samples=together([kept, *parts]), sent=sent))


def _samples(tx_ns: np.ndarray, rx_ns: np.ndarray, sequence: np.ndarray, stream: int, frame_bytes: int, port: int) -> Samples:
    many = len(tx_ns)
    return Samples(
        tx_ns=tx_ns,
        rx_ns=rx_ns,
        sequence=sequence.astype(np.uint32),
        stream=np.full(many, stream, np.uint16),
        frame_bytes=np.full(many, frame_bytes, np.uint16),
        port=np.full(many, port, np.uint16),
        pcp=np.zeros(many, np.uint8),
    )


@pytest.fixture(scope="module")
def result() -> TrialResult:
    return analyse(PLAN, trial(PLAN), taken_out(), CALIBRATION)


def value(result: TrialResult, name: str, **subject: str) -> float:
    (found,) = (each for each in result.measurements if each.name == name and dict(each.subject) == subject)
    return found.value


def test_those_that_forward_again_are_counted(result: TrialResult) -> None:
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    assert [value(result, f"flap.{name}", flap="1") for name in ("up", "k", "failed")] == [10, 9, 1]
    assert [value(result, f"flap.{name}", flap="2") for name in ("up", "k", "failed")] == [9, 10, 0]
    assert value(result, "failed") == 0
    assert not any(each.name == "k.paper" for each in result.measurements)


def test_outages_are_as_long_as_frames_say(result: TrialResult) -> None:
    assert value(result, "outage.p50", flap="1") == pytest.approx(1e3 * (BACK_S - OUT_S), abs=21)
    assert value(result, "outage.max", flap="1") == pytest.approx(1e3 * (0.25 + TRUTH.windows_s[0] - OUT_S), abs=21)


def test_traffic_over_the_stable_ones_is_theirs_alone(result: TrialResult) -> None:
    assert value(result, "sent", phase="prior") == 20_000
    assert value(result, "loss", phase="during") == 0


def test_one_that_was_away_between_two_frames_is_back() -> None:
    whole = taken_out()
    sent_s = np.arange(0, TRUTH.flaps_s[-1], 1 / flapping_fps(PLAN, TRUTH.flapped))
    tx_ns = BEGAN_NS + np.rint(sent_s * 1e9).astype(np.int64)
    every = _samples(tx_ns, tx_ns + 40_000, np.arange(len(sent_s)), TRUTH.stable, FRAME_BYTES, 1)
    done = _samples(tx_ns[-1:], np.zeros(1, np.int64), np.ones(1), NO_LSP, 0, FIRST_EVENT + EventKind.CONFIGURED)
    seen = whole.capture.samples
    others = Samples(**{name: getattr(seen, name)[seen.stream != TRUTH.stable] for name in seen.__slots__})
    capture = replace(whole.capture, samples=together([others, every, done]))
    result = analyse(PLAN, trial(PLAN), replace(whole, capture=capture), CALIBRATION)
    assert [value(result, "flap.k", flap=flap) for flap in "12"] == [9, 10]
