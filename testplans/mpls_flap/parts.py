"""What the parts of a plan of the kind mpls-flap are: networks, tests, phases, signalling, probes.

Frame sizes count from the destination address to the FCS inclusive, label included, as frames enter the first router. Rates of traffic are
those of the paper, without preamble and gap (layer 2); the link's rate counts them (layer 1).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from rackproof.model.lsp import LabelMode, Style
from rackproof.model.topology import DeviceSpec
from testplans.strict import Mbps, Part, Seconds, Whole, fault, refuse

ROUTERS_MAX = 8
ROUTERS_DEFAULT = 3
RING_MIN = 3
FRAME_BYTES_MIN = 64
FRAME_BYTES_MAX = 1522
LSPS_MAX = 20_000

FrameBytes = Annotated[Whole, Field(ge=FRAME_BYTES_MIN, le=FRAME_BYTES_MAX, json_schema_extra={"unit": "byte"})]
Rate = Annotated[Mbps, Field(le=1_000_000)]
Lsps = Annotated[Whole, Field(ge=1, le=LSPS_MAX)]
PerSecond = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False, json_schema_extra={"unit": "1/s"})]
Name = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]*$")]


class Shape(StrEnum):
    """How the routers of a network are cabled."""

    ROUTER = "router"
    CHAIN = "chain"
    RING = "ring"


class By(StrEnum):
    """What sets LSPs up and tears them down."""

    RSVP_TE = "rsvp-te"
    CONFIGURATION = "configuration"


class Network(Part):
    """Routers between the emulated ingress and egress."""

    name: Name = Field(title="Name", description="The name that results carry; routers of several are NAME-1, NAME-2, ...")
    model: str = Field(default="", max_length=60, title="Model", description="Device model of every router; as default the name.")
    shape: Shape = Field(
        default=Shape.ROUTER, title="Shape", description="router (one), chain (in a row) or ring (LSPs go round it both ways)."
    )
    routers: Annotated[Whole, Field(ge=1, le=ROUTERS_MAX)] = Field(
        default=1, title="Routers", description="How many; as default 1, and 3 of a chain or a ring."
    )
    options: dict[str, bool | int | float | str] = Field(
        default_factory=dict, title="Options", description="The model's own settings, such as a defect that is switched on."
    )
    devices: tuple[Name, ...] = Field(
        default=(),
        max_length=ROUTERS_MAX,
        title="Devices",
        description="Instead of a model: devices of the testbed's inventory, in their order from the ingress on.",
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        made = {"name": value} if isinstance(value, str) else value
        if isinstance(made, Mapping) and "routers" not in made and made.get("shape", Shape.ROUTER) != Shape.ROUTER:
            devices = made.get("devices")
            return {**made, "routers": len(devices) if isinstance(devices, list | tuple) and devices else ROUTERS_DEFAULT}
        return made

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        least = {Shape.ROUTER: 1, Shape.CHAIN: 1, Shape.RING: RING_MIN}[self.shape]
        if self.shape is Shape.ROUTER and self.routers > 1:
            refuse(type(self), fault(("routers",), "1, or the shape chain or ring", f"{self.routers}"))
        if self.routers < least:
            refuse(type(self), fault(("routers",), f"at least {least} in a ring", f"{self.routers}"))
        if self.devices and self.model:
            refuse(type(self), fault(("devices",), "a model or devices", "both"))
        if self.devices and len(self.devices) != self.routers:
            refuse(type(self), fault(("devices",), f"{self.routers} devices, as many as routers", f"{len(self.devices)}"))
        if len(set(self.devices)) < len(self.devices):
            refuse(type(self), fault(("devices",), "devices that differ", ", ".join(self.devices)))
        return self

    @property
    def ring(self) -> bool:
        """True where LSPs go round both ways."""
        return self.shape is Shape.RING

    @property
    def numbers(self) -> range:
        """Its routers' numbers, from 1."""
        return range(1, self.routers + 1)

    def device(self, router: int) -> str:
        """The name of a router, from 1."""
        return self.name if self.routers == 1 else f"{self.name}-{router}"

    def spec(self, router: int) -> DeviceSpec:
        """A router as a topology names it."""
        model = self.devices[router - 1] if self.devices else self.model or self.name
        return DeviceSpec(name=self.device(router), model=model, options=dict(self.options))

    @property
    def title(self) -> str:
        """The network in words."""
        return self.name if self.routers == 1 else f"{self.name}, {self.shape.value} of {self.routers}"


