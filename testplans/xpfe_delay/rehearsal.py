"""What would a plan do, and can a testbed carry it? Found without touching anything."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from rackproof.model.traffic import Arrivals
from rackproof.model.trial import Trial
from rackproof.ports import Limits
from rackproof.units import Layer, wire_bits
from testplans.foresight import HEADROOM, models_refused, neat
from testplans.kind import Rehearsal
from testplans.xpfe_delay.expansion import expand
from testplans.xpfe_delay.parts import Chain
from testplans.xpfe_delay.plan import BENCH, XpfeDelayPlan

#: Fewer frames than this leave the interval of a 99th percentile wide.
FRAMES_MIN = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One point of the sweep."""

    chain: Chain
    hops: int
    frame_bytes: int
    rate_mbps: float


def points(plan: XpfeDelayPlan) -> Iterator[Point]:
    """All points of the sweep."""
    for chain, hops, size, rate in itertools.product(plan.chains, plan.hops, plan.frame_bytes, plan.rates_mbps):
        yield Point(chain=chain, hops=hops, frame_bytes=size, rate_mbps=rate)


def rehearse(plan: XpfeDelayPlan, limits: Limits) -> Rehearsal:
    """All trials with a note each, why the testbed must refuse the plan, and what its author should know."""
    trials = expand(plan)
    return Rehearsal(
        trials=trials,
        notes={trial.index: note(plan, trial) for trial in trials},
        refusals=(*_arrivals(plan, limits), *_rates(plan, limits), *_models(plan, limits)),
        warnings=(*warnings(plan), *_notes(plan, limits)),
    )


def note(plan: XpfeDelayPlan, trial: Trial) -> str:
    """What will happen in a trial: what is sent, how full the links are, what they take of the delay."""
    chain, hops = plan.chain(str(trial.point["chain"])), int(trial.point["hops"])
    size, rate = int(trial.point["frame_bytes"]), float(trial.point["rate_mbps"])
    sent = f"{plan.offered_mbps(rate):g} Mbit/s offered, {plan.fps(rate, size):.0f} frames/s"
    if hops == 1:
        return f"{sent}; no link between elements"
    load = 100 * plan.link_bps(chain, rate, size) / plan.link.rate_bps
    each_us = wire_bits(size + chain.overhead_bytes, Layer.L1) / plan.link.rate_mbps
    return f"{sent}; links {load:.0f} % full, {hops - 1} x {each_us:.2f} us to serialise"


def demand(plan: XpfeDelayPlan, limits: Limits, point: Point) -> tuple[float, float]:
    """Frames per second that are needed, and that are carried: by the generator, or by all links together, whichever is nearer its end."""
    fps, links = plan.fps(point.rate_mbps, point.frame_bytes), point.hops - 1
    generator = (fps + links * plan.background_fps, min(limits.send_fps, limits.receive_fps))
    wires = ((fps + plan.background_fps) * links, limits.wires_fps.get(point.chain.spec(1).model, math.inf))
    return max(generator, wires, key=lambda pair: pair[0] / pair[1])


def scale_for(plan: XpfeDelayPlan, limits: Limits) -> float:
    """The largest neat rate_scale at which the testbed carries the whole plan, with some headroom; the plan's own where that is carried."""
    shares = [needed / carried for needed, carried in (demand(plan, limits, point) for point in points(plan))]
    return plan.rate_scale if max(shares) <= 1 else neat(plan.rate_scale / max(shares) * HEADROOM)


def _rates(plan: XpfeDelayPlan, limits: Limits) -> Iterator[str]:
    refused = False
    for chain in plan.chains:
        for hops in plan.hops:
            mine = [point for point in points(plan) if (point.chain, point.hops) == (chain, hops)]
            beyond = [(demand(plan, limits, point), point) for point in mine]
            beyond = [(found, point) for found, point in beyond if found[0] > found[1]]
            if beyond:
                refused = True
                (needed, carried), worst = max(beyond, key=lambda each: each[0][0] / each[0][1])
                of, more = f"{len(beyond)} of {len(mine)} points", f"{worst.rate_mbps:g} Mbit/s with frames of {worst.frame_bytes} bytes"
                yield (
                    f"{chain.name}, {hops} hop{'s' if hops > 1 else ''}: expected at most {carried:.0f} frames/s, which this testbed "
                    f"carries over all links of such a chain together, found {needed:.0f} at {more}; {of} are beyond it"
                )
    if refused and (scale := scale_for(plan, limits)) > 0:
        highest = max(plan.rates_mbps)
        yield (
            f"rate_scale: expected at most {scale:g}, found {plan.rate_scale:g}: with the line `rate_scale: {scale:g}` in the plan, this "
            f"testbed carries all of it; {highest:g} Mbit/s are then sent as {highest * scale:g}, and the report says so"
        )


def _arrivals(plan: XpfeDelayPlan, limits: Limits) -> Iterator[str]:
    named = [("arrivals", plan.arrivals)]
    if plan.background is not None:
        named.append(("background.arrivals", plan.background.arrivals))
    for key, law in named:
        why = limits.arrivals.get(law, "")
        if why:
            yield f"{key}: {law} cannot be sent here: {why}"


def _models(plan: XpfeDelayPlan, limits: Limits) -> Iterator[str]:
    for at, chain in enumerate(plan.chains):
        models = [chain.spec(number).model for number in range(1, plan.hops_max + 1)]
        yield from models_refused(f"chains[{at}] {chain.name}", models, chain.options, limits)


def _notes(plan: XpfeDelayPlan, limits: Limits) -> Iterator[str]:
    for chain in plan.chains:
        for note in limits.notes.get(chain.spec(1).model, {}).get("forwarding-element", ()):
            yield f"{chain.name}: {note}"
    for note in limits.notes.get("generator", {}).get(plan.arrivals, ()):
        yield f"generator: {note}"
    if plan.testbed != BENCH:
        yield "a generator that counts, and keeps no frames, gives delays as coarse as its histogram, and no intervals"


def warnings(plan: XpfeDelayPlan) -> Iterator[str]:
    """What a plan can run with, but its author should know."""
    if plan.rate_scale < 1:
        rates = ", ".join(f"{rate:g} as {plan.offered_mbps(rate):g}" for rate in plan.rates_mbps)
        yield f"rate_scale {plan.rate_scale:g}: what is sent is less than trials are called by (Mbit/s: {rates}), so links are emptier"
    for chain in plan.chains:
        full = [
            (rate, size)
            for rate in plan.rates_mbps
            for size in plan.frame_bytes
            if plan.hops_max > 1 and plan.link_bps(chain, rate, size) > plan.link.rate_bps
        ]
        if full:
            rate, size = full[0]
            why = "the links between its elements get more than they carry: what is measured is how long their queues are"
            yield f"{chain.name}, {rate:g} Mbit/s, {size} bytes: {why}"
    fewest = plan.fps(min(plan.rates_mbps), max(plan.frame_bytes)) * plan.trial.duration_s
    if fewest < FRAMES_MIN:
        yield f"a trial has as few as {fewest:.0f} frames: intervals of high percentiles will be wide, or there will be none"
    if plan.arrivals is Arrivals.CONSTANT and plan.background is not None and plan.background.arrivals is Arrivals.CONSTANT:
        yield "constant streams that share a link lock phase: frames then wait always, or never"
    sizes, hops = len(plan.frame_bytes), len(plan.hops)
    if sizes < 2:
        yield "one frame size: the part of the delay that grows with size cannot be told from the rest"
    if hops < 2:
        yield "one hop count: nothing can be predicted of others"
