"""Which schemes can a host run, and what is missing for the others? Found by trying, never by a version."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from rackproof.errors import LabError, TrialTimeout
from rackproof.model.program import Command, Ended
from testplans.congestion_control.schemes import algorithms
from testplans.congestion_control.schemes.model import Needed, Scheme
from testplans.congestion_control.schemes.pantheon_wrapper import Wrapper
from testplans.congestion_control.schemes.tools import Call, Tools, interpreter

LOOK_S = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Availability:
    """A scheme on a host. missing: what it lacks, each with how to get it; empty: it is available. version: as its program says."""

    scheme: Scheme
    missing: tuple[str, ...]
    version: str = ""

    @property
    def available(self) -> bool:
        return not self.missing


@dataclass(kw_only=True, slots=True)
class _Prober:
    call: Call
    tools: Tools
    found: dict[tuple[str, ...], str] = field(default_factory=dict)

    def why(self, question: tuple[str, ...], ask: Callable[[], str]) -> str:
        """The answer, asked once: why something is missing, "" where it is there."""
        if question not in self.found:
            try:
                self.found[question] = ask()
            except LabError as error:
                self.found[question] = str(error)
        return self.found[question]

    def missing(self, scheme: Scheme) -> tuple[str, ...]:
        whys = [self.why(("program", needed.name), partial(self._program, needed)) for needed in scheme.programs]
        whys += [self.why(("node module", needed.name), partial(self._node_module, needed)) for needed in scheme.node_modules]
        if scheme.python_modules:
            names = tuple(needed.name for needed in scheme.python_modules)
            whys.append(self.why(("python modules", *names), partial(self._interpreter, scheme)))
        if scheme.algorithm is not None:
            whys.append(self.why(("algorithm", scheme.algorithm), partial(self._algorithm, scheme)))
        if scheme.weights:
            whys.append(self._weights())
        if scheme.trex:
            whys.append(self.why(("trex",), self._trex))
        if scheme.wrapper is not None:
            whys.append(self._wrapper(scheme.wrapper))
        return tuple(why for why in whys if why)

    def _program(self, needed: Needed) -> str:
        looked = self.call(self.tools.command(("sh", "-c", 'command -v "$1"', "sh", needed.name)), LOOK_S)
        return "" if looked.exit_status == 0 else f"the program {needed.name}: {needed.get.how}"

    def _node_module(self, needed: Needed) -> str:
        looked = self.call(self.tools.command(("node", "--eval", "require(process.argv[1])", needed.name)), LOOK_S)
        return "" if looked.exit_status == 0 else f"the Node.js module {needed.name}: {needed.get.how}"

    def _interpreter(self, scheme: Scheme) -> str:
        try:
            interpreter(scheme, self.call, self.tools)
        except LabError:
            return ", ".join(f"the Python module {module.name}: {module.get.how}" for module in scheme.python_modules)
        return ""

    def _algorithm(self, scheme: Scheme) -> str:
        assert scheme.algorithm is not None
        if algorithms.has(self.call, scheme.algorithm, self.tools):
            return ""
        if scheme.bpf is None:
            return f"{scheme.algorithm} in the kernel: modprobe tcp_{scheme.algorithm}, or a kernel that has it"
        why = algorithms.why_no_bpf(self.call, scheme.bpf, self.tools)
        return f"{scheme.algorithm} in the kernel, and BPF in its place: {why}" if why else ""

    def _weights(self) -> str:
        path = self.tools.indigo_weights
        if path is None:
            return "trained weights: set RACKPROOF_INDIGO_WEIGHTS to the file"
        return "" if path.is_file() else f"trained weights: expected a file at {path}, found none"

    def _trex(self) -> str:
        folder = self.tools.trex
        if folder is None:
            return "TRex: set RACKPROOF_TREX_DIR to its folder, which has t-rex-64; docs/trex.md says how to get it"
        looked = self.call(self.tools.command(("test", "-x", f"{folder}/_t-rex-64")), LOOK_S)
        return "" if looked.exit_status == 0 else f"TRex: expected the program _t-rex-64 in {folder}, found none"

    def _wrapper(self, name: str) -> str:
        try:
            wrapper = Wrapper.find(self.tools, name)
        except LabError as error:
            return str(error)
        python = Needed.model_validate(
            {"name": wrapper.interpreter, "get": {"other": "set RACKPROOF_PANTHEON_PYTHON to the interpreter of the wrappers"}}
        )
        return self.why(("program", wrapper.interpreter), partial(self._program, python))


def probe(schemes: Iterable[Scheme], call: Call, tools: Tools) -> tuple[Availability, ...]:
    """What a host offers of the schemes, by its call (rackproof.ports.Host.call, or local_call)."""
    prober = _Prober(call=call, tools=tools)
    found = []
    for scheme in schemes:
        missing = prober.missing(scheme)
        found.append(Availability(scheme=scheme, missing=missing, version="" if missing else version(scheme, call, tools)))
    return tuple(found)


def version(scheme: Scheme, call: Call, tools: Tools) -> str:
    """Which version of its program a host has, in the program's own words; "" where it does not say."""
    if scheme.version is None:
        return ""
    try:
        said = call(tools.command(scheme.version, tools.settings), LOOK_S)
    except LabError:
        return ""
    return next((line.strip() for line in said.output.splitlines() if line.strip()), "") if said.exit_status == 0 else ""


def local_call(command: Command, timeout_s: float) -> Ended:
    """Run a command on this machine to its end. Raises LabError where it cannot be started, TrialTimeout."""
    begun = time.monotonic()
    try:
        done = subprocess.run(
            command.arguments,
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise LabError(f"{command.arguments[0]} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise TrialTimeout(f"{' '.join(command.arguments)} did not end within {timeout_s:g} s") from None
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    # What it took of the processor is not asked here.
    return Ended(exit_status=status, cpu_s=0.0, wall_s=time.monotonic() - begun, output=done.stdout.decode(errors="replace")[-8192:])
