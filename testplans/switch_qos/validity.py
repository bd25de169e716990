"""Did the trial do what was intended? A reason where it did not, "" where its numbers can be trusted."""

from collections.abc import Iterable, Iterator, Sequence

from rackproof.model.traffic import Arrivals, Calibration, Capture
from rackproof.model.trial import Observation
from testplans.switch_qos.counted import faults, is_counted
from testplans.switch_qos.flows import FlowData
from testplans.switch_qos.of_plan import IdealPoint
from testplans.switch_qos.plan import SwitchQosPlan

#: Frames by which a count may be off because a mark falls between two frames.
EDGE_FRAMES = 2
#: The number of Poisson arrivals may leave its mean by this many standard deviations: once in two million trials by chance.
POISSON_SIGMAS = 5.0
#: A flow must show itself if the ideal switch passes at least this many of its frames.
MUST_ARRIVE_FRAMES = 20


def missing_flows(plan: SwitchQosPlan, capture: Capture) -> str:
    """Why the capture cannot be analysed at all, "" where it can."""
    absent = [str(sender) for sender in range(plan.traffic.senders) if sender not in capture.sent]
    if absent:
        return f"the generator reports nothing of the senders {', '.join(absent)}"
    if is_counted(capture):
        uncounted = [str(sender) for sender in range(plan.traffic.senders) if sender not in capture.tallies]
        if uncounted:
            return f"the generator counted nothing of the senders {', '.join(uncounted)}"
    marks = {len(capture.batch_starts_ns), *(len(sent.first_sequence) for sent in capture.sent.values())}
    if marks != {plan.trial.batches + 1}:
        return f"expected {plan.trial.batches + 1} marks of the batches, found {', '.join(map(str, sorted(marks)))}: sending stopped early"
    return ""


def reason(
    plan: SwitchQosPlan, load_mbps: float, observation: Observation, flows: Sequence[FlowData], ideal: IdealPoint, calibration: Calibration
) -> str:
    """Why the trial is INVALID; all reasons, joined."""
    capture = observation.capture
    return "; ".join(
        _all(
            _span(plan, capture),
            _offered(plan, load_mbps, flows),
            _generator(plan, capture),
            _bench(plan, observation),
            _capability(plan, load_mbps, calibration),
            _arrivals(plan, capture, flows, ideal),
        )
    )


def _all(*groups: Iterable[str]) -> Iterator[str]:
    for group in groups:
        yield from group


def _span(plan: SwitchQosPlan, capture: Capture) -> Iterator[str]:
    span_s = float(capture.batch_starts_ns[-1] - capture.batch_starts_ns[0]) / 1e9
    if abs(span_s - plan.trial.duration_s) > 0.005 * plan.trial.duration_s:
        yield f"the measured span lasted {span_s:.4f} s instead of {plan.trial.duration_s:g} s"


def _offered(plan: SwitchQosPlan, load_mbps: float, flows: Sequence[FlowData]) -> Iterator[str]:
    most = plan.validity.offered_deviation_max
    sent_all = intended_all = 0
    for sender, flow in enumerate(flows):
        sent, intended = int(flow.sent_frames.sum()), flow.intended_frames
        sent_all, intended_all = sent_all + sent, intended_all + intended
        if abs(sent - intended) > max(most * intended, EDGE_FRAMES):
            yield _deviation(f"sender {sender}", sent, intended, most)
        planned = plan.sender_fps(sender, load_mbps) * plan.trial.duration_s
        chance = POISSON_SIGMAS * planned**0.5 if plan.traffic.arrivals is Arrivals.POISSON else 0.0
        if abs(intended - planned) > most * planned + chance + EDGE_FRAMES:
            yield f"sender {sender} was given a schedule of {intended} frames, but the plan's load is {planned:.0f} frames"
    if abs(sent_all - intended_all) > max(most * intended_all, EDGE_FRAMES):
        yield _deviation("all senders", sent_all, intended_all, most)


def _deviation(who: str, sent: int, intended: int, most: float) -> str:
    percent = 100 * (sent - intended) / intended if intended else float("inf")
    return f"{who} sent {sent} frames where {intended} were intended ({percent:+.2f} %, allowed {100 * most:g} %)"


def _generator(plan: SwitchQosPlan, capture: Capture) -> Iterator[str]:
    health = capture.health
    late, most = health.get("lateness_p99_us", 0.0), plan.lateness_p99_us_max
    if late > most:
        yield f"1 % of the frames were sent {late:.0f} us late or more (allowed {most:.0f} us): the host was busy"
    for key, what in (("ring_drops", "the receiver's ring had no room for"), ("overflow", "the receiver's memory had no room for")):
        if health.get(key, 0) > 0:
            yield f"{what} {health[key]:.0f} frames: their loss is not the device's"
    step, step_max = abs(health.get("clock_step_us", 0.0)), plan.validity.clock_step_us_max
    if step > step_max:
        yield f"the wall clock was moved by {step:.0f} us during the trial (allowed {step_max:g} us)"


def _bench(plan: SwitchQosPlan, observation: Observation) -> Iterator[str]:
    counters = observation.counters
    drops = counters.get("ring_drops", 0)
    if drops > 0:
        yield f"the host lost {drops} frames before the emulated switch saw them: their loss is not the device's"
    # A device that tells how late it delivers keeps its schedule in virtual time, whatever the host does. A kernel device does not: its
    # link idles while the processor is taken away, and that is not the device's doing.
    stalled_ms, sending_ms = observation.capture.health.get("stalled_ms", 0.0), 1e3 * (plan.trial.warmup_s + plan.trial.duration_s)
    if "delivery_lateness_p99_ns" not in counters and stalled_ms > plan.validity.stalled_share_max * sending_ms:
        allowed = 100 * plan.validity.stalled_share_max
        yield f"the host took the processor away for {stalled_ms:.1f} of {sending_ms:.0f} ms (allowed {allowed:g} %)"


def _capability(plan: SwitchQosPlan, load_mbps: float, calibration: Calibration) -> Iterator[str]:
    needed = sum(plan.sender_fps(sender, load_mbps) for sender in range(plan.traffic.senders))
    if needed > calibration.honest_fps:
        honest = f"{calibration.honest_fps:.0f} frames/s"
        yield f"{needed:.0f} frames/s are needed, but the calibration found the generator honest up to {honest}"


def _arrivals(plan: SwitchQosPlan, capture: Capture, flows: Sequence[FlowData], ideal: IdealPoint) -> Iterator[str]:
    if is_counted(capture):
        yield from faults(capture, range(plan.traffic.senders))
    strangers = len(capture.samples) - sum(flow.arrivals for flow in flows)
    if strangers > 0:
        yield f"{strangers} frames of streams arrived that were not sent"
    for sender, flow in enumerate(flows):
        expected = plan.sender_fps(sender, ideal.flow_mbps[sender]) * plan.trial.duration_s
        if flow.arrivals == 0 and expected >= MUST_ARRIVE_FRAMES:
            yield f"no frame of sender {sender} arrived, though an ideal switch passes {expected:.0f}: check cabling and VLAN"
        if flow.wrong_pcp:
            priority = plan.traffic.sender_priorities[sender]
            yield f"{flow.wrong_pcp} frames of sender {sender} arrived with another VLAN priority than {priority}"
