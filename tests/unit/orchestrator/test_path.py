"""What the emulated path refuses before anything is touched, and how it is put into words."""

import math
from dataclasses import replace

import pytest
from rackproof_native import Path, PathDirection

from orchestrator.bench.devices import models, path
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction
from rackproof.model.path import Direction, EmulatedPath

CABLE = Direction(rate_bps=40e6, delay_ms=20.0, buffer_bytes=60_000, loss=0.01)
CELL = Direction(rate_bps=None, delay_ms=30.5, trace_ms=(3, 3, 9))
PATH = EmulatedPath(forward=CABLE, backward=CELL, seed=7)


class Nowhere(Namespace):
    def __init__(self) -> None:
        self.fd = -1


def model(*ports: str) -> path.Model:
    return path.Model(name="path", namespace=Nowhere(), ports=ports, options={})


def test_it_is_found_by_its_name() -> None:
    assert models()["path"].objection(PATH) == ""
    assert models()["path"].objection(DeviceFunction()) == "path cannot do DeviceFunction"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (Direction(rate_bps=10.0, delay_ms=1.0), "forward: rate_bps must be 1e3 to 1e12, got 10"),
        (Direction(rate_bps=None, delay_ms=1.0), "forward: trace_ms must end above 0: its last entry is its period"),
        (replace(CELL, trace_ms=(3, 2)), "forward: trace_ms must ascend"),
        (replace(CELL, rate_bps=1e6), "forward: rate_bps or trace_ms, not both"),
        (replace(CABLE, delay_ms=-1.0), "forward: delay_ms must be 0 to 60000, got -1"),
        (replace(CABLE, delay_ms=math.nan), "forward: delay_ms must be 0 to 60000, got NaN"),
        (replace(CABLE, buffer_bytes=0), "forward: buffer_bytes and buffer_packets must be above 0, or None"),
        (replace(CABLE, loss=1.5), "forward: loss must be 0 to 1, got 1.5"),
    ],
)
def test_objections_name_direction_setting_and_value(wrong: Direction, why: str) -> None:
    assert path.objection(EmulatedPath(forward=wrong, backward=CABLE, seed=1)) == why


def test_ports_come_in_pairs() -> None:
    assert model("b2", "a1", "b1", "a2").facts() == {"model": "path", "pairs": "2"}
    for ports in ((), ("a1",), ("a1", "b2"), ("a1", "b1", "a3", "b3"), ("left", "right")):
        with pytest.raises(DeviceError, match="path: expected ports a1, b1, a2, b2"):
            model(*ports)
    with pytest.raises(DeviceError, match="path has no options, found leak"):
        path.Model(name="path", namespace=Nowhere(), ports=("a1", "b1"), options={"leak": 1})


def test_nothing_is_tapped_or_counted_before_there_is_a_path() -> None:
    bare = model("a1", "b1")
    assert bare.counters() == {}
    assert bare.configuration() == "pairs a1-b1\npath none"
    with pytest.raises(DeviceError, match="there is no path to record"):
        bare.tap_start()
    with pytest.raises(DeviceError, match="nothing is being recorded"):
        bare.tap_stop()
    with pytest.raises(DeviceError, match="not running as it was asked for"):
        bare.check(PATH)


def test_the_engine_wants_every_interface_once() -> None:
    direction = PathDirection(rate_bps=1e6)
    for pairs in ([], [("lo", "lo")]):
        with pytest.raises(ValueError, match="every interface once"):
            Path(netns_fd=None, pairs=pairs, forward=direction, backward=direction)
