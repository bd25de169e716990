"""What is sent over LSPs: labelled frames, an IPv4 and a UDP header in them where there is room, and the generator's signature behind."""

import socket
import struct
from collections.abc import Mapping

from rackproof.model.lsp import PROBE_CLASSES, Established
from rackproof.model.traffic import Arrivals, FrameSize, Stream, Traffic
from rackproof.model.trial import Trial
from testplans.mpls_flap import addresses
from testplans.mpls_flap.plan import BATCHES, IP_FRAME_BYTES, WARMUP_S, MplsFlapPlan

#: What stands before the name of a signaller's health.
LSP = "lsp."

_ETHERTYPE_MPLS = b"\x88\x47"
#: Addresses and EtherType, label, FCS: what of a frame is no IPv4 packet.
_OUTSIDE_BYTES = 14 + 4 + 4
_IPV4_BYTES = 20
_TTL = 64
_UDP = 17
_PORT = 7


def traffic(plan: MplsFlapPlan, trial: Trial, campaign: int, established: Established, streams: Mapping[int, tuple[int, float]]) -> Traffic:
    """All that is sent in the trial. streams: LSP number -> size [byte], rate [1/s]; LSPs that are not up carry nothing."""
    return Traffic(
        streams=tuple(
            Stream(
                id=lsp,
                tx_port=addresses.IN,
                rx_port=addresses.OUT,
                header=header(established, lsp, size),
                frame_sizes=(FrameSize(frame_bytes=size),),
                rate_fps=rate_fps,
                arrivals=Arrivals.CONSTANT,
            )
            for lsp, (size, rate_fps) in streams.items()
            if lsp in established.labels
        ),
        campaign=campaign,
        trial=trial.index,
        seed=trial.seed,
        warmup_s=WARMUP_S,
        duration_s=plan.phases.measured_s,
        drain_s=plan.phases.drain_s,
        batches=BATCHES,
    )


def stable_streams(plan: MplsFlapPlan, trial: Trial) -> dict[int, tuple[int, float]]:
    """What the stable LSPs carry: an equal share of the rate each, whether all are up or not."""
    test, stable = plan.test(str(trial.point["test"])), int(trial.point["stable"])
    return dict.fromkeys(range(stable), (test.frame_bytes, plan.fps(test) / stable))


def header(established: Established, lsp: int, frame_bytes: int) -> bytes:
    """Addresses, EtherType, the LSP's label, and an IPv4 and UDP header where the frame has room for them (78 bytes and more)."""
    addresses_ = bytes.fromhex((established.destination_mac + established.source_mac).replace(":", ""))
    entry = stack_entry(established.labels[lsp], lsp % PROBE_CLASSES)
    packet = ip(frame_bytes - _OUTSIDE_BYTES) if frame_bytes >= IP_FRAME_BYTES else b""
    return addresses_ + _ETHERTYPE_MPLS + entry + packet


def stack_entry(label: int, traffic_class: int) -> bytes:
    """A label stack entry at the bottom of the stack (RFC 3032, 2.1)."""
    return (label << 12 | traffic_class << 9 | 1 << 8 | _TTL).to_bytes(4)


def ip(length: int) -> bytes:
    """IPv4 and UDP headers of a packet of so many octets from the ingress to the egress; the UDP checksum is not used."""
    ends = socket.inet_aton(addresses.INGRESS_ID) + socket.inet_aton(addresses.EGRESS_ID)
    plain = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, _TTL, _UDP, 0) + ends
    total = int(sum(struct.unpack(">10H", plain)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    whole = plain[:10] + (0xFFFF - total).to_bytes(2) + plain[12:]
    return whole + struct.pack(">HHHH", _PORT, _PORT, length - _IPV4_BYTES, 0)
