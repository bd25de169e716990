"""Rackproof's measurement engine: packet sender, receiver, reference switch and emulated path.

Every thread is native and never holds the interpreter's lock; calls that wait release it. Threads
end when their object is stopped or deleted; their sockets may take some 30 ms longer to close, of
which only deleting the object at once has to wait. System calls that fail raise OSError, with the
interface's name as `filename`.
"""

from typing import Final, Literal, Protocol, final, type_check_only

from rackproof.model.functions import Mpls
from rackproof.model.lsp import Flaps, Signalling
from rackproof.model.xcf import ForwardingElement

SIGNATURE_BYTES: Final[int]
"""Length of the signature that follows a stream's header [bytes]."""

RECORD_DTYPE_DESCR: Final[list[tuple[str, str]]]
"""Description of a record for `numpy.dtype`: 32 bytes, without gaps.

tx_ns i8 and rx_ns i8 (CLOCK_REALTIME [ns], at sending and from the receiving kernel), sequence u4,
stream u2, frame_bytes u2 (on the wire: tag and FCS included), port u2 (index in the receiver's
ports), pcp u1 (of the outermost VLAN tag; UNTAGGED_PCP if none), flags u1 (FLAG_*), padding u4."""

UNTAGGED_PCP: Final[int]
"""`pcp` of a frame without a VLAN tag."""
FLAG_STACKED_VLAN: Final[int]
"""`flags` bit of a frame with more than one VLAN tag."""
FLAG_MPLS: Final[int]
"""`flags` bit of a frame with MPLS labels."""
FLAG_PBB: Final[int]
"""`flags` bit of a frame with an I-TAG (802.1ah)."""

@final
class Port:
    """An interface in a network namespace."""

    def __init__(self, interface: str, netns_fd: int | None = None) -> None:
        """`netns_fd` is an open descriptor of the namespace; None means the caller's.

        It is used while a Sender or Receiver is constructed and may be closed afterwards.
        """
    @property
    def interface(self) -> str: ...
    @property
    def netns_fd(self) -> int | None: ...

@final
class Stream:
    """A stream of frames: what they look like and when they leave."""

    def __init__(
        self,
        *,
        stream: int,
        port: int,
        header: bytes,
        frame_sizes: list[tuple[int, float]],
        rate_fps: float,
        arrivals: Literal["constant", "poisson", "flat_out"],
        phase: float | None = None,
    ) -> None:
        """A stream.

        stream: its number, 0 to 65535, carried by every frame; with the sender's seed it seeds the
            stream's random draws.
        port: index in the sender's ports.
        header: all bytes from the destination address to the last EtherType or label before the
            signature, 14 to 200; VLAN tags, MPLS labels and PBB are just bytes.
        frame_sizes: (frame_bytes, weight); frame_bytes with every tag and the FCS, so the frame on
            a veth is 4 bytes shorter. Weights need not sum to one.
        rate_fps: mean rate [frames/s]; ignored when flat out.
        arrivals: "constant" gaps, "poisson" or "flat_out" (as fast as possible).
        phase: when the first of constant arrivals is due, as a fraction of the gap, 0 to 1; None
            draws it from the seed.

        Raises ValueError, naming the stream, for whatever is out of bounds.
        """
    @property
    def stream(self) -> int: ...
    @property
    def port(self) -> int: ...

@final
class SenderReport:
    """What a sender did. Lists are in the order of its streams."""

    @property
    def started_ns(self) -> int:
        """Origin of the schedule, CLOCK_REALTIME [ns]."""
    @property
    def ended_ns(self) -> int:
        """The end, CLOCK_REALTIME [ns]."""
    @property
    def clock_step_ns(self) -> int:
        """How far CLOCK_REALTIME moved against CLOCK_MONOTONIC from start to end [ns]."""
    @property
    def frames(self) -> list[int]:
        """Frames that the kernel took."""
    @property
    def octets(self) -> list[int]:
        """Lengths of those frames, summed: tags and FCS included [bytes]."""
    @property
    def intended_frames(self) -> list[int]:
        """Frames that were due between start and end; flat out: those sent."""
    @property
    def mark_ns(self) -> list[int]:
        """The marks, CLOCK_REALTIME [ns]."""
    @property
    def mark_frames(self) -> list[list[int]]:
        """For each stream and mark, frames that the kernel had taken before it.

        Where nothing was refused this is the sequence number of the first frame after the mark.
        """
    @property
    def mark_octets(self) -> list[list[int]]:
        """The lengths of those frames, summed [bytes]."""
    @property
    def mark_scheduled(self) -> list[list[int]]:
        """For each stream and mark, frames that were due before it; flat out: those sent."""
    @property
    def errors(self) -> int:
        """Frames that the kernel refused for good, or that were blocked at the end."""
    @property
    def blocked(self) -> int:
        """How often the kernel had no room (EAGAIN, ENOBUFS) and was asked again."""
    @property
    def lateness_ns_p50(self) -> int:
        """Actual minus scheduled time of sending, median [ns]; 0 if nothing was scheduled."""
    @property
    def lateness_ns_p99(self) -> int:
        """The same, 99th percentile [ns], at most 3.2 % too high."""
    @property
    def lateness_ns_max(self) -> int:
        """The same, maximum [ns]."""
    @property
    def stalled_ns(self) -> int:
        """How long its thread was kept from running, in pauses of more than 0.2 ms [ns].

        Other tasks, interrupts and the hypervisor do that; frames near a pause tell of the host.
        """
    @property
    def stalls(self) -> list[tuple[int, int]]:
        """Start (CLOCK_REALTIME) and length of those pauses, the first 10000 [ns]."""

