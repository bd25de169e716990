"""What are the plans of a suite, in words? By their texts alone; one that can no longer be used says so."""

from dataclasses import dataclass
from functools import lru_cache

from rackproof.errors import PlanError, RackproofError
from testplans.submission import submission


@dataclass(frozen=True, kw_only=True, slots=True)
class Described:
    """A plan in words. duration_s: the expected wall time of all trials [s]; error: why it cannot be run, "" where it can."""

    name: str
    kind: str
    testbed: str
    trials: int
    duration_s: float
    error: str


@lru_cache(maxsize=512)
def described(text: str) -> Described:
    """A plan's text in words; the same text is expanded once."""
    try:
        read = submission(text.encode())
    except PlanError as error:
        return _unusable("; ".join(map(str, error.problems)))
    except RackproofError as error:
        return _unusable(str(error))
    return Described(
        name=read.plan.name,
        kind=read.plan.kind,
        testbed=read.plan.testbed,
        trials=len(read.trials),
        duration_s=sum(trial.duration_s for trial in read.trials),
        error="",
    )


def _unusable(error: str) -> Described:
    return Described(name="a plan that cannot be used", kind="", testbed="", trials=0, duration_s=0.0, error=error)
