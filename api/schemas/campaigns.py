"""Campaigns on the wire."""

from datetime import datetime
from typing import Any

from pydantic import Field

from api.schemas.base import Asked, Given, Plain, Real
from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict

PRIORITY_MAX = 1000


class CampaignSummary(Given):
    """A campaign in a list."""

    id: int = Field(examples=[12])
    name: str = Field(examples=["Nightly, three disciplines"])
    kind: str = Field(examples=["switch-qos"])
    testbed: str = Field(examples=["bench"])
    owner: str = Field(description="Whose it is; empty where the command line ran it itself.", examples=["ada"])
    priority: int
    state: CampaignState = Field(description="INTERRUPTED: its worker is gone before the end; another goes on with it.")
    verdict: Verdict | None = Field(description="There once the campaign has ended.")
    reason: str = Field(description="Why the verdict is not PASS.")
    created: datetime
    queued: datetime | None = Field(description="Since when it waits.")
    started: datetime | None
    ended: datetime | None
    trial_count: int
    trials_done: int = Field(description="Trials with a result, whatever it says.")
    duration_s: float = Field(description="Expected wall time of all trials [s].")
    run: int = Field(description="How often it was put into the queue.")
    worker: str | None = Field(description="Who runs it, or ran it last.")
    cancel: str | None = Field(description="Why it must end, where somebody wants that.")
    parent_id: int | None = Field(description="The campaign from whose plan it was made.")
    suite_run_id: int | None = Field(description="The run of a schedule that it belongs to.")


class Interval(Given):
    """A confidence interval."""

    low: Real
    high: Real
    confidence: float = Field(examples=[0.95])
    method: str = Field(examples=["batch means, 20 batches"])


class Finding(Given):
    """One criterion, judged over the campaign."""

    criterion: str = Field(examples=["sp.leak"])
    title: str
    subject: dict[str, str] = Field(examples=[{"device": "linux-htb"}])
    verdict: Verdict
    value: Real
    unit: str
    n: int
    interval: Interval | None
    limit: str = Field(description="The bound in words.", examples=["at most 1 %"])
    statement: str = Field(description="One sentence that a vendor would read.")
    trials: list[int] = Field(description="Indices of the trials that it rests on.")
    detail: dict[str, Real]


class Calibration(Given):
    """What the generator is worth, measured on a loopback before the first trial."""

    delay_floor_us: Real = Field(description="Median delay of the loopback, which every measured delay contains [us].")
    timestamp_error_us_p50: Real
    timestamp_error_us_p99: Real
    honest_fps: Real = Field(description="Highest frame rate that was sent and recorded without a loss [1/s].")
    frames: int
    detail: dict[str, Plain]


class Campaign(CampaignSummary):
    """A campaign with all but its trials."""

    plan: dict[str, Plain] = Field(description="The validated plan, defaults filled in.")
    plan_text: str = Field(description="The plan as it was submitted.")
    plan_sha256: str
    seams: list[datetime] = Field(description="When it went on after an interruption.")
    findings: list[Finding]
    calibration: Calibration | None
    provenance: dict[str, dict[str, str]] = Field(description="What was written down before the first trial, by topic, then name.")
    samples_gone: datetime | None = Field(description="When retention removed its samples.")


class Submitted(Given):
    """A campaign that was put into the queue."""

    id: int = Field(examples=[12])
    url: str = Field(examples=["/api/v1/campaigns/12"])


class Again(Given):
    """How much of a campaign runs again."""

    trials: int = Field(description="Trials whose results were forgotten, and which are measured again.")


class Cancel(Asked):
    """Why a campaign must end."""

    why: str = Field(default="", max_length=500, examples=["the switch is needed elsewhere"])


class NewPriority(Asked):
    """Higher ones start first."""

    priority: int = Field(ge=-PRIORITY_MAX, le=PRIORITY_MAX)


class Clone(Asked):
    """Changes to a plan, as a JSON merge patch (RFC 7396): null takes a key away."""

    changes: dict[str, Any] = Field(default_factory=dict, examples=[{"name": "Without the fault", "repetitions": 3}])
    priority: int = Field(default=0, ge=-PRIORITY_MAX, le=PRIORITY_MAX)


class Configuration(Given):
    """A device's configuration at one moment."""

    name: str = Field(examples=["linux-htb, before strict-priority"])
    text: str


class Configurations(Given):
    """All configurations of a campaign."""

    items: list[Configuration]