@final
class Sender:
    """Sends streams on an absolute schedule, from one thread that spins.

    A frame carries CLOCK_REALTIME as read just before the system call that sends it. Late frames are
    caught up, in calls of at most 16 that share that time (flat out: 64). Nothing is sent after the
    duration. Ports whose streams are all flat out send from a ring, which holds about 1000 frames
    that nobody has received yet.
    """

    def __init__(
        self,
        *,
        ports: list[Port],
        streams: list[Stream],
        campaign: int,
        trial: int,
        seed: int,
        duration_s: float,
        marks_s: list[float] = ...,
        cpu: int | None = None,
        nice: int | None = None,
    ) -> None:
        """Opens the sockets.

        campaign, trial: 0 to 2**32 - 1, carried by every frame. seed: 0 to 2**64 - 1.
        marks_s: ascending times after the start at which counts are noted [s].
        cpu pins the thread; nice is its niceness (negative: preferred). What the system forbids of
        these two is left as it was.

        Raises OSError if an interface or namespace can't be used, ValueError for a stream whose
        port doesn't exist.
        """
    def start(self) -> None:
        """Starts sending. Raises RuntimeError if it was started before."""
    def stop(self) -> None:
        """Asks it to stop early; returns at once."""
    def join(self, timeout_s: float | None = None) -> bool:
        """Waits until it has ended, at most `timeout_s`; whether it has. True if never started.

        Signals are handled while waiting.
        """
    def report(self) -> SenderReport:
        """What it did. Raises RuntimeError before the end."""

@final
class ReceiverReport:
    """What a receiver saw. Lists are in the order of its ports."""

    @property
    def records(self) -> list[int]:
        """Frames recorded."""
    @property
    def foreign(self) -> list[int]:
        """Frames of another campaign or trial, not recorded."""
    @property
    def other(self) -> list[int]:
        """Frames that aren't ours, such as neighbour discovery."""
    @property
    def ring_drops(self) -> list[int]:
        """Frames that the kernel had no room for: any makes a trial's loss untrue."""
    @property
    def overflow(self) -> list[int]:
        """Frames of this trial beyond the capacity, not recorded."""

@final
class Receiver:
    """Records the frames of one trial, with the kernel's timestamps.

    One thread that mostly sleeps. Port by port, records are in the order of arrival; across ports
    they are not: sort by rx_ns where that matters.
    """

    def __init__(
        self,
        *,
        ports: list[Port],
        campaign: int,
        trial: int,
        capacity: int,
        cpu: int | None = None,
        nice: int | None = None,
    ) -> None:
        """Opens sockets and rings.

        capacity: most records, 32 bytes each; memory is taken as they are written. cpu and nice as
        for Sender.

        Raises OSError if an interface or namespace can't be used, ValueError without a port.
        """
    def start(self) -> None:
        """Arms every ring; frames are received from the moment it returns.

        Raises RuntimeError if it was started before.
        """
    def stop(self) -> None:
        """Refuses further frames, records those in the rings, ends the thread."""
    def received(self) -> int:
        """Records so far; while running, up to some 20 ms behind."""
    def take_records_fd(self) -> int:
        """Descriptor of a memfd that holds the records and nothing else; the caller owns it.

        Raises RuntimeError before stop and when called twice.
        """
    def report(self) -> ReceiverReport:
        """What it saw. Raises RuntimeError before stop."""

