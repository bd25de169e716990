"""Ctrl-C and SIGTERM while a campaign runs: the first one ends it in order, further ones change nothing."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rackproof.errors import Stopped

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stopping() -> Iterator[None]:
    """Within, the first signal raises Stopped; the handlers before are put back at the end."""

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(f"stopped by {signal.Signals(number).name}")

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
