"""What can go wrong, one class per kind of wrong.

A message names what, where, what was expected, what was found and what to do. The class decides whose fault it is: the plan's author
(PlanError) or the laboratory (LabError and its children). A measurement that cannot be trusted is no error, but a verdict: INVALID.
"""

from dataclasses import dataclass


class RackproofError(Exception):
    """Rackproof cannot go on."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One fault in a plan file.

    line is 1-based and None where no single line is at fault; where is the path of the key ("load.per_sender_mbps[3]").
    """

    where: str
    expected: str
    found: str
    line: int | None = None

    def __str__(self) -> str:
        at = f"line {self.line}: " if self.line is not None else ""
        return f"{at}{self.where}: expected {self.expected}, found {self.found}"


class PlanError(RackproofError):
    """The plan cannot be used."""

    #: What the file is called in messages.
    what = "plan"

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.problems = problems
        super().__init__("\n".join([self.summary, *(f"  {problem}" for problem in problems)]))

    @property
    def summary(self) -> str:
        """The message without its problems."""
        return f"{self.source}: the {self.what} cannot be used"


class InventoryError(PlanError):
    """The inventory cannot be used."""

    what = "inventory"


class FileError(RackproofError):
    """A file that was given cannot be used."""

    def __init__(self, source: str, problem: Problem) -> None:
        self.source = source
        self.problem = problem
        super().__init__(f"{source}: {problem}")


class SettingsError(RackproofError):
    """A setting cannot be used."""


class NotFound(RackproofError):
    """There is no such thing in the store."""


class Conflict(RackproofError):
    """What was asked does not fit the state that the thing is in."""


class LabError(RackproofError):
    """The laboratory failed, not the device under test."""


class DeviceError(LabError):
    """A device could not be reached, configured or restored."""


class GeneratorError(LabError):
    """The generator failed."""


class SignallingError(LabError):
    """LSPs could not be set up, flapped or torn down as asked."""


class BenchError(LabError):
    """The virtual bench could not be built on this machine."""


class StoreError(LabError):
    """Results could not be stored."""


class StoreAway(StoreError):
    """The database cannot be reached, or its disk is full: what was asked may work later."""


class LeaseLost(StoreError):
    """Another worker has the campaign now: nothing may be written by this one."""


class TrialTimeout(LabError):
    """A trial did not end within its bound."""


class Stopped(BaseException):
    """Somebody asked for the end (a signal); not an Exception, so that nothing on the way takes it for a failure of the lab."""