@final
class SwitchReport:
    """What a switch did. Lists are per queue, the lowest priority first."""

    @property
    def received(self) -> list[int]:
        """Frames that arrived for the queue."""
    @property
    def sent(self) -> list[int]:
        """Frames delivered."""
    @property
    def dropped(self) -> list[int]:
        """Frames dropped: the queue was full, or the defect `unfair`."""
    @property
    def other(self) -> int:
        """Frames on interfaces that are no ingress port, and those longer than the egress MTU."""
    @property
    def errors(self) -> int:
        """Frames that the egress interface refused."""
    @property
    def ring_drops(self) -> int:
        """Frames that the receive ring had no room for: any makes the switch untrue."""
    @property
    def lateness_ns_p50(self) -> int:
        """Actual delivery minus departure in virtual time, median [ns]."""
    @property
    def lateness_ns_p99(self) -> int:
        """The same, 99th percentile [ns], at most 3.2 % too high."""
    @property
    def lateness_ns_max(self) -> int:
        """The same, maximum [ns]."""
    @property
    def clock_step_ns(self) -> int:
        """How far CLOCK_REALTIME moved against CLOCK_MONOTONIC from start to end [ns]."""
    @property
    def stalled_ns(self) -> int:
        """How long its thread was kept from running, in pauses of more than 0.2 ms [ns].

        Other tasks, interrupts and the hypervisor do that; frames near a pause tell of the host.
        """
    @property
    def stalls(self) -> list[tuple[int, int]]:
        """Start (CLOCK_REALTIME) and length of those pauses, the first 10000 [ns]."""

@final
class Switch:
    """The `reference` device: an N to 1 switch whose schedule is exact.

    Departures are computed in virtual time from the kernel's receive timestamps, so that a busy
    host delays delivery but never changes the schedule. A frame occupies the link for
    (frame_bytes + l1_overhead_bytes) * 8 / link_rate_bps and is delivered at the end of that. Tail
    drop per queue; the frame in transmission has left its queue.
    """

    def __init__(
        self,
        *,
        netns_fd: int | None,
        ingress: list[str],
        egress: str,
        link_rate_bps: int,
        scheduler: Literal["strict_priority", "wrr_packets", "wrr_bytes"],
        weights: list[float],
        queue_frames: list[int],
        pcp_to_queue: list[int],
        quantum_bytes: int = 1518,
        leak: float = 0.0,
        waste: float = 0.0,
        unfair: float = 0.0,
        weights_per_packet: bool = False,
        l1_overhead_bytes: int = 20,
        seed: int = 0,
        cpu: int | None = None,
        nice: int | None = None,
    ) -> None:
        """Opens the sockets.

        netns_fd: namespace of all interfaces; None means the caller's. ingress: interfaces, the
            first is port 0. egress: the interface behind the link; its MTU bounds the frames.
        link_rate_bps: layer 1 rate, 1e3 to 1e12.
        scheduler: "strict_priority" (highest queue index first); "wrr_packets" (cyclic, highest
            index first, each queue sends up to its whole number of frames per round, the smallest
            numbers in the ratio of the weights); "wrr_bytes" (deficit round robin, frame_bytes
            counted, FCS included).
        weights: one per queue, above 0, need not sum to one; may be empty for strict priority.
        queue_frames: room of each queue [frames]; its length is the number of queues.
        pcp_to_queue: the queue of each of the 8 priorities; untagged frames count as priority 0.
        quantum_bytes: quantum of the smallest weight, 64 to 1e6 (wrr_bytes).
        leak: probability that a strict-priority decision serves the lowest waiting queue.
        waste: fraction of the link that is lost, at most 0.99.
        unfair: probability that a frame of an odd ingress port is dropped while its queue is more
            than half full.
        weights_per_packet: with wrr_bytes, count frames instead.
        seed: of the defects' draws. cpu and nice as for Sender.

        Raises OSError if an interface or namespace can't be used, ValueError for what is out of
        bounds.
        """
    def start(self) -> None:
        """Begins to forward; frames are seen from the moment it returns.

        Raises RuntimeError if it was started before.
        """
    def stop(self) -> None:
        """Stops forwarding. Frames that still wait are discarded."""
    def report(self) -> SwitchReport:
        """What it did; before stop, what it had done when it last had nothing to forward for 2 ms."""

