"""The short version of `make chaos`: a few points, drawn from the kinds of harm that need no long wait."""

import secrets

import pytest

from tests.chaos.harness import run

#: Freezing waits for a lease to run out, and a power cut starts everything again: the long version has them.
SHORT = (
    "kill a worker",
    "kill all workers",
    "kill the API",
    "kill PostgreSQL",
    "kill a session of PostgreSQL",
    "drop all connections",
    "fill the disk",
)

POINTS = 3


@pytest.mark.slow
def test_whatever_happens_every_trial_has_one_result_and_nothing_is_left() -> None:
    seed = secrets.randbelow(2**31)
    print(f"seed {seed}")
    outcome = run(POINTS, seed, faults=SHORT)
    assert len(outcome.points) == POINTS
    assert outcome.violations == []
