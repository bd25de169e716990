"""What would a plan do, and can a testbed carry it? Found without touching anything."""

from collections.abc import Iterator

from rackproof.model.lsp import INSTANCES_MAX
from rackproof.model.trial import Trial
from rackproof.ports import Limits
from testplans.foresight import HEADROOM, models_refused, neat
from testplans.kind import Rehearsal
from testplans.mpls_flap import addresses
from testplans.mpls_flap.configured import flapping_fps
from testplans.mpls_flap.expansion import expand
from testplans.mpls_flap.parts import By, Network, Test
from testplans.mpls_flap.plan import BENCH, IP_FRAME_BYTES, MplsFlapPlan

#: What is left in routers by a run that was killed is gone after so many refresh intervals (RFC 2205, 3.7: (K + 0.5) x 1.5 R, K = 3).
LIFETIMES = 5.25
#: Longer than this [s], what is left stands in the way of who comes next.
LIFETIME_S_MAX = 300.0
#: Frames per second that routers of a bench forward on two processors, one router after the other, beside a generator; measured over three.
FORWARDED_FPS = 450e3
#: Fewer frames than this of an LSP in a phase leave the interval of its delay wide.
FRAMES_MIN = 20


def rehearse(plan: MplsFlapPlan, limits: Limits) -> Rehearsal:
    """All trials with a note each, why the testbed must refuse the plan, and what its author should know."""
    trials = expand(plan)
    return Rehearsal(
        trials=trials,
        notes={trial.index: note(plan, trial) for trial in trials},
        refusals=(*_signals(limits), *_rates(plan, limits), *_instances(plan), *_models(plan, limits)),
        warnings=(*warnings(plan), *_notes(plan, limits)),
    )


def note(plan: MplsFlapPlan, trial: Trial) -> str:
    """What will happen in a trial: what is sent, and what is torn down how fast."""
    test, flapped = plan.test(str(trial.point["test"])), int(trial.point["flapped"])
    sent = f"{plan.offered_mbps(test):g} Mbit/s offered, {plan.fps(test):.0f} frames/s"
    windows = f"{len(plan.phases.windows_s)} flaps"
    if plan.signalling.by is By.CONFIGURATION:
        return f"{sent}; {windows} of {flapped} LSPs by configuration"
    tears_ms, each_ms = 1e3 * flapped / plan.signalling.teardowns_per_s, 1e3 * plan.phases.windows_s[0] / flapped
    return f"{sent}; {windows} of {flapped} LSPs, torn within {tears_ms:.0f} ms; K = N takes {each_ms:.3g} ms an LSP or less"


def demand(plan: MplsFlapPlan, limits: Limits, network: Network, test: Test) -> tuple[float, float, str]:
    """Frames per second needed and carried, and by what: the generator or the routers of a bench, whichever is nearer its end."""
    fps = plan.fps(test)
    if plan.signalling.by is By.CONFIGURATION:
        fps += max(flapping_fps(plan, flapped) * flapped for flapped in test.sweep)
    found = [(fps, min(limits.send_fps, limits.receive_fps), "the generator can pace and record")]
    if plan.testbed == BENCH:
        passed = max(len(addresses.path(lsp, network.routers, ring=network.ring)) for lsp in (0, 1))
        routers = f"the {passed} routers of an LSP can forward together" if passed > 1 else "one router can forward"
        found.append((fps * passed, FORWARDED_FPS, f"{routers} on this bench"))
    return max(found, key=lambda each: each[0] / each[1])


def scale_for(plan: MplsFlapPlan, limits: Limits) -> float:
    """The largest neat rate_scale at which the testbed carries the whole plan, with some headroom; the plan's own where that is carried."""
    pairs = [demand(plan, limits, network, test) for network in plan.networks for test in plan.tests]
    share = max(needed / carried for needed, carried, _ in pairs)
    return plan.rate_scale if share <= 1 else neat(plan.rate_scale / share * HEADROOM)


def _signals(limits: Limits) -> Iterator[str]:
    """Also LSPs of static labels need the emulated LERs: somebody must answer ARP at the egress."""
    if limits.signalling:
        yield f"no LER can be emulated here: {limits.signalling}"


