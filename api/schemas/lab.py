"""Testbeds, workers, the queue and reservations on the wire."""

from datetime import datetime

from pydantic import Field

from api.schemas.base import Asked, Given, Moment, Plain
from rackproof.model.service import TestbedState


class Testbed(Given):
    """A testbed as its workers announced it."""

    __test__ = False  # not a test, whatever pytest makes of its name

    name: str = Field(examples=["bench"])
    driver: str = Field(examples=["bench"])
    description: str
    resources: list[str] = Field(description="Devices and generators by name: whoever uses one has it alone.")
    state: TestbedState
    reason: str = Field(description="Why it is OFFLINE.")
    limits: dict[str, Plain] | None = Field(description="What it can carry; null until its worker said so.")
    facts: dict[str, Plain]
    workers: list[str] = Field(description="Those alive that serve it.")
    in_use_by: str = Field(description="In words; empty where it is free.")
    golden_plan: str | None = Field(description="The health check's plan.")
    golden_cron: str | None
    golden_zone: str
    golden_next: datetime | None
    golden_campaign_id: int | None = Field(description="The latest health check.")


class Testbeds(Given):
    """All testbeds."""

    __test__ = False

    items: list[Testbed]


class TestbedStateChange(Asked):
    """Take a testbed offline, or bring it back."""

    __test__ = False

    state: TestbedState
    reason: str = Field(default="", max_length=500, examples=["the switch is being replaced"])


class HealthCheck(Asked):
    """A testbed's health check: a plan that must PASS. Without a plan there is none."""

    plan: str | None = Field(default=None, max_length=262_144, description="YAML or JSON, as it would be submitted.")
    cron: str | None = Field(default=None, max_length=200, examples=["0 5 * * *"])
    zone: str = Field(default="UTC", max_length=64, examples=["Europe/Berlin"])


class Worker(Given):
    """A process that runs campaigns."""

    name: str = Field(examples=["lab-7"])
    host: str
    version: str
    testbeds: list[str]
    started: datetime
    seen: datetime
    alive: bool
    campaigns: list[int] = Field(description="Those that it runs.")


class Workers(Given):
    """All workers."""

    items: list[Worker]


class Place(Given):
    """A campaign or a reservation in the line of a testbed."""

    campaign: int | None
    reservation: int | None
    testbed: str
    owner: str
    name: str
    position: int = Field(description="0 has the testbed now, 1 is next.")
    expected_start: datetime | None = Field(description="null where nobody can say.")
    expected_end: datetime | None
    waits_for: str = Field(description="In words; empty where it runs.")


class Queue(Given):
    """Everything that has a testbed or waits for one, in the order in which it is expected to start."""

    items: list[Place]


class Reservation(Given):
    """A testbed that a person keeps."""

    id: int
    testbed: str
    owner: str
    reason: str
    created: datetime
    starts: datetime
    ends: datetime
    granted: datetime | None = Field(description="Since when it holds the testbed.")
    released: datetime | None


class Reservations(Given):
    """Reservations."""

    items: list[Reservation]


class NewReservation(Asked):
    """Keep a testbed."""

    testbed: str = Field(min_length=1, max_length=200, examples=["bench"])
    reason: str = Field(default="", max_length=500)
    starts: Moment | None = Field(default=None, description="Without it: as soon as what runs on the testbed has ended.")
    ends: Moment
