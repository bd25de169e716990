"""Several devices of a rig, step by step: at the same time where the rig can do that, otherwise one after the other."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from rackproof.errors import LabError, StoreError
from rackproof.model.functions import DeviceFunction
from rackproof.ports import Device, Rig, SideBySide

T = TypeVar("T")


def several(rig: Rig) -> SideBySide:
    """How the devices of a rig are worked on."""
    return rig if isinstance(rig, SideBySide) else _OneByOne(rig)


def sound(results: Mapping[str, T | LabError]) -> dict[str, T]:
    """What came of a step on all devices. Raises the LabError of the first that failed."""
    for result in results.values():
        if isinstance(result, LabError):
            raise result
    return {name: result for name, result in results.items() if not isinstance(result, LabError)}


class _OneByOne:
    """rackproof.ports.SideBySide of a rig that has only its devices."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig

    def configurations(self, devices: Sequence[str]) -> Mapping[str, str | LabError]:
        return self._each(devices, lambda device: device.configuration())

    def facts_of(self, devices: Sequence[str]) -> Mapping[str, Mapping[str, str] | LabError]:
        return self._each(devices, lambda device: device.facts())

    def apply(self, functions: Mapping[str, DeviceFunction]) -> Mapping[str, LabError | None]:
        return self._each(functions, lambda device: device.apply(functions[device.name]))

    def check(self, functions: Mapping[str, DeviceFunction]) -> Mapping[str, LabError | None]:
        return self._each(functions, lambda device: device.check(functions[device.name]))

    def restore(self, devices: Sequence[str]) -> Mapping[str, LabError | None]:
        return self._each(devices, lambda device: device.restore())

    def _each(self, names: Sequence[str] | Mapping[str, DeviceFunction], step: Callable[[Device], T]) -> Mapping[str, T | LabError]:
        found: dict[str, T | LabError] = {}
        for name in names:
            try:
                found[name] = step(self._rig.device(name))
            except StoreError:
                raise
            except LabError as error:
                found[name] = error
        return found
