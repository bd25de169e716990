"""The result of a trial: as the analyses of kinds end, and its numbers by name and subject."""

from collections.abc import Callable, Iterable, Mapping

from rackproof.model.measurement import Curve, Measurement
from rackproof.model.trial import Observation, TrialResult
from rackproof.model.verdict import Verdict

#: A number by its name and subject, None where there is none: get("flap.k", flap="1").
Get = Callable[..., Measurement | None]
#: A measurement's name and subject.
Name = tuple[str, frozenset[tuple[str, str]]]


def result(observation: Observation, why: str, measurements: Iterable[Measurement] = (), curves: Iterable[Curve] = ()) -> TrialResult:
    """PASS, or INVALID where there is a reason (why); health and counters as they were observed."""
    return TrialResult(
        verdict=Verdict.INVALID if why else Verdict.PASS,
        reason=why,
        measurements=tuple(measurements),
        curves=tuple(curves),
        health=observation.capture.health,
        counters=observation.counters,
    )


def by_name(result: TrialResult) -> Mapping[Name, Measurement]:
    """All numbers of a result."""
    return {(each.name, frozenset(each.subject.items())): each for each in result.measurements}


def getter(result: TrialResult) -> Get:
    """What gives the numbers of a result."""
    found = by_name(result)

    def get(name: str, **subject: str) -> Measurement | None:
        return found.get((name, frozenset(subject.items())))

    return get
