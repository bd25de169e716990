"""What would a plan do, and can a testbed carry it? Found without touching anything."""

from collections.abc import Iterator

from rackproof.model.trial import Trial
from rackproof.ports import Limits
from testplans.congestion_control.expansion import expand, schemes_of
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.kind import Rehearsal

#: The device model that emulates the path.
PATH = "path"
#: Smallest packets that a scheme fills a path with [byte]: an estimate, for what the path must forward.
PACKET_BYTES = 1000
#: A run says little where it holds fewer round trips than this.
ROUND_TRIPS_MIN = 50


def rehearse(plan: CongestionControlPlan, limits: Limits) -> Rehearsal:
    """All trials with a note each, why the testbed must refuse the plan, and what its author should know."""
    trials = expand(plan)
    return Rehearsal(
        trials=trials,
        notes={trial.index: note(plan, trial) for trial in trials},
        refusals=tuple(_refusals(plan, limits)),
        warnings=tuple(_warnings(plan, limits)),
    )


def note(plan: CongestionControlPlan, trial: Trial) -> str:
    """What will happen in a trial: how many flows, on which path, and what a full buffer adds."""
    flows = len(schemes_of(trial))
    forward = plan.path.forward
    words = f"{flows} flow{'s' if flows > 1 else ''} for {plan.runtime_s:g} s {'on ' if forward is not None else ''}{plan.path.words}"
    if forward is None or forward.buffer_bytes is None:
        return words
    return f"{words}; a full buffer adds {forward.buffer_bytes * 8e3 / forward.capacity_bps:.3g} ms"


def _refusals(plan: CongestionControlPlan, limits: Limits) -> Iterator[str]:
    for at, host in enumerate(plan.path.hosts):
        if host not in limits.hosts:
            yield f"path.hosts[{at}]: expected a host of the testbed ({', '.join(limits.hosts) or 'it has none'}), found {host}"
        elif limits.hosts[host]:
            yield f"path.hosts[{at}]: {host} cannot be used here: {limits.hosts[host]}"
    if plan.path.forward is None:
        return
    if PATH not in limits.device_models:
        yield f"path: expected a testbed that can emulate a path (device model {PATH}), found {', '.join(limits.device_models) or 'none'}"
        return
    if limits.device_models[PATH]:
        yield f"path: the path cannot be emulated here: {limits.device_models[PATH]}"
    fastest = limits.link_rate_bps_max.get(PATH)
    for name, each in (("forward", plan.path.forward), ("backward", plan.path.backward or plan.path.forward)):
        if fastest is not None and each.capacity_bps > fastest:
            yield f"path.{name}: expected at most {fastest / 1e6:g} Mbit/s, which can be emulated, found {each.capacity_bps / 1e6:g}"


def _warnings(plan: CongestionControlPlan, limits: Limits) -> Iterator[str]:
    named = dict.fromkeys((*plan.schemes, *(scheme for mix in plan.mixes for scheme in mix)))
    for scheme in named:
        if limits.schemes.get(scheme):
            yield f"{scheme} cannot run here and keeps its place with the reason: {limits.schemes[scheme]}"
    forward = plan.path.known
    round_trip_s = (forward.delay_ms + (plan.path.backward or forward).delay_ms) / 1e3 if forward is not None else 0.0
    if round_trip_s and plan.runtime_s / round_trip_s < ROUND_TRIPS_MIN:
        yield f"a run of {plan.runtime_s:g} s holds {plan.runtime_s / round_trip_s:.0f} round trips: start-up decides what comes out"
    if plan.repetitions == 1:
        yield "one run of each scheme has no interval: nothing can be said of chance"
