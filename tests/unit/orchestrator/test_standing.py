"""Are the devices of a setup configured and brought back whatever fails: side by side where the rig can, otherwise one by one?"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import pytest

from orchestrator.interruption import Interruption
from orchestrator.several import several
from orchestrator.standing import AS_FOUND, Group, Standing
from rackproof import ports
from rackproof.errors import DeviceError, LabError
from rackproof.model.event import EventKind
from rackproof.model.functions import DeviceFunction, Vlan
from rackproof.model.topology import DeviceSpec, Setup, Topology
from rackproof.model.trial import Trial
from rackproof.ports import Rig

T = TypeVar("T")
NAMES = ("x1", "x2", "x3")
FUNCTIONS = (Vlan(vlan_id=10), Vlan(vlan_id=11))
SETUP = Setup(
    topology=Topology(devices=tuple(DeviceSpec(name=name, model="switch") for name in NAMES), links=()),
    functions={name: FUNCTIONS[: 1 + (name == "x2")] for name in NAMES},
)
TRIAL = Trial(index=1, label="", point={}, repetition=1, seed=1, duration_s=1.0)


class FakeDevice:
    """fails: steps that fail on it. A restore that fails leaves what was configured."""

    def __init__(self, name: str, fails: Sequence[str], done: list[str]) -> None:
        self.name = name
        self.text = f"{name} as found"
        self._fails = fails
        self._done = done

    def _do(self, step: str) -> None:
        self._done.append(f"{step} {self.name}")
        if step in self._fails:
            raise DeviceError(f"{self.name}: {step} fails")

    def facts(self) -> Mapping[str, str]:
        self._do("facts")
        return {"model": "fake"}

    def configuration(self) -> str:
        self._do("configuration")
        return self.text

    def apply(self, function: DeviceFunction) -> None:
        self._do("apply")
        self.text = f"{self.name} configured"

    def check(self, function: DeviceFunction) -> None:
        self._do("check")

    def restore(self) -> None:
        self._do("restore")
        self.text = f"{self.name} as found"


class FakeRig:
    def __init__(self, fails: Mapping[str, Sequence[str]]) -> None:
        self.done: list[str] = []
        self.withdrawn: dict[str, str] = {}
        self.devices = {name: FakeDevice(name, fails.get(name, ()), self.done) for name in NAMES}

    def device(self, name: str) -> FakeDevice:
        return self.devices[name]

    def withdraw(self, device: str, why: str) -> None:
        self.withdrawn[device] = why


class FakeRigAtOnce(FakeRig):
    """Does every step on all of its devices, and says so once."""

    def __init__(self, fails: Mapping[str, Sequence[str]]) -> None:
        super().__init__(fails)
        self.at_once: list[str] = []

    def configurations(self, devices: Sequence[str]) -> Mapping[str, str | LabError]:
        return self._together("configurations", lambda rig: several(rig).configurations(devices))

    def facts_of(self, devices: Sequence[str]) -> Mapping[str, Mapping[str, str] | LabError]:
        return self._together("facts", lambda rig: several(rig).facts_of(devices))

    def apply(self, functions: Mapping[str, DeviceFunction]) -> Mapping[str, LabError | None]:
        return self._together(f"apply {' '.join(functions)}", lambda rig: several(rig).apply(functions))

    def check(self, functions: Mapping[str, DeviceFunction]) -> Mapping[str, LabError | None]:
        return self._together(f"check {' '.join(functions)}", lambda rig: several(rig).check(functions))

    def restore(self, devices: Sequence[str]) -> Mapping[str, LabError | None]:
        return self._together("restore", lambda rig: several(rig).restore(devices))

    def _together(self, step: str, work: Callable[[Rig], T]) -> T:
        one_by_one = FakeRig({})
        one_by_one.devices = self.devices
        found = work(cast(Rig, one_by_one))
        self.at_once.append(step)
        return found


class FakeSession:
    def __init__(self) -> None:
        self.interruption = Interruption()
        self.texts: dict[str, str | None] = {}
        self.left: dict[str, str] = {}
        self.warnings: list[str] = []

    def configured(self, texts: Mapping[str, str | None], facts: Mapping[str, Mapping[str, str]], words: str) -> None:
        self.texts |= texts

    def restored(self, texts: Mapping[str, str | None], left: Mapping[str, str]) -> None:
        self.texts |= texts
        self.left |= left

    def tell(self, kind: EventKind, text: str, **data: float | int | str) -> None:
        self.warnings.append(text)


class FakeTestbed:
    def __init__(self, rig: FakeRig) -> None:
        self._rig = rig

    @contextlib.contextmanager
    def assemble(self, topology: Topology) -> Iterator[FakeRig]:
        yield self._rig


def stood(rig: FakeRig) -> tuple[Standing, FakeSession]:
    session = FakeSession()
    group = Group(setup=SETUP, trials=frozenset({1}), what="it")
    return Standing(session=session, testbed=cast(ports.Testbed, FakeTestbed(rig)), groups=[group], configurations={}), session


@pytest.mark.parametrize("kind", [FakeRig, FakeRigAtOnce])
def test_all_are_configured_and_brought_back(kind: type[FakeRig]) -> None:
    rig = kind({})
    standing, session = stood(rig)
    standing.rig_for(TRIAL)
    assert {session.texts[f"{name}, before it"] for name in NAMES} == {f"{name} as found" for name in NAMES}
    assert {session.texts[f"{name}, as tested with it"] for name in NAMES} == {f"{name} configured" for name in NAMES}
    standing.take_down()
    assert {session.texts[f"{name}, after it"] for name in NAMES} == {f"{name} as found" for name in NAMES}
    assert session.left == dict.fromkeys(NAMES, AS_FOUND)
    assert rig.withdrawn == {}


def test_steps_are_taken_on_all_devices_at_once() -> None:
    rig = FakeRigAtOnce({})
    stood(rig)[0].rig_for(TRIAL)
    assert rig.at_once == ["configurations", "facts", "apply x1 x2 x3", "check x1 x2 x3", "apply x2", "check x2", "configurations"]


@pytest.mark.parametrize("kind", [FakeRig, FakeRigAtOnce])
@pytest.mark.parametrize("step", ["apply", "check"])
def test_what_fails_on_one_brings_all_back(kind: type[FakeRig], step: str) -> None:
    rig = kind({"x2": (step,)})
    standing, session = stood(rig)
    with pytest.raises(DeviceError, match=f"x2: {step} fails"):
        standing.rig_for(TRIAL)
    assert session.left == dict.fromkeys(NAMES, AS_FOUND)
    assert {device.text for device in rig.devices.values()} == {f"{name} as found" for name in NAMES}


@pytest.mark.parametrize("kind", [FakeRig, FakeRigAtOnce])
def test_one_that_cannot_be_brought_back_is_withdrawn_and_the_others_are_as_found(kind: type[FakeRig]) -> None:
    rig = kind({"x1": ("restore",)})
    standing, session = stood(rig)
    standing.rig_for(TRIAL)
    standing.take_down()
    assert list(rig.withdrawn) == ["x1"]
    assert "x1: restore fails" in rig.withdrawn["x1"]
    assert session.left == {"x1": "could not be restored: x1: restore fails", "x2": AS_FOUND, "x3": AS_FOUND}
    assert any("x1 could not be restored" in text for text in session.warnings)
