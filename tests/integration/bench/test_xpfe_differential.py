"""Does the element in user space do on real ports what its pipeline says, with every change of tables while it runs?

xpfe/test_isolation.py has the same for XDP, so that both do the same. RACKPROOF_LONG=1: a minute.
"""

import os
import random
import time
from collections import Counter

import pytest
from rackproof_native import ElementPipeline

from orchestrator.bench.xpfe.native import NativeElement
from tests.integration.bench.xpfe import fuzz
from tests.integration.bench.xpfe.lab import Lab

pytestmark = pytest.mark.netns

SECONDS = 60.0 if os.environ.get("RACKPROOF_LONG") == "1" else 1.5
FRAMES = 80

Came = tuple[str, bytes]


def whole(came: Came) -> bool:
    """Whether the frame does not end within its tag: the kernel takes tags out of frames before user space sees them."""
    _, frame = came
    return len(frame) >= 18 or frame[12:14] not in (b"\x81\x00", b"\x88\xa8")


def test_user_space_does_on_real_ports_what_the_pipeline_says() -> None:
    seed = random.SystemRandom().randrange(2**32)
    rng = random.Random(seed)
    rounds = left = 0
    end = time.monotonic() + SECONDS
    with Lab((*fuzz.UNI, *fuzz.NNI), NativeElement) as lab:
        while rounds < 3 or time.monotonic() < end:
            where = f"seed {seed}, round {rounds}"
            element = fuzz.tables(rng)
            frames = [*filter(whole, (fuzz.frame(rng, rounds * FRAMES + index) for index in range(FRAMES)))]
            pipeline = ElementPipeline(element)
            expected = Counter(seen for port, frame in frames for seen in pipeline.forward(port, frame, time.time_ns()))
            lab.apply(element)
            for port, frame in frames:
                lab.send(port, frame)
            came = Counter((port, frame) for port, those in lab.received().items() for frame in those)
            assert came == expected, where
            assert lab.counted() == {name: value for name, value in pipeline.counters().items() if value}, where
            rounds += 1
            left += len(came)
    assert left > rounds * FRAMES / 20
