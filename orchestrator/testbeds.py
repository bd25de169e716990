"""Which drivers are there for testbeds, and how is one opened?"""

import contextlib
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager

from orchestrator.interruption import Interruption
from rackproof.errors import NotFound
from rackproof.ports import Testbed
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.inventories import DRIVER as LAB

#: A testbed of that name. Entering must be cheap: processes and connections are opened by what needs them, and closed at the end.
Driver = Callable[[str, Interruption, Store], AbstractContextManager[Testbed]]


@contextlib.contextmanager
def bench(name: str, interruption: Interruption, store: Store) -> Iterator[Testbed]:  # noqa: ARG001 - what the bench is needs no store
    """The virtual bench of this machine."""
    from orchestrator.bench.testbed import Bench  # a worker that waits for its first campaign needs no numerics

    testbed = Bench(name, interruption)
    try:
        yield testbed
    finally:
        testbed.close()


@contextlib.contextmanager
def lab(name: str, interruption: Interruption, store: Store) -> Iterator[Testbed]:
    """The testbed of real parts whose inventory has that name."""
    from orchestrator.lab.testbed import Lab

    testbed = Lab(name, interruption, store, Settings.load().data_dir / "devices")
    try:
        yield testbed
    finally:
        testbed.close()


DRIVERS: MutableMapping[str, Driver] = {"bench": bench, LAB: lab}


def driver_of(name: str, asked: str, store: Store) -> str:
    """The driver of a testbed: "lab" for every testbed that has an inventory, else the one that was asked for."""
    return LAB if store.inventories.find(name) is not None else asked


def opened(name: str, driver: str, interruption: Interruption, store: Store) -> AbstractContextManager[Testbed]:
    """A testbed by its name and that of its driver. Raises NotFound with the drivers that there are."""
    try:
        return DRIVERS[driver](name, interruption, store)
    except KeyError:
        known = ", ".join(sorted(DRIVERS))
        raise NotFound(f"there is no driver {driver!r} for testbed {name}, which has no inventory; there are: {known}") from None


def parse(text: str) -> tuple[str, str]:
    """NAME or NAME=DRIVER as (name, driver); a name alone is its own driver."""
    name, _, driver = text.partition("=")
    return name, driver or name
