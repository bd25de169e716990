"""What a plan asks of devices and of the measurement: limits, when a trial cannot be trusted, what is expected to fail."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from testplans.strict import Part, Share

#: Id of each criterion -> (key in the plan, what it asks).
CRITERIA: Mapping[str, tuple[str, str]] = {
    "sp.leak": ("sp_leak_share_max", "Leak to starved queues"),
    "sp.top_share": ("sp_top_share_min", "Service of the highest queue"),
    "wrr.share": ("wrr_share_deviation_max", "Bandwidth shares against the weights"),
    "waste": ("waste_share_max", "Wasted bandwidth"),
    "fairness": ("fairness_spread_max", "Fairness between flows that share a queue"),
    "throughput.deviation": ("throughput_deviation_max", "Throughput against the ideal"),
    "loss.below_saturation": ("loss_below_saturation_max", "Loss below saturation"),
    "delay.top": ("delay_p99_top_us_max", "Delay of the highest queue"),
}


class CriteriaPart(Part):
    """Limits for the verdict; null takes a criterion out."""

    sp_leak_share_max: Share | None = Field(
        default=0.01, title="Leak", description="Share of the port's throughput that queues get which strict priority starves."
    )
    sp_top_share_min: Share | None = Field(
        default=0.99, title="Top queue", description="Throughput of the highest queue under strict priority, relative to the ideal."
    )
    wrr_share_deviation_max: Share | None = Field(
        default=0.01, title="WRR shares", description="Largest difference between a queue's share and the ideal, all queues backlogged."
    )
    waste_share_max: Share | None = Field(
        default=0.01, title="Waste", description="Share of the link that is unused although frames are dropped."
    )
    fairness_spread_max: Share | None = Field(
        default=0.1,
        title="Fairness",
        description="Largest relative difference in delivery between flows that share a queue, where it is congested.",
    )
    throughput_deviation_max: Share | None = Field(
        default=0.02, title="Deviation", description="Largest difference from the ideal throughput of a queue, as a share of the link."
    )
    loss_below_saturation_max: Share | None = Field(
        default=0.001, title="Loss below saturation", description="Frame loss rate where the offered load is at most 95 % of the link."
    )
    delay_p99_top_us_max: Annotated[float, Field(gt=0, allow_inf_nan=False, json_schema_extra={"unit": "us"})] | None = Field(
        default=None, title="Top delay", description="99th percentile of the delay of the highest queue, at every load."
    )


class ValidityPart(Part):
    """When a trial cannot be trusted."""

    offered_deviation_max: Annotated[Share, Field(gt=0, le=0.005)] = Field(
        default=0.005, title="Offered load", description="Largest deviation of frames sent from frames intended, per sender and in all."
    )
    lateness_p99_us_max: Annotated[float, Field(gt=0, allow_inf_nan=False, json_schema_extra={"unit": "us"})] | None = Field(
        default=None,
        title="Lateness",
        description="99th percentile of sending late; as default a quarter of the time in which one full queue empties, at least 1 ms.",
    )
    stalled_share_max: Annotated[Share, Field(gt=0)] = Field(
        default=0.01,
        title="Stalls",
        description="Share of the sending time for which the host may keep the sender from running, where the device shares its processor.",
    )
    clock_step_us_max: Annotated[float, Field(gt=0, allow_inf_nan=False, json_schema_extra={"unit": "us"})] = Field(
        default=50.0, title="Clock", description="Largest step of the wall clock against the steady clock during a trial."
    )


class Expected(Part):
    """A device that must fail, and what it must fail."""

    device: str = Field(title="Device", description="Name of a device of the plan.")
    criteria: tuple[str, ...] = Field(title="Criteria", description="Ids of the criteria that it must fail, all and no other.")
