"""What a device can be asked to do: a function is data, and each device driver says which functions it knows."""

from dataclasses import dataclass
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
    """

    discipline: Discipline
    port: str
    link_rate_bps: int
    priority_map: tuple[int, ...]
    queue_frames: int
    weights: tuple[float, ...] = ()
    quantum_bytes: int = 1518

    @property
    def queues(self) -> int:
        """How many queues the priority map names."""
        return max(self.priority_map) + 1
