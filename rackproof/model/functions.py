"""What a device can be asked to do: a function is data, and each device driver says which functions it knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceFunction:
    """Base of all functions. A driver that does not know one raises DeviceError."""


class Discipline(StrEnum):
    """Scheduling discipline of an egress port."""

    STRICT_PRIORITY = "strict-priority"
    WRR_PACKETS = "wrr-packets"
    WRR_BYTES = "wrr-bytes"


@dataclass(frozen=True, kw_only=True, slots=True)
class QosScheduler(DeviceFunction):
    """Queues and scheduler of one egress port.

    priority_map[pcp] is the queue of VLAN priority pcp (8 entries); queues count from 0, the lowest. weights: one per queue, summing to 1,
    for the round robins; empty for strict priority. link_rate_bps is a layer-1 rate. queue_frames: the length of each queue in frames.
    frame_bytes: the size that every frame has, None where sizes differ: with one size, round robin by packets and by bytes are the same.
    """

    discipline: Discipline
    port: str
    link_rate_bps: int
    priority_map: tuple[int, ...]
    queue_frames: int
    weights: tuple[float, ...] = ()
    quantum_bytes: int = 1518
    frame_bytes: int | None = None

    @property
    def queues(self) -> int:
        """How many queues the priority map names."""
        return max(self.priority_map) + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Vlan(DeviceFunction):
    """Ports of one VLAN: tagged ones keep the tag, untagged ones add and remove it."""

    vlan_id: int
    tagged: tuple[str, ...] = ()
    untagged: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class MplsInterface:
    """A port that takes labelled frames, with its IPv4 address ("10.0.1.1/24"), and RSVP or LDP on it where these are true.

    With LDP the router id is an address of the router too: neighbours need a route to it.
    """

    port: str
    address: str
    rsvp: bool = True
    ldp: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticLabel:
    """Frames with label in_label leave by port towards next_hop (IPv4), with out_label, or without a label where that is None.

    push: one more label that goes on top of out_label, as into a bypass tunnel (RFC 4090, 3.2).
    """

    in_label: int
    port: str
    next_hop: str
    out_label: int | None = None
    push: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mpls(DeviceFunction):
    """A label switching router: its router id (IPv4), interfaces, static labels, and static routes (prefix -> next hop) for the egress."""

    router_id: str
    interfaces: tuple[MplsInterface, ...]
    labels: tuple[StaticLabel, ...] = ()
    routes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow:
    """One entry of an OpenFlow table, match and actions as `ovs-ofctl` writes them ("in_port=eth1,dl_vlan=10" -> "output:eth2")."""

    table: int
    priority: int
    match: str
    actions: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenFlowPipeline(DeviceFunction):
    """The tables of an OpenFlow 1.3 switch over the given ports."""

    ports: tuple[str, ...]
    flows: tuple[Flow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class HostTuning(DeviceFunction):
    """Kernel settings of a Linux host (sysctl name -> value), and features of its interfaces (interface -> ethtool feature -> on)."""

    sysctl: Mapping[str, str] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
