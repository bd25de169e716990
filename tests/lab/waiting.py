"""Waiting for what comes by itself, on a machine that may stand still for seconds."""

import time
from collections.abc import Callable

#: Whatever happens at all happens within this time [s].
SOON_S = 30.0


def until(true: Callable[[], bool], what: str = "what is waited for does not come") -> None:
    """Return as soon as it is true; an AssertionError that says what where it does not become so."""
    end = time.monotonic() + SOON_S
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.01)
