"""What do lists hold? Rows that are read without all that belongs to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from rackproof.model.campaign import CampaignState, SamplesFile
from rackproof.model.finding import Finding
from rackproof.model.traffic import Calibration
from rackproof.model.verdict import Verdict


class Order(StrEnum):
    """How a list of campaigns is sorted."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    NAME_DOWN = "name-down"


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignFilter:
    """Which campaigns; None: any. name: part of it, in whatever case. since and until: when it was submitted (until is left out)."""

    state: CampaignState | None = None
    verdict: Verdict | None = None
    kind: str | None = None
    testbed: str | None = None
    owner: str | None = None
    name: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    suite_run: int | None = None
    parent: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignRow:
    """A campaign in a list. duration_s: expected wall time of all its trials [s]; worker: who has it, or had it last."""

    id: int
    name: str
    kind: str
    testbed: str
    owner: str
    priority: int
    state: CampaignState
    verdict: Verdict | None
    reason: str
    created: datetime
    queued: datetime | None
    started: datetime | None
    ended: datetime | None
    trial_count: int
    trials_done: int
    duration_s: float
    run: int
    worker: str | None
    cancel: str | None
    parent_id: int | None
    suite_run_id: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignDetail:
    """A campaign without its trials. seams: when it went on after an interruption."""

    row: CampaignRow
    user_id: int | None
    plan: Mapping[str, Any]
    plan_text: str
    plan_sha256: str
    seams: tuple[datetime, ...]
    calibration: Calibration | None
    provenance: Mapping[str, Mapping[str, str]]
    findings: tuple[Finding, ...]
    samples_gone: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRow:
    """A trial in a list; verdict is None while it has no result."""

    index: int
    label: str
    point: Mapping[str, Any]
    repetition: int
    seed: int
    duration_s: float
    started: datetime | None
    ended: datetime | None
    verdict: Verdict | None
    reason: str
    samples_rows: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasurementRow:
    """One number of one trial, with what it is of; low and high are None where there is no interval."""

    trial: int
    position: int
    name: str
    unit: str
    subject: Mapping[str, str]
    value: float
    n: int
    low: float | None
    high: float | None
    confidence: float | None
    method: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CurveRow:
    """One curve of one trial."""

    name: str
    x_name: str
    x_unit: str
    y_name: str
    y_unit: str
    subject: Mapping[str, str]
    n: int
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplesPlace:
    """Where the samples of a trial are; file is None where it has none, gone: when retention removed those of its campaign."""

    file: SamplesFile | None
    gone: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialDetail:
    """A trial with everything that came of it; samples_path is None where it has no samples."""

    row: TrialRow
    health: Mapping[str, float]
    counters: Mapping[str, int]
    samples_path: str | None
    samples_sha256: str | None
    measurements: tuple[MeasurementRow, ...]
    curves: tuple[CurveRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Census:
    """How the house stands, in numbers. campaigns: those that have not ended, by state; last_event: the newest event's number."""

    campaigns: Mapping[str, int]
    queued: int
    leases: int
    workers: int
    testbeds_offline: int
    jobs: int
    deliveries_failed: int
    last_event: int
