"""Conversions between units, in one place: frames, rates and times.

Frame sizes count from the destination MAC to the FCS inclusive, tags included (RFC 2544 section 9). A rate at layer 2 counts these
octets; a rate at layer 1 counts the preamble, the start delimiter and the minimum inter-frame gap as well (20 octets a frame).
"""

from enum import StrEnum

FCS_BYTES = 4
L1_OVERHEAD_BYTES = 20
NS_PER_S = 1_000_000_000


class Layer(StrEnum):
    """The layer at which a rate counts octets."""

    L1 = "L1"
    L2 = "L2"


def wire_bits(frame_bytes: float, layer: Layer) -> float:
    """Bits that a frame of frame_bytes (FCS included) takes at a layer."""
    overhead = L1_OVERHEAD_BYTES if layer is Layer.L1 else 0
    return (frame_bytes + overhead) * 8


def frames_per_second(rate_bps: float, mean_frame_bytes: float, layer: Layer) -> float:
    """Frame rate [1/s] of a load of rate_bps made of frames of a mean size."""
    return rate_bps / wire_bits(mean_frame_bytes, layer)


def mbps(rate_bps: float) -> float:
    """Rate in Mbit/s."""
    return rate_bps / 1e6
