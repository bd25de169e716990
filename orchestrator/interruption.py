"""How is something that takes long ended at once? An event with a file descriptor, so that whoever waits for anything waits for it too."""

import os
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from rackproof.errors import Stopped


class Cause(StrEnum):
    """Why. CANCEL: somebody wants the campaign to end. STOP: the process ends, the campaign goes on later. LOST: it is not ours now."""

    CANCEL = "cancel"
    STOP = "stop"
    LOST = "lost"


class Interruption:
    """Set at most once; the first cause counts, except that a lease that is lost outweighs it. Any thread may set and wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cause: Cause | None = None
        self._reason = ""
        self._shields = 0
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    @property
    def cause(self) -> Cause | None:
        """None while nobody wants an end."""
        return self._cause

    @property
    def reason(self) -> str:
        """Why, in words."""
        return self._reason

    def fileno(self) -> int:
        """Readable for ever once it is set: for select()."""
        return self._fd

    def set(self, cause: Cause, reason: str) -> None:
        """Let every wait end."""
        with self._lock:
            if self._cause is None or (cause is Cause.LOST and self._cause is not Cause.LOST):
                self._cause, self._reason = cause, reason
                if self._fd >= 0:
                    os.eventfd_write(self._fd, 1)

    def check(self) -> None:
        """Raise Stopped where it is set and nobody is shielded."""
        if self._cause is not None and not self._shields:
            raise Stopped(self._reason)

    def wait(self, seconds: float) -> None:
        """Let time pass. Raises Stopped as soon as it is set."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            if self._shields and self._cause is not None:
                time.sleep(left)
            else:
                select.select([self._fd], [], [], left)
        self.check()

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """Within, nothing is interrupted: devices are being restored."""
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1

    @property
    def shields(self) -> bool:
        """True while devices are being restored."""
        return self._shields > 0

    def close(self) -> None:
        """Give the file descriptor back; nobody may wait any more."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
