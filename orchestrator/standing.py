"""What stands in front of the trials: a topology with its devices configured, and how devices come back to what they were."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.interruption import Interruption
from orchestrator.several import several, sound
from rackproof.errors import DeviceError, LabError, StoreError
from rackproof.model.event import EventKind
from rackproof.model.functions import DeviceFunction
from rackproof.model.topology import Setup
from rackproof.model.trial import Trial
from rackproof.ports import Rig, Testbed

#: How a device was left, in words.
AS_FOUND = "as it was found"


class Session(Protocol):
    """What is needed of the campaign."""

    @property
    def interruption(self) -> Interruption:
        """What ends waits."""

    def configured(self, texts: Mapping[str, str | None], facts: Mapping[str, Mapping[str, str]], words: str) -> None:
        """Write down that devices are configured."""

    def restored(self, texts: Mapping[str, str | None], left: Mapping[str, str]) -> None:
        """Write down how devices are after they were restored. left: in words, by device."""

    def tell(self, kind: EventKind, text: str, **data: float | int | str) -> None:
        """Write down what happened."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Trials that share a setup. what: how their configurations are named."""

    setup: Setup
    trials: frozenset[int]
    what: str


def groups(trials: Sequence[Trial], setup: Callable[[Trial], Setup]) -> list[Group]:
    """Trials that follow each other and have equal setups; named by their discipline, or by their first trial where that is not enough."""
    found: list[tuple[Setup, list[Trial]]] = []
    for trial in trials:
        wanted = setup(trial)
        if found and found[-1][0] == wanted:
            found[-1][1].append(trial)
        else:
            found.append((wanted, [trial]))
    named: dict[tuple[str, str], Setup] = {}
    made = []
    for wanted, members in found:
        first = members[0]
        what = str(first.point.get("discipline", f"trial {first.index}"))
        if any(named.get((device, what), wanted) != wanted for device in wanted.functions):
            what = f"{what} (trial {first.index})"
        named |= {(device, what): wanted for device in wanted.functions}
        made.append(Group(setup=wanted, trials=frozenset(trial.index for trial in members), what=what))
    return made


