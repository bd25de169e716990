"""Several devices, each step side by side: one play a platform. What fails on a device is its DeviceError, in its place."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from orchestrator.devices.device import LIMITS_S, AnsibleDevice
from orchestrator.devices.runner import Outcome
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction

T = TypeVar("T")


def facts(devices: Sequence[AnsibleDevice]) -> Mapping[str, Mapping[str, str] | DeviceError]:
    """The facts of each."""
    return _each(devices, _played("facts", devices), lambda device, outcome: device.facts_of(outcome))


def configurations(devices: Sequence[AnsibleDevice]) -> Mapping[str, str | DeviceError]:
    """The configuration of each, as AnsibleDevice.configuration()."""
    return _each(devices, _played("capture", devices), lambda device, outcome: device.configuration_of(outcome))


def apply(devices: Sequence[AnsibleDevice], functions: Mapping[str, DeviceFunction]) -> Mapping[str, DeviceError | None]:
    """Configure on each the function that stands under its name; each was captured before."""
    able = []
    refused: dict[str, DeviceError | None] = {}
    for device in devices:
        try:
            device.may_apply(functions[device.name])
            if device.kept.configuration is None:
                raise DeviceError(f"{device.name}: nothing is applied before its configuration is captured")
            device.kept.mark_applied()
            able.append(device)
        except DeviceError as error:
            refused[device.name] = error
    outcomes = _played("apply", able, functions)
    return {**refused, **_each(able, outcomes, lambda device, outcome: device.applied(functions[device.name], outcome))}


def check(devices: Sequence[AnsibleDevice], functions: Mapping[str, DeviceFunction]) -> Mapping[str, DeviceError | None]:
    """Read back from each the function that stands under its name."""
    return _each(devices, _played("check", devices, functions), lambda device, outcome: device.checked(outcome))


def restore(devices: Sequence[AnsibleDevice]) -> Mapping[str, DeviceError | None]:
    """Bring back each that was changed."""
    changed = [device for device in devices if device.left_configured]
    untouched: dict[str, DeviceError | None] = {device.name: None for device in devices if device not in changed}
    return {**untouched, **_each(changed, _played("restore", changed), lambda device, outcome: device.restored(outcome))}


def _played(
    playbook: str, devices: Sequence[AnsibleDevice], functions: Mapping[str, DeviceFunction] | None = None
) -> Mapping[str, Outcome]:
    if not devices:
        return {}
    variables = {device.name: device.variables(None if functions is None else functions[device.name]) for device in devices}
    entries = [device.entry for device in devices]
    return devices[0].ansible.play(playbook, entries, variables, timeout_s=LIMITS_S[playbook], heard=devices[0].heard)


def _each(
    devices: Sequence[AnsibleDevice], outcomes: Mapping[str, Outcome], result: Callable[[AnsibleDevice, Outcome], T]
) -> dict[str, T | DeviceError]:
    found: dict[str, T | DeviceError] = {}
    for device in devices:
        try:
            found[device.name] = result(device, outcomes[device.name])
        except DeviceError as error:
            found[device.name] = error
    return found
