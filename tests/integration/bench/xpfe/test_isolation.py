"""Does nothing ever cross from a tenant to another, whatever the tables and frames; and is XDP what the native engine is?

Tables change from round to round on one element, so that every change is one from random tables to others. RACKPROOF_LONG=1: a minute.
"""

import os
import random
import time
from collections import Counter

import pytest
from rackproof_native import ElementPipeline

from rackproof.model.xcf import ForwardingElement
from tests.integration.bench.xpfe import fuzz
from tests.integration.bench.xpfe.lab import Lab, mac

pytestmark = pytest.mark.netns

SECONDS = 60.0 if os.environ.get("RACKPROOF_LONG") == "1" else 2.0
FRAMES = 80
ROUNDS_MIN = 5
HEADER = 22

#: A frame and the port that it came in at, or leaves by.
Seen = tuple[str, bytes]


def test_nothing_crosses_and_xdp_does_what_the_engine_does() -> None:
    seed = random.SystemRandom().randrange(2**32)
    rng = random.Random(seed)
    number = rounds = passed = 0
    end = time.monotonic() + SECONDS
    with Lab((*fuzz.UNI, *fuzz.NNI)) as lab:
        while rounds < ROUNDS_MIN or time.monotonic() < end:
            rounds += 1
            where = f"seed {seed}, round {rounds}"
            element = fuzz.tables(rng)
            lab.apply(element)
            frames = [fuzz.frame(rng, number + index) for index in range(FRAMES)]
            number += FRAMES
            pipeline = ElementPipeline(element)
            expected = Counter(seen for port, frame in frames for seen in pipeline.forward(port, frame, time.monotonic_ns()))

            for port, frame in frames:
                lab.send(port, frame)
            came = Counter((port, frame) for port, those in lab.received().items() for frame in those)

            for port, frame in came:
                assert any(_legitimate(element, sent, (port, frame)) for sent in frames), f"{where}: crossed to {port}: {frame.hex()}"
            assert came == expected, where
            assert lab.counted() == {name: value for name, value in pipeline.counters().items() if value}, where
            passed += len(came)
    assert passed > rounds * FRAMES / 20


def _legitimate(element: ForwardingElement, sent: Seen, came: Seen) -> bool:
    """Whether a frame that came out may be of the one that was sent, by what belongs to which service; the paths do not matter."""
    (ingress, frame), (egress, out) = sent, came
    if egress in element.uni:
        i_sid = _service(element, egress, out)
        if ingress in element.uni:
            return frame == out and i_sid is not None and i_sid == _service(element, ingress, frame)
        return frame[HEADER:] == out and i_sid == int.from_bytes(frame[19:22])
    if ingress in element.nni:
        return frame == out and egress != ingress
    i_sid = _service(element, ingress, frame)
    known = {station.element for station in element.stations if station.i_sid == i_sid}
    known |= {group.address for group in element.groups if group.i_sid == i_sid}
    ours = out[:6] in {mac(address) for address in known if address is not None} and out[6:12] == mac(element.address)
    return frame == out[HEADER:] and ours and i_sid == int.from_bytes(out[19:22])


def _service(element: ForwardingElement, port: str, frame: bytes) -> int | None:
    """The I-SID of the service that has this port and C-VLAN."""
    c_vlan = int.from_bytes(frame[14:16]) & 0xFFF
    mine = [service.i_sid for service in element.services for place in service.attachments if (place.port, place.c_vlan) == (port, c_vlan)]
    return mine[0] if mine and frame[12:14] == b"\x81\x00" else None
