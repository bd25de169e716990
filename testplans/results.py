"""The result of a trial, as the analyses of kinds end."""

from collections.abc import Iterable

from rackproof.model.measurement import Curve, Measurement
from rackproof.model.trial import Observation, TrialResult
from rackproof.model.verdict import Verdict


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
