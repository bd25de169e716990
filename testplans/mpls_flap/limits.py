"""What a plan asks of routers, what is expected to fail, and when a trial cannot be trusted."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from testplans.mpls_flap.parts import Lsps
from testplans.strict import Part, Share

Microseconds = Annotated[float, Field(gt=0, allow_inf_nan=False, json_schema_extra={"unit": "us"})]
Milliseconds = Annotated[float, Field(gt=0, allow_inf_nan=False, json_schema_extra={"unit": "ms"})]

#: Id of each criterion -> what it asks.
CRITERIA: Mapping[str, str] = {
    "separation": "Forwarding does not change while LSPs flap",
    "loss": "No loss on the stable LSPs",
    "control": "How many flapped LSPs come up again in time",
    "tears": "Every PATH_TEAR arrives",
    "stale-label": "No label forwards after its tear",
    "early-forwarding": "RESV means that forwarding is ready",
    "wrong-label": "Frames leave with the label that was asked for",
    "router-alert": "No LSP comes up past the router",
    "queue-growth": "The delay does not grow with time",
    "establishment": "Every LSP comes up",
}


class MarginsPart(Part):
    """What still counts as the same, and limits."""

    delay_us: Microseconds = Field(
        default=20.0, title="Delay", description="Mean delays before and during flaps that differ by less are the same."
    )
    loss: Annotated[Share, Field(gt=0)] = Field(
        default=0.001, title="Loss", description="Shares of lost frames before and during flaps that differ by less are the same."
    )
    gap_ms: Milliseconds = Field(default=10.0, title="Gap", description="Longest time from RESV until the LSP forwards (99th percentile).")
    slope_us_per_s: Annotated[float, Field(gt=0, allow_inf_nan=False, json_schema_extra={"unit": "us/s"})] = Field(
        default=100.0, title="Growth", description="Delay that grows faster is that of a queue that never empties."
    )


class RequirePart(Part):
    """What must hold; where nothing stands, the campaign says what does."""

    linear_up_to: Lsps | None = Field(
        default=None, title="K = N up to", description="All of so many flapped LSPs come up again within the first window."
    )


class Expected(Part):
    """A network that must fail, and what it must fail."""

    device: str = Field(title="Network", description="Name of a network of the plan.")
    criteria: tuple[str, ...] = Field(title="Criteria", description="Ids of the criteria that it must fail, all and no other.")


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
    clock_step_us_max: Microseconds = Field(
        default=50.0, title="Clock", description="Largest step of the wall clock against the steady clock during a trial."
    )
    flap_late_ms_max: Milliseconds = Field(default=50.0, title="Flaps late", description="How far a flap may begin from when it should.")
    pace_deviation_max: Annotated[Share, Field(gt=0)] = Field(
        default=0.25, title="Pace", description="Largest deviation of tear-downs and set-ups per second from the plan's, in bursts."
    )
