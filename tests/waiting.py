"""Waiting for what comes by itself, on a machine that may stand still for seconds."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
#: Whatever happens at all happens within this time [s].
SOON_S = 30.0


def until(happened: Callable[[], T], why: str = "it did not happen in time", bound_s: float = SOON_S) -> T:
    """What it gives, as soon as that is true; an AssertionError that says why where it does not become so."""
    end = time.monotonic() + bound_s
    while not (found := happened()):
        assert time.monotonic() < end, why
        time.sleep(0.01)
    return found
