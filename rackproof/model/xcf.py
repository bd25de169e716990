"""A packet forwarding element of 5G-Crosshaul (XPFE): the tables of its pipeline as data, and what is written down of its links.

Tables carry the numbers of Figure 3 of "5G-Crosshaul packet forwarding element" (t,n: table n of a tenant). Frames between elements are
MAC-in-MAC (IEEE 802.1ah): B-DA, B-SA, B-TAG, I-TAG, then the customer's frame, whose FCS is counted once.
"""

from dataclasses import dataclass

from rackproof.model.functions import DeviceFunction

#: What MAC-in-MAC adds to a frame [byte]: B-DA and B-SA 12, B-TAG 4, I-TAG 6.
ENCAPSULATION_BYTES = 22
#: Tenants up to this number have tables of their own; all others share one set, told apart by the I-SID.
OWN_TABLES_MAX = 30
#: Samples.port of what was seen on the first serialised link of a topology, the next ones follow: tx_ns is when a frame came to the link
#: (it has left the element before), rx_ns when it was handed to the element behind (rackproof.model.path.DROPPED, IN_FLIGHT where it was
#: not), sequence and stream are those of the frame itself, frame_bytes is its size on that link (FCS and encapsulation included).
FIRST_LINK = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """Where a service is attached (t,1): frames that come in at UNI port `port` with customer VLAN c_vlan belong to it."""

    port: str
    c_vlan: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A tenant's service, carried under its I-SID (24 bits); b_vlan is the backbone VLAN that it travels in.

    Multicast frames go to all of its UNI ports (t,5): not back to where they came from, and not into the network again when they came
    from there (split horizon).
    """

    i_sid: int
    tenant: int
    b_vlan: int
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Priority:
    """Priority of a service's frames in the network (t,0): pcp of the C-TAG -> b_pcp of the B-TAG. The customer's frame keeps its own.

    Without an entry b_pcp is the frame's own.
    """

    i_sid: int
    pcp: int
    b_pcp: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessRule:
    """Access control of a service (t,2): the first rule that matches decides, None matches all; without one, frames pass.

    Addresses are "02:00:00:00:00:01"; ethertype is the one behind the C-TAG.
    """

    i_sid: int
    permit: bool
    source: str | None = None
    destination: str | None = None
    ethertype: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Policer:
    """Most that a service may bring into the network at this element (t,3): a token bucket of octets at layer 2 (FCS included)."""

    i_sid: int
    rate_bps: int
    burst_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Station:
    """Where a customer address of a service is: at a UNI port here (t,4), or behind the element whose address is `element` (t,7)."""

    i_sid: int
    address: str
    port: str | None = None
    element: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Where the multicast frames of a service travel: the group address that stands in B-DA for them (t,7); 253 says the ports."""

    i_sid: int
    address: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """Frames of the network for B-DA `address` in backbone VLAN b_vlan leave through these NNI ports (253); several for a group."""

    address: str
    b_vlan: int
    ports: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ForwardingElement(DeviceFunction):
    """All tables of one element. address identifies it (table 0 decapsulates what is sent to it; B-SA of what it encapsulates)."""

    address: str
    uni: tuple[str, ...]
    nni: tuple[str, ...]
    services: tuple[Service, ...] = ()
    priorities: tuple[Priority, ...] = ()
    access: tuple[AccessRule, ...] = ()
    policers: tuple[Policer, ...] = ()
    stations: tuple[Station, ...] = ()
    groups: tuple[Group, ...] = ()
    routes: tuple[Route, ...] = ()
