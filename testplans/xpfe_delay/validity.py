"""Did the trial do what was intended? A reason where it did not, "" where its numbers can be trusted. Loss alone is no reason."""

from collections.abc import Iterator, Mapping

from rackproof.model.traffic import Arrivals, Calibration, Capture
from rackproof.model.trial import Observation, Trial
from testplans.xpfe_delay.flow import Flow
from testplans.xpfe_delay.plan import XpfeDelayPlan
from testplans.xpfe_delay.procedure import MEASURED, WIRES

#: Frames by which a count may be off because a mark falls between two frames.
EDGE_FRAMES = 2
#: The number of Poisson arrivals may leave its mean by this many standard deviations: once in two million trials by chance.
POISSON_SIGMAS = 5.0
#: Fewer delays than this say nothing of how they are spread.
FRAMES_MIN = 50
#: Less full than this, a link loses nothing that waits in a queue of so many frames.
IDLE_SHARE = 0.9
LONG_QUEUE_FRAMES = 100


def missing(plan: XpfeDelayPlan, trial: Trial, capture: Capture) -> str:
    """Why the capture cannot be analysed at all, "" where it can."""
    streams = [MEASURED, *(range(1, int(trial.point["hops"])) if plan.background is not None else ())]
    absent = [str(stream) for stream in streams if stream not in capture.sent]
    if absent:
        return f"the generator reports nothing of the streams {', '.join(absent)}"
    marks = {len(capture.batch_starts_ns), len(capture.sent[MEASURED].first_sequence)}
    if marks != {plan.trial.batches + 1}:
        return f"expected {plan.trial.batches + 1} marks of the batches, found {', '.join(map(str, sorted(marks)))}: sending stopped early"
    return ""


def reason(plan: XpfeDelayPlan, trial: Trial, observation: Observation, flow: Flow | None, calibration: Calibration) -> str:
    """Why the trial is INVALID; all reasons, joined. flow: None where the generator counts and keeps no frames."""
    capture = observation.capture
    found = [*_span(plan, capture), *_offered(plan, trial, capture), *_generator(plan, capture), *_links(plan, capture)]
    found += _capability(plan, trial, calibration)
    if flow is not None:
        found += [*_arrivals(flow), *_room(plan, trial, flow)]
    return "; ".join(found)


def _span(plan: XpfeDelayPlan, capture: Capture) -> Iterator[str]:
    span_s = float(capture.batch_starts_ns[-1] - capture.batch_starts_ns[0]) / 1e9
    if abs(span_s - plan.trial.duration_s) > 0.005 * plan.trial.duration_s:
        yield f"the measured span lasted {span_s:.4f} s instead of {plan.trial.duration_s:g} s"


def _offered(plan: XpfeDelayPlan, trial: Trial, capture: Capture) -> Iterator[str]:
    most = plan.validity.offered_deviation_max
    for stream, sent in sorted(capture.sent.items()):
        who = "the measured stream" if stream == MEASURED else f"background of hop {stream}"
        frames, intended = sent.frames, sent.intended_frames
        if abs(frames - intended) > max(most * intended, EDGE_FRAMES):
            percent = 100 * (frames - intended) / intended if intended else float("inf")
            yield f"{who} sent {frames} frames where {intended} were intended ({percent:+.2f} %, allowed {100 * most:g} %)"
        fps = plan.fps(float(trial.point["rate_mbps"]), int(trial.point["frame_bytes"])) if stream == MEASURED else plan.background_fps
        planned = fps * plan.trial.duration_s
        arrivals = plan.arrivals if stream == MEASURED or plan.background is None else plan.background.arrivals
        chance = POISSON_SIGMAS * planned**0.5 if arrivals is Arrivals.POISSON else 0.0
        if abs(intended - planned) > most * planned + chance + EDGE_FRAMES:
            yield f"{who} was given a schedule of {intended} frames, but the plan's rate is {planned:.0f} frames"


