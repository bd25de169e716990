"""Every driver of a generator in turn, with its bed; one that cannot be tried here is skipped with the reason."""

from collections.abc import Iterator

import pytest

from orchestrator.generators.driver import Session
from tests.contract.generators.beds import BEDS, Absent, Bed


@pytest.fixture(scope="module", params=sorted(BEDS))
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    try:
        with BEDS[request.param]() as bed:
            yield bed
    except Absent as why:
        pytest.skip(f"{request.param}: {why}")


@pytest.fixture(scope="module")
def session(bed: Bed) -> Iterator[Session]:
    with bed.opened() as session:
        yield session
