"""Can a trial be trusted? Every way in which it was not what was intended."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rackproof.model.path import Packets
from rackproof.model.trial import Observation
from rackproof.units import NS_PER_S


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectations:
    """What a trial was meant to be.

    runtime_s: from the first flow's start; runtime_share_min: the part of it that departures must span (Pantheon's rule: 0.8).
    algorithms: flow -> a pattern that the whole name of the algorithm in use must match; a flow that is not there cannot be seen.
    lateness_p99_us_max: how late the path may have let packets go; None where the path is not emulated.
    """

    runtime_s: float
    runtime_share_min: float = 0.8
    algorithms: Mapping[int, str] = field(default_factory=dict)
    lateness_p99_us_max: float | None = None


def reason(observation: Observation, packets: Packets, expected: Expectations) -> str:
    """Why the trial is INVALID; "" where it can be trusted."""
    return "; ".join([*_algorithms(observation, expected), *_recording(observation, expected), *_length(packets, expected)])


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