def _generator(plan: XpfeDelayPlan, capture: Capture) -> Iterator[str]:
    health, limits = capture.health, plan.validity
    late = health.get("lateness_p99_us", 0.0)
    if late > limits.lateness_p99_us_max:
        yield f"1 % of the frames were sent {late:.0f} us late or more (allowed {limits.lateness_p99_us_max:.0f} us): the host was busy"
    for key, what in (("ring_drops", "the receiver's ring had no room for"), ("overflow", "the receiver's memory had no room for")):
        if health.get(key, 0) > 0:
            yield f"{what} {health[key]:.0f} frames: their loss is not the chain's"
    step = abs(health.get("clock_step_us", 0.0))
    if step > limits.clock_step_us_max:
        yield f"the wall clock was moved by {step:.0f} us during the trial (allowed {limits.clock_step_us_max:g} us)"
    yield from _stalls(plan, health, limits.stalled_share_max, "the sender")


def _stalls(plan: XpfeDelayPlan, health: Mapping[str, float], most: float, whom: str) -> Iterator[str]:
    stalled_ms, sending_ms = health.get("stalled_ms", 0.0), 1e3 * (plan.trial.warmup_s + plan.trial.duration_s)
    if stalled_ms > most * sending_ms:
        yield f"the host kept {whom} from running for {stalled_ms:.1f} of {sending_ms:.0f} ms (allowed {100 * most:g} %)"


def _links(plan: XpfeDelayPlan, capture: Capture) -> Iterator[str]:
    health = {name.removeprefix(WIRES): value for name, value in capture.health.items() if name.startswith(WIRES)}
    for key, what in (
        ("ring_drops", "the host lost before an emulated link saw them"),
        ("send_errors", "an emulated link could not hand on"),
        ("overflow", "the record of the emulated links had no room for"),
    ):
        if health.get(key, 0) > 0:
            yield f"{health[key]:.0f} frames {what}: they are not the chain's loss"
    late, most = health.get("lateness_p99_us", 0.0), plan.validity.wire_lateness_p99_us_max
    if late > most:
        yield f"1 % of the frames left an emulated link {late:.0f} us late or more (allowed {most:.0f} us): the host was busy"
    mostly = max((value for name, value in health.items() if name.startswith("lateness_p50_us.")), default=0.0)
    if mostly > plan.validity.wire_lateness_p50_us_max:
        allowed = f"allowed {plan.validity.wire_lateness_p50_us_max:g} us"
        yield f"half of the frames left an emulated link {mostly:.1f} us late or more ({allowed}), which cannot be told from the network"
    yield from _stalls(plan, health, plan.validity.wire_stalled_share_max, "the emulated links")
    step = abs(health.get("clock_step_us", 0.0))
    if step > plan.validity.clock_step_us_max:
        yield f"the wall clock was moved by {step:.0f} us while the links recorded (allowed {plan.validity.clock_step_us_max:g} us)"


def _capability(plan: XpfeDelayPlan, trial: Trial, calibration: Calibration) -> Iterator[str]:
    needed = plan.fps(float(trial.point["rate_mbps"]), int(trial.point["frame_bytes"]))
    needed += plan.background_fps * (int(trial.point["hops"]) - 1)
    if needed > calibration.honest_fps:
        honest = f"{calibration.honest_fps:.0f} frames/s"
        yield f"{needed:.0f} frames/s are needed, but the calibration found the generator honest up to {honest}"


def _room(plan: XpfeDelayPlan, trial: Trial, flow: Flow) -> Iterator[str]:
    """Frames that a link lost although its queue must have had room: what is offered leaves it idle, and the queue is long."""
    lost = sum(fate.lost_on_link for fate in flow.fates)
    chain, size, rate = plan.chain(str(trial.point["chain"])), int(trial.point["frame_bytes"]), float(trial.point["rate_mbps"])
    share = plan.link_bps(chain, rate, size) / plan.link.rate_bps
    if lost and share < IDLE_SHARE and plan.link.queue_frames >= LONG_QUEUE_FRAMES:
        why = "the host came with too many at a time, or did not hand them on"
        yield f"{lost} frames were lost at emulated links that are {100 * share:.0f} % full: {why}"


def _arrivals(flow: Flow) -> Iterator[str]:
    if flow.received < FRAMES_MIN:
        few = f"{flow.received} of {flow.sent} frames arrived, too few to say anything of their delay"
        yield f"{few}: check cabling, VLAN and the elements' tables"
    if flow.path.unseen:
        yield f"{flow.path.unseen} frames arrived that an emulated link has no record of: what the hops took is not known"
