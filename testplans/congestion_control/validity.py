"""Can a trial be trusted? Every way in which it was not what was intended."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rackproof.model.path import Packets
from rackproof.model.trial import Observation
from rackproof.units import NS_PER_S

#: The ends of a path between real hosts, as health has them.
SIDES = ("sender", "receiver")
#: Share of the packets that may be unclear: a connection of a trial before may still say goodbye.
UNCLEAR_SHARE_MAX = 0.001
_CAPTURED = {
    "capture_drops": "could not capture {count:.0f} packets: what became of them is not known",
    "aggregated": "captured {count:.0f} packets larger than its port's MTU: segmentation or receive offload is on (TSO, GSO, GRO), and "
    "such packets are not those of the path",
    "fragments": "captured {count:.0f} fragments, which cannot be told apart",
}
_PAIRED = {
    "unpaired": "arrived that were never seen to leave: something between the hosts changes packets",
    "unassigned": "belong to no flow: their scheme does not keep to its port",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectations:
    """What a trial was meant to be.

    runtime_s: from the first flow's start; runtime_share_min: the part of it that departures must span (Pantheon's rule: 0.8).
    algorithms: flow -> a pattern that the whole name of the algorithm in use must match; a flow that is not there cannot be seen.
    lateness_p99_us_max: how late the path may have let packets go; None where the path is not emulated. hosts: the real ones that it lies
    between, sender first.
    """

    runtime_s: float
    runtime_share_min: float = 0.8
    algorithms: Mapping[int, str] = field(default_factory=dict)
    lateness_p99_us_max: float | None = None
    hosts: tuple[str, ...] = ()


def reason(observation: Observation, packets: Packets, expected: Expectations) -> str:
    """Why the trial is INVALID; "" where it can be trusted."""
    return "; ".join(
        [
            *_algorithms(observation, expected),
            *_recording(observation, expected),
            *_hosts(observation, packets, expected),
            *_length(packets, expected),
        ]
    )


def _algorithms(observation: Observation, expected: Expectations) -> Iterator[str]:
    for flow, pattern in expected.algorithms.items():
        seen = observation.notes.get(f"algorithm.{flow}", "")
        if not seen:
            yield f"flow {flow} was to use {pattern}, but what its sender used could not be seen"
        elif re.fullmatch(pattern, seen) is None:
            yield f"flow {flow} was to use {pattern}, but its sender used {seen}"


def _recording(observation: Observation, expected: Expectations) -> Iterator[str]:
    health = observation.capture.health
    for key, what in (("ring_drops", "the host lost"), ("overflow", "the record had no room for")):
        if health.get(key, 0) > 0:
            yield f"{what} {health[key]:.0f} packets: their loss is not the path's"
    late, most = health.get("lateness_p99_us", 0.0), expected.lateness_p99_us_max
    if most is not None and late > most:
        yield f"1 % of the packets left the path {late:.0f} us late or more (allowed {most:.0f} us): the host was busy"


def _hosts(observation: Observation, packets: Packets, expected: Expectations) -> Iterator[str]:
    """What captures at both ends and their clocks give away."""
    health = observation.capture.health
    bound_ms = 0.0
    for host, side in zip(expected.hosts, SIDES, strict=False):
        for key, what in _CAPTURED.items():
            if (count := health.get(f"{key}.{side}", 0)) > 0:
                yield f"{host} {what.format(count=count)}"
        bound, moved = health.get(f"clock_bound.{side}_ms", 0.0), health.get(f"clock_moved.{side}_ms", 0.0)
        bound_ms += bound
        if abs(moved) > 2 * bound:
            yield f"the clock of {host} moved by {moved:.3f} ms against the time (known to {bound:.3f} ms): it was being set"
    left = packets.delivered
    if expected.hosts and left.any():
        least_ms = float((packets.egress_ns[left] - packets.ingress_ns[left]).min()) / 1e6
        if least_ms < -bound_ms:
            yield f"a packet arrived {-least_ms:.3f} ms before it left, and the clocks are known to {bound_ms:.3f} ms: an offset is wrong"
    for key, what in _PAIRED.items():
        if (count := health.get(key, 0)) > UNCLEAR_SHARE_MAX * max(1, len(packets)):
            yield f"{count:.0f} packets {what}"


def _length(packets: Packets, expected: Expectations) -> Iterator[str]:
    left_ns = packets.egress_ns[packets.delivered]
    span_s = float(left_ns.max() - left_ns.min()) / NS_PER_S if len(left_ns) else 0.0
    least_s = expected.runtime_share_min * expected.runtime_s
    if not len(packets):
        yield "no packet came to the path"
    elif not len(left_ns):
        yield f"none of {len(packets)} packets left the path"
    elif span_s < least_s:
        yield f"packets left the path over {span_s:.2f} s of a runtime of {expected.runtime_s:g} s (needed: {least_s:.2f} s)"
