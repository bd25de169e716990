"""What a worker does beside campaigns: small things that are due at a time or when somebody asks."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """The worker whose duty it is. incarnation: changes with every start; testbeds: those that it serves."""

    name: str
    incarnation: str
    testbeds: tuple[str, ...]


class Duty(Protocol):
    """Something that every worker does now and then; several workers may do it at once, and the database decides who.

    words: the first words of notifications on the channel `rackproof_work` that wake it.
    """

    name: str
    words: frozenset[str]

    def run(self) -> float:
        """Do what is due; the seconds until it wants to run again if nothing wakes it. Raises StoreError where the database fails."""
