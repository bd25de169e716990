"""A real host and the programs on it: rackproof.ports.Host and Program over SSH, with the launcher of the bench at the other end."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import getsource
from itertools import count
from typing import Any

from orchestrator.bench import launcher
from orchestrator.interruption import Interruption
from orchestrator.lab import agent
from orchestrator.lab.ssh import SIGN_IN_S, Connection
from rackproof.errors import LabError, TrialTimeout
from rackproof.model.inventory import HostEntry
from rackproof.model.program import Command, Ended
from rackproof.ports import Program

#: How long a program may take to start [s].
START_S = 15.0
#: How often the host hears that this process is there [s]; after agent.SILENCE_S it kills everything.
ALIVE_S = 3.0
#: How often a program is looked at while it is waited for, and how long one may take to end: 2 s of grace and what the kernel needs [s].
POLL_S = 0.05
STOP_S = 20.0


class LabHost:
    """A host of an inventory; programs run there as root, each in a process group and a PID namespace of its own.

    agent: the process there that ends when nobody is here any more.
    """

    def __init__(self, entry: HostEntry, connection: Connection, agent: int, interruption: Interruption | None) -> None:
        self.name = entry.name
        self.address = entry.test_address.partition("/")[0]
        self.port = entry.test_port
        self.clock = entry.clock
        self.connection = connection
        self.agent = agent
        self._interruption = interruption
        self._numbers = count(1)
        self._reports: dict[int, list[dict[str, Any] | None]] = {}

    def start(self, command: Command) -> Program:
        return self._start(command)

    def call(self, command: Command, timeout_s: float) -> Ended:
        program = self._start(command)
        deadline = time.monotonic() + timeout_s
        while (ended := program.poll(POLL_S)) is None:
            if time.monotonic() > deadline:
                end = program.stop().output
                words = " ".join(command.arguments)
                raise TrialTimeout(f"{self.name}: {words} did not end within {timeout_s:g} s; its output ends: {end!r}")
            self.check()
        return ended

    def check(self) -> None:
        """Raises Stopped when somebody wants an end."""
        if self._interruption is not None:
            self._interruption.check()

    def tell(self, **message: Any) -> None:
        """A message for the agent."""
        self.connection.say(json.dumps(message).encode())

    def report(self, number: int, lines: int, timeout_s: float) -> list[dict[str, Any] | None]:
        """What a program's launcher has said, None at its end: as soon as it is so many lines, or after the timeout. Raises LabError."""
        deadline = time.monotonic() + timeout_s
        said = self._reports[number]
        while len(said) < lines and None not in said:
            for line in self.connection.heard(max(0.0, deadline - time.monotonic())):
                message = json.loads(line)
                self._reports[message["program"]].append(message["report"])
            if time.monotonic() >= deadline:
                break
        return said

    def _start(self, command: Command) -> "_Program":
        if not command.arguments:
            raise LabError(f"{self.name}: expected a program, found an empty command")
        number = next(self._numbers)
        self._reports[number] = []
        self.tell(start=number, arguments=command.arguments, environment=dict(command.environment))
        program = _Program(self, number, f"{self.name}: {command.arguments[0]}")
        program.wait_until_started()
        return program


class _Program:
    def __init__(self, host: LabHost, number: int, what: str) -> None:
        self._host = host
        self._number = number
        self._what = what

    def wait_until_started(self) -> None:
        said = self._said(1, START_S)
        first = said[0] if said else {"refused": f"no answer within {START_S:g} s"}
        if first is None:
            raise self._lost()
        if first["refused"] is not None:
            raise LabError(f"{self._what} cannot be started: {first['refused']}; is it installed on this host, and on the PATH?")

    def poll(self, timeout_s: float = 0.0) -> Ended | None:
        match self._said(3, timeout_s):
            case [_, dict(last), None]:
                return Ended(**last)
            case [*_, None]:
                raise self._lost()
            case _:
                return None

    def stop(self) -> Ended:
        self._host.tell(stop=self._number)
        # No interruption ends this wait: whoever is interrupted stops programs, and each of them in turn.
        ended = self.poll(STOP_S)
        if ended is None:
            raise LabError(f"{self._what} did not end within {STOP_S:g} s of being stopped")
        return ended

    def _said(self, lines: int, timeout_s: float) -> list[dict[str, Any] | None]:
        try:
            return self._host.report(self._number, lines, timeout_s)
        except LabError as error:
            raise LabError(f"{self._what}: {error}") from None

    def _lost(self) -> LabError:
        why = self._host.connection.errors() or "somebody may have killed it"
        return LabError(f"{self._what}: its launcher ended unexpectedly: {why}")


@contextmanager
def opened(entry: HostEntry, interruption: Interruption | None = None) -> Iterator[LabHost]:
    """Sign in to a host; leaving kills what runs there and hangs up. Raises LabError."""
    with Connection(entry, ("python3", "-I", "-S", "-c", getsource(agent), getsource(launcher))) as connection:
        said = connection.heard(SIGN_IN_S)
        if not said:
            raise LabError(f"{connection.where}: expected an answer within {SIGN_IN_S:g} s, found none")
        if not said[0].startswith(b'{"ready"'):
            raise LabError(f"{connection.where}: expected a shell that says nothing by itself, found {said[0].decode(errors='replace')!r}")
        host = LabHost(entry, connection, json.loads(said[0])["ready"], interruption)
        over = threading.Event()
        keeper = threading.Thread(target=_keep_alive, args=(host, over), name=f"alive {entry.name}", daemon=True)
        keeper.start()
        try:
            yield host
        finally:
            over.set()
            keeper.join()


def _keep_alive(host: LabHost, over: threading.Event) -> None:
    while not over.wait(ALIVE_S):
        host.tell(alive=True)
