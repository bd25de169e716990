"""A trial before it ran, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rackproof.model.measurement import Curve, Measurement
from rackproof.model.traffic import Capture
from rackproof.model.verdict import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One measurement within a campaign: one point of the sweep, one repetition.

    index: its place in the campaign, from 1 (0 is the calibration). label: for people ("linux-htb, SP, 60 Mbit/s"). point: the swept values
    by name, plain scalars only, enough for the kind to know what to do. duration_s: what it is expected to take on the wall.
    """

    index: int
    label: str
    point: Mapping[str, float | int | str]
    repetition: int
    seed: int
    duration_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What a procedure brought back from one trial: what the generator saw, the device's counters by name, and what was seen in words.

    notes: texts by name that the analysis judges ("algorithm.1": what the sender of flow 1 was seen to use).
    """

    capture: Capture
    counters: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialResult:
    """What the analysis of a trial says.

    verdict is PASS where the trial is valid (criteria are judged over the campaign), INVALID, ERROR, TIMEOUT or ABORTED otherwise;
    reason is empty for PASS.
    """

    verdict: Verdict
    reason: str = ""
    measurements: tuple[Measurement, ...] = ()
    curves: tuple[Curve, ...] = ()
    health: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
