"""A process that is silent, or ends, holds nobody up."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from orchestrator.bench.served import REQUEST_S, Served
from rackproof.errors import GeneratorError, TrialTimeout


@pytest.fixture
def process() -> Iterator[Served]:
    """The native generator's process, with no ports taken."""
    made = Served(
        module="orchestrator.generators.native.process",
        name="the process",
        loss="nothing is lost",
        error=GeneratorError,
        interruption=None,
        end_s=0.3,
    )
    assert made.start(60.0) == ("ready", "")
    yield made
    made.close()


def test_one_that_does_not_answer_in_time_is_ended(process: Served) -> None:
    assert process.request("states") == ()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    begun = time.monotonic()
    with pytest.raises(TrialTimeout, match=r"the process did not answer within 0\.3 s and was ended; nothing is lost"):
        process.request("states", timeout_s=0.3)
    assert time.monotonic() - begun < REQUEST_S
    assert not process.running
    with pytest.raises(GeneratorError, match="the process is not running"):
        process.request("states")


def test_one_that_gives_up_says_why_to_whoever_waits(process: Served) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    with pytest.raises(GeneratorError, match="the generator's ports were taken over by another process"):
        process.wait_or_fail(30.0)
    assert not process.running
