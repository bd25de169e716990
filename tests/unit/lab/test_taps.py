"""Captures of two clocks on one: what either clock is off, and drifts, is taken out of every time stamp."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from orchestrator.lab import pcap, taps
from orchestrator.lab.clocks import Reading
from rackproof.model.path import BACKWARD, FORWARD, Packets
from tests.lab.pcaps import capture

BEGIN_NS = 1_700_000_000_000_000_000
MS = 1_000_000
SPAN_MS = 2_000
DELAY_MS = 12.5
SENDER, RECEIVER = 0x0A520101, 0x0A520102
SAID = "9 packets captured\n9 packets received by filter\n{kernel} packets dropped by kernel\n1 packet dropped by interface\n"


@dataclass
class Host:
    address: str


def ended(clock_ms: tuple[float, float], files: list[bytes], kernel: int = 0) -> taps._Ended:
    """What a host hands over whose clock is off so much at the beginning and at the end."""
    seen = pcap.read(np.frombuffer(files[0] + b"".join(file[24:] for file in files[1:]), np.uint8), "a file")
    said = {"end_ns": BEGIN_NS + SPAN_MS * MS + round(clock_ms[1] * MS), "mtu": 1500, "said": SAID.format(kernel=kernel), "size": 0}
    return taps._Ended(seen, BEGIN_NS + round(clock_ms[0] * MS), said)


def columns(at_ms: np.ndarray[Any, Any], clock_ms: tuple[float, float]) -> dict[str, Any]:
    """Packets at their true times, stamped by a clock that drifts evenly."""
    count = len(at_ms)
    off_ms = clock_ms[0] + (clock_ms[1] - clock_ms[0]) * at_ms / SPAN_MS
    return {
        "at_ns": BEGIN_NS + np.rint((at_ms + off_ms) * MS).astype(np.int64),
        "octets": np.full(count, 1500),
        "identification": np.arange(count),
        "number": np.arange(count) * 1448,
    }


def readings(*offsets_ms: tuple[float, float]) -> list[tuple[Reading, Reading]]:
    return [
        (Reading(offset_ms=before, bound_ms=0.1, source="told"), Reading(offset_ms=after, bound_ms=0.2, source="told"))
        for before, after in offsets_ms
    ]


@pytest.mark.parametrize(
    "clocks_ms", [((0.0, 0.0), (0.0, 0.0)), ((5.0, 5.0), (-3.0, -3.0)), ((5.0, 7.0), (-3.0, -3.5)), ((-900.0, -900.0), (0.0, 0.0))]
)
def test_delays_are_those_of_the_path_whatever_the_clocks_show(clocks_ms: tuple[tuple[float, float], tuple[float, float]]) -> None:
    one_ms, other_ms = clocks_ms
    sent = np.arange(10.0, 1900.0, 10.0)
    there: dict[str, Any] = {"source": SENDER, "destination": RECEIVER}
    back: dict[str, Any] = {"source": RECEIVER, "destination": SENDER}
    found = taps._capture(
        (Host("10.82.1.1"), Host("10.82.1.2")),  # type: ignore[arg-type]  # of a host, its address alone is asked for
        [
            ended(one_ms, [capture(**columns(sent, one_ms), **there), capture(**columns(sent + DELAY_MS, one_ms), **back)], kernel=2),
            ended(other_ms, [capture(**columns(sent + DELAY_MS, other_ms), **there), capture(**columns(sent, other_ms), **back)]),
        ],
        readings(one_ms, other_ms),
        range(5201, 5202),
        {"link_speed_mbps": 10.0},
    )
    for direction in (FORWARD, BACKWARD):
        packets = Packets.of(found.samples, direction)
        assert len(packets) == len(sent)
        assert (packets.egress_ns - packets.ingress_ns) / MS == pytest.approx(np.full(len(sent), DELAY_MS), abs=1e-3)
        assert (packets.ingress_ns - BEGIN_NS) / MS == pytest.approx(sent, abs=1e-3)
    assert found.health["capture_drops.sender"] == 3
    assert found.health["capture_drops.receiver"] == 1
    assert found.health["link_speed_mbps"] == 10


def test_what_a_reading_says_is_kept_with_the_wider_bound() -> None:
    health = taps._clock_health(readings((1.0, 2.0), (0.5, 0.5)))
    assert health == {
        "clock_offset.sender_ms": 1.5,
        "clock_bound.sender_ms": 0.2,
        "clock_moved.sender_ms": 1.0,
        "clock_offset.receiver_ms": 0.5,
        "clock_bound.receiver_ms": 0.2,
        "clock_moved.receiver_ms": 0.0,
    }


def test_packets_larger_than_the_mtu_are_counted() -> None:
    many = columns(np.arange(10.0, 60.0, 10.0), (0.0, 0.0))
    file = capture(**{**many, "octets": np.array([1500, 1501, 9000, 40, 1500])}, source=SENDER, destination=RECEIVER)
    assert ended((0.0, 0.0), [file]).aggregated == 2
