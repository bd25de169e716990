"""A campaign: one submission of a plan, and all that came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from rackproof.model.finding import Finding
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict


class CampaignState(StrEnum):
    """Where a campaign is. INTERRUPTED: its process is gone before the end; it can be resumed."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    INTERRUPTED = "INTERRUPTED"
    ABORTED = "ABORTED"
    FAILED = "FAILED"
    DONE = "DONE"


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplesFile:
    """Where the raw samples of a trial are: a path relative to the samples folder, its SHA-256 (hex), and how many rows it has."""

    path: str
    sha256: str
    rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRecord:
    """A trial with what came of it; result is None while it has not run."""

    trial: Trial
    result: TrialResult | None = None
    samples: SamplesFile | None = None
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignRecord:
    """All that is known of a campaign: findings and reports are made from this and nothing else.

    plan: the validated plan as plain data, defaults filled in; plan_text: the file as it was submitted, whose hash plan_sha256 (hex) is.
    provenance: what was written down before the first trial, by topic, then name. configurations: "device, when" -> text. resumed: when it
    went on after an interruption. verdict and findings are there once it ended.
    """

    id: int
    name: str
    kind: str
    testbed: str
    plan: Mapping[str, Any]
    plan_text: str
    plan_sha256: str
    state: CampaignState
    created: datetime
    started: datetime | None = None
    ended: datetime | None = None
    resumed: tuple[datetime, ...] = ()
    verdict: Verdict | None = None
    reason: str = ""
    calibration: Calibration | None = None
    trials: tuple[TrialRecord, ...] = ()
    provenance: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    configurations: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
