"""A program that runs on a host, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A program with its arguments; no shell ever sees them. Its standard input stays open; environment is added to the host's."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a program ended.

    exit_status: as the shell counts (128 + signal), None where it was stopped by us. cpu_s: processor time of the program and of all that
    it started [s]. wall_s: how long it ran [s]. output: the end of what it wrote to both its outputs, at most 8 kB.
    """

    exit_status: int | None
    cpu_s: float
    wall_s: float
    output: str
