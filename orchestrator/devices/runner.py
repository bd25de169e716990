"""Plays of Ansible, bounded in time, run by ansible-runner in a process of its own.

Its private folder (0700, in memory where the machine has /dev/shm) holds keys, passwords and artefacts while a play runs and no longer.
Nothing secret is on a command line or in an environment; every text that comes back has the secrets of its devices removed.
"""

import contextlib
import os
import select
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from orchestrator.bench.channel import Channel, Closed, spawned
from orchestrator.devices import inventory
from orchestrator.devices.platforms import platforms
from orchestrator.devices.private import private_folder
from orchestrator.devices.process import Play
from orchestrator.interruption import Interruption
from orchestrator.secrets import Secret, of_credentials, redacted
from rackproof.errors import LabError
from rackproof.model.inventory import DeviceEntry

#: How much longer than a play its process may be silent until it is killed itself [s].
GRACE_S = 10.0
END_S = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a play gave for one device: its output, or why there is none."""

    output: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


class Ansible:
    """Runs plays. A context manager: the process starts with the first play, leaving ends it and every connection."""

    def __init__(self, interruption: Interruption | None = None) -> None:
        self._interruption = interruption
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._folder: Path | None = None
        self._claim: int | None = None
        self._hosts: dict[str, str] = {}
        self._plays = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def play(
        self,
        playbook: str,
        entries: Sequence[DeviceEntry],
        variables: Mapping[str, Mapping[str, Any]],
        *,
        timeout_s: float,
        heard: Callable[[str], None],
    ) -> Mapping[str, Outcome]:
        """Run a playbook of their platforms ("capture") on devices, side by side; the outcome of each by name.

        variables: what each playbook gets, by device. heard is told what happens as it happens. What fails on a device is its outcome. A
        play past its limit is killed with all that it started. Raises Stopped when somebody wants an end.
        """
        with self._lock:
            collected = _Collected(playbook, timeout_s, heard)
            reachable = collected.with_secrets(entries)
            if reachable:
                self._run(playbook, reachable, variables, collected)
            return {entry.name: collected.outcome(entry) for entry in entries}

    @property
    def pid(self) -> int | None:
        """Process id of the process that runs plays, None where there is none."""
        return None if self._process is None else self._process.pid

    def ssh(self, entry: DeviceEntry) -> list[str]:
        """The command that reaches a device over the connection that plays keep open, without a prompt."""
        assert self._folder is not None, "a play comes first"
        return inventory.ssh(self._folder, entry, platforms()[entry.platform])

    def close(self) -> None:
        """End the process; plays, connections and the private folder go with it."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                _kill(self._process)
            self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    def _run(
        self,
        playbook: str,
        entries: Sequence[tuple[DeviceEntry, Mapping[str, Secret]]],
        variables: Mapping[str, Mapping[str, Any]],
        collected: "_Collected",
    ) -> None:
        channel, folder = self._ready()
        for entry, _ in entries:
            self._hosts[entry.name] = inventory.known_hosts(entry, platforms()[entry.platform])
        (folder / "known_hosts").write_text("".join(self._hosts.values()))
        plays = []
        for name in sorted({entry.platform for entry, _ in entries}):
            self._plays += 1
            platform, place = platforms()[name], folder / f"play-{self._plays}"
            files = inventory.files(place, platform, [pair for pair in entries if pair[0].platform == name], variables)
            plays.append(Play(folder=place, playbook=platform.folder / f"{playbook}.yml", files=files))
        try:
            channel.send((plays, collected.timeout_s))
            self._collect(channel, collected)
        except Closed:
            collected.ended("the process that runs plays ended unexpectedly")
            self.close()
        except BaseException:
            self.close()
            raise

    def _collect(self, channel: Channel, collected: "_Collected") -> None:
        end = time.monotonic() + collected.timeout_s + GRACE_S
        while True:
            self._wait(channel, end - time.monotonic())
            if time.monotonic() > end:
                collected.ended(f"the process that runs plays did not answer within {collected.timeout_s + GRACE_S:g} s")
                self._channel = None
                channel.close()
                if self._process is not None:
                    _kill(self._process)
                self.close()
                return
            message, _ = channel.receive()
            if message[0] == "ended":
                collected.ended(f"the play did not end within {collected.timeout_s:g} s and was killed" if message[1] else "")
                return
            collected.take(*message)

    def _wait(self, channel: Channel, left_s: float) -> None:
        interruption = self._interruption
        if interruption is None or interruption.shields:
            channel.readable(max(0.0, left_s))
            return
        interruption.check()
        sources: list[Any] = [channel, interruption]
        select.select(sources, [], [], max(0.0, left_s))
        interruption.check()

    def _ready(self) -> tuple[Channel, Path]:
        if self._channel is not None and self._folder is not None:
            return self._channel, self._folder
        self._folder, self._claim = private_folder()
        inventory.write_settings(self._folder)
        environment = inventory.environment(self._folder)
        self._process, self._channel = spawned("orchestrator.devices.process", str(self._folder), environment=environment)
        return self._channel, self._folder


class _Collected:
    """What a play has given so far, with the secrets of its devices removed."""

    def __init__(self, playbook: str, timeout_s: float, heard: Callable[[str], None]) -> None:
        self.timeout_s = timeout_s
        self._playbook = playbook
        self._heard = heard
        self._outputs: dict[str, Mapping[str, Any]] = {}
        self._errors: dict[str, str] = {}
        self._asides: list[str] = []
        self._end = ""
        self._secrets: list[Secret] = []

    def with_secrets(self, entries: Sequence[DeviceEntry]) -> list[tuple[DeviceEntry, Mapping[str, Secret]]]:
        """The devices whose secrets can be had, with them."""
        found = []
        for entry in entries:
            try:
                secrets = of_credentials(entry.credentials)
            except LabError as error:
                self._errors[entry.name] = str(error)
                continue
            self._secrets += secrets.values()
            found.append((entry, secrets))
        return found

    def take(self, kind: str, *values: Any) -> None:
        match kind:
            case "output":
                self._outputs[values[0]] = values[1]
                self._heard(f"{values[0]}: {self._playbook}: done")
            case "failed":
                self._errors[values[0]] = redacted(values[1], self._secrets)
                self._heard(f"{values[0]}: {self._errors[values[0]]}")
            case "heard":
                self._heard(redacted(values[0], self._secrets))
            case "aside":
                self._asides.append(redacted(values[0], self._secrets))

    def ended(self, why: str) -> None:
        self._end = why

    def outcome(self, entry: DeviceEntry) -> Outcome:
        name = entry.name
        if name in self._outputs and name not in self._errors:
            return Outcome(output=self._outputs[name])
        error = self._errors.get(name) or self._end or "\n".join(["the play gave nothing", *self._asides[-20:]])
        return Outcome(error=f"{name}, {self._playbook}: {error}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything below it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    process.kill()
    process.wait()
