"""`python -m tests.kinds.launch ARGUMENTS`: the command line `rackproof`, with the kind and the testbed driver `nothing` added to it."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import testplans

if TYPE_CHECKING:
    from orchestrator.interruption import Interruption
    from rackproof.ports import Testbed
    from rackproof.store import Store

#: Where the kind is: `testplans.__path__` of a process that knows it.
KINDS = str(Path(__file__).parent)


def extend() -> None:
    """Make the kind and the driver known to this process; harmless when done twice."""
    if KINDS not in testplans.__path__:
        testplans.__path__.append(KINDS)
    from orchestrator.testbeds import DRIVERS
    from testplans.registry import kinds

    kinds.cache_clear()
    DRIVERS["nothing"] = _nothing


def main() -> None:
    """Run the command line."""
    extend()
    from rackproof.cli.main import main as rackproof

    rackproof()


def _nothing(name: str, interruption: "Interruption", store: "Store") -> "AbstractContextManager[Testbed]":
    from tests.kinds.testbed import nothing

    return nothing(name, interruption, store)


if __name__ == "__main__":
    main()
