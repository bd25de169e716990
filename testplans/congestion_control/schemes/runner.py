"""One flow of a scheme between two hosts: start both sides, see which algorithm is in use, end both."""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rackproof.errors import LabError, TrialTimeout
from rackproof.model.program import Command, Ended
from rackproof.ports import Host, Program
from testplans.congestion_control.schemes import algorithms, verify
from testplans.congestion_control.schemes.model import Ready, Scheme, Side
from testplans.congestion_control.schemes.pantheon_wrapper import SETTLE_S, Wrapper
from testplans.congestion_control.schemes.tools import SCRIPTS, Tools, interpreter

#: Programs are told to run this much longer than the procedure lets them [s].
SPARE_S = 10
POLL_S = 0.05
LOOK_EVERY_S = 0.5
PREPARE_S = 30.0
LOOK_S = 10.0
#: How much of each side's output a message has [characters].
MESSAGE_CHARACTERS = 1500
SIDES: tuple[Side, Side] = ("sender", "receiver")


class SchemeFailed(LabError):
    """A scheme did not start, ended early or crashed; the message has the end of its output."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowEnd:
    """How a flow ended.

    algorithm: what was seen in use, "" where nothing can be. start_ns, end_ns: when the second side had started and settled, and when both
    were ended (CLOCK_REALTIME).
    """

    sender: Ended
    receiver: Ended
    algorithm: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Side:
    side: Side
    host: Host
    arguments: tuple[str, ...]
    prepare: tuple[tuple[str, ...], ...]


class Flow:
    """A context manager: whatever happens, leaving it ends both sides and takes away what they needed.

    start(), then check() now and then and verify() once while it runs, then finish().
    """

    def __init__(
        self,
        scheme: Scheme,
        sender: Host,
        receiver: Host,
        *,
        port: int,
        runtime_s: float,
        tools: Tools | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.scheme = scheme
        self._hosts = {"sender": sender, "receiver": receiver}
        self._port = port
        self._runtime_s = runtime_s
        self._tools = tools if tools is not None else Tools()
        self._programs: dict[Side, Program] = {}
        self._algorithm = ""
        self._start_ns = 0
        self._pause = pause
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._cleanup.close()
        except LabError:
            # What went wrong first is what must be told.
            if error is None:
                raise

    def start(self) -> None:
        """Start the first side, wait until it is ready, start the second, and let it settle. Raises SchemeFailed, LabError."""
        first, second, ready = self._sides()
        values = self._values(first, second)
        for side in (first, second):
            self._prepare(side, values[side.side])
        self._launch(first, values[first.side])
        self._wait_until(ready, first)
        self._launch(second, values[second.side])
        self._wait(self.scheme.settle_s)
        self._start_ns = time.time_ns()

    def check(self) -> None:
        """See that both sides still run. Raises SchemeFailed."""
        for side, program in self._programs.items():
            ended = program.poll()
            if ended is not None:
                raise self._failed(f"the {side} ended after {ended.wall_s:.1f} s with exit status {ended.exit_status}")

    def verify(self) -> str:
        """The algorithm that the sender uses now, "" where nothing can be seen (yet). Raises LabError."""
        if self.scheme.verify is not None and self.scheme.verify.ss is not None:
            command = self._tools.command(verify.command(self._port))
            self._algorithm = verify.algorithm_in_use(self._hosts["sender"].call(command, LOOK_S).output) or self._algorithm
        return self._algorithm

    def finish(self) -> FlowEnd:
        """End both sides. Raises SchemeFailed where one had ended before, LabError."""
        self.check()
        end_ns = time.time_ns()
        ended = {side: self._programs[side].stop() for side in SIDES}
        self._cleanup.close()
        wanted = self.scheme.verify
        if wanted is not None and wanted.output is not None:
            found = re.search(wanted.output, ended[wanted.of].output)
            self._algorithm = found.group() if found is not None else ""
        return FlowEnd(
            sender=ended["sender"], receiver=ended["receiver"], algorithm=self._algorithm, start_ns=self._start_ns, end_ns=end_ns
        )

    def _sides(self) -> tuple[_Side, _Side, Ready]:
        scheme = self.scheme
        if scheme.wrapper is not None:
            wrapper = Wrapper.find(self._tools, scheme.wrapper)
            first = wrapper.first(self._hosts["sender"], self._tools)
            arguments = {side: wrapper.arguments(side, first=side == first) for side in SIDES}
            ready = Ready(after_s=SETTLE_S)
        else:
            assert scheme.first is not None
            assert scheme.ready is not None
            assert scheme.sender is not None
            assert scheme.receiver is not None
            first, ready = scheme.first, scheme.ready
            arguments = {"sender": scheme.sender, "receiver": scheme.receiver}
        prepare = {"sender": scheme.prepare_sender, "receiver": scheme.prepare_receiver}
        one, other = sorted(
            (_Side(side=side, host=self._hosts[side], arguments=arguments[side], prepare=prepare[side]) for side in SIDES),
            key=lambda side: side.side != first,
        )
        return one, other, ready

    def _values(self, *sides: _Side) -> Mapping[Side, dict[str, str]]:
        common = {"port": str(self._port), "duration": str(int(self._runtime_s + self.scheme.settle_s) + SPARE_S), "scripts": str(SCRIPTS)}
        common.update(self._tools.settings)
        if self.scheme.algorithm is not None:
            common["algorithm"] = self._cleanup.enter_context(
                algorithms.offered(self._hosts["sender"], self.scheme.algorithm, self.scheme.bpf, self._tools)
            )
        values: dict[Side, dict[str, str]] = {}
        for side in sides:
            peer = self._hosts["receiver" if side.side == "sender" else "sender"]
            values[side.side] = {**common, "bind": side.host.address, "peer": peer.address}
            needed = "".join([*side.arguments, *(argument for command in side.prepare for argument in command)])
            if "{python}" in needed:
                values[side.side]["python"] = interpreter(self.scheme, side.host.call, self._tools)
            if "{folder}" in needed:
                values[side.side]["folder"] = self._folder(side.host)
        return values

    def _folder(self, host: Host) -> str:
        made = host.call(Command(arguments=("mktemp", "-d")), PREPARE_S)
        folder = made.output.strip()
        if made.exit_status != 0 or not folder.startswith("/"):
            raise LabError(f"{host.name}: mktemp -d: expected a folder, found exit status {made.exit_status} and {folder!r}")
        self._cleanup.callback(host.call, Command(arguments=("rm", "-rf", folder)), PREPARE_S)
        return folder

    def _prepare(self, side: _Side, values: Mapping[str, str]) -> None:
        for arguments in side.prepare:
            command = self._tools.command(arguments, values)
            done = side.host.call(command, PREPARE_S)
            if done.exit_status != 0:
                end = done.output[-MESSAGE_CHARACTERS:]
                raise SchemeFailed(f"{self.scheme.label}: {' '.join(command.arguments)} ended with exit status {done.exit_status}: {end}")

    def _launch(self, side: _Side, values: Mapping[str, str]) -> None:
        program = side.host.start(self._tools.command(side.arguments, values))
        self._programs[side.side] = program
        self._cleanup.callback(program.stop)

    def _wait_until(self, ready: Ready, first: _Side) -> None:
        if ready.after_s is not None:
            self._wait(ready.after_s)
            return
        assert ready.listens is not None
        end = time.monotonic() + ready.within_s
        while not self._listens(first.host, ready.listens):
            self.check()
            if time.monotonic() > end:
                raise self._failed(f"the {first.side} did not listen on {ready.listens} port {self._port} within {ready.within_s:g} s")
            self._pause(POLL_S)

    def _wait(self, seconds: float) -> None:
        """Let time pass while what was started runs. Raises SchemeFailed where it does not."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._pause(min(left, LOOK_EVERY_S))
            self.check()

    def _listens(self, host: Host, protocol: str) -> bool:
        command = self._tools.command(("ss", "-Hn", "--listening", f"--{protocol}", f"sport = :{self._port}"))
        try:
            return bool(host.call(command, LOOK_S).output.strip())
        except TrialTimeout:
            return False

    def _failed(self, what: str) -> SchemeFailed:
        """The error with the end of both outputs; whatever still runs is ended."""
        ends = {side: program.stop().output.strip()[-MESSAGE_CHARACTERS:] for side, program in self._programs.items()}
        said = "".join(f"\n{side}: {end}" for side, end in ends.items() if end)
        return SchemeFailed(f"{self.scheme.label}: {what}{'; the end of its output:' if said else ', and said nothing'}{said}")
