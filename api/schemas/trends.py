"""Trends on the wire."""

from datetime import datetime

from pydantic import Field

from api.schemas.base import Given, Real
from api.schemas.campaigns import Interval


class TrendPoint(Given):
    """One campaign of a trend."""

    campaign: int
    ended: datetime
    value: Real = Field(description="The mean over its valid trials.")
    interval: Interval | None
    n: int = Field(description="How many trials it is of.")
    left_out: int = Field(description="Trials that are not valid.")


class Difference(Given):
    """A line of the provenance that changed; null where it was not there."""

    name: str = Field(examples=["Rackproof.commit"])
    before: str | None
    after: str | None


class ChangePoint(Given):
    """Between two campaigns the measurement changed."""

    campaign_before: int
    campaign_after: int
    before: Real = Field(description="Mean of the campaigns up to here.")
    after: Real
    provenance: list[Difference] = Field(description="What else changed there.")


class Trend(Given):
    """A measurement over campaigns, the oldest first."""

    name: str
    quantity: str = Field(examples=["delay.p99"])
    subject: dict[str, str]
    unit: str
    points: list[TrendPoint]
    changes: list[ChangePoint]
    left_out: int = Field(description="Trials that are not valid.")
    without: list[int] = Field(description="Campaigns that did not measure it.")


class Measured(Given):
    """Something of which there can be a trend."""

    quantity: str = Field(examples=["delay.p99"])
    unit: str
    subject: dict[str, str]


class MeasuredList(Given):
    """Everything of which there can be a trend."""

    items: list[Measured]
