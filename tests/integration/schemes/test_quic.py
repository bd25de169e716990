"""Our program for QUIC through the emulated path: every stack and algorithm fills it, with packets of its size, and says what it uses."""

import re
import time
from collections.abc import Iterator

import numpy as np
import pytest

from orchestrator.bench.testbed import Bench
from rackproof.model.path import FORWARD, Direction, EmulatedPath, Packets
from rackproof.model.topology import DeviceSpec, Endpoint, HostSpec, Link, Topology
from rackproof.ports import Rig
from testplans.congestion_control.metrics import Stream
from testplans.congestion_control.schemes.model import Scheme
from testplans.congestion_control.schemes.probe import probe
from testplans.congestion_control.schemes.registry import schemes
from testplans.congestion_control.schemes.runner import Flow, FlowEnd
from testplans.congestion_control.schemes.tools import Tools
from tests.integration.schemes.rigs import PORT

pytestmark = [pytest.mark.netns, pytest.mark.slow]

SENDER, RECEIVER = (Endpoint(node=name, port="eth0") for name in ("sender-1", "receiver-1"))
TOPOLOGY = Topology(
    devices=(DeviceSpec(name="path", model="path"),),
    links=(Link(a=SENDER, b=Endpoint(node="path", port="a1")), Link(a=RECEIVER, b=Endpoint(node="path", port="b1"))),
    hosts=(
        HostSpec(name=SENDER.node, port=SENDER.port, address="10.82.1.1/24"),
        HostSpec(name=RECEIVER.node, port=RECEIVER.port, address="10.82.1.2/24"),
    ),
)
RATE_BPS = 40e6
LINK = Direction(rate_bps=RATE_BPS, delay_ms=20.0, buffer_bytes=200_000)
PATH = EmulatedPath(forward=LINK, backward=LINK, seed=1)
RUN_S = 5.0
LEAST_SHARE = 0.6
#: The path's largest IP packet [byte].
MTU = 1500
VERSION = r"rackproof-quic [0-9.]+ \(quinn [0-9.]+, s2n-quic [0-9.]+, noq [0-9.]+\)"

OURS = [each for each in schemes().values() if "rackproof-quic" in (needed.name for needed in each.programs)]


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Bench() as bench, bench.assemble(TOPOLOGY) as rig:
        rig.device("path").apply(PATH)
        yield rig


def version(rig: Rig, scheme: Scheme) -> str:
    """The version of the scheme's program; skips where it is not built."""
    (here,) = probe([scheme], rig.host("sender-1").call, Tools())
    if not here.available:
        pytest.skip(f"{scheme.label}: {'; '.join(here.missing)}")
    return here.version


def passage(rig: Rig, scheme: Scheme) -> tuple[FlowEnd, Packets]:
    """How the flow ended, and the packets that the path saw from the sender."""
    recording = rig.tap("path").start()
    with Flow(scheme, rig.host("sender-1"), rig.host("receiver-1"), port=PORT, runtime_s=RUN_S) as flow:
        flow.start()
        end = time.monotonic() + RUN_S
        while time.monotonic() < end:
            flow.check()
            time.sleep(0.2)
        ended = flow.finish()
    recording.stop()
    return ended, Packets.of(recording.wait().samples, FORWARD)


@pytest.mark.parametrize("scheme", OURS, ids=[each.id for each in OURS])
def test_every_stack_and_algorithm_uses_the_path(rig: Rig, scheme: Scheme) -> None:
    assert re.fullmatch(VERSION, version(rig, scheme))
    ended, packets = passage(rig, scheme)
    assert scheme.is_right(ended.algorithm), ended
    assert Stream(packets=packets).throughput_bps >= LEAST_SHARE * RATE_BPS
    # Full packets, each on its own: put together neither by the kernel nor by the stack.
    assert packets.packet_bytes.max() == np.median(packets.packet_bytes) == MTU


ONE_OF_A_STACK = ["quic-cubic-quinn", "quic-cubic-s2n", "bbr3"]


@pytest.mark.parametrize("name", ONE_OF_A_STACK)
def test_the_server_may_be_the_sender(rig: Rig, name: str) -> None:
    scheme = schemes()[name]
    version(rig, scheme)
    assert scheme.sender is not None
    assert scheme.receiver is not None
    program, *client = scheme.sender
    _, *server = scheme.receiver
    ends = {"sender": (program, "--sender", "server", *server), "receiver": (program, "--sender", "server", *client)}
    ended, packets = passage(rig, scheme.model_copy(update={"first": "sender", **ends}))
    assert scheme.is_right(ended.algorithm), ended
    assert Stream(packets=packets).throughput_bps >= LEAST_SHARE * RATE_BPS
