"""Jobs and reports on the wire."""

from datetime import datetime

from pydantic import Field

from api.schemas.base import Given, Plain
from api.schemas.kinds import Rehearsal
from rackproof.model.service import JobState


class Job(Given):
    """Something that a worker was asked for."""

    id: int = Field(examples=[5])
    kind: str = Field(examples=["report"])
    testbed: str | None
    campaign: int | None
    state: JobState
    attempts: int
    output: Plain = Field(description="What came of it, once it is DONE.")
    error: str = Field(description="Why it FAILED.")
    created: datetime
    ended: datetime | None


class RehearsalJob(Given):
    """A rehearsal, which a worker of the testbed makes."""

    id: int = Field(examples=[5])
    state: JobState
    error: str = Field(description="Why it FAILED.")
    result: Rehearsal | None = Field(description="There once it is DONE.")


class Report(Given):
    """A finished report. Its addresses never change their content."""

    id: int = Field(examples=[3])
    campaign: int = Field(examples=[12])
    created: datetime
    pdf: str = Field(examples=["/api/v1/reports/3/report.pdf"])
    html: str = Field(examples=["/api/v1/reports/3/report.html"])
    json_: str = Field(serialization_alias="json", examples=["/api/v1/reports/3/report.json"])
    pdf_sha256: str
    html_sha256: str
    json_sha256: str
    pinned: datetime | None = Field(description="Since when it, and the samples that it rests on, must stay.")
    pinned_by: str


class Reports(Given):
    """Reports of a campaign."""

    items: list[Report]
