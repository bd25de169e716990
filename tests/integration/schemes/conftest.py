"""A bench for the module, and a rig with two hosts for each test."""

from collections.abc import Iterator

import pytest

from orchestrator.bench.testbed import Bench
from rackproof.ports import Rig
from tests.integration.schemes.rigs import PAIR


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench() as bench:
        yield bench


@pytest.fixture
def rig(bench: Bench) -> Iterator[Rig]:
    with bench.assemble(PAIR) as rig:
        yield rig