@final
class PathDirection:
    """One direction of a path: random loss, then a drop-tail queue, a link that drains it, a delay."""

    def __init__(
        self,
        *,
        rate_bps: float | None = None,
        trace_ms: list[int] = ...,
        delay_ms: float = 0.0,
        buffer_bytes: int | None = None,
        buffer_packets: int | None = None,
        loss: float = 0.0,
    ) -> None:
        """Everything counts bytes of IP packets: frames without Ethernet header and FCS.

        rate_bps: what the link drains, 1e3 to 1e12; a packet has passed when its last bit has.
        trace_ms: instead of a rate, ascending moments at which 1500 bytes may pass [ms since
            recording last began, or since the start]; several small packets share one, a large one
            takes several, and one at which nothing waits is lost. The list begins anew at its last
            entry. A packet that comes at the very moment is too late for it.
        delay_ms: what follows the link, 0 to 60000.
        buffer_bytes, buffer_packets: most of what waits, None for no bound. A packet counts until
            its last bit has passed, with a trace until its first byte has: as in mahimahi, where the
            packet that the link will serve next still waits.
        loss: probability that a packet is dropped when it arrives, whatever the queue.

        Raises ValueError for what is out of bounds.
        """

@final
class PathCounts:
    """What happened to the packets of one direction since the start."""

    @property
    def received(self) -> int:
        """IP packets that arrived."""
    @property
    def sent(self) -> int:
        """IP packets that left."""
    @property
    def dropped_buffer(self) -> int:
        """IP packets for which the buffer had no room."""
    @property
    def dropped_loss(self) -> int:
        """IP packets that were lost at random."""
    @property
    def in_flight(self) -> int:
        """IP packets that are in the path now."""
    @property
    def other(self) -> int:
        """Frames without an IP packet (ARP), forwarded with the delay alone and never recorded."""
    @property
    def errors(self) -> int:
        """Frames that the interface refused."""

@final
class PathReport:
    """What a path did. Counts are since its start; lateness and stalls since recording last began."""

    @property
    def forward(self) -> PathCounts: ...
    @property
    def backward(self) -> PathCounts: ...
    @property
    def ring_drops(self) -> int:
        """Frames that ring or memory (262144 frames) had no room for: any makes the path untrue."""
    @property
    def strays(self) -> int:
        """Frames on interfaces of no pair, and those longer than the first interface's MTU."""
    @property
    def lateness_ns_p50(self) -> int:
        """Actual sending minus departure in virtual time, median [ns]."""
    @property
    def lateness_ns_p99(self) -> int:
        """The same, 99th percentile [ns], at most 3.2 % too high."""
    @property
    def lateness_ns_max(self) -> int:
        """The same, maximum [ns]."""
    @property
    def clock_step_ns(self) -> int:
        """How far CLOCK_REALTIME moved against CLOCK_MONOTONIC since the start [ns]."""
    @property
    def stalled_ns(self) -> int:
        """How long its thread was kept from running, in pauses of more than 0.2 ms [ns].

        Other tasks, interrupts and the hypervisor do that; packets near a pause tell of the host.
        """
    @property
    def stalls(self) -> list[tuple[int, int]]:
        """Start (CLOCK_REALTIME) and length of those pauses, the first 10000 [ns]."""

@final
class Path:
    """The `path` device: pairs of ports that talk to each other through two shared directions.

    Departures are computed in virtual time from the kernel's receive timestamps, so that a busy
    host delays delivery but never changes the schedule. One thread, which spins while packets are in
    the path.
    """

    def __init__(
        self,
        *,
        netns_fd: int | None,
        pairs: list[tuple[str, str]],
        forward: PathDirection,
        backward: PathDirection,
        seed: int = 0,
        cpu: int | None = None,
        nice: int | None = None,
    ) -> None:
        """Opens the sockets.

        netns_fd: namespace of all interfaces; None means the caller's. pairs: interfaces (a, b);
            from a to b all packets share `forward`, from b to a `backward`. The first pair is flow 1,
            and the MTU of its a bounds the frames.
        seed: of the random losses. cpu and nice as for Sender.

        Raises OSError if an interface or namespace can't be used, ValueError for pairs that share an
        interface.
        """
    def start(self) -> None:
        """Begins to forward; frames are seen from the moment it returns.

        Raises RuntimeError if it was started before.
        """
    def stop(self) -> None:
        """Ends recording and forwarding. Packets in the path are discarded."""
    def start_recording(self, capacity: int = 50_000_000) -> int:
        """Writes down every IP packet from now on and lets traces begin anew; that moment [ns].

        capacity: most records, 32 bytes each; memory is taken as they are written. The last recording
        is forgotten with the next end of one. Raises RuntimeError if it records or doesn't run.
        """
    def stop_recording(self) -> int:
        """Ends recording; that moment, CLOCK_REALTIME [ns]. Raises RuntimeError if it doesn't record."""
    def take_records_fd(self) -> tuple[int, int]:
        """Descriptor of a memfd that holds the last recording's records and nothing else, which the
        caller owns, and how many packets there was no room for.

        One record a packet, in the order of arrival: tx_ns when it came (the kernel's timestamp),
        rx_ns when it was handed to the kernel to leave (0: dropped, -1: still in the path at the
        end), sequence its number in its direction, stream its flow from 1, frame_bytes its length as
        IP packet, port 0 for forward and 1 for backward, pcp UNTAGGED_PCP, flags 0 for what left or
        may leave, 1 for no room in the buffer, 2 for lost at random.

        Raises RuntimeError before stop_recording and when called twice.
        """
    def report(self) -> PathReport:
        """What it did, up to now. Raises RuntimeError before the start."""

