"""What the parts of a plan of the kind switch-qos are: devices, disciplines, queues, traffic, link, load, times.

Frame sizes count from the destination address to the FCS inclusive, VLAN tag included: the smallest is 64, the largest 1522 bytes.
The link rate is always a layer-1 rate; link.layer says at which layer loads are given and results are counted.
"""

import functools
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import InitErrorDetails

from rackproof.model.functions import Discipline
from rackproof.model.topology import DeviceSpec
from rackproof.model.traffic import Arrivals, FrameSize
from rackproof.units import Layer
from testplans.strict import Mbps, Part, Seconds, Share, Whole, fault, refuse

PRIORITIES = 8
FRAME_BYTES_MIN = 64
FRAME_BYTES_MAX = 1522
#: Simple IMIX: 7:4:1 frames whose IP packets have 40, 576 and 1500 bytes.
IMIX = (FrameSize(frame_bytes=64, weight=7), FrameSize(frame_bytes=594, weight=4), FrameSize(frame_bytes=1518, weight=1))

FrameBytes = Annotated[Whole, Field(ge=FRAME_BYTES_MIN, le=FRAME_BYTES_MAX, json_schema_extra={"unit": "byte"})]
Priority = Annotated[Whole, Field(ge=0, lt=PRIORITIES)]
#: As a key of a mapping, which JSON keeps as text.
PriorityKey = Annotated[int, Field(ge=0, lt=PRIORITIES)]
Name = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]*$")]


class Device(Part):
    """A device under test."""

    name: Name = Field(title="Name", description="The name that results carry.")
    model: str = Field(
        min_length=1, max_length=60, title="Model", description="The device model, or the device of the testbed's inventory."
    )
    options: dict[str, bool | int | float | str] = Field(
        default_factory=dict, title="Options", description="The model's own settings, such as a defect that is switched on."
    )

    @model_validator(mode="before")
    @classmethod
    def _plain_name(cls, value: Any) -> Any:
        return {"name": value, "model": value} if isinstance(value, str) else value

    def spec(self) -> DeviceSpec:
        """The device as a topology names it."""
        return DeviceSpec(name=self.name, model=self.model, options=dict(self.options))


