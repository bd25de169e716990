"""Is the clock of this machine kept by something? As the kernel says it (adjtimex, Linux)."""

import ctypes
import os
from dataclasses import dataclass

#: What adjtimex returns where nothing keeps the clock.
_TIME_ERROR = 5
#: struct timex: modes, then longs: offset, freq, maxerror, esterror; 26 longs hold all of it.
_LONGS, _MAXERROR = 32, 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """synchronised: something keeps it; error_us_max: by how much it may be off then, as the kernel reckons."""

    synchronised: bool
    error_us_max: int

    def __str__(self) -> str:
        if not self.synchronised:
            return "nothing keeps the clock of this machine (chrony or ntp): times in results may be off"
        return f"kept by chrony or ntp, off by at most {self.error_us_max / 1000:g} ms as the kernel reckons"


def of_this_machine() -> Clock:
    """How the clock is kept; nothing is changed. Raises OSError."""
    timex = (ctypes.c_long * _LONGS)()
    libc = ctypes.CDLL(None, use_errno=True)
    state = libc.adjtimex(ctypes.byref(timex))
    if state < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return Clock(synchronised=state != _TIME_ERROR, error_us_max=timex[_MAXERROR])