def _rates(plan: MplsFlapPlan, limits: Limits) -> Iterator[str]:
    refused = False
    for network in plan.networks:
        found = [(demand(plan, limits, network, test), test) for test in plan.tests]
        beyond = [(each, test) for each, test in found if each[0] > each[1]]
        if beyond:
            refused = True
            (needed, carried, by), test = max(beyond, key=lambda each: each[0][0] / each[0][1])
            yield (
                f"{network.name}: expected at most {carried:.0f} frames/s, which {by}, found {needed:.0f} at "
                f"{plan.rate_mbps(test):g} Mbit/s with frames of {test.frame_bytes} bytes; "
                f"{len(beyond)} of {len(plan.tests)} tests are beyond it"
            )
    if refused and (scale := scale_for(plan, limits)) > 0:
        highest = max(plan.rate_mbps(test) for test in plan.tests)
        yield (
            f"rate_scale: expected at most {scale:g}, found {plan.rate_scale:g}: with the line `rate_scale: {scale:g}` in the plan, this "
            f"testbed carries all of it; {highest:g} Mbit/s are then sent as {highest * scale:g}, and the report says so"
        )


def _instances(plan: MplsFlapPlan) -> Iterator[str]:
    if plan.signalling.by is By.CONFIGURATION:
        return
    for test in plan.tests:
        most = max(test.stable_of(flapped) + flapped * (1 + len(plan.phases.windows_s)) for flapped in test.sweep)
        if most > INSTANCES_MAX:
            yield (
                f"test {test.name}: expected at most {INSTANCES_MAX} LSPs in a trial, each that is set up again counted again, "
                f"found up to {most}"
            )


def _models(plan: MplsFlapPlan, limits: Limits) -> Iterator[str]:
    for at, network in enumerate(plan.networks):
        models = [network.spec(router).model for router in network.numbers]
        yield from models_refused(f"networks[{at}] {network.name}", models, network.options, limits)


def _notes(plan: MplsFlapPlan, limits: Limits) -> Iterator[str]:
    for network in plan.networks:
        for said in limits.notes.get(network.spec(1).model, {}).get("mpls", ()):
            yield f"{network.name}: {said}"
    if plan.testbed != BENCH:
        yield "a generator that counts, and keeps no frames, gives loss and delay over the whole trial, not before and during flaps"


def warnings(plan: MplsFlapPlan) -> Iterator[str]:
    """What a plan can run with, but its author should know."""
    for test in plan.tests:
        if plan.rate_mbps(test) < test.rate_mbps:
            most = f"at {test.frame_bytes} bytes {test.rate_mbps:g} Mbit/s is {plan.rate_mbps(test):g}"
            yield f"test {test.name}: {most}: preamble and gap take the rest of {plan.link.rate_mbps:g} Mbit/s"
        for flapped in test.sweep:
            frames = plan.fps(test) / test.stable_of(flapped) * min(plan.phases.prior_s, sum(plan.phases.windows_s))
            if frames < FRAMES_MIN:
                yield f"test {test.name}, {flapped} flapped: {frames:.0f} frames an LSP and phase: the interval of its delay will be wide"
                break
    if small := [test.name for test in plan.tests if test.frame_bytes < IP_FRAME_BYTES]:
        yield f"tests {', '.join(small)}: frames below {IP_FRAME_BYTES} bytes have no room for an IP header behind the label"
    if plan.rate_scale < 1:
        rates = dict.fromkeys(plan.rate_mbps(test) for test in plan.tests)
        said = ", ".join(f"{rate:g} as {rate * plan.rate_scale:g}" for rate in rates)
        yield f"rate_scale {plan.rate_scale:g}: what is sent is less than trials are called by (Mbit/s: {said}), so queues are emptier"
    asked = plan.signalling
    if asked.by is By.CONFIGURATION:
        yield "by configuration: where routers take longer to be configured than a window lasts, the trial is INVALID"
        return
    yield f"how fast the routers set LSPs up is not known before: a trial may take up to {asked.setup_s:g} s longer than is said here"
    if asked.refresh_s * LIFETIMES > LIFETIME_S_MAX:
        longest_s = asked.refresh_s * LIFETIMES
        yield f"refresh_s {asked.refresh_s:g}: LSPs that a killed run leaves stay in the routers for up to {longest_s:.0f} s"
    for test in plan.tests:
        slow = [flapped for flapped in test.sweep if flapped / asked.teardowns_per_s > plan.phases.windows_s[0]]
        if slow:
            yield f"test {test.name}: {slow[0]} tears at {asked.teardowns_per_s:g}/s outlast the first window: K is then the pace's"
