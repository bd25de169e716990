"""A checkout of Pantheon: where its wrappers are, and how they are asked to run one side of a scheme.

The protocol: `WRAPPER run_first` prints receiver or sender. That side runs first, as `WRAPPER SIDE PORT`; the other one follows 3 s later
as `WRAPPER SIDE IP PORT`. Wrappers are src/wrappers/SCHEME.py, or src/SCHEME.py (until January 2018).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rackproof.errors import LabError
from rackproof.ports import Host
from testplans.congestion_control.schemes.model import Side
from testplans.congestion_control.schemes.tools import Tools

#: How long the first side gets before the second one starts [s].
SETTLE_S = 3.0
ANSWER_S = 30.0
LAYOUTS = ("src/wrappers/{}.py", "src/{}.py")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wrapper:
    """One scheme's wrapper; arguments() are those of a side."""

    path: Path
    interpreter: str

    @classmethod
    def find(cls, tools: Tools, name: str) -> "Wrapper":
        """The wrapper of that name in the checkout that the settings name. Raises LabError, which says what to do."""
        if tools.pantheon is None:
            raise LabError(
                f"the wrapper {name} is in no registry: set RACKPROOF_PANTHEON_DIR to a checkout of Pantheon where it was set up"
            )
        places = [tools.pantheon / layout.format(name) for layout in LAYOUTS]
        for path in places:
            if path.is_file():
                return cls(path=path, interpreter=tools.pantheon_python)
        raise LabError(f"{tools.pantheon}: expected a Pantheon checkout with {' or '.join(layout.format(name) for layout in LAYOUTS)}")

    def first(self, host: Host, tools: Tools) -> Side:
        """Which side runs first, asked of the wrapper. Raises LabError."""
        asked = host.call(tools.command((self.interpreter, str(self.path), "run_first")), ANSWER_S)
        lines = asked.output.split()
        if asked.exit_status != 0 or not lines or lines[-1] not in ("receiver", "sender"):
            what = f"expected receiver or sender, found exit status {asked.exit_status} and {asked.output.strip()[-500:]!r}"
            raise LabError(f"{self.path} run_first: {what}")
        return cast(Side, lines[-1])

    def arguments(self, side: Side, *, first: bool) -> tuple[str, ...]:
        """How a side is run, with placeholders."""
        where = ("{port}",) if first else ("{peer}", "{port}")
        return (self.interpreter, str(self.path), side, *where)
