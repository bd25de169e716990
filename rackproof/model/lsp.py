"""LSPs that RSVP-TE sets up, tears down and sets up again: what a signaller is asked for, and how what it saw is written down.

An LSP has a number: 0 to stable - 1 stay up, stable to stable + flapped - 1 are flapped. Each time that it is set up is an instance of it,
with an LSP id that no other instance has. What the signaller saw comes as samples (rackproof.model.traffic), told apart by their port:

- an event: port FIRST_EVENT + EventKind, tx_ns when it happened, rx_ns 0, stream the LSP's number (NO_LSP: none), frame_bytes the LSP id of
  the instance, sequence a value (see EventKind), pcp how often it had been sent before (0: the first time);
- a probe, a labelled frame of the signaller's own through one LSP: port PROBE, tx_ns and rx_ns as ever (rx_ns 0: it never came), stream the
  LSP's number, frame_bytes the LSP id of the instance whose label it was sent with, sequence the label stack entry that it came with (32
  bits as on the wire; 0: it came without), pcp a ProbeState. It leaves with TTL PROBE_TTL and traffic class number modulo PROBE_CLASSES.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

#: Port of a probe's sample.
PROBE = 2000
#: Port of the first kind of event.
FIRST_EVENT = 2001
#: The LSP number of what concerns none.
NO_LSP = 0xFFFF
#: Most instances of all LSPs together in one run: LSP ids have 16 bits.
INSTANCES_MAX = 65_000
#: TTL that probes leave with.
PROBE_TTL = 64
#: Probes of LSP n leave with traffic class n modulo this.
PROBE_CLASSES = 8


class EventKind(IntEnum):
    """What happened; in brackets the sample's value."""

    PATH_SENT = 0
    PATH_RECEIVED = 1
    """The first PATH of an instance at the egress [address in RSVP_HOP]."""
    RESV_SENT = 2
    """[label]"""
    RESV_RECEIVED = 3
    """The first RESV of an instance at the ingress, or one with another label [label]: it is up."""
    TEAR_SENT = 4
    TEAR_RECEIVED = 5
    """A PATH_TEAR at the egress; pcp counts those of the instance that came before."""
    PATH_ERR = 6
    """At the ingress [error code << 16 | error value]."""
    RESV_ERR = 7
    """At the egress [error code << 16 | error value]."""
    RESV_TEAR = 8
    """At the ingress: the other side gave the LSP up."""
    RESV_CONF = 9
    """At the egress."""
    PHANTOM = 10
    """No device answers for it, though it may come up [address in RSVP_HOP]: PATH was only forwarded, or RESV is not from a device."""
    GAVE_UP = 11
    """Sent as often as may be without an answer [0: PATH, 1: PATH_TEAR]."""
    EXPIRED = 12
    """Its lifetime ended without a refresh [0: seen at the ingress, 1: at the egress]."""
    STALE_REFRESH = 13
    """The egress is still told of an instance that was torn down."""
    FLAP_BEGIN = 14
    """[number of the flap, from 1]"""
    FLAP_END = 15
    """[number of the flap, from 1]"""
    CONFIGURED = 16
    """A device has taken a configuration that changes LSPs [0: without, 1: with those that flap]."""


class ProbeState(IntEnum):
    """What the signaller knew when it sent a probe: the LSP is up; its tear was sent; its RESV came less than the gap's span ago."""

    UP = 0
    TORN = 1
    FRESH = 2


class Style(StrEnum):
    """Reservation style (RFC 2205, 1.3): fixed filter or shared explicit."""

    FF = "FF"
    SE = "SE"


class LabelMode(StrEnum):
    """What the egress asks to be given: the next free label, a pop one hop before (implicit null, 3), or label 0 (explicit null)."""

    NEXT_FREE = "next-free"
    IMPLICIT_NULL = "implicit-null"
    EXPLICIT_NULL = "explicit-null"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ler:
    """An emulated label edge router on a port of the generator: its address there, that of the device, and its router id (all IPv4)."""

    port: str
    address: str
    neighbour: str
    router_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How fast messages leave [1/s], and when one is sent again.

    A PATH or PATH_TEAR is sent again when retry_s passed without an answer to it, and without anything new of any LSP at either end, so
    that a device that is slow and at work is not given more; at most retries times.
    """

    setups_per_s: float = 2000.0
    teardowns_per_s: float = 2000.0
    retry_s: float = 1.0
    retries: int = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Probing:
    """Frames that show whether an LSP forwards. fps: over all LSPs together, in turn [1/s], one a second for each that is stable at most.

    After RESV an LSP gets one each gap_us until the first has come, for gap_s at most. bytes: of a probe, FCS included.
    """

    fps: float = 2000.0
    gap_us: float = 500.0
    gap_s: float = 0.2
    frame_bytes: int = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Signalling:
    """LSPs from an ingress to an egress.

    routes: explicit routes as addresses of strict hops; LSP n takes routes[n modulo their number]; empty: the neighbour as the only, loose
    for what follows. bandwidth_bps: asked for each. refresh_s: R of RFC 2205. hello_s: how often HELLO is originated, 0: never (it is
    always answered). refresh_reduction: RFC 2961 where the neighbour has it. setup_s: how long establishing all of them may take.
    """

    ingress: Ler
    egress: Ler
    stable: int
    flapped: int
    campaign: int
    trial: int
    seed: int
    setup_s: float
    routes: tuple[tuple[str, ...], ...] = ()
    style: Style = Style.SE
    labels: LabelMode = LabelMode.NEXT_FREE
    bandwidth_bps: float = 0.0
    refresh_s: float = 30.0
    hello_s: float = 0.0
    refresh_reduction: bool = True
    pace: Pace = field(default_factory=Pace)
    probing: Probing | None = field(default_factory=Probing)


@dataclass(frozen=True, kw_only=True, slots=True)
class Established:
    """What came of setting LSPs up. labels: by LSP number, of those that are up and that a device answers for [label to send with].

    source_mac, destination_mac: of the ingress and of its neighbour, for labelled frames. refused: error in words -> how many.
    """

    labels: Mapping[int, int]
    source_mac: str
    destination_mac: str
    took_s: float
    phantoms: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Flaps:
    """Phases of a run: nothing for prior_s, then windows, each of which begins with a flap, then drain_s for what is under way.

    A flap tears those of the flapped LSPs down that are up; each is set up again as soon as the egress has seen its tear, or it was given
    up. Those that are still down when the next flap begins go on coming up.
    """

    prior_s: float
    windows_s: tuple[float, ...]
    drain_s: float
