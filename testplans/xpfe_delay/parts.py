"""What the parts of a plan of the kind xpfe-delay are: chains, links, background traffic, planted delays.

Frame sizes count from the destination address to the FCS inclusive, VLAN tag included, as the frame enters the first element; MAC-in-MAC
adds 22 bytes on the links between elements. The link rate is always a layer-1 rate; link.layer says at which layer traffic is given.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rackproof.model.topology import DeviceSpec
from rackproof.model.traffic import Arrivals
from rackproof.model.xcf import ENCAPSULATION_BYTES
from rackproof.units import Layer
from testplans.strict import Mbps, Part, Whole

HOPS_MAX = 8
FRAME_BYTES_MIN = 64
FRAME_BYTES_MAX = 1522

Hops = Annotated[Whole, Field(ge=1, le=HOPS_MAX)]
FrameBytes = Annotated[Whole, Field(ge=FRAME_BYTES_MIN, le=FRAME_BYTES_MAX, json_schema_extra={"unit": "byte"})]
Rate = Annotated[Mbps, Field(le=1_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]*$")]
#: Models of the bench that forward frames as they are.
PLAIN_MODELS = ("linux-bridge", "openvswitch")


class Forwarding(StrEnum):
    """What the elements of a chain do to frames: carry them as MAC-in-MAC between them, or forward them as they are."""

    MAC_IN_MAC = "mac-in-mac"
    PLAIN = "plain"


class Chain(Part):
    """Forwarding elements in a row."""

    name: Name = Field(title="Name", description="The name that results carry; elements are NAME-1, NAME-2, ...")
    model: str = Field(default="", max_length=60, title="Model", description="Device model of every element; as default the name.")
    options: dict[str, bool | int | float | str] = Field(default_factory=dict, title="Options", description="The model's own settings.")
    forwarding: Forwarding = Field(
        default=Forwarding.MAC_IN_MAC, title="Forwarding", description="mac-in-mac, or plain: frames as they are."
    )
    devices: tuple[Name, ...] = Field(
        default=(),
        max_length=HOPS_MAX,
        title="Devices",
        description="Instead of a model: devices of the testbed's inventory, in their order.",
    )

    @model_validator(mode="before")
    @classmethod
    def _plain_name(cls, value: Any) -> Any:
        made = {"name": value} if isinstance(value, str) else value
        if isinstance(made, Mapping) and "forwarding" not in made and (made.get("model") or made.get("name")) in PLAIN_MODELS:
            return {**made, "forwarding": Forwarding.PLAIN.value}
        return made

    def device(self, element: int) -> str:
        """The name of an element, from 1."""
        return f"{self.name}-{element}"

    def spec(self, element: int) -> DeviceSpec:
        """An element as a topology names it."""
        model = self.devices[element - 1] if self.devices else self.model or self.name
        return DeviceSpec(name=self.device(element), model=model, options=dict(self.options))

    @property
    def overhead_bytes(self) -> int:
        """What frames are larger by on the links between elements."""
        return ENCAPSULATION_BYTES if self.forwarding is Forwarding.MAC_IN_MAC else 0


class LinkPart(Part):
    """The links between elements."""

    rate_mbps: Annotated[Mbps, Field(le=1_000_000)] = Field(default=1000.0, title="Link rate", description="Layer-1 rate of every link.")
    layer: Layer = Field(
        default=Layer.L2, title="Layer", description="L2: rates of traffic leave preamble and gap (20 octets a frame) out; L1: they count."
    )
    queue_frames: Annotated[Whole, Field(ge=1, le=100_000)] = Field(
        default=1000, title="Queue", description="Room in front of every link of the bench.", json_schema_extra={"unit": "frame"}
    )

    @property
    def rate_bps(self) -> float:
        """Layer-1 rate [bit/s]."""
        return self.rate_mbps * 1e6


class BackgroundPart(Part):
    """Traffic of another tenant that shares every link between two elements, and nothing else."""

    per_hop_mbps: Rate = Field(title="Rate", description="On each link; rate_scale holds for it too.")
    frame_bytes: FrameBytes = Field(default=1000, title="Frame size", description="FCS and VLAN tag included.")
    arrivals: Literal[Arrivals.CONSTANT, Arrivals.POISSON] = Field(
        default=Arrivals.POISSON, title="Arrivals", description="constant or poisson."
    )


class PlantedPart(Part):
    """A delay that the bench plants behind a link, to be found."""

    hop: Annotated[Whole, Field(ge=1, lt=HOPS_MAX)] = Field(title="Hop", description="Hop k: behind the link from element k to the next.")
    delay_us: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False, json_schema_extra={"unit": "us"})] = Field(
        title="Delay", description="Every frame waits so much longer."
    )
