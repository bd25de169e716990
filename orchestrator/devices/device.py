"""A device that Ansible configures, as the core sees it (rackproof.ports.Device)."""

import difflib
import os
import re
import subprocess
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator.devices.kept import Kept
from orchestrator.devices.platforms import Platform, objection, plain, platforms
from orchestrator.devices.runner import Ansible, Outcome
from orchestrator.secrets import SHOWN, Secret, of_credentials, redacted
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction, QosScheduler
from rackproof.model.inventory import DeviceEntry

#: How long a play may take [s].
LIMITS_S: Mapping[str, float] = {"facts": 60.0, "capture": 120.0, "apply": 300.0, "check": 120.0, "restore": 300.0, "counters": 60.0}
COUNTERS_S = 15.0
_MARK = re.compile(r"(?:[-+ ] ?|found |expected )?")


class AnsibleDevice:
    """A device of an inventory. state: its private folder on this machine, which outlives the process; heard is told what plays do.

    Several devices are worked on side by side with orchestrator.devices.together.
    """

    def __init__(self, entry: DeviceEntry, ansible: Ansible, *, state: Path, heard: Callable[[str], None]) -> None:
        self.entry = entry
        self.ansible = ansible
        self.heard = heard
        self.platform: Platform = platforms()[entry.platform]
        self.kept = Kept(state)
        self._scheduler: QosScheduler | None = None

    @property
    def name(self) -> str:
        """The name that the inventory gives it."""
        return self.entry.name

    @property
    def left_configured(self) -> bool:
        """True where something was applied and not restored yet, by whichever process of this machine."""
        return self.kept.applied

    def facts(self) -> Mapping[str, str]:
        """Model, version and whatever else identifies it. Raises DeviceError."""
        return self.facts_of(self.play("facts"))

    def configuration(self) -> str:
        """The running configuration without secrets and without what changes by itself. Raises DeviceError."""
        return self.configuration_of(self.play("capture"))

    def apply(self, function: DeviceFunction) -> None:
        """Configure a function; what is there is captured before, if it was not yet. Raises DeviceError."""
        self.may_apply(function)
        if self.kept.configuration is None:
            self.configuration()
        self.kept.mark_applied()
        self.applied(function, self.play("apply", function))

    def check(self, function: DeviceFunction) -> None:
        """Read back that the function is configured as asked. Raises DeviceError with the differences."""
        self.checked(self.play("check", function))

    def restore(self) -> None:
        """Bring back what was captured before the first apply, capture again and compare. Raises DeviceError that quotes the difference."""
        if self.left_configured:
            self.restored(self.play("restore"))

    def counters(self) -> Mapping[str, int]:
        """Cumulative counters: of the scheduled port ("queue.3.dropped") by a command, or what the platform's playbook for them gives.

        None where the platform has neither. Raises DeviceError.
        """
        if (self.platform.folder / "counters.yml").exists():
            return {str(name): int(value) for name, value in self._given(self.play("counters"), "counters").items()}
        reading, scheduler = self.platform.counters, self._scheduler
        if reading is None or scheduler is None:
            return {}
        command = reading.command.format(port=scheduler.port)
        try:
            text = self._said(command)
        except DeviceError:
            self.facts()  # opens the connection anew
            text = self._said(command)
        found = [match.groupdict() for match in re.finditer(reading.pattern, text)]
        return {
            f"queue.{groups['queue']}.{name}": int(value)
            for groups in found
            for name, value in groups.items()
            if name != "queue" and value is not None
        }

    # What follows is of use for several devices at once: the part of each step that is not the play.

    def variables(self, function: DeviceFunction | None = None) -> Mapping[str, Any]:
        """What a playbook gets."""
        return {"rackproof_state": str(self.kept.folder), **({} if function is None else {"rackproof_function": plain(function)})}

    def play(self, playbook: str, function: DeviceFunction | None = None) -> Outcome:
        """Run a playbook on this device alone."""
        variables = {self.name: self.variables(function)}
        return self.ansible.play(playbook, [self.entry], variables, timeout_s=LIMITS_S[playbook], heard=self.heard)[self.name]

    def facts_of(self, outcome: Outcome) -> Mapping[str, str]:
        """The facts that a play gave. Raises DeviceError."""
        facts = {str(key): self._clean(str(value)) for key, value in self._given(outcome, "facts").items()}
        return {"platform": self.platform.title, "proven": self.platform.proven, **facts}

    def configuration_of(self, outcome: Outcome) -> str:
        """The configuration that a play gave; kept raw while nothing is applied. Raises DeviceError."""
        raw = str(self._given(outcome, "configuration"))
        if not self.kept.applied:
            self.kept.keep(raw)
        return self._clean(self._still(raw))

    def may_apply(self, function: DeviceFunction) -> None:
        """Raises DeviceError where the platform cannot do the function."""
        if why := objection(self.platform, function):
            raise DeviceError(f"{self.name}: {why}")

    def applied(self, function: DeviceFunction, outcome: Outcome) -> None:
        """Take note of what was applied, and tell the difference that it made. Raises DeviceError."""
        diff = str(self._given(outcome, "diff")).strip()
        self.heard(f"{self.name}: {self._clean(diff)}" if diff else f"{self.name}: nothing to change")
        if isinstance(function, QosScheduler):
            self._scheduler = function

    def checked(self, outcome: Outcome) -> None:
        """Raises DeviceError with the differences that a check found."""
        differences = [self._clean(str(line)) for line in self._given(outcome, "differences")]
        if differences:
            raise DeviceError("\n".join([f"{self.name} is not configured as asked:", *(f"  {line}" for line in differences)]))

    def restored(self, outcome: Outcome) -> None:
        """Compare with what was captured, and forget that where it is the same. Raises DeviceError that quotes the difference."""
        before, after = (self._still(str(text or "")) for text in (self.kept.configuration, self._given(outcome, "configuration")))
        if before != after:
            lines = difflib.unified_diff(
                before.splitlines(), after.splitlines(), "as it was found", "after it was restored", lineterm="", n=1
            )
            raise DeviceError(f"{self.name} is not as it was found:\n{self._clean(chr(10).join(lines))}")
        self.kept.forget()
        self._scheduler = None

    def _given(self, outcome: Outcome, key: str) -> Any:
        if outcome.error:
            raise DeviceError(outcome.error)
        if key not in outcome.output:
            raise DeviceError(f"{self.name}: {self.platform.title}: the playbook gave no {key}")
        return outcome.output[key]

    def _still(self, text: str) -> str:
        """The text without lines that change by themselves."""
        noise = [re.compile(pattern) for pattern in self.platform.noise]
        return "\n".join(line for line in text.splitlines() if not any(pattern.search(line) for pattern in noise))

    def _clean(self, text: str) -> str:
        """The text without secrets, those of the device's own and those that sign in; also where its lines have marks of a difference."""
        lines = [(mark[0], line[mark.end() :]) for line in self._without_secrets(text).split("\n") if (mark := _MARK.match(line))]
        text = "\n".join(mark + self._without_secrets(line) for mark, line in lines)
        return redacted(text, self._secrets)

    @cached_property
    def _secrets(self) -> Collection[Secret]:
        """What signs in, kept to be removed from texts."""
        return of_credentials(self.entry.credentials).values()

    def _without_secrets(self, text: str) -> str:
        for pattern in self.platform.secrets:
            text = re.sub(pattern, _without_group, text, flags=re.MULTILINE)
        return text

    def _said(self, command: str) -> str:
        try:
            ended = subprocess.run(
                [*self.ansible.ssh(self.entry), command],
                check=False,
                capture_output=True,
                text=True,
                timeout=COUNTERS_S,
                stdin=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", os.defpath)},
            )
        except subprocess.TimeoutExpired:
            raise DeviceError(f"{self.name}: {command} did not end within {COUNTERS_S:g} s") from None
        if ended.returncode != 0:
            raise DeviceError(f"{self.name}: {command}: {ended.stderr.strip() or ended.stdout.strip()}")
        return ended.stdout


def _without_group(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    start, end = (place - match.start() for place in match.span(1))
    return f"{match[0][:start]}{SHOWN}{match[0][end:]}"
