"""What the core asks of a laboratory: protocols that the bench and every real testbed, device and generator keep."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from rackproof.errors import LabError
from rackproof.model.functions import DeviceFunction
from rackproof.model.lsp import Established, Flaps, Signalling
from rackproof.model.program import Command, Ended
from rackproof.model.topology import Setup, Topology
from rackproof.model.traffic import Calibration, Capture, Traffic


class Run(Protocol):
    """Traffic under way."""

    def wait(self) -> Capture:
        """Wait for the end of listening and read what came. Raises GeneratorError."""

    def stop(self) -> None:
        """Stop sending at once; wait() then returns what came until then. Does nothing after the end."""


class Generator(Protocol):
    """Sends and receives frames on its ports."""

    def start(self, traffic: Traffic) -> Run:
        """Begin to send and to listen. Raises GeneratorError."""


class Device(Protocol):
    """What is configured and tested."""

    @property
    def name(self) -> str:
        """The name that results carry."""

    def facts(self) -> Mapping[str, str]:
        """Model, version and whatever else identifies it."""

    def configuration(self) -> str:
        """The running configuration as text, the same text for the same configuration."""

    def apply(self, function: DeviceFunction) -> None:
        """Configure a function. Raises DeviceError where the device cannot do it."""

    def check(self, function: DeviceFunction) -> None:
        """Read back that the function is configured as asked. Raises DeviceError with the difference."""

    def restore(self) -> None:
        """Bring the configuration back to what it was before the first apply. Raises DeviceError."""

    def counters(self) -> Mapping[str, int]:
        """Cumulative counters by name ("queue.3.dropped"), read when nothing is being sent."""


class Program(Protocol):
    """A program that was started on a host. Whatever it started ends with it."""

    def poll(self) -> Ended | None:
        """How it ended, None while it runs. Raises LabError."""

    def stop(self) -> Ended:
        """End it and all that it started (SIGINT, and SIGKILL after 2 s), and say how it ended. Raises LabError."""


class Host(Protocol):
    """A host of a path: programs run there, each in a process group of its own."""

    @property
    def name(self) -> str:
        """The name that the topology gives it."""

    @property
    def address(self) -> str:
        """Its IPv4 address, without the prefix length."""

    @property
    def port(self) -> str:
        """Its interface on the path, as programs there call it."""

    def start(self, command: Command) -> Program:
        """Start a program. Raises LabError where it cannot be started."""

    def call(self, command: Command, timeout_s: float) -> Ended:
        """Run a program to its end. Raises TrialTimeout, LabError."""


class Tap(Protocol):
    """Sees every packet that enters and leaves a path (rackproof.model.path says how they are written down)."""

    def start(self) -> Run:
        """Begin to record; Run.stop() ends it, and Run.wait() after that hands over what was seen. Raises LabError."""


class Signaller(Protocol):
    """The ingress and the egress LER of LSPs through the devices, emulated on two of the generator's ports."""

    def establish(self) -> Established:
        """Set all LSPs up; what came of it, when all are up or their time is over. Raises SignallingError, Stopped."""

    def start(self, flaps: Flaps) -> Run:
        """Begin the phases now. Run.wait() returns after the drain, with samples as in rackproof.model.lsp. Raises SignallingError."""

    def release(self) -> Mapping[str, float]:
        """Tear all LSPs down and wait until the egress has seen it; what was counted since the beginning. Raises SignallingError."""