class Scheduler(Part):
    """A scheduling discipline to test."""

    discipline: Discipline = Field(title="Discipline", description="strict-priority, wrr-packets or wrr-bytes.")
    weights: tuple[Annotated[Share, Field(gt=0)], ...] = Field(
        default=(), title="Weights", description="One per queue, from the lowest, summing to 1; for the round robins only."
    )
    quantum_bytes: int = Field(
        default=1518,
        ge=64,
        le=1_000_000,
        strict=True,
        title="Quantum",
        description="Octets that the smallest weight may send in a round; for wrr-bytes.",
        json_schema_extra={"unit": "byte"},
    )

    @model_validator(mode="before")
    @classmethod
    def _plain_name(cls, value: Any) -> Any:
        return {"discipline": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _weights_sum(self) -> Self:
        if self.discipline is Discipline.STRICT_PRIORITY:
            if self.weights:
                refuse(type(self), fault(("weights",), "no weights for strict-priority", list(self.weights)))
        elif not self.weights:
            refuse(type(self), fault((), f"a mapping with weights for {self.discipline}, one per queue", "no weights"))
        elif abs(sum(self.weights) - 1) > 1e-6:
            refuse(type(self), fault(("weights",), "weights that sum to 1", f"a sum of {sum(self.weights):g}"))
        return self

    @property
    def label(self) -> str:
        """A short name, unique among the disciplines of a plan: "SP", "WRR 0.1 0.2 0.3 0.4 by packets"."""
        weights = " ".join(f"{weight:g}" for weight in self.weights)
        match self.discipline:
            case Discipline.STRICT_PRIORITY:
                return "SP"
            case Discipline.WRR_PACKETS:
                return f"WRR {weights} by packets"
            case Discipline.WRR_BYTES:
                return f"WRR {weights} by bytes" + (f", quantum {self.quantum_bytes}" if self.quantum_bytes != 1518 else "")


class Queues(Part):
    """The queues of the egress port."""

    count: Literal[4, 8] = Field(default=4, title="Queues", description="How many queues the port has: 4 or 8.")
    priority_map: tuple[Annotated[Whole, Field(ge=0)], ...] = Field(
        default=(),
        validate_default=True,
        title="Priority map",
        description="The queue of each VLAN priority 0 to 7; as default Table 1 of the paper, or one to one with 8 queues.",
    )
    length_frames: Annotated[Whole, Field(ge=1, le=100_000)] = Field(
        default=200, title="Queue length", description="Room of each queue.", json_schema_extra={"unit": "frame"}
    )

    @model_validator(mode="before")
    @classmethod
    def _table_1(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "priority_map" not in value and value.get("count", 4) in (4, 8):
            count = value.get("count", 4)
            return {**value, "priority_map": [priority * count // PRIORITIES for priority in range(PRIORITIES)]}
        return value

    @model_validator(mode="after")
    def _map_is_whole(self) -> Self:
        found = self.priority_map
        if len(found) != PRIORITIES:
            refuse(type(self), fault(("priority_map",), "8 queues, one for each VLAN priority 0 to 7", f"{len(found)} entries"))
        wrong = [
            fault(("priority_map", at), f"a queue from 0 to {self.count - 1}", queue)
            for at, queue in enumerate(found)
            if queue >= self.count
        ]
        missing = [f"q{queue}" for queue in range(self.count) if queue not in found]
        if not wrong and missing:
            wrong = [
                fault(("priority_map",), f"every queue from 0 to {self.count - 1} to have a priority", f"none for {', '.join(missing)}")
            ]
        if wrong:
            refuse(type(self), *wrong)
        return self


class MixPart(Part):
    """A frame size and its share of the frames."""

    frame_bytes: FrameBytes = Field(title="Frame size", description="FCS and VLAN tag included.")
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False, title="Weight", description="Its share of the frames, relative.")


class TrafficPart(Part):
    """What is sent."""

    senders: Annotated[Whole, Field(ge=1, le=64)] = Field(default=8, title="Senders", description="Ports that send to the one receiver.")
    priorities: tuple[Priority, ...] = Field(
        default=(), title="VLAN priorities", description="One for each sender; as default sender i has priority i mod 8."
    )
    frame_bytes: FrameBytes | None = Field(default=None, title="Frame size", description="One size for all frames; 1518 as default.")
    frame_bytes_by_priority: dict[PriorityKey, FrameBytes] | None = Field(
        default=None, title="Frame size of each priority", description="VLAN priority -> frame size.", json_schema_extra={"unit": "byte"}
    )
    frame_mix: tuple[MixPart, ...] | None = Field(
        default=None, title="Mix of frame sizes", description="imix (64, 594, 1518 bytes as 7:4:1), or a list of sizes with weights."
    )
    arrivals: Literal[Arrivals.CONSTANT, Arrivals.POISSON] = Field(
        default=Arrivals.POISSON, title="Arrivals", description="constant (equal gaps, random phase) or poisson (exponential gaps)."
    )
    vlan_id: Annotated[Whole, Field(ge=0, le=4094)] = Field(
        default=1, title="VLAN", description="VLAN of all frames; 0 makes them priority-tagged."
    )

    @field_validator("frame_mix", mode="before")
    @classmethod
    def _imix(cls, value: Any) -> Any:
        return [{"frame_bytes": size.frame_bytes, "weight": size.weight} for size in IMIX] if value == "imix" else value

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        faults: list[InitErrorDetails] = []
        if self.priorities and len(self.priorities) != self.senders:
            faults.append(fault(("priorities",), f"{self.senders} priorities, one for each sender", f"{len(self.priorities)}"))
        named = [key for key in ("frame_bytes", "frame_bytes_by_priority", "frame_mix") if getattr(self, key) is not None]
        if len(named) > 1:
            faults.append(fault((named[1],), "one of frame_bytes, frame_bytes_by_priority and frame_mix", " and ".join(named)))
        if self.frame_bytes_by_priority is not None:
            missing = sorted(set(self.sender_priorities) - set(self.frame_bytes_by_priority))
            if missing:
                faults.append(
                    fault(
                        ("frame_bytes_by_priority",),
                        "a frame size for each VLAN priority that is sent",
                        f"none for {', '.join(map(str, missing))}",
                    )
                )
        if self.frame_mix == ():
            faults.append(fault(("frame_mix",), "at least one frame size", "none"))
        if faults:
            refuse(type(self), *faults)
        return self

    @functools.cached_property
    def sender_priorities(self) -> tuple[int, ...]:
        """VLAN priority of each sender."""
        return self.priorities or tuple(sender % PRIORITIES for sender in range(self.senders))

    def frame_sizes(self, priority: int) -> tuple[FrameSize, ...]:
        """Frame sizes that senders of a VLAN priority use."""
        if self.frame_bytes_by_priority is not None:
            return (FrameSize(frame_bytes=self.frame_bytes_by_priority[priority]),)
        if self.frame_mix:
            return tuple(FrameSize(frame_bytes=part.frame_bytes, weight=part.weight) for part in self.frame_mix)
        return (FrameSize(frame_bytes=self.frame_bytes or 1518),)

    def mean_frame_bytes(self, priority: int) -> float:
        """Mean frame size [byte] over the frames of a VLAN priority."""
        sizes = self.frame_sizes(priority)
        return sum(size.frame_bytes * size.weight for size in sizes) / sum(size.weight for size in sizes)


class LinkPart(Part):
    """The egress link of the device under test; its ingress links have the same rate."""

    rate_mbps: Annotated[Mbps, Field(le=1_000_000)] = Field(default=100.0, title="Link rate", description="Layer-1 rate of every link.")
    layer: Layer = Field(
        default=Layer.L1, title="Layer", description="L1: loads and results count preamble and gap (20 octets a frame); L2: they do not."
    )

    @property
    def rate_bps(self) -> int:
        """Layer-1 rate [bit/s]."""
        return round(self.rate_mbps * 1e6)


class LoadPart(Part):
    """The sweep of offered load."""

    per_sender_mbps: tuple[Mbps, ...] = Field(
        max_length=200, title="Offered load per sender", description="Ascending; all senders send at the same load."
    )

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        loads = self.per_sender_mbps
        if not loads:
            refuse(type(self), fault(("per_sender_mbps",), "at least one load", "none"))
        wrong = [
            fault(("per_sender_mbps", at), f"loads that ascend: more than {loads[at - 1]:g} Mbit/s", f"{loads[at]:g}")
            for at in range(1, len(loads))
            if loads[at] <= loads[at - 1]
        ]
        if wrong:
            refuse(type(self), *wrong)
        return self


class TrialPart(Part):
    """The times of one trial."""

    duration_s: Annotated[Seconds, Field(gt=0, le=3600)] = Field(default=1.0, title="Measured span", description="Frames sent in it count.")
    warmup_s: Annotated[Seconds, Field(ge=0, le=600)] = Field(default=0.25, title="Warm-up", description="Sent before it, not counted.")
    drain_s: Annotated[Seconds, Field(ge=0, le=600)] | None = Field(
        default=None, title="Drain", description="Listening afterwards; as default the time in which full queues empty, and 50 ms."
    )
    batches: Annotated[Whole, Field(ge=10, le=200)] = Field(
        default=20, title="Batches", description="Equal parts of the measured span that intervals are made from."
    )
