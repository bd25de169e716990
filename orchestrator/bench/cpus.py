"""Which processor does what while traffic runs: the sender spins on one, the device on another, everything else shares the second."""

import os
from dataclasses import dataclass
from typing import Self

#: The strongest claim that an ordinary scheduling class has; real-time classes stall 50 ms every second when others wait.
NICE = -20


@dataclass(frozen=True, kw_only=True, slots=True)
class Cpus:
    """Processor numbers, None where there is no choice; nice is what the engine's threads ask for, and may be refused."""

    sender: int | None
    device: int | None
    nice: int = NICE

    @classmethod
    def of_process(cls) -> Self:
        """A choice among those that this process may use."""
        usable = sorted(os.sched_getaffinity(0))
        if len(usable) < 2:
            return cls(sender=None, device=None)
        return cls(sender=usable[-1], device=usable[0])
