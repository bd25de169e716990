"""What a plan asks of the delay, and when a trial cannot be trusted."""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from testplans.strict import Part, Seconds, Share, Whole, fault, refuse
from testplans.xpfe_delay.classes import SETS
from testplans.xpfe_delay.parts import FrameBytes, Hops, Rate

Percentile = Annotated[float, Field(gt=0, lt=100, allow_inf_nan=False)]
Microseconds = Annotated[float, Field(gt=0, allow_inf_nan=False, json_schema_extra={"unit": "us"})]
_OWN_NAME = r"^[a-z0-9][a-z0-9.-]*$"


class ClassPart(Part):
    """A set of traffic classes by its name, or one class of the plan's own."""

    name: str = Field(min_length=1, max_length=60, pattern=_OWN_NAME, title="Name", description="Of a set, or of a class of one's own.")
    budget_us: Microseconds | None = Field(default=None, title="Budget", description="Largest one-way delay; of a class of one's own.")
    title: str = Field(default="", max_length=60, title="Title", description="What reports call a class of one's own.")

    @model_validator(mode="before")
    @classmethod
    def _plain_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.budget_us is None and self.name not in SETS:
            refuse(type(self), fault((), f"a set of classes ({', '.join(SETS)}) or a name with a budget_us", self.name))
        if self.budget_us is not None and self.name in SETS:
            refuse(type(self), fault(("name",), "a name that no set has", self.name))
        return self


class VerdictPart(Part):
    """What a budget is held against."""

    percentile: Percentile = Field(default=99.0, title="Percentile", description="Of the delay, which must stay within a budget.")
    confidence: Annotated[Share, Field(ge=0.5, lt=1)] = Field(
        default=0.95, title="Confidence", description="Of the interval that must lie within the budget as a whole."
    )


class Requirement(Part):
    """A class that must be carried, and over what."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    traffic_class: str = Field(alias="class", title="Class", description="A class of the plan.")
    hops: Hops = Field(title="Hops", description="At this number of hops, and at all smaller ones of the plan.")
    frame_bytes: tuple[FrameBytes, ...] = Field(default=(), title="Frame sizes", description="All of the plan where none stands.")
    rates_mbps: tuple[Rate, ...] = Field(default=(), title="Rates", description="All of the plan where none stands.")


class ValidityPart(Part):
    """When a trial cannot be trusted."""

    offered_deviation_max: Annotated[Share, Field(gt=0, le=0.05)] = Field(
        default=0.005, title="Offered load", description="Largest deviation of frames sent from frames intended."
    )
    lateness_p99_us_max: Microseconds = Field(
        default=5000.0, title="Sending late", description="99th percentile of how late the generator sent frames."
    )
    stalled_share_max: Annotated[Share, Field(gt=0)] = Field(
        default=0.1, title="Stalls", description="Share of the sending time for which the host may keep the sender from running."
    )
    wire_lateness_p99_us_max: Microseconds = Field(
        default=2000.0,
        title="Links late",
        description="99th percentile of how late an emulated link handed frames on; it is taken out of the delay.",
    )
    wire_lateness_p50_us_max: Microseconds = Field(
        default=5.0,
        title="Links mostly late",
        description="Median of how late any link was: what is constant in it looks like the network.",
    )
    wire_stalled_share_max: Annotated[Share, Field(gt=0)] = Field(
        default=0.05, title="Links stalled", description="Share of the sending time for which the host may keep the links from running."
    )
    clock_step_us_max: Microseconds = Field(
        default=50.0, title="Clock", description="Largest step of the wall clock against the steady clock during a trial."
    )


class TrialPart(Part):
    """The times of one trial."""

    duration_s: Annotated[Seconds, Field(gt=0, le=3600)] = Field(default=2.0, title="Measured span", description="Frames sent in it count.")
    warmup_s: Annotated[Seconds, Field(ge=0, le=600)] = Field(default=0.25, title="Warm-up", description="Sent before it, not counted.")
    drain_s: Annotated[Seconds, Field(ge=0, le=600)] | None = Field(
        default=None, title="Drain", description="Listening afterwards; as default the time in which all queues empty, and 50 ms."
    )
    batches: Annotated[Whole, Field(ge=10, le=200)] = Field(
        default=20, title="Batches", description="Equal parts of the measured span; rates have their intervals from them."
    )