class Rig(Protocol):
    """A topology that stands: devices up and cabled to a generator or to hosts."""

    @property
    def generator(self) -> Generator:
        """The generator; its port names are those of the topology's links."""

    def device(self, name: str) -> Device:
        """The device of that name. Raises KeyError."""

    def host(self, name: str) -> Host:
        """The host of that name. Raises KeyError."""

    def tap(self, device: str) -> Tap:
        """The tap of the path of that name. Raises KeyError, LabError where the device has none."""

    def wires(self) -> Tap | None:
        """What sees every frame on the links that are emulated (rackproof.model.xcf.FIRST_LINK); None where no link is."""

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        """Emulate two LERs; on exit whatever still stands is torn down. Raises SignallingError where the testbed cannot."""

    def pause(self, seconds: float) -> None:
        """Let time pass. Raises LabError when the rig is gone, Stopped when somebody wants an end."""

    def withdraw(self, device: str, why: str) -> None:
        """Let nobody use a device that could not be brought back, until somebody has looked at it. Nothing where it ends with the rig."""


@runtime_checkable
class SideBySide(Protocol):
    """What a rig has besides where it can work on several devices at the same time: each step as in Device, with what came of it by device.

    What fails on a device is its LabError, in its place; the others go on.
    """

    def configurations(self, devices: Sequence[str]) -> Mapping[str, str | LabError]:
        """Device.configuration() of each."""

    def facts_of(self, devices: Sequence[str]) -> Mapping[str, Mapping[str, str] | LabError]:
        """Device.facts() of each."""

    def apply(self, functions: Mapping[str, DeviceFunction]) -> Mapping[str, LabError | None]:
        """Device.apply() of each that has a function here; each was captured before."""

    def check(self, functions: Mapping[str, DeviceFunction]) -> Mapping[str, LabError | None]:
        """Device.check() of each that has a function here."""

    def restore(self, devices: Sequence[str]) -> Mapping[str, LabError | None]:
        """Device.restore() of each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a testbed can carry, known before anything is touched.

    send_fps, receive_fps: frames per second that the generator can pace and record. link_rate_bps_max: the fastest link that a device model
    can emulate, by model (absent: no bound). device_models: model -> why it cannot be used here ("" where it can). options: model -> the
    options that it knows. schemes: congestion-control scheme -> what is missing for it here ("" where nothing is). hosts: real host -> why
    it cannot be used ("" where it can). arrivals: law of arrivals -> why the generator cannot send by it (absent where it can).
    wires_fps: frames per second over all emulated links of a topology together, by the model of devices between (absent: no bound);
    a chain of h devices has h - 1 such links, and each of its frames passes all.
    signalling: why LSPs cannot be signalled here ("" where they can).
    notes: device model, or "generator" -> function ("qos-scheduler") or topic ("poisson") -> what a plan's author should know of it.
    """

    send_fps: float
    receive_fps: float
    link_rate_bps_max: Mapping[str, float]
    device_models: Mapping[str, str]
    options: Mapping[str, frozenset[str]]
    schemes: Mapping[str, str] = field(default_factory=dict)
    arrivals: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    wires_fps: Mapping[str, float] = field(default_factory=dict)
    signalling: str = "nothing here speaks RSVP-TE"
    notes: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)


class Testbed(Protocol):
    """A named set of devices and generators."""

    @property
    def name(self) -> str:
        """The name that plans give."""

    @property
    def resources(self) -> tuple[str, ...]:
        """What whoever uses it has alone, known without reaching for anything; testbeds that share a device have its name in common."""

    def limits(self) -> Limits:
        """What it can carry, by trying where trying is cheap."""

    def objections(self, setup: Setup) -> tuple[str, ...]:
        """Why the setup cannot be built or configured here, found without touching anything; empty where it can."""

    def begin(self, campaign: int, heard: Callable[[str], None]) -> None:
        """A campaign begins: what is done to its devices is told to heard, in words, as it happens."""

    def facts(self) -> Mapping[str, str]:
        """The host, kernel and generator, for provenance."""

    def calibrate(self, campaign: int) -> Calibration:
        """What the generator is worth now (design, decision 8). Raises LabError."""

    def assemble(self, topology: Topology) -> AbstractContextManager[Rig]:
        """Build or find the topology; on exit traffic is stopped, devices are restored and ports given back. Raises LabError."""
