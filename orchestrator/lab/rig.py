"""A plan's topology in the rack: its devices under the plan's names, and its generator with the plan's ports."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from orchestrator.devices import together
from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.limits import SchedulerLimits
from orchestrator.devices.platforms import Platform
from orchestrator.interruption import Interruption
from orchestrator.lab.between import Joined
from orchestrator.lab.driving import PlanGenerator
from orchestrator.lab.translating import suited, translated
from rackproof.errors import DeviceError, LabError, SignallingError
from rackproof.model.functions import DeviceFunction, Discipline, QosScheduler
from rackproof.model.lsp import Signalling
from rackproof.ports import Device, Generator, Host, Signaller, Tap

T = TypeVar("T")


class Withdrawing(Protocol):
    """What becomes of a device that could not be brought back."""

    def __call__(self, device: str, why: str) -> None:
        """device: its name in the inventory."""


class PlanDevice:
    """A device of the rack under the name and with the ports that the plan knows.

    known: facts by the device's name in the inventory, kept for as long as the testbed is open: they are asked for once.
    """

    def __init__(self, name: str, device: AnsibleDevice, ports: Mapping[str, str], known: MutableMapping[str, Mapping[str, str]]) -> None:
        self.name = name
        self.device = device
        self._ports = ports
        self._known = known

    @property
    def known(self) -> bool:
        """True where its facts were told already."""
        return self.device.name in self._known

    def told(self, facts: Mapping[str, str]) -> None:
        """Keep the device's facts for the next time."""
        self._known[self.device.name] = facts

    def facts(self) -> Mapping[str, str]:
        if not self.known:
            self.told(self.device.facts())
        ports = ", ".join(f"{plan} is {own}" for plan, own in self._ports.items())
        return {"name in the rack": self.device.name, "ports": ports, **self._known[self.device.name]}

    def configuration(self) -> str:
        return self.device.configuration()

    def apply(self, function: DeviceFunction) -> None:
        self.device.apply(self.asked(function))

    def asked(self, function: DeviceFunction) -> DeviceFunction:
        """The function as it is applied here; what differs is told. Raises DeviceError."""
        mine = self.mine(function)
        if isinstance(function, QosScheduler) and isinstance(mine, QosScheduler) and mine.discipline != function.discipline:
            same = f"every frame has {function.frame_bytes} bytes, so both are the same"
            self.device.heard(f"{self.device.name}: {function.discipline} is asked for as {mine.discipline}: {same}")
        return mine

    def check(self, function: DeviceFunction) -> None:
        self.device.check(self.mine(function))

    def restore(self) -> None:
        self.device.restore()

    def counters(self) -> Mapping[str, int]:
        return self.device.counters()

    def mine(self, function: DeviceFunction) -> DeviceFunction:
        """The function with the ports and disciplines of the device. Raises DeviceError."""
        return suited(translated(function, self._ports), disciplines_of(self.device.platform))


def disciplines_of(platform: Platform) -> Sequence[Discipline]:
    """The disciplines that a platform has."""
    limits = platform.functions.get("qos-scheduler")
    return limits.disciplines if isinstance(limits, SchedulerLimits) else ()


class LabRig:
    """rackproof.ports.Rig of real parts."""

    def __init__(
        self,
        *,
        generator: PlanGenerator | None,
        devices: Mapping[str, PlanDevice],
        ends: Joined,
        interruption: Interruption,
        withdraw: Withdrawing,
    ) -> None:
        self._generator = generator
        self._devices = devices
        self._ends = ends
        self._interruption = interruption
        self._withdraw = withdraw

    @property
    def generator(self) -> Generator:
        if self._generator is None:
            raise LabError("the topology has no port of a generator")
        return self._generator

    def device(self, name: str) -> Device:
        return self._devices[name]

    def host(self, name: str) -> Host:
        return self._ends.hosts[name]

    def tap(self, device: str) -> Tap:
        if device in self._ends.taps:
            return self._ends.taps[device]
        raise LabError(f"{device}: nothing in a lab sees what enters and leaves a device; the generator counts")

    def wires(self) -> None:
        return None

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        if self._generator is None:
            raise SignallingError("the topology has no port of a generator to signal from")
        return self._generator.signaller(signalling)

    def pause(self, seconds: float) -> None:
        self._interruption.wait(seconds)

    def configurations(self, devices: Sequence[str]) -> Mapping[str, str | LabError]:
        return self._by_plan(devices, together.configurations(self._real(devices)))

    def facts_of(self, devices: Sequence[str]) -> Mapping[str, Mapping[str, str] | LabError]:
        unknown = [name for name in devices if not self._devices[name].known]
        found = self._by_plan(unknown, together.facts(self._real(unknown)))
        for name, facts in found.items():
            if not isinstance(facts, LabError):
                self._devices[name].told(facts)
        failed = {name: facts for name, facts in found.items() if isinstance(facts, LabError)}
        return {name: failed.get(name) or self._devices[name].facts() for name in devices}

    def apply(self, functions: Mapping[str, DeviceFunction]) -> Mapping[str, LabError | None]:
        return self._done(functions, PlanDevice.asked, together.apply)

    def check(self, functions: Mapping[str, DeviceFunction]) -> Mapping[str, LabError | None]:
        return self._done(functions, PlanDevice.mine, together.check)

    def restore(self, devices: Sequence[str]) -> Mapping[str, LabError | None]:
        return self._by_plan(devices, together.restore(self._real(devices)))

    def _done(
        self,
        functions: Mapping[str, DeviceFunction],
        own: Callable[[PlanDevice, DeviceFunction], DeviceFunction],
        step: Callable[[Sequence[AnsibleDevice], Mapping[str, DeviceFunction]], Mapping[str, DeviceError | None]],
    ) -> Mapping[str, LabError | None]:
        """A step with a function for each device, in the words of the device."""
        mine: dict[str, DeviceFunction] = {}
        refused: dict[str, LabError | None] = {}
        for name, function in functions.items():
            try:
                mine[self._devices[name].device.name] = own(self._devices[name], function)
            except DeviceError as error:
                refused[name] = error
        able = [name for name in functions if name not in refused]
        return {**refused, **self._by_plan(able, step(self._real(able), mine))}

    def _real(self, names: Sequence[str]) -> Sequence[AnsibleDevice]:
        return [self._devices[name].device for name in names]

    def _by_plan(self, names: Sequence[str], found: Mapping[str, T]) -> dict[str, T]:
        """What came of a step by the names of the plan."""
        return {name: found[self._devices[name].device.name] for name in names}

    def withdraw(self, device: str, why: str) -> None:
        self._withdraw(self._devices[device].device.name, why)
