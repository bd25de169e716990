"""Which trials a plan makes, in which order.

Trials that share a device and a discipline are neighbours, so that a device is set up once for all of them. Repetitions are rounds of the
whole sweep: what drifts with time then spreads over all loads. The same load and repetition has the same seed on every device, so all
devices see the same frames at the same times.
"""

from rackproof.model.trial import Trial
from testplans.seeds import seed_from
from testplans.switch_qos.plan import SwitchQosPlan

#: What a trial takes besides its traffic [s]: reading, analysis, storing.
OVERHEAD_S = 0.1


def expand(plan: SwitchQosPlan) -> tuple[Trial, ...]:
    """All trials of the plan in the order in which they run."""
    trials: list[Trial] = []
    for device in plan.devices:
        for scheduler in plan.disciplines:
            for repetition in range(1, plan.repetitions + 1):
                for load in plan.load.per_sender_mbps:
                    again = f", repetition {repetition}" if plan.repetitions > 1 else ""
                    trials.append(
                        Trial(
                            index=len(trials) + 1,
                            label=f"{device.name}, {scheduler.label}, {load:g} Mbit/s{again}",
                            point={
                                "device": device.name,
                                "discipline": scheduler.discipline.value,
                                "scheduler": scheduler.label,
                                "load_mbps": load,
                            },
                            repetition=repetition,
                            seed=seed_of(plan.seed, load, repetition),
                            duration_s=plan.trial_s + OVERHEAD_S,
                        )
                    )
    return tuple(trials)


def seed_of(seed: int, load_mbps: float, repetition: int) -> int:
    """The seed of a trial (31 bits), from the plan's."""
    return seed_from(f"{seed}/{float(load_mbps)!r}/{repetition}")
