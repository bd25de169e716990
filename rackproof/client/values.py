"""What does the client return? Frozen values; keys that a newer service adds are passed over."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rackproof.model.account import Scope
from rackproof.model.campaign import CampaignState
from rackproof.model.finding import Finding
from rackproof.model.service import JobState, Missed, Overlap, Role, TestbedState
from rackproof.model.verdict import Verdict


class Value(BaseModel):
    """Something that the service said."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="strings")


class User(Value):
    """A user of the service."""

    id: int
    name: str
    full_name: str
    role: Role


class Who(Value):
    """Who asks, and what they may do. csrf is there for a session alone, token (its number) for a token."""

    user: User
    by: str
    scopes: frozenset[Scope]
    csrf: str | None = None
    token: int | None = None


class Token(Value):
    """An API token, without its secret."""

    id: int
    name: str
    hint: str
    scopes: frozenset[Scope]
    created: datetime
    expires: datetime
    used: datetime | None
    revoked: datetime | None


class NewToken(Value):
    """A token with its secret, which is told this once."""

    secret: str
    token: Token


class CampaignSummary(Value):
    """A campaign in a list."""

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
    started: datetime | None
    ended: datetime | None
    trials: int = Field(validation_alias="trial_count")
    trials_done: int
    parent_id: int | None = None


class Campaign(CampaignSummary):
    """A campaign with all but its trials."""

    plan: Mapping[str, Any]
    plan_text: str
    plan_sha256: str
    findings: tuple[Finding, ...]


class Trial(Value):
    """A trial in a list; samples_rows: how many samples are kept."""

    index: int
    label: str
    point: Mapping[str, float | int | str]
    repetition: int
    duration_s: float
    started: datetime | None
    ended: datetime | None
    verdict: Verdict | None
    reason: str
    samples_rows: int | None


class Event(Value):
    """Something that happened in a campaign; seq grows with every event."""

    seq: int
    at: datetime
    kind: str
    data: Mapping[str, Any]


class RehearsedTrial(Value):
    """What one trial would do."""

    index: int
    label: str
    duration_s: float
    note: str


class Rehearsal(Value):
    """What a plan would do on its testbed. refusals: why it cannot run there."""

    trials: tuple[RehearsedTrial, ...]
    refusals: tuple[str, ...]
    warnings: tuple[str, ...]
    duration_s: float


class Kind(Value):
    """A kind of plan in a list."""

    name: str
    title: str
    summary: str


class PlanFile(Value):
    """A plan that is ready to be submitted."""

    name: str
    text: str


class KindDetail(Kind):
    """A kind of plan with the JSON Schema of its plans."""

    plan_schema: Mapping[str, Any]
    plans: tuple[PlanFile, ...]


class Testbed(Value):
    """A testbed."""

    __test__ = False  # not a test, whatever pytest makes of its name

    name: str
    driver: str
    description: str
    state: TestbedState
    reason: str
    workers: tuple[str, ...]
    in_use_by: str


class Fit(Value):
    """What a testbed is to a kind of plan. missing: why it cannot run plans of the kind; empty: it can."""

    kind: str
    title: str
    devices: tuple[str, ...]
    missing: tuple[str, ...]


class InventorySummary(Value):
    """An inventory in a list. checked: when a check last went to the hardware, None since the last change."""

    name: str
    revision: int
    changed: datetime
    changed_by: str
    checked: datetime | None


class Inventory(InventorySummary):
    """What a testbed is made of: as it was written, and as data; check: what the last check found."""

    text: str
    data: Mapping[str, Any]
    kinds: tuple[Fit, ...]
    check: Mapping[str, Any] | None


class OfflineDevice(Value):
    """A device that nothing starts on until somebody clears it. testbed: where that is done; campaign: after which it was taken offline."""

    testbed: str
    device: str
    reason: str
    campaign: int | None
    since: datetime


class Place(Value):
    """A campaign or a reservation in the line of a testbed. position: 0 has the testbed now, 1 is next."""

    campaign: int | None
    reservation: int | None
    testbed: str
    owner: str
    name: str
    position: int
    expected_start: datetime | None
    expected_end: datetime | None
    waits_for: str


class Schedule(Value):
    """A suite of plans that runs by itself."""

    id: int
    name: str
    owner: str
    cron: str
    zone: str
    paused: bool
    overlap: Overlap
    missed: Missed
    next_at: datetime | None


class Report(Value):
    """A finished report. pdf, html: where its files are."""

    id: int
    campaign: int
    created: datetime
    pdf: str
    html: str
    pdf_sha256: str
    html_sha256: str


class Job(Value):
    """Something that a worker was asked for."""

    id: int
    state: JobState
    error: str


class RehearsalJob(Job):
    """A rehearsal that a worker makes."""

    result: Rehearsal | None = None
