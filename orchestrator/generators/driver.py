"""What a generator of a lab is to the rest of the house, whatever speaks to it underneath."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from orchestrator.interruption import Interruption
from rackproof.model.inventory import GeneratorEntry
from rackproof.model.lsp import Signalling
from rackproof.model.traffic import Arrivals, Traffic
from rackproof.ports import Run, Signaller


@dataclass(frozen=True, kw_only=True, slots=True)
class PortState:
    """A port of a generator as it is now. owner: who has it, "" where nobody has."""

    name: str
    link_up: bool
    speed_mbps: float
    owner: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Abilities:
    """What a generator can do on this testbed, known when it is open.

    fps: frames per second that it can send and count. samples: True where every frame is kept with its times, False where it counts.
    streams_max: how many streams have counters of their own at a time; more are run in batches. notes: what a reader of the results must
    know, by law of arrivals or topic ("poisson": "the sum of 100 streams of random phase").
    """

    fps: float
    samples: bool
    arrivals: frozenset[Arrivals]
    streams_max: int
    notes: Mapping[str, str]


class Session(Protocol):
    """A generator that is connected to, with its ports taken."""

    def facts(self) -> Mapping[str, str]:
        """Model, version, mode of running and whatever else identifies it."""

    def ports(self) -> tuple[PortState, ...]:
        """The ports that were asked for, as they are now. Raises GeneratorError."""

    def abilities(self) -> Abilities:
        """What it can do."""

    def start(self, traffic: Traffic) -> Run:
        """Begin to send and listen; port names are the generator's own. Raises GeneratorError."""


@runtime_checkable
class Signals(Protocol):
    """What a session has besides where its generator can be the LERs of LSPs."""

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        """As Rig.signaller; port names are the generator's own. Raises SignallingError, GeneratorError."""

    def found(self) -> tuple[str, ...]:
        """LSPs that a killed holder of the ports had left in the devices, and what was done about them, in words."""


class Driver(Protocol):
    """A module of orchestrator/generators, by the name that inventories give as the kind of a generator."""

    #: What the driver is, in one line.
    TITLE: str
    #: Options of an inventory's entry: name -> what it means.
    OPTIONS: Mapping[str, str]

    def objections(self, entry: GeneratorEntry) -> tuple[str, ...]:
        """What is wrong with the entry, found without reaching for anything."""

    def opened(
        self, entry: GeneratorEntry, ports: Sequence[str], secrets: Mapping[str, str], interruption: Interruption, take_over: bool
    ) -> AbstractContextManager[Session]:
        """Connect and take the ports; leaving stops traffic, gives the ports back and hangs up.

        secrets: what entry.credentials refers to, by field ("password"). take_over: take ports that somebody else has. Raises
        GeneratorError: out of reach, a version that is not supported, ports of another user (named).
        """
