"""Which trials a plan makes, in which order.

Trials that share a chain and a hop count are neighbours, so that a chain is built once for all of them. Repetitions are rounds of the whole
sweep of sizes and rates: what drifts with time then spreads over all. The same size, rate and repetition has the same seed on every chain
and at every hop count, so all of them see the same frames at the same times.
"""

from rackproof.model.trial import Trial
from testplans.seeds import seed_from
from testplans.xpfe_delay.plan import XpfeDelayPlan

#: What a trial takes besides its traffic [s]: reading, analysis, storing.
OVERHEAD_S = 1.2


def expand(plan: XpfeDelayPlan) -> tuple[Trial, ...]:
    """All trials of the plan in the order in which they run."""
    trials: list[Trial] = []
    for chain in plan.chains:
        for hops in plan.hops:
            for repetition in range(1, plan.repetitions + 1):
                for size in plan.frame_bytes:
                    for rate in plan.rates_mbps:
                        again = f", repetition {repetition}" if plan.repetitions > 1 else ""
                        trials.append(
                            Trial(
                                index=len(trials) + 1,
                                label=f"{chain.name}, {hops} hop{'s' if hops > 1 else ''}, {size} bytes, {rate:g} Mbit/s{again}",
                                point={
                                    "chain": chain.name,
                                    "hops": hops,
                                    "frame_bytes": size,
                                    "rate_mbps": rate,
                                    "offered_mbps": plan.offered_mbps(rate),
                                },
                                repetition=repetition,
                                seed=seed_of(plan.seed, size, rate, repetition),
                                duration_s=plan.trial_s + OVERHEAD_S,
                            )
                        )
    return tuple(trials)


def seed_of(seed: int, frame_bytes: int, rate_mbps: float, repetition: int) -> int:
    """The seed of a trial (31 bits), from the plan's."""
    return seed_from(f"{seed}/{frame_bytes}/{float(rate_mbps)!r}/{repetition}")