@final
class Wire:
    """One full-duplex wire; both of its directions are alike."""

    def __init__(self, a: str, b: str, *, rate_bps: float, queue_frames: int = 1000, delay_us: float = 0.0) -> None:
        """a, b: interfaces.

        rate_bps: bits per second at layer 1, 1e3 to 1e12: a frame takes its length (FCS counted, at
            least 64 bytes) and 20 bytes of preamble and gap.
        queue_frames: most frames that wait, beside the one that is under way; the next is dropped.
        delay_us: how long a frame travels after its last bit has left, 0 to 6e7.

        Raises ValueError for what is out of bounds.
        """

@final
class WiresReport:
    """What wires did. Counts are since the start; lateness and stalls since recording last began."""

    @property
    def forward(self) -> list[PathCounts]:
        """By wire, from a to b, frames of every kind."""
    @property
    def backward(self) -> list[PathCounts]:
        """By wire, from b to a."""
    @property
    def ring_drops(self) -> int:
        """Frames that ring or memory (262144 frames) had no room for: any makes the wires untrue."""
    @property
    def strays(self) -> int:
        """Frames on interfaces of no wire, and those longer than the first interface's MTU."""
    @property
    def lateness_ns_p50(self) -> int:
        """Actual handing over minus departure in virtual time, median of all wires [ns]."""
    @property
    def lateness_ns_p99(self) -> int:
        """The same, 99th percentile [ns], at most 3.2 % too high."""
    @property
    def lateness_ns_max(self) -> int:
        """The same, maximum [ns]."""
    @property
    def forward_lateness_ns_p50(self) -> list[int]:
        """The median of each wire from a to b [ns], at most 3.2 % too high."""
    @property
    def clock_step_ns(self) -> int:
        """How far CLOCK_REALTIME moved against CLOCK_MONOTONIC since the start [ns]."""
    @property
    def stalled_ns(self) -> int:
        """How long the thread was kept from running, in pauses of more than 0.2 ms [ns]."""
    @property
    def stalls(self) -> list[tuple[int, int]]:
        """Start (CLOCK_REALTIME) and length of those pauses, the first 10000 [ns]."""

@final
class Wires:
    """Wires side by side in one namespace, served by one thread in virtual time as a Path is.

    The thread spins while frames are under way and as long as it records.
    """

    def __init__(
        self,
        *,
        netns_fd: int | None,
        wires: list[Wire],
        first_port: int = 0,
        yields: bool = False,
        cpu: int | None = None,
        nice: int | None = None,
    ) -> None:
        """Opens the sockets.

        netns_fd: namespace of all interfaces; None means the caller's. The MTU of the first wire's a
            bounds the frames. first_port: what records call the first wire. cpu and nice as for
            Sender.
        yields: whether others may have its processor whenever it has no frame, for elements that
            forward there; on a busy machine every other program delays it then.

        Raises OSError if an interface or namespace can't be used, ValueError for wires that share an
        interface.
        """
    def start(self) -> None:
        """Begins to forward; frames are seen from the moment it returns.

        Raises RuntimeError if it was started before.
        """
    def stop(self) -> None:
        """Ends recording and forwarding. Frames under way are discarded."""
    def start_recording(self, capacity: int = 50_000_000) -> int:
        """Gets ready to write down; that moment, CLOCK_REALTIME [ns]. Nothing is before select().

        capacity: most records, 32 bytes each; memory is taken as they are written. The last recording
        is forgotten with the next end of one. Raises RuntimeError if it records or doesn't run.
        """
    def select(self, campaign: int, trial: int) -> None:
        """Writes down the signed frames of this campaign and trial on their way from a to b from now on.

        Raises RuntimeError if it doesn't record.
        """
    def stop_recording(self) -> int:
        """Ends recording; that moment, CLOCK_REALTIME [ns]. Raises RuntimeError if it doesn't record."""
    def take_records_fd(self) -> tuple[int, int, int]:
        """Descriptor of a memfd that holds the last recording's records and nothing else, which the
        caller owns, how many frames there was no room for, and how many were of other trials.

        One record a frame, in the order of arrival: tx_ns when it came (the kernel's timestamp), rx_ns
        when it was handed to the kernel to leave (0: dropped, -1: still under way at the end), sequence
        and stream of its signature, frame_bytes its length on the wire with FCS and tags, port the
        wire's, pcp of the outermost VLAN tag, flags FLAG_* of what was stacked.

        Raises RuntimeError before stop_recording and when called twice.
        """
    def report(self) -> WiresReport:
        """What they did, up to now. Raises RuntimeError before the start."""

