"""Does an interruption end every wait at once, and leave those alone who restore devices?"""

import threading
import time

import pytest

from orchestrator.interruption import Cause, Interruption
from rackproof.errors import Stopped


def test_a_wait_ends_at_once() -> None:
    interruption = Interruption()
    interruption.wait(0.01)
    threading.Timer(0.05, interruption.set, (Cause.CANCEL, "enough")).start()
    begun = time.monotonic()
    with pytest.raises(Stopped, match="enough"):
        interruption.wait(60)
    assert time.monotonic() - begun < 30
    with pytest.raises(Stopped):
        interruption.wait(0.0)
    with pytest.raises(Stopped):
        interruption.check()
    interruption.close()


def test_whoever_is_shielded_is_not_interrupted() -> None:
    interruption = Interruption()
    with interruption.shielded():
        interruption.set(Cause.STOP, "later")
        begun = time.monotonic()
        interruption.wait(0.05)
        interruption.check()
        assert time.monotonic() - begun >= 0.05
    with pytest.raises(Stopped, match="later"):
        interruption.check()
    interruption.close()


def test_the_first_cause_counts_unless_the_lease_is_lost() -> None:
    interruption = Interruption()
    interruption.set(Cause.CANCEL, "first")
    interruption.set(Cause.STOP, "second")
    assert (interruption.cause, interruption.reason) == (Cause.CANCEL, "first")
    interruption.set(Cause.LOST, "third")
    interruption.set(Cause.CANCEL, "fourth")
    assert (interruption.cause, interruption.reason) == (Cause.LOST, "third")
    interruption.close()
    interruption.set(Cause.CANCEL, "nobody waits any more")
