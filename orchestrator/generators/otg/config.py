"""From traffic to a configuration of the Open Traffic Generator API. Pure."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from orchestrator.generators.otg.models import model
from rackproof.errors import GeneratorError
from rackproof.model.traffic import Arrivals, Stream, Traffic
from rackproof.units import NS_PER_S

_VLANS = (0x8100, 0x88A8)
_MPLS = (0x8847, 0x8848)
_LEARNING_ETHERTYPE = 0x9000


def ports_only(locations: Mapping[str, str]) -> Any:
    """A configuration with ports and no traffic."""
    config = model("Config")
    for name, location in locations.items():
        config.ports.port(name=name, location=location)
    return config


def config_of(traffic: Traffic, locations: Mapping[str, str]) -> Any:
    """One flow a stream, and one frame from each address that streams go to, so that a learning switch floods nothing (RFC 2544, 23).

    Raises GeneratorError for what the API cannot say.
    """
    config = ports_only(locations)
    for stream in traffic.streams:
        _add(config, traffic, stream)
    homes = dict.fromkeys((stream.rx_port, stream.tx_port, stream.header[:6]) for stream in traffic.streams)
    for number, (home, other, address) in enumerate(homes):
        flow = config.flows.flow(name=f"learning-{number}")[-1]
        flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = home, [other]
        ethernet = flow.packet.ethernet()[-1]
        ethernet.dst.value, ethernet.src.value, ethernet.ether_type.value = "ff:ff:ff:ff:ff:ff", _mac(address), _LEARNING_ETHERTYPE
        flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = 64, 1, 1
    return config


def flow_name(stream: int) -> str:
    """What the flow of a stream is called."""
    return f"stream-{stream}"


def _add(config: Any, traffic: Traffic, stream: Stream) -> None:
    flow = config.flows.flow(name=flow_name(stream.id))[-1]
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = stream.tx_port, [stream.rx_port]
    _add_header(flow.packet, stream.header)
    match [(size.frame_bytes, size.weight) for size in stream.frame_sizes]:
        case [(frame_bytes, _)]:
            flow.size.fixed = frame_bytes
        case sizes:
            for frame_bytes, weight in sizes:
                flow.size.weight_pairs.custom.custom(size=frame_bytes, weight=weight)
    flow.duration.fixed_seconds.seconds = traffic.warmup_s + traffic.duration_s
    _set_rate(flow, traffic, stream)
    flow.metrics.enable = True
    flow.metrics.latency.enable, flow.metrics.latency.mode = True, "cut_through"


def _set_rate(flow: Any, traffic: Traffic, stream: Stream) -> None:
    match stream.arrivals:
        case Arrivals.CONSTANT:
            if stream.rate_fps < 0.5:
                raise GeneratorError(
                    f"stream {stream.id}: the Open Traffic Generator API sends whole frames per second, found a lower rate"
                )
            flow.rate.pps = round(stream.rate_fps)
            # Streams of one rate that all begin at once would stay in step.
            phase = float(np.random.default_rng([traffic.seed, stream.id]).random())
            flow.duration.fixed_seconds.delay.nanoseconds = phase * NS_PER_S / flow.rate.pps
        case Arrivals.FLAT_OUT:
            sharers = sum(other.tx_port == stream.tx_port for other in traffic.streams)
            flow.rate.percentage = 100.0 / sharers
        case Arrivals.POISSON:
            raise GeneratorError(f"stream {stream.id}: the Open Traffic Generator API knows no {stream.arrivals} arrivals")


def _add_header(packet: Any, header: bytes) -> None:
    """Ethernet, VLAN tags and MPLS labels by name, so that servers count by them; what they do not cover follows as it is."""
    kind, at = _ethertype(header, 12), 14
    ethernet = packet.ethernet()[-1]
    ethernet.dst.value, ethernet.src.value, ethernet.ether_type.value = _mac(header[:6]), _mac(header[6:12]), kind
    while kind in _VLANS and len(header) >= at + 4:
        tci = _ethertype(header, at)
        vlan = packet.vlan()[-1]
        # The API's field "tpid" is the type of what follows the tag.
        vlan.priority.value, vlan.cfi.value, vlan.id.value = tci >> 13, tci >> 12 & 1, tci & 0xFFF
        kind, at = _ethertype(header, at + 2), at + 4
        vlan.tpid.value = kind
    bottom = kind not in _MPLS
    while not bottom and len(header) >= at + 4:
        (entry,) = struct.unpack_from("!I", header, at)
        bottom, at = bool(entry >> 8 & 1), at + 4
        mpls = packet.mpls()[-1]
        mpls.label.value, mpls.traffic_class.value = entry >> 12, entry >> 9 & 7
        mpls.bottom_of_stack.value, mpls.time_to_live.value = int(bottom), entry & 0xFF
    if len(header) > at:
        packet.custom()[-1].bytes = header[at:].hex()


def _ethertype(header: bytes, at: int) -> int:
    return int.from_bytes(header[at : at + 2], "big")


def _mac(address: bytes | Sequence[int]) -> str:
    return ":".join(f"{byte:02x}" for byte in address)
