"""A bench for a module, and for each test a rig: two hosts that are cabled to each other, or the module's own `topology`."""

from collections.abc import Iterator

import pytest

from orchestrator.bench.testbed import Bench
from rackproof.model.topology import Topology
from rackproof.ports import Rig
from tests.bench_plans import PAIR


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench() as bench:
        yield bench


@pytest.fixture
def topology() -> Topology:
    return PAIR


@pytest.fixture
def rig(bench: Bench, topology: Topology) -> Iterator[Rig]:
    with bench.assemble(topology) as rig:
        yield rig
