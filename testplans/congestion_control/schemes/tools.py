"""Where a host has what schemes need, and how a command of a scheme becomes one that can be run."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rackproof.errors import LabError
from rackproof.model.program import Command, Ended
from rackproof.settings import Settings
from testplans.congestion_control.schemes.model import Scheme

#: Runs a command to its end within so many seconds: rackproof.ports.Host.call.
Call = Callable[[Command, float], Ended]

SCRIPTS = Path(__file__).parent / "programs"
BPF = Path(__file__).parent / "bpf"
#: Where `make schemes` puts what it builds, in a checkout.
BUILT = Path(__file__).parents[3] / "build" / "programs"
IMPORT_S = 30.0
#: Where Debian keeps programs that are not on everybody's PATH.
_SYSTEM = ("/usr/sbin", "/sbin")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """programs: a folder that is searched before the PATH, with bin/ and node_modules/ in it, where cargo and npm install to.

    pantheon: a checkout; pantheon_python runs its wrappers. pythons are asked, in this order, for the Python modules that a scheme needs.
    """

    programs: Path = BUILT
    pantheon: Path | None = None
    pantheon_python: str = "python2"
    indigo_weights: Path | None = None
    trex: Path | None = None
    pythons: tuple[str, ...] = (sys.executable, "python3", "/usr/bin/python3")

    @classmethod
    def of(cls, settings: Settings) -> "Tools":
        """As the machine's owner has set."""
        return cls(
            programs=settings.programs_dir or BUILT,
            pantheon=settings.pantheon_dir,
            pantheon_python=settings.pantheon_python,
            indigo_weights=settings.indigo_weights,
            trex=settings.trex_dir,
        )

    def command(self, arguments: Iterable[str], values: Mapping[str, str] | None = None) -> Command:
        """The arguments with their placeholders filled in, as a command that finds the programs."""
        filled = tuple(argument.format_map(values) for argument in arguments) if values is not None else tuple(arguments)
        path = [os.environ.get("PATH", os.defpath), *_SYSTEM]
        mine = [str(self.programs), str(self.programs / "bin")]
        modules = str(self.programs / "node_modules")
        return Command(arguments=filled, environment={"PATH": os.pathsep.join([*mine, *path]), "NODE_PATH": modules})

    @property
    def settings(self) -> dict[str, str]:
        """The placeholders that settings fill, "" where nothing is set."""
        return {"weights": str(self.indigo_weights or ""), "trex": str(self.trex or "")}

    @property
    def plain_python(self) -> str:
        """An interpreter for programs that need its standard library alone."""
        return self.pythons[0]


def interpreter(scheme: Scheme, call: Call, tools: Tools) -> str:
    """The first interpreter that has all modules that the scheme needs. Raises LabError."""
    script = "import importlib.util, sys; sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))"
    names = [module.name for module in scheme.python_modules]
    for python in tools.pythons:
        try:
            if call(tools.command((python, "-c", script, *names)), IMPORT_S).exit_status == 0:
                return python
        except LabError:
            continue  # there is no such interpreter
    missing = " and ".join(f"{module.name} ({module.get.how})" for module in scheme.python_modules)
    raise LabError(f"expected the Python modules {missing} in one of {', '.join(tools.pythons)}, found none that has them all")
