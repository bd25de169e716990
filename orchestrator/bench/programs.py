"""A host of the bench and its programs as the campaign's process sees them: rackproof.ports.Host and Program."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rackproof.errors import LabError, TrialTimeout
from rackproof.model.program import Command, Ended
from rackproof.model.topology import HostSpec
from rackproof.ports import Program

if TYPE_CHECKING:
    from orchestrator.bench.testbed import Bench

#: How often a program that must end is asked whether it has [s], and how long it may take: 2 s of grace and what the kernel needs.
POLL_S = 0.02
STOP_S = 20.0


class BenchHost:
    """A network namespace with one port."""

    def __init__(self, bench: Bench, spec: HostSpec) -> None:
        self._bench = bench
        self.name = spec.name
        self.address = spec.address.partition("/")[0]
        self.port = spec.port

    def start(self, command: Command) -> Program:
        return self._start(command)

    def call(self, command: Command, timeout_s: float) -> Ended:
        program = self._start(command)
        ended = program.wait(timeout_s)
        if ended is None:
            end = program.stop().output
            raise TrialTimeout(f"{self.name}: {' '.join(command.arguments)} did not end within {timeout_s:g} s; its output ends: {end!r}")
        return ended

    def _start(self, command: Command) -> _Program:
        number: int = self._bench.request("host_start", host=self.name, command=command)
        return _Program(self._bench, number, f"{self.name}: {command.arguments[0]}")


class _Program:
    def __init__(self, bench: Bench, number: int, what: str) -> None:
        self._bench = bench
        self._number = number
        self._what = what

    def poll(self) -> Ended | None:
        ended: Ended | None = self._bench.request("host_poll", program=self._number)
        return ended

    def stop(self) -> Ended:
        self._bench.request("host_stop", program=self._number)
        deadline = time.monotonic() + STOP_S
        # No interruption ends this wait: whoever is interrupted stops programs, and each of them in turn.
        while (ended := self.poll()) is None:
            if time.monotonic() > deadline:
                raise LabError(f"{self._what} did not end within {STOP_S:g} s of being stopped")
            time.sleep(POLL_S)
        return ended

    def wait(self, timeout_s: float) -> Ended | None:
        """How it ended, None where it still runs after the timeout. Raises LabError, Stopped."""
        deadline = time.monotonic() + timeout_s
        while (ended := self.poll()) is None and (left := deadline - time.monotonic()) > 0:
            self._bench.wait_or_fail(min(POLL_S, left))
        return ended