@final
class Xdp:
    """A compiled object of XDP programs in the kernel, and its maps, whose keys and values are bytes.

    Deleting it takes the programs off all interfaces and frees the maps. What the kernel refuses
    raises OSError.
    """

    def __init__(self, elf: bytes, *, netns_fd: int) -> None:
        """Load all programs of the object; the loader needs no compiler. Needs CAP_BPF and CAP_NET_ADMIN.

        `netns_fd` is an open descriptor of the namespace that interfaces belong to; it may be
        closed afterwards.
        """
    def attach(self, program: str, interface: str) -> None:
        """Let an interface's incoming frames pass a program, in generic mode."""
    def program_fd(self, program: str) -> int:
        """Descriptor of a program, open as long as this; for maps of interfaces."""
    def add_maps(
        self, outer: str, indices: list[int], *, map_type: int, key_bytes: int, value_bytes: int, entries: int, flags: int = 0
    ) -> None:
        """Make maps of one kind within a map of maps; their names are then "outer/index"."""
    def update(self, name: str, entries: list[tuple[bytes, bytes]]) -> None:
        """Write entries (key, value), each at once."""
    def lookup(self, name: str, keys: list[bytes]) -> list[bytes | None]:
        """Values of keys, None where there is none.

        A per-CPU map has one value for each possible processor, one behind the other, each filled
        up to 8 bytes; a map of maps gives the number of the map.
        """
    def delete(self, name: str, keys: list[bytes]) -> None:
        """Delete entries; keys that are not there are passed over."""
    def keys(self, name: str) -> list[bytes]:
        """All keys."""

@final
class ElementPipeline:
    """The pipeline of a packet forwarding element of 5G-Crosshaul, frame by frame, without ports and clock."""

    def __init__(self, tables: ForwardingElement) -> None:
        """Empty counters, full buckets. Raises ValueError for tables that name what they do not have."""
    def forward(self, port: str, frame: bytes, time_ns: int) -> list[tuple[str, bytes]]:
        """Takes a frame (tags in place, without FCS) that came in at `port`; where it leaves, and what leaves there.

        time_ns: when it came; buckets fill with it.
        """
    def change(self, tables: ForwardingElement) -> None:
        """Other tables from the next frame on. Counters and buckets of entries that stay go on. Raises ValueError."""
    def counters(self) -> dict[str, int]:
        """Frames and octets (FCS included) of each entry ("table.1,4.65537/02:00:00:00:00:01.frames"), drops by reason."""

@final
class ElementReport:
    """What an element did since its start."""

    @property
    def counters(self) -> dict[str, int]:
        """Those of its pipeline."""
    @property
    def ring_drops(self) -> int:
        """Frames that the receive ring had no room for."""
    @property
    def errors(self) -> int:
        """Frames that an interface refused."""

@final
class Forwarder:
    """One thread for many elements; it sleeps when nothing comes, and ends with the last of them."""

    def __init__(self, *, cpu: int | None = None, nice: int | None = None) -> None:
        """Starts the thread. cpu and nice as for Sender."""

@final
class Element:
    """A forwarding element between real ports."""

    def __init__(self, forwarder: Forwarder, *, netns_fd: int | None, ports: list[str], tables: ForwardingElement) -> None:
        """Opens the sockets and begins to forward; frames are seen from the moment it returns.

        netns_fd: namespace of all interfaces; None means the caller's. ports: interfaces, at least one, among them those that
            the tables name; frames that come in at others are dropped.

        Raises OSError if an interface or namespace can't be used, ValueError as ElementPipeline, RuntimeError if the forwarder
        has ended.
        """
    def change(self, tables: ForwardingElement) -> None:
        """As ElementPipeline.change, between two frames. Raises ValueError, RuntimeError if it does not forward."""
    def stop(self) -> None:
        """Stops forwarding."""
    def report(self) -> ElementReport:
        """What it did so far, or until it was stopped. Raises RuntimeError if the forwarder has ended."""

