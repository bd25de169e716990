"""Trials, measurements and events on the wire."""

from datetime import datetime

from pydantic import Field

from api.schemas.base import Given, Plain, Real
from rackproof.model.verdict import Verdict


class TrialSummary(Given):
    """A trial in a list."""

    index: int = Field(description="Its place in the campaign, from 1.")
    label: str = Field(examples=["linux-htb, strict-priority, 60 Mbit/s"])
    point: dict[str, Plain] = Field(description="The swept values by name.", examples=[{"load_mbps": 60.5}])
    repetition: int
    seed: str = Field(description="What its random draws follow from: a whole number, as text because it may be longer than 53 bits.")
    duration_s: float = Field(description="Expected wall time [s].")
    started: datetime | None
    ended: datetime | None
    verdict: Verdict | None = Field(description="PASS where the trial is valid; null while it has no result.")
    reason: str
    samples_rows: int | None = Field(description="How many samples are kept; null where there are none.")


class Measurement(Given):
    """One number of one trial."""

    trial: int = Field(description="The trial's index.")
    position: int = Field(description="Its place among the trial's numbers.")
    name: str = Field(examples=["delay.p99"])
    unit: str = Field(examples=["us"])
    subject: dict[str, str] = Field(description="What it is of; empty for the whole trial.", examples=[{"queue": "3"}])
    value: Real
    n: int = Field(description="How many samples it rests on.")
    low: Real | None = Field(description="Lower end of its confidence interval, null where there is none.")
    high: Real | None
    confidence: float | None
    method: str | None = Field(description="How the interval was made.")


class Curve(Given):
    """A measured curve."""

    name: str = Field(examples=["delta_q"])
    x_name: str
    x_unit: str
    y_name: str
    y_unit: str
    subject: dict[str, str]
    n: int
    x: list[Real]
    y: list[Real]


class Trial(TrialSummary):
    """A trial with everything that came of it."""

    health: dict[str, Real] = Field(description="The generator's own counters.")
    counters: dict[str, int] = Field(description="The device's counters.")
    measurements: list[Measurement]
    curves: list[Curve]
    samples_sha256: str | None


class Event(Given):
    """Something that happened in a campaign."""

    seq: int = Field(description="Grows with every event; what Last-Event-ID and `after` name.")
    at: datetime
    kind: str = Field(examples=["trial_ended"])
    data: dict[str, Plain]
