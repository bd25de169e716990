"""Which drivers are there for testbeds, and how is one opened?"""

import contextlib
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager

from orchestrator.interruption import Interruption
from rackproof.errors import NotFound
from rackproof.ports import Testbed

#: A testbed of that name. Entering must be cheap: processes and connections are opened by what needs them, and closed at the end.
Driver = Callable[[str, Interruption], AbstractContextManager[Testbed]]


@contextlib.contextmanager
def bench(name: str, interruption: Interruption) -> Iterator[Testbed]:
    """The virtual bench of this machine."""
    from orchestrator.bench.testbed import Bench  # a worker that waits for its first campaign needs no numerics

    testbed = Bench(name, interruption)
    try:
        yield testbed
    finally:
        testbed.close()


DRIVERS: MutableMapping[str, Driver] = {"bench": bench}


def opened(name: str, driver: str, interruption: Interruption) -> AbstractContextManager[Testbed]:
    """A testbed by its name and that of its driver. Raises NotFound with the drivers that there are."""
    try:
        return DRIVERS[driver](name, interruption)
    except KeyError:
        raise NotFound(f"there is no driver {driver!r} for testbed {name}; there are: {', '.join(sorted(DRIVERS))}") from None


def parse(text: str) -> tuple[str, str]:
    """NAME or NAME=DRIVER as (name, driver); a name alone is its own driver."""
    name, _, driver = text.partition("=")
    return name, driver or name
