"""Schedules, their runs and digests on the wire."""

from datetime import datetime
from urllib.parse import urlsplit

from pydantic import Field, field_serializer

from api.schemas.base import Asked, Given, Plain
from api.schemas.campaigns import PRIORITY_MAX
from rackproof.model.service import DeliveryState, Missed, Overlap, SuiteRunState

PLANS_MAX = 50
RECIPIENTS_MAX = 20

_EMAILS = ["lab@example.org"]
_WEBHOOKS = ["https://hooks.example.org/services/T0/B0/x"]


def hidden(url: str) -> str:
    """A webhook's address without what makes it a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}/…"


class Schedule(Given):
    """A suite of plans that runs by itself."""

    id: int
    name: str = Field(examples=["Nightly"])
    owner: str
    cron: str = Field(examples=["30 2 * * *"])
    zone: str = Field(examples=["Europe/Berlin"])
    paused: bool
    overlap: Overlap = Field(description="When the last run has not ended: skip this one, or queue it behind.")
    missed: Missed = Field(description="Moments that passed while the service was down: one run for all of them, or none.")
    priority: int
    plans: list[str] = Field(description="The plans' texts, in the order in which they are submitted.")
    emails: list[str]
    webhooks: list[str] = Field(
        description="Who is told, without what makes the address a secret.", examples=["https://hooks.example.org/…"]
    )
    created: datetime
    updated: datetime
    next_at: datetime | None = Field(description="When it fires next.")

    @field_serializer("webhooks")
    def _hidden(self, urls: list[str]) -> list[str]:
        return [hidden(url) for url in urls]


class Schedules(Given):
    """All schedules."""

    items: list[Schedule]


class NewSchedule(Asked):
    """A suite of plans to run by itself."""

    name: str = Field(min_length=1, max_length=120, examples=["Nightly"])
    cron: str = Field(max_length=200, description="Five fields: minute, hour, day, month, weekday.", examples=["30 2 * * *"])
    zone: str = Field(default="UTC", max_length=64, examples=["Europe/Berlin"])
    plans: list[str] = Field(min_length=1, max_length=PLANS_MAX, description="Each a plan as YAML or JSON.")
    overlap: Overlap = Overlap.SKIP
    missed: Missed = Missed.RUN_ONCE
    priority: int = Field(default=0, ge=-PRIORITY_MAX, le=PRIORITY_MAX)
    emails: list[str] = Field(default_factory=list, max_length=RECIPIENTS_MAX, description="Who gets the digest.", examples=[_EMAILS])
    webhooks: list[str] = Field(default_factory=list, max_length=RECIPIENTS_MAX, description="Slack-compatible.", examples=[_WEBHOOKS])
    paused: bool = False


class ScheduleChange(Asked):
    """What to change of a schedule; what is left out, or null, stays."""

    name: str | None = Field(default=None, min_length=1, max_length=120)
    cron: str | None = Field(default=None, max_length=200)
    zone: str | None = Field(default=None, max_length=64)
    plans: list[str] | None = Field(default=None, min_length=1, max_length=PLANS_MAX)
    overlap: Overlap | None = None
    missed: Missed | None = None
    priority: int | None = Field(default=None, ge=-PRIORITY_MAX, le=PRIORITY_MAX)
    emails: list[str] | None = Field(default=None, max_length=RECIPIENTS_MAX)
    webhooks: list[str] | None = Field(default=None, max_length=RECIPIENTS_MAX)
    paused: bool | None = None


class SuiteRunSummary(Given):
    """One firing of a schedule."""

    id: int
    schedule_id: int | None = Field(description="null once the schedule was deleted.")
    name: str
    due: datetime = Field(description="The moment for which it was meant.")
    since: datetime | None = Field(description="The first of several missed moments that it stands for.")
    why: str
    created: datetime
    ended: datetime | None
    state: SuiteRunState
    campaigns: list[int]


class Delivery(Given):
    """A digest on its way to one recipient."""

    id: int
    channel: str = Field(description="email or webhook")
    target: str = Field(description="A webhook's address without what makes it a secret.")
    state: DeliveryState
    attempts: int
    error: str
    log: list[Plain] = Field(description="What became of each attempt.")
    next_at: datetime | None = Field(description="When it is tried again.")
    sent: datetime | None


class SuiteRun(SuiteRunSummary):
    """One firing of a schedule with its digest."""

    refused: list[Plain] = Field(description="Plans that could not be submitted, counted from 1.")
    digest: Plain = Field(description="Verdicts, and what changed since the last run; null until all campaigns have ended.")
    deliveries: list[Delivery]


class Started(Given):
    """A run that was asked for."""

    id: int
    url: str = Field(examples=["/api/v1/suite-runs/4"])
