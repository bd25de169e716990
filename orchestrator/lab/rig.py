"""A plan's topology in the rack: its devices under the plan's names, and its generator with the plan's ports."""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Protocol

from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.platforms import Platform, SchedulerLimits
from orchestrator.interruption import Interruption
from orchestrator.lab.between import Joined
from orchestrator.lab.driving import PlanGenerator
from orchestrator.lab.translating import suited, translated
from rackproof.errors import LabError
from rackproof.model.functions import DeviceFunction, Discipline, QosScheduler
from rackproof.ports import Device, Generator, Host, Tap


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

    def facts(self) -> Mapping[str, str]:
        if self.device.name not in self._known:
            self._known[self.device.name] = self.device.facts()
        ports = ", ".join(f"{plan} is {own}" for plan, own in self._ports.items())
        return {"name in the rack": self.device.name, "ports": ports, **self._known[self.device.name]}

    def configuration(self) -> str:
        return self.device.configuration()

    def apply(self, function: DeviceFunction) -> None:
        mine = self._mine(function)
        if isinstance(function, QosScheduler) and isinstance(mine, QosScheduler) and mine.discipline != function.discipline:
            same = f"every frame has {function.frame_bytes} bytes, so both are the same"
            self.device.heard(f"{self.device.name}: {function.discipline} is asked for as {mine.discipline}: {same}")
        self.device.apply(mine)

    def check(self, function: DeviceFunction) -> None:
        self.device.check(self._mine(function))

    def restore(self) -> None:
        self.device.restore()

    def counters(self) -> Mapping[str, int]:
        return self.device.counters()

    def _mine(self, function: DeviceFunction) -> DeviceFunction:
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

    def pause(self, seconds: float) -> None:
        self._interruption.wait(seconds)

    def withdraw(self, device: str, why: str) -> None:
        self._withdraw(self._devices[device].device.name, why)
