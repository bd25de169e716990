"""TRex's own TCP through the emulated path: it fills it, says which algorithm it runs, and leaves nothing behind."""

import dataclasses
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.bench.testbed import Bench
from rackproof.model.path import FORWARD, Packets
from rackproof.ports import Rig
from rackproof.settings import Settings
from testplans.congestion_control.metrics import Stream
from testplans.congestion_control.schemes.registry import scheme
from testplans.congestion_control.schemes.runner import Flow, SchemeFailed
from testplans.congestion_control.schemes.tools import Tools
from tests.integration.schemes.rigs import PORT
from tests.integration.schemes.test_quic import LEAST_SHARE, MTU, PATH, RATE_BPS, RUN_S, TOPOLOGY

#: As the machine's owner has set: read here, because no test sees such settings.
TOOLS = Tools.of(Settings.load())

pytestmark = pytest.mark.netns


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Bench() as bench, bench.assemble(TOPOLOGY) as rig:
        rig.device("path").apply(PATH)
        yield rig


def servers() -> set[Path]:
    """Processes of this machine that are a TRex."""
    found = set()
    for each in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):  # it ended while we looked
            if each.read_text().startswith("_t-rex-64"):
                found.add(each.parent)
    return found


@pytest.mark.slow
@pytest.mark.skipif(TOOLS.trex is None, reason="needs a TRex 3.08, whose folder RACKPROOF_TREX_DIR names")
@pytest.mark.parametrize("algorithm", ["cubic", "newreno"])
def test_it_uses_the_path_and_says_what_it_runs(rig: Rig, algorithm: str) -> None:
    wanted, before = scheme(f"trex-{algorithm}"), servers()
    with Flow(wanted, rig.host("sender-1"), rig.host("receiver-1"), port=PORT, runtime_s=RUN_S, tools=TOOLS) as flow:
        flow.start()
        recording = rig.tap("path").start()
        end = time.monotonic() + RUN_S
        while time.monotonic() < end:
            flow.check()
            time.sleep(0.2)
        recording.stop()
        assert len(servers() - before) == 2
        ended = flow.finish()
    packets = Packets.of(recording.wait().samples, FORWARD)
    assert wanted.is_right(ended.algorithm), ended
    assert Stream(packets=packets).throughput_bps >= LEAST_SHARE * RATE_BPS
    assert packets.packet_bytes.max() == MTU
    assert servers() == before


def test_a_trex_that_does_not_start_is_told_with_what_it_said(rig: Rig, tmp_path: Path) -> None:
    program = tmp_path / "_t-rex-64"
    program.write_text("#!/bin/sh\necho no memory for this\nexit 1\n")
    program.chmod(0o755)
    broken = dataclasses.replace(TOOLS, trex=tmp_path)
    with (
        pytest.raises(SchemeFailed, match=r"(?s)the receiver ended after .*TRex did not start:\nno memory for this"),
        Flow(scheme("trex-cubic"), rig.host("sender-1"), rig.host("receiver-1"), port=PORT, runtime_s=RUN_S, tools=broken) as flow,
    ):
        flow.start()
