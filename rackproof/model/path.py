"""An emulated path between two ends: what it does to packets in each direction, and how what it saw of them is written down."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.functions import DeviceFunction
from rackproof.model.traffic import Samples

#: The model of a path that is nothing but what lies between two real hosts, and its options: the first flow's port, and how many flows.
BETWEEN_HOSTS = "between-hosts"
FIRST_PORT, FLOWS = "first_port", "flows"
#: Samples.rx_ns of a packet that came to the path and was dropped there.
DROPPED = 0
#: Samples.rx_ns of a packet that was still in the path when recording ended.
IN_FLIGHT = -1
#: Samples.port of packets from the sender's end to the receiver's, and of those that go back.
FORWARD, BACKWARD = 0, 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Direction:
    """One direction of a path: a drop-tail queue, a link that drains it, a delay after that, and random loss before.

    rate_bps: what the link drains, counted in bytes of IP packets; None where trace_ms says when it may: every entry is an opportunity to
    deliver 1500 bytes [ms since the start], and the list begins anew after its last entry (mahimahi's trace files). buffer_bytes and
    buffer_packets bound what waits (None: no bound); loss: probability that a packet is dropped on arrival, whatever the queue.
    """

    rate_bps: float | None
    delay_ms: float
    trace_ms: tuple[int, ...] = ()
    buffer_bytes: int | None = None
    buffer_packets: int | None = None
    loss: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EmulatedPath(DeviceFunction):
    """The path between ports a1, a2, ... (senders) and b1, b2, ... (receivers): a<k> talks to b<k>, all share both directions."""

    forward: Direction
    backward: Direction
    seed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Packets:
    """Packets of one direction as columns of equal length, in order of arrival at the path (its ingress).

    ingress_ns: CLOCK_REALTIME; egress_ns: when it left the path, DROPPED or IN_FLIGHT; flow: from 1; packet_bytes: the IP packet.
    """

    ingress_ns: npt.NDArray[np.int64]
    egress_ns: npt.NDArray[np.int64]
    flow: npt.NDArray[np.uint16]
    packet_bytes: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.ingress_ns)

    @classmethod
    def of(cls, samples: Samples, direction: int) -> "Packets":
        """The packets of one direction (FORWARD or BACKWARD): tx_ns is the ingress, rx_ns the egress, stream the flow."""
        mine = samples.port == direction
        order = np.argsort(samples.tx_ns[mine], kind="stable")
        columns = (samples.tx_ns, samples.rx_ns, samples.stream, samples.frame_bytes)
        ingress, egress, flow, size = (column[mine][order] for column in columns)
        return cls(ingress_ns=ingress, egress_ns=egress, flow=flow, packet_bytes=size)

    @property
    def delivered(self) -> npt.NDArray[np.bool_]:
        """True for packets that left the path."""
        return self.egress_ns > 0