class Standing:
    """At most one setup stands at a time.

    changed: what is wrong with the testbed, where a device could not be brought back to what it was: then nothing may go on.
    """

    def __init__(self, *, session: Session, testbed: Testbed, groups: Sequence[Group], configurations: Mapping[str, str]) -> None:
        self._session = session
        self._testbed = testbed
        self._groups = {index: group for group in groups for index in group.trials}
        self._all = groups
        self._recorded = dict(configurations)
        self._group: Group | None = None
        self._broken: tuple[Group, LabError] | None = None
        self._rig: Rig | None = None
        self._down = contextlib.ExitStack()
        self.changed: DeviceError | None = None

    def rig_for(self, trial: Trial) -> Rig:
        """The rig that the trial needs, built and configured if it does not stand yet. Raises LabError, the same for all of its group."""
        group = self._groups[trial.index]
        if self._rig is not None and self._group is group:
            return self._rig
        if self._broken is not None and self._broken[0] is group:
            raise self._broken[1]
        self.take_down()
        try:
            rig = self._down.enter_context(self._testbed.assemble(group.setup.topology))
            self._down.enter_context(self._configured(rig, group))
        except StoreError:
            raise
        except LabError as error:
            self._broken = (group, error)
            self.take_down()
            raise
        self._group, self._rig = group, rig
        return rig

    def take_down(self) -> None:
        """Stop traffic, restore devices, give ports back; nothing interrupts this."""
        down, self._down = self._down, contextlib.ExitStack()
        self._group = self._rig = None
        with self._session.interruption.shielded():
            try:
                down.close()
            except StoreError:
                raise
            except LabError as error:
                self._warn(f"the testbed could not be taken down in order: {error}")

    def check_what_was_left(self) -> None:
        """After an interruption: bring back every device that was left configured. Raises DeviceError where one cannot be brought back."""
        for group in self._all:
            if not any(self._left(device, group) for device in group.setup.functions):
                continue
            texts: dict[str, str | None] = {}
            left: dict[str, str] = {}
            failure: LabError | None = None
            with self._testbed.assemble(group.setup.topology) as rig:
                for name in group.setup.functions:
                    try:
                        texts[f"{name}, after {group.what}"] = self._checked(rig, name, group)
                        left[name] = AS_FOUND
                    except StoreError:
                        raise
                    except LabError as error:
                        failure = failure or error
                        left[name] = self._given_up(rig, name, str(error))
            self._session.restored(texts, left)
            self._recorded |= {name: text for name, text in texts.items() if text is not None}
            if failure is not None:
                raise failure

    @contextlib.contextmanager
    def _configured(self, rig: Rig, group: Group) -> Iterator[None]:
        """Devices configured and read back; on exit restored, and every difference to how they were found told."""
        before: dict[str, str] = {}
        with contextlib.ExitStack() as stack:
            stack.callback(self._restore, rig, group, before)
            texts: dict[str, str | None] = {}
            devices, names = several(rig), tuple(group.setup.functions)
            for name, found in sound(devices.configurations(names)).items():
                before[name] = self._judged(rig, name, group, found)
            facts = {f"Device {name}": told for name, told in sound(devices.facts_of(names)).items()}
            for functions in _steps(group.setup.functions):
                sound(devices.apply(functions))
                sound(devices.check(functions))
            tested = sound(devices.configurations(names))
            for name in names:
                texts |= {f"{name}, before {group.what}": before[name], f"{name}, after {group.what}": None}
                texts[f"{name}, as tested with {group.what}"] = tested[name]
            if texts:
                self._session.configured(texts, facts, ", ".join(f"{name}: {group.what}" for name in group.setup.functions))
                self._recorded |= {name: text for name, text in texts.items() if text is not None}
                for name in group.setup.functions:
                    self._recorded.pop(f"{name}, after {group.what}", None)
            yield

    def _restore(self, rig: Rig, group: Group, before: Mapping[str, str]) -> None:
        texts: dict[str, str | None] = {}
        left: dict[str, str] = {}
        with self._session.interruption.shielded():
            devices = several(rig)
            failed = {name: error for name, error in devices.restore(tuple(before)).items() if error is not None}
            found = devices.configurations([name for name in before if name not in failed])
            for name, was in before.items():
                now = failed.get(name) or found[name]
                if isinstance(now, LabError):
                    left[name] = self._given_up(rig, name, str(now))
                    continue
                texts[f"{name}, after {group.what}"] = now
                left[name] = AS_FOUND if now == was else self._given_up(rig, name, f"it is not as it was found: {_difference(was, now)}")
            if left:
                with self._unless_lost():
                    self._session.restored(texts, left)
        self._recorded |= {name: text for name, text in texts.items() if text is not None}

    def _given_up(self, rig: Rig, name: str, why: str) -> str:
        """A device that could not be brought back: nobody may use it, and it is told; how it was left, in words."""
        self._warn(f"{name} could not be restored: {why}")
        with self._unless_lost():
            rig.withdraw(name, f"it could not be restored: {why}")
        return f"could not be restored: {why}"

    def _left(self, device: str, group: Group) -> bool:
        return f"{device}, before {group.what}" in self._recorded and f"{device}, after {group.what}" not in self._recorded

    def _checked(self, rig: Rig, name: str, group: Group) -> str:
        """The device's configuration, which must be what it was when this setup was first built. Raises DeviceError with the difference."""
        return self._judged(rig, name, group, rig.device(name).configuration())

    def _judged(self, rig: Rig, name: str, group: Group, found: str) -> str:
        """As _checked, of a configuration that was read."""
        device = rig.device(name)
        expected = self._recorded.get(f"{name}, before {group.what}")
        if expected is None:
            return found
        left = self._left(name, group)
        if found != expected:
            device.restore()
            restored = device.configuration()
            if restored != expected:
                self.changed = DeviceError(
                    f"{name} is not as it was found before {group.what}, and could not be brought back: {_difference(expected, restored)}"
                )
                raise self.changed
            self._session.tell(EventKind.TESTBED_CHECKED, f"{name} was left configured, and was brought back to how it was found first")
        elif left:
            self._session.tell(EventKind.TESTBED_CHECKED, f"{name} is as it was found first")
        return expected

    def _warn(self, text: str) -> None:
        with self._unless_lost():
            self._session.tell(EventKind.WARNING, text)

    @contextlib.contextmanager
    def _unless_lost(self) -> Iterator[None]:
        """What cannot be written because the lease is lost, or the process must end, is left out: devices come first."""
        try:
            yield
        except StoreError:
            if self._session.interruption.cause is None:
                raise


def _steps(functions: Mapping[str, Sequence[DeviceFunction]]) -> Iterator[Mapping[str, DeviceFunction]]:
    """The first function of every device, then the second, ..."""
    for number in range(max(map(len, functions.values()), default=0)):
        yield {name: mine[number] for name, mine in functions.items() if number < len(mine)}


def _difference(expected: str, found: str) -> str:
    """The first line in which two configurations differ."""
    ours, theirs = expected.splitlines(), found.splitlines()
    for number in range(max(len(ours), len(theirs))):
        one = ours[number] if number < len(ours) else "nothing"
        other = theirs[number] if number < len(theirs) else "nothing"
        if one != other:
            return f"line {number + 1}: expected {one!r}, found {other!r}"
    return "they differ in line ends"