class Span(Part):
    """Numbers from one to another, both included."""

    first: Lsps = Field(alias="from", title="From")
    last: Lsps = Field(alias="to", title="To")
    step: Lsps = Field(title="Step")

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True, title="A range")

    @property
    def values(self) -> tuple[int, ...]:
        """All of them, ascending."""
        return tuple(range(self.first, self.last + 1, self.step))


class Test(Part):
    """A sweep of flapped LSPs with one kind of traffic, as the paper's tests 1.1 to 4.3."""

    __test__ = False  # it is no test of pytest's

    name: Name = Field(title="Name", description='What reports call it, as "1.1".')
    stable: Lsps | Literal["same"] = Field(title="Stable LSPs", description="How many carry the traffic; same: as many as are flapped.")
    flapped: tuple[Lsps, ...] | Span = Field(title="Flapped LSPs", description="Ascending; a list, or from, to and step.")
    frame_bytes: FrameBytes = Field(title="Frame size", description="FCS and label included.")
    rate_mbps: Rate = Field(
        title="Rate", description="Of all stable LSPs together, split evenly; at most what preamble and gap leave of the link."
    )

    @property
    def sweep(self) -> tuple[int, ...]:
        """How many are flapped, trial by trial."""
        return self.flapped.values if isinstance(self.flapped, Span) else self.flapped

    def stable_of(self, flapped: int) -> int:
        """How many are stable beside so many that are flapped."""
        return flapped if self.stable == "same" else self.stable


class LinkPart(Part):
    """The links."""

    rate_mbps: Annotated[Mbps, Field(le=1_000_000)] = Field(default=1000.0, title="Link rate", description="Layer-1 rate of every link.")


class PhasesPart(Part):
    """The times of a trial."""

    prior_s: Annotated[Seconds, Field(ge=1, le=3600)] = Field(default=10.0, title="Before", description="All LSPs stay up.")
    windows_s: tuple[Annotated[Seconds, Field(ge=0.1, le=3600)], ...] = Field(
        default=(5.0, 2.0), min_length=1, max_length=50, title="Windows", description="Each begins with a flap."
    )
    drain_s: Annotated[Seconds, Field(ge=0, le=600)] = Field(
        default=3.0, title="Drain", description="How long messages and frames that are under way are waited for afterwards."
    )

    @property
    def measured_s(self) -> float:
        """From the first phase's beginning to the last one's end [s]."""
        return self.prior_s + sum(self.windows_s)


class SignallingPart(Part):
    """How LSPs are set up and torn down."""

    by: By = Field(default=By.RSVP_TE, title="By", description="rsvp-te, or configuration: static labels of the routers.")
    style: Style = Field(default=Style.SE, title="Style", description="Of reservations: FF or SE.")
    labels: LabelMode = Field(
        default=LabelMode.NEXT_FREE, title="Labels", description="What the egress asks for: next-free, implicit-null or explicit-null."
    )
    setups_per_s: PerSecond = Field(default=2000.0, title="Set-ups", description="At most so many PATH in a second.")
    teardowns_per_s: PerSecond = Field(default=2000.0, title="Tear-downs", description="At most so many PATH_TEAR in a second.")
    retry_s: Annotated[Seconds, Field(gt=0, le=600)] = Field(
        default=1.0, title="Retry after", description="So long without any answer of its kind, a message is sent again."
    )
    retries: Annotated[Whole, Field(ge=0, le=100)] = Field(default=3, title="Retries", description="At most so often.")
    refresh_s: Annotated[Seconds, Field(ge=1, le=3600)] = Field(
        default=30.0, title="Refresh", description="R of RFC 2205; what nobody refreshes any more is gone after 5.25 R."
    )
    hello_s: Annotated[Seconds, Field(ge=0, le=3600)] = Field(
        default=0.0, title="Hello", description="How often HELLO is sent; 0: never. It is always answered."
    )
    refresh_reduction: bool = Field(default=True, title="Refresh reduction", description="RFC 2961, where the router has it.")
    setup_s: Annotated[Seconds, Field(gt=0, le=3600)] = Field(
        default=60.0, title="Set-up time", description="How long setting all LSPs up may take before the phases begin."
    )


class ProbesPart(Part):
    """Small frames that show whether an LSP forwards."""

    fps: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False, json_schema_extra={"unit": "1/s"})] = Field(
        default=2000.0, title="Rate", description="Over all LSPs together, in turn; 0: none."
    )
    gap_us: Annotated[float, Field(ge=10, le=1_000_000, allow_inf_nan=False, json_schema_extra={"unit": "us"})] = Field(
        default=500.0, title="After RESV", description="An LSP gets one each so long, until the first has come."
    )