@final
class LerState:
    """How LSPs stand at one moment."""

    @property
    def wanted(self) -> int:
        """LSPs that there shall be: stable and flapped."""
    @property
    def up(self) -> int:
        """LSPs that are up and that a device answers for."""
    @property
    def phantoms(self) -> int:
        """LSPs that no device answers for, whether they came up or not; they are not among `up`, and without a label here."""
    @property
    def labels(self) -> dict[int, int]:
        """By the number of each LSP that counts as up: the label to send with (3: none)."""
    @property
    def refused(self) -> dict[str, int]:
        """What was heard or not heard instead of a RESV, in words, with error code and value: how many LSPs."""
    @property
    def tearing(self) -> int:
        """Tears that wait to be sent or to be seen at the egress."""
    @property
    def source_mac(self) -> str:
        """Of the ingress's interface, "02:00:00:00:00:01"."""
    @property
    def destination_mac(self) -> str | None:
        """Of the ingress's neighbour; None while it has not answered ARP."""
    @property
    def egress_neighbour_mac(self) -> str | None:
        """Of the egress's neighbour; None while it has not answered ARP. No PATH leaves before both have."""

@final
class LerReport:
    """What a pair of LERs did since its start; lateness since phases last began."""

    @property
    def counters(self) -> dict[str, int]:
        """By name. snappi's: ingress_p2p_lsps_configured, ingress_p2p_lsps_up, egress_p2p_lsps_up, lsp_flap_count, and {paths, resvs,
        path_tears, resv_tears, path_errors, resv_errors, reservation_confirmations, hellos, acks, nacks, srefreshes, bundles}_{tx, rx}.
        Beside them phantoms, gave_up_paths, gave_up_tears, expired, stale_refreshes, retries, retransmissions, probes_tx, probes_rx,
        probes_duplicate, probes_late (came after their records were taken), left_tears_tx and left_tears_rx (of tear_left), foreign
        (messages about LSPs that are not of this pair), malformed, hello_losses, neighbour_restarts, instances.
        """
    @property
    def ring_drops(self) -> int:
        """Frames that a receive ring had no room for: any makes the records untrue."""
    @property
    def send_errors(self) -> int:
        """Frames that the kernel refused for good."""
    @property
    def overflow(self) -> int:
        """Events and probes that the records had no room for."""
    @property
    def lateness_ns_p50(self) -> int:
        """Actual minus scheduled time of what is paced (PATH, PATH_TEAR, probes), median [ns]."""
    @property
    def lateness_ns_p99(self) -> int:
        """The same, 99th percentile [ns], at most 3.2 % too high."""
    @property
    def lateness_ns_max(self) -> int:
        """The same, maximum [ns]."""
    @property
    def clock_step_ns(self) -> int:
        """How far CLOCK_REALTIME moved against CLOCK_MONOTONIC since the start [ns]."""
    @property
    def stalled_ns(self) -> int:
        """How long the thread was kept from running while it had work, in pauses of more than 0.2 ms [ns]."""
    @property
    def stalls(self) -> list[tuple[int, int]]:
        """Start (CLOCK_REALTIME) and length of those pauses, the first 10000 [ns]."""

@final
class LerPair:
    """The ingress and the egress LER of LSPs by RSVP-TE, on two interfaces; one thread that sleeps when nothing is due.

    Answers ARP and HELLO, keeps LSPs up by refreshes, and writes down what rackproof.model.lsp describes. Senders and receivers may use
    the same interfaces. Where the egress is the ingress's neighbour, it allots the labels itself: two LERs back to back. Stable LSPs ask
    for a RESV_CONF of their first RESV. The probes in a row after RESVs share 20,000 a second; phantoms get none of them.
    """

    def __init__(
        self,
        *,
        netns_fd: int | None,
        signalling: Signalling,
        ingress: str,
        egress: str,
        cpu: int | None = None,
        nice: int | None = None,
        capacity: int = 20_000_000,
    ) -> None:
        """Opens the sockets.

        netns_fd: namespace of both interfaces; None means the caller's. signalling: ports are not looked at, `ingress` and `egress` are
            the interfaces. capacity: most records between two calls of take_records_fd(), 32 bytes each, memory is taken as they are
            written. cpu and nice as for Sender.

        Raises OSError if an interface or namespace can't be used, ValueError for what is out of bounds or no address.
        """
    def tear_left(self, lsps: list[tuple[int, int]]) -> None:
        """PATH_TEARs, one each, paced, for LSPs that an earlier pair has left behind, as standing_lsps() named them.

        Before start() they leave before any PATH; their LSP ids are not used then.
        """
    def start(self) -> None:
        """Asks for the neighbours by ARP, then sets all LSPs up, paced; returns at once. Raises RuntimeError if it was started before."""
    def state(self) -> LerState:
        """How the LSPs stand now. Raises RuntimeError before the start."""
    def flap(self, flaps: Flaps) -> None:
        """Begins the phases now; returns at once. Raises RuntimeError while others are under way, or where it does not run."""
    def halt(self) -> None:
        """Ends the phases at once; LSPs that are down go on coming up. Nothing where none are under way."""
    @property
    def flapping(self) -> bool:
        """Whether phases are under way, the drain included."""
    def tear(self) -> None:
        """Tears all LSPs down that stand, paced, and sets none up any more; returns at once. See LerState.tearing."""
    @property
    def standing(self) -> int:
        """LSPs (instances) that may still be in the devices: a PATH was sent, and no tear of it has been seen at the egress."""
    def standing_lsps(self) -> list[tuple[int, int]]:
        """Tunnel id and LSP id of those."""
    def take_records_fd(self) -> tuple[int, int]:
        """Descriptor of a memfd that holds what was written since the start or the last call, which the caller owns, and for how much
        there was no room. Recording goes on; a probe that is under way at this moment has rx_ns 0 and stays so.

        Raises RuntimeError before the start, and when called twice after stop().
        """
    def report(self) -> LerReport:
        """What it did, up to now. Raises RuntimeError before the start."""
    def stop(self) -> None:
        """Ends the thread. One PATH_TEAR leaves before for each LSP that stands, unpaced beyond a second in all."""

