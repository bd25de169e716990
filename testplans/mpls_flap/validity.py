"""Did the trial do what was intended? A reason where it did not, "" where its numbers can be trusted.

What a router does with LSPs is no reason: those that it refuses, tears that it loses, frames that it drops are what is measured. A trial in
which no stable LSP came up says nothing of forwarding, and is none; but where LSPs came up past the router (phantoms), that is the result.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rackproof.model.lsp import FIRST_EVENT, EventKind
from rackproof.model.traffic import Calibration, Capture, Samples
from rackproof.model.trial import Observation, Trial
from testplans.mpls_flap.configured import flapping_fps, starts
from testplans.mpls_flap.parts import By
from testplans.mpls_flap.plan import BATCHES, WARMUP_S, MplsFlapPlan
from testplans.mpls_flap.traffic import LSP

#: Frames by which a count may be off because a mark falls between two frames.
EDGE_FRAMES = 2
#: Paces are looked at over spans of this length [s]; so many messages more may fall into one.
PACE_SPAN_S = 0.1
PACE_EDGE = 5
#: What a router of the bench counts of its lateness [us], after its name.
LATE = ".rsvp.late_max_us"


def missing(plan: MplsFlapPlan, trial: Trial, observation: Observation) -> str:
    """Why there is nothing to analyse, "" where there is."""
    capture = observation.capture
    if not capture.sent and not capture.health.get(LSP + "phantoms", 0):
        refused = observation.notes.get("refused", "")
        within = f"none of the {trial.point['stable']} stable LSPs came up within {plan.signalling.setup_s:g} s, so nothing was sent"
        return within + (f" (refused: {refused})" if refused else "")
    marks = {len(capture.batch_starts_ns), *(len(sent.first_sequence) for sent in capture.sent.values())}
    if marks != {BATCHES + 1}:
        return f"expected {BATCHES + 1} marks of the batches, found {', '.join(map(str, sorted(marks)))}: sending stopped early"
    return ""


def reason(plan: MplsFlapPlan, trial: Trial, observation: Observation, calibration: Calibration) -> str:
    """Why the trial is INVALID; all reasons, joined."""
    capture = observation.capture
    found = [*_span(plan, capture), *_offered(plan, trial, capture), *_host(plan, capture, "", "the generator")]
    found += [*_host(plan, capture, LSP, "the emulated LERs"), *_flaps(plan, capture), *_pace(plan, capture)]
    found += _models(plan, observation)
    return "; ".join([*found, *_capability(plan, trial, capture, calibration)])


def _span(plan: MplsFlapPlan, capture: Capture) -> Iterator[str]:
    span_s, asked_s = float(capture.batch_starts_ns[-1] - capture.batch_starts_ns[0]) / 1e9, plan.phases.measured_s
    if abs(span_s - asked_s) > 0.005 * asked_s:
        yield f"the measured span lasted {span_s:.4f} s instead of {asked_s:g} s"


def _offered(plan: MplsFlapPlan, trial: Trial, capture: Capture) -> Iterator[str]:
    """Over all streams, and of the one that is farthest off; a hundred streams make one sentence."""
    most, stable = plan.validity.offered_deviation_max, int(trial.point["stable"])
    frames = sum(sent.frames for sent in capture.sent.values())
    intended = sum(sent.intended_frames for sent in capture.sent.values())
    if abs(frames - intended) > most * intended + EDGE_FRAMES:
        yield f"{frames} frames were sent where {intended} were intended ({_percent(frames, intended)}, allowed {100 * most:g} %)"
    each = {stream: (sent.frames, sent.intended_frames) for stream, sent in capture.sent.items()}
    off = [stream for stream, (sent, asked) in each.items() if abs(sent - asked) > most * asked + EDGE_FRAMES]
    if off:
        worst = max(off, key=lambda stream: abs(each[stream][0] - each[stream][1]))
        sent, asked = each[worst]
        yield f"{len(off)} LSPs were not sent what was intended; LSP {worst} was sent {sent} frames instead of {asked}"
    own = plan.fps(plan.test(str(trial.point["test"]))) / stable * plan.phases.measured_s
    wrong = [stream for stream, (_, asked) in each.items() if stream < stable and abs(asked - own) > most * own + EDGE_FRAMES]
    if wrong:
        yield f"LSP {wrong[0]} was given a schedule of {each[wrong[0]][1]} frames, but its share of the plan's rate is {own:.0f} frames"


def _percent(found: float, intended: float) -> str:
    return f"{100 * (found - intended) / intended:+.2f} %" if intended else "of none"


def _host(plan: MplsFlapPlan, capture: Capture, prefix: str, who: str) -> Iterator[str]:
    """What the host did to the generator, or to the emulated routers."""
    health, limits = {name.removeprefix(prefix): value for name, value in capture.health.items() if name.startswith(prefix)}, plan.validity
    late = health.get("lateness_p99_us", 0.0)
    if late > limits.lateness_p99_us_max:
        yield f"1 % of what {who} sent left {late:.0f} us late or more (allowed {limits.lateness_p99_us_max:.0f} us): the host was busy"
    for key, what in (("ring_drops", "ring"), ("overflow", "memory")):
        if health.get(key, 0) > 0:
            yield f"the {what} of {who} had no room for {health[key]:.0f} frames: they are not the routers' loss"
    step = abs(health.get("clock_step_us", 0.0))
    if step > limits.clock_step_us_max:
        yield f"the wall clock was moved by {step:.0f} us during the trial (allowed {limits.clock_step_us_max:g} us)"
    stalled_ms, span_ms = health.get("stalled_ms", 0.0), 1e3 * (WARMUP_S + plan.phases.measured_s)
    if stalled_ms > limits.stalled_share_max * span_ms:
        allowed = f"allowed {100 * limits.stalled_share_max:g} %"
        yield f"the host kept {who} from running for {stalled_ms:.1f} of {span_ms:.0f} ms ({allowed})"


def _models(plan: MplsFlapPlan, observation: Observation) -> Iterator[str]:
    """What the host did to the control planes of routers that the bench runs."""
    most_ms = plan.validity.flap_late_ms_max
    for name, late_us in observation.counters.items():
        device, is_late, _ = name.partition(LATE)
        if is_late and late_us > 1e3 * most_ms:
            yield f"the host kept the control plane of {device} from running for {late_us / 1e3:.0f} ms (allowed {most_ms:g} ms)"


def _flaps(plan: MplsFlapPlan, capture: Capture) -> Iterator[str]:
    """Each flap at its time after the first, and all windows within the span in which frames are measured."""
    begins, ends = (times_ns(capture.samples, kind) for kind in (EventKind.FLAP_BEGIN, EventKind.FLAP_END))
    count, most_ms = len(plan.phases.windows_s), plan.validity.flap_late_ms_max
    if (len(begins), len(ends)) != (count, count):
        yield f"expected {count} flaps, found {len(begins)} that began and {len(ends)} that ended"
        return
    due = np.array(starts(plan)) - plan.phases.prior_s
    off_ms = (begins - begins[0]) / 1e6 - 1e3 * due
    worst = int(np.argmax(np.abs(off_ms)))
    if abs(off_ms[worst]) > most_ms:
        yield f"flap {worst + 1} began {off_ms[worst]:+.0f} ms from when it should (allowed {most_ms:g} ms)"
    before_ms = (begins[0] - capture.batch_starts_ns[0]) / 1e6 - 1e3 * (plan.phases.prior_s - WARMUP_S)
    if before_ms < -most_ms:
        yield f"the first flap began {-before_ms:.0f} ms before its time in the traffic (allowed {most_ms:g} ms)"
    beyond_ms = (ends[-1] - capture.batch_starts_ns[-1]) / 1e6
    if beyond_ms > most_ms:
        yield f"the last window ended {beyond_ms:.0f} ms after the measured traffic (allowed {most_ms:g} ms)"


def _pace(plan: MplsFlapPlan, capture: Capture) -> Iterator[str]:
    """No span has more messages than the pace allows; and what a flap tears at once is torn as fast as that."""
    if plan.signalling.by is By.CONFIGURATION:
        return
    more = 1 + plan.validity.pace_deviation_max
    for kind, pace, what in (
        (EventKind.PATH_SENT, plan.signalling.setups_per_s, "PATH"),
        (EventKind.TEAR_SENT, plan.signalling.teardowns_per_s, "PATH_TEAR"),
    ):
        densest = _densest(times_ns(capture.samples, kind), round(1e9 * PACE_SPAN_S))
        if densest > pace * PACE_SPAN_S * more + PACE_EDGE:
            yield f"{densest} {what} were sent within {1e3 * PACE_SPAN_S:g} ms where {pace * PACE_SPAN_S:.0f} were intended"
    tears, begins = times_ns(capture.samples, EventKind.TEAR_SENT), times_ns(capture.samples, EventKind.FLAP_BEGIN)
    untils = [*begins[1:], *begins[-1:] + round(1e9 * plan.phases.windows_s[-1])]
    for flap, (begin, until) in enumerate(zip(begins, untils, strict=True), 1):
        mine = tears[(tears >= begin) & (tears < until)]
        asked_ms = 1e3 * len(mine) / plan.signalling.teardowns_per_s
        took_ms = float(mine[-1] - begin) / 1e6 if len(mine) else 0.0
        if took_ms > asked_ms * more + plan.validity.flap_late_ms_max:
            yield f"the {len(mine)} PATH_TEAR of flap {flap} took {took_ms:.0f} ms to send where {asked_ms:.0f} ms were intended"


def _densest(times: npt.NDArray[np.int64], span_ns: int) -> int:
    """The most events that lie within any span of that length."""
    return int(np.max(np.searchsorted(times, times + span_ns) - np.arange(len(times)), initial=0))


def times_ns(samples: Samples, kind: EventKind) -> npt.NDArray[np.int64]:
    """When events of a kind happened, ascending; what was sent again does not count."""
    return np.sort(samples.tx_ns[(samples.port == FIRST_EVENT + kind) & (samples.pcp == 0)])


def _capability(plan: MplsFlapPlan, trial: Trial, capture: Capture, calibration: Calibration) -> Iterator[str]:
    needed = plan.fps(plan.test(str(trial.point["test"])))
    if plan.signalling.by is By.CONFIGURATION:
        needed += flapping_fps(plan, int(trial.point["flapped"])) * int(trial.point["flapped"])
    if capture.sent and needed > calibration.honest_fps:
        honest = f"{calibration.honest_fps:.0f} frames/s"
        yield f"{needed:.0f} frames/s are needed, but the calibration found the generator honest up to {honest}"
