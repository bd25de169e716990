"""The path of a plan: what each direction does to packets, or the two hosts of a testbed that it lies between."""

import functools
import math
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from rackproof.model.path import Direction, EmulatedPath
from testplans.strict import Mbps, Part, Share, Whole, fault, refuse

TRACES = Path(__file__).parent / "traces"
#: Bytes that an opportunity of a trace can deliver (mahimahi's trace files).
OPPORTUNITY_BYTES = 1500

Milliseconds = Annotated[float, Field(strict=True, allow_inf_nan=False, json_schema_extra={"unit": "ms"})]


def traces() -> tuple[str, ...]:
    """Names of the trace files that are there, without their ending."""
    return tuple(sorted(file.stem for file in TRACES.glob("*.trace")))


class DirectionPart(Part):
    """One direction of the path. Rates and buffers count bytes of IP packets."""

    rate_mbps: Annotated[Mbps, Field(le=10_000)] | None = Field(default=None, title="Rate", description="What the link drains.")
    trace: str | None = Field(
        default=None, max_length=60, title="Trace", description="Name of a mahimahi trace of the box, instead of a rate."
    )
    elsewhere: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        title="Measured elsewhere",
        description="Instead of a rate or trace: what is known of a path that was not emulated here. Imported campaigns have it.",
    )
    delay_ms: Annotated[Milliseconds, Field(ge=0, le=2000)] = Field(
        default=20.0, title="One-way delay", description="Of a packet that waits for nothing."
    )
    buffer_bytes: Annotated[Whole, Field(ge=1500, le=1_000_000_000)] | None = Field(
        default=None, title="Buffer", description="Drop-tail; what waits for the link.", json_schema_extra={"unit": "byte"}
    )
    buffer_packets: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, title="Buffer in packets", description="Drop-tail; what waits for the link.", json_schema_extra={"unit": "packet"}
    )
    loss_share: Annotated[Share, Field(lt=1)] = Field(
        default=0.0, title="Random loss", description="Share of the packets that are dropped on arrival, whatever the queue."
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        given = [name for name in ("rate_mbps", "trace", "elsewhere") if getattr(self, name) is not None]
        if len(given) > 1:
            refuse(type(self), fault((given[1],), "a rate or a trace", "both"))
        if not given:
            refuse(type(self), fault((), "a rate_mbps or a trace", "neither"))
        if self.trace is not None and self.trace not in traces():
            refuse(type(self), fault(("trace",), f"a trace of the box ({', '.join(traces()) or 'there is none'})", self.trace))
        return self

    @functools.cached_property
    def trace_ms(self) -> tuple[int, ...]:
        """When the link may deliver [ms since the start]; empty where it has a rate."""
        if self.trace is None:
            return ()
        return tuple(int(line) for line in (TRACES / f"{self.trace}.trace").read_text().split())

    @property
    def capacity_bps(self) -> float:
        """What the link can carry in the long run [bit/s]; inf where it was measured elsewhere: nobody can emulate it."""
        if self.elsewhere is not None:
            return math.inf
        if self.rate_mbps is not None:
            return self.rate_mbps * 1e6
        return len(self.trace_ms) * OPPORTUNITY_BYTES * 8e3 / self.trace_ms[-1]

    def direction(self) -> Direction:
        """As the device is asked for it."""
        return Direction(
            rate_bps=None if self.rate_mbps is None else self.rate_mbps * 1e6,
            trace_ms=self.trace_ms,
            delay_ms=self.delay_ms,
            buffer_bytes=self.buffer_bytes,
            buffer_packets=self.buffer_packets,
            loss=self.loss_share,
        )


#: A host by the name that the inventory of a testbed has for it.
HostName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class PathPart(Part):
    """An emulated path, whose way back is as the way there where nothing is said of it; or whatever lies between two real hosts."""

    forward: DirectionPart | None = Field(default=None, title="From sender to receiver")
    backward: DirectionPart | None = Field(default=None, title="From receiver to sender", description="As forward where it is left out.")
    hosts: tuple[HostName, ...] = Field(
        default=(),
        title="Real hosts",
        description="Instead of an emulated path: the sender and the receiver, by their names in the testbed's inventory.",
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.hosts:
            faults = [
                fault((name,), "nothing beside hosts: what is between them is not emulated", "a direction")
                for name in ("forward", "backward")
                if getattr(self, name) is not None
            ]
            if len(set(self.hosts)) != 2 or len(self.hosts) != 2:
                faults.append(fault(("hosts",), "two hosts that differ: the sender and the receiver", ", ".join(self.hosts)))
            if faults:
                refuse(type(self), *faults)
        elif self.forward is None:
            refuse(type(self), fault((), "forward (an emulated path) or hosts (two of a testbed)", "neither"))
        return self

    @property
    def known(self) -> DirectionPart | None:
        """The way there, where it is emulated; None where nobody knows what it does to packets."""
        return self.forward if self.forward is not None and self.forward.elsewhere is None else None

    @property
    def words(self) -> str:
        """In short: "40 Mbit/s, 20 ms, 200 kB"."""
        each = self.forward
        if each is None:
            return f"from {self.hosts[0]} to {self.hosts[1]}"
        if each.elsewhere is not None:
            return each.elsewhere
        parts = [f"{each.rate_mbps:g} Mbit/s" if each.rate_mbps is not None else f"trace {each.trace}", f"{each.delay_ms:g} ms"]
        if each.buffer_bytes is not None:
            parts.append(f"{each.buffer_bytes / 1e3:g} kB")
        if each.buffer_packets is not None:
            parts.append(f"{each.buffer_packets} packets")
        if each.loss_share:
            parts.append(f"{100 * each.loss_share:g} % loss")
        return ", ".join(parts)

    def emulated(self, seed: int) -> EmulatedPath:
        """As the device is asked for it; forward must be there."""
        assert self.forward is not None
        return EmulatedPath(forward=self.forward.direction(), backward=(self.backward or self.forward).direction(), seed=seed)
