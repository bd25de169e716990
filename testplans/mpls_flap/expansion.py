"""Which trials a plan makes, in which order.

Trials of a network are neighbours, so that it is built once for all of them. Repetitions are rounds of all its points: what drifts with
time then spreads over all. The same point and repetition has the same seed on every network, so all see the same frames at the same times.
"""

from rackproof.model.trial import Trial
from testplans.mpls_flap.parts import Network, Test
from testplans.mpls_flap.plan import WARMUP_S, MplsFlapPlan
from testplans.seeds import seed_from

#: What a trial takes besides its phases and LSPs [s]: analysis, storing.
OVERHEAD_S = 1.5
#: LSPs that are set up or torn down in a second where nobody knows better: what a router does is what is measured.
LSPS_PER_S = 65.0


def expand(plan: MplsFlapPlan) -> tuple[Trial, ...]:
    """All trials of the plan in the order in which they run."""
    trials: list[Trial] = []
    for network in plan.networks:
        for repetition in range(1, plan.repetitions + 1):
            for test in plan.tests:
                trials += [_trial(plan, network, test, flapped, repetition, len(trials) + 1 + at) for at, flapped in enumerate(test.sweep)]
    return tuple(trials)


def _trial(plan: MplsFlapPlan, network: Network, test: Test, flapped: int, repetition: int, index: int) -> Trial:
    stable = test.stable_of(flapped)
    again = f", repetition {repetition}" if plan.repetitions > 1 else ""
    return Trial(
        index=index,
        label=f"{network.name}, test {test.name}, {stable} stable, {flapped} flapped{again}",
        point={
            "network": network.name,
            "shape": network.shape.value,
            "routers": network.routers,
            "test": test.name,
            "stable": stable,
            "flapped": flapped,
            "frame_bytes": test.frame_bytes,
            "rate_mbps": plan.rate_mbps(test),
            "offered_mbps": plan.offered_mbps(test),
        },
        repetition=repetition,
        seed=seed_from(f"{plan.seed}/{test.name}/{stable}/{flapped}/{repetition}"),
        duration_s=duration_s(plan, stable + flapped),
    )


def duration_s(plan: MplsFlapPlan, lsps: int) -> float:
    """What a trial is expected to take [s]; how fast a router sets LSPs up is not known before."""
    pace = min(LSPS_PER_S, plan.signalling.setups_per_s)
    return min(plan.signalling.setup_s, lsps / pace) + WARMUP_S + plan.phases.measured_s + plan.phases.drain_s + OVERHEAD_S
