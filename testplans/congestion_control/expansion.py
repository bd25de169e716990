"""Which trials a plan makes, in which order: for each run, every test, shuffled by the seed, so that what drifts spreads over all."""

import random

from rackproof.model.trial import Trial
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.seeds import seed_from

#: What a trial takes besides its runtime [s]: both sides start, end, and the analysis.
OVERHEAD_S = 1.5
#: Between real hosts: the same over SSH, and captures that begin, end and come here.
OVERHEAD_BETWEEN_HOSTS_S = 6.0


def expand(plan: CongestionControlPlan) -> tuple[Trial, ...]:
    """All trials of the plan in the order in which they run."""
    trials: list[Trial] = []
    overhead_s = OVERHEAD_BETWEEN_HOSTS_S if plan.path.hosts else OVERHEAD_S
    shuffle = random.Random(plan.seed)  # noqa: S311 - the order of tests is no secret
    for run in range(1, plan.repetitions + 1):
        tests = list(plan.tests)
        if plan.order == "shuffled":
            shuffle.shuffle(tests)
        for label, schemes in tests:
            point: dict[str, float | int | str] = {"scheme": label}
            if len(schemes) > 1:
                point |= {f"flow.{flow}": scheme for flow, scheme in enumerate(schemes, 1)}
            trials.append(
                Trial(
                    index=len(trials) + 1,
                    label=f"{label}, run {run}",
                    point=point,
                    repetition=run,
                    seed=seed_of(plan.seed, run),
                    duration_s=plan.runtime_s + overhead_s,
                )
            )
    return tuple(trials)


def schemes_of(trial: Trial) -> tuple[str, ...]:
    """The scheme of each flow of a trial."""
    flows = [str(value) for name, value in trial.point.items() if name.startswith("flow.")]
    return tuple(flows) or (str(trial.point["scheme"]),)


def seed_of(seed: int, run: int) -> int:
    """The seed of a run (31 bits), from the plan's: every scheme meets the same random loss."""
    return seed_from(f"{seed}/{run}")
