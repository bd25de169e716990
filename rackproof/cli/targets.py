"""On which testbed does a plan run, and which driver opens it?"""

from pathlib import Path
from typing import TYPE_CHECKING

from rackproof.errors import PlanError, Problem
from rackproof.planfile import PlanFile, parse_plan, read_plan

if TYPE_CHECKING:
    from rackproof.store import Store

BENCH = "bench"


def plan_for(path: Path, testbed: str | None) -> PlanFile:
    """A plan file, with another testbed in it where one is named; all else stays as somebody wrote it. Raises PlanError."""
    file = read_plan(path)
    if testbed is None:
        return file
    from testplans.registry import kinds
    from web.plan_text import put

    for kind in kinds().values():
        file = kind.translated(file)
    return parse_plan(put(file, ("testbed",), testbed).encode(), file.source)


def driver_of(testbed: str, store: "Store", source: str) -> str:
    """The driver of a testbed: the bench is its own, all others have an inventory. Raises PlanError that says which there are."""
    from rackproof.store.inventories import DRIVER

    if testbed == BENCH:
        return BENCH
    if store.inventories.find(testbed) is not None:
        return DRIVER
    names = ", ".join([BENCH, *(record.name for record in store.inventories.list())])
    expected = f"one of {names} (rackproof testbed import FILE adds one)"
    raise PlanError(source, [Problem(where="testbed", expected=expected, found=testbed)])