@type_check_only
class RouterOptions(Protocol):
    """What a router is like; shares are 0 to 1; a defect is off where it is 0 or False."""

    @property
    def path_us(self) -> float:
        """Service time of a PATH that is new or says something new [us]."""
    @property
    def resv_us(self) -> float:
        """The same of a RESV [us]."""
    @property
    def tear_us(self) -> float:
        """Service time of a PATH_TEAR or RESV_TEAR [us]."""
    @property
    def jitter(self) -> float:
        """How far service times go to either side, as a share of them."""
    @property
    def seed(self) -> int:
        """Seeds service times and refresh periods."""
    @property
    def queue(self) -> int:
        """Most messages that wait."""
    @property
    def drop_head(self) -> bool:
        """Whether the oldest message is dropped when there is no room, and not the newest."""
    @property
    def drop_tears(self) -> float:
        """Share of PATH_TEARs without effect."""
    @property
    def stale_label(self) -> bool:
        """Whether labels stay in the data plane after the tear."""
    @property
    def early_resv_ms(self) -> float:
        """How long before forwarding is programmed RESV leaves [ms]."""
    @property
    def wrong_label(self) -> float:
        """Share of LSPs whose frames leave with another label than asked."""
    @property
    def ignore_router_alert(self) -> bool:
        """Whether PATH for others is forwarded as any IP packet."""
    @property
    def steal_us(self) -> float:
        """How much longer a frame takes while control works [us]; in user space only."""
    @property
    def memory_fps(self) -> float:
        """Most frames per second, the others wait without end; in user space only."""

@final
class Routers:
    """One thread for many label switching routers, ended when it and all of them are gone. It sleeps when there is nothing to do."""

    def __init__(self, *, cpu: int | None = None, nice: int | None = None) -> None:
        """Starts it on one CPU, with a niceness where that is allowed. Raises OSError."""

@final
class LsrReport:
    """What a router did since its start."""

    @property
    def counters(self) -> dict[str, int]:
        """By name: "rsvp.<message>.received" and ".sent", "rsvp.drop.<reason>", "forwarded", "drop.<reason>", "labels", "lsps", others."""
    @property
    def differences(self) -> list[int]:
        """Labels whose entry in what forwards is not the one that control has."""
    @property
    def labels(self) -> int:
        """How many labels what forwards has entries for."""

@final
class Lsr:
    """A label switching router between real ports: RSVP-TE, and a label table in XDP or in user space."""

    def __init__(
        self,
        routers: Routers,
        *,
        netns_fd: int,
        ports: list[tuple[str, str]],
        mpls: Mpls,
        options: RouterOptions,
        xdp: bytes | None,
    ) -> None:
        """Speaks and forwards from now on.

        netns_fd: its network namespace, open during the call. ports: name and hardware address ("02:...") of each. xdp: the compiled
            program that forwards; None: the thread forwards itself.
        Raises OSError, also where the configuration makes no sense; RuntimeError where the thread has ended.
        """
    def change(self, mpls: Mpls) -> None:
        """Takes another configuration while frames pass; what does not differ stays as it is. Raises OSError, RuntimeError."""
    def stop(self) -> None:
        """Ends it; it tells its neighbours nothing."""
    def report(self) -> LsrReport:
        """What it did so far, or until it was stopped. Raises OSError, and RuntimeError where the thread has ended."""
