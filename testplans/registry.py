"""Which kinds of plan are there? One folder each under testplans; a broken one stops everything and says so."""

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import testplans
from rackproof.errors import NotFound, RackproofError
from testplans.kind import Kind, Plan

_METHODS = (
    "translated",
    "expand",
    "rehearse",
    "provenance",
    "setup",
    "run",
    "analyse",
    "conclude",
    "expectation",
    "comparison",
    "sections",
)
_VALUES = ("name", "title", "summary", "folder", "plan_model")


class BrokenKind(RackproofError):
    """A folder of testplans is not a kind of plan."""


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """All kinds by name. Raises BrokenKind, naming the folder."""
    found: dict[str, Kind] = {}
    for module in pkgutil.iter_modules(testplans.__path__):
        if not module.ispkg:
            continue
        kind = load(f"{testplans.__name__}.{module.name}")
        if kind.name in found:
            raise BrokenKind(f"testplans/{module.name}: expected a name of its own, found {kind.name}, which another folder has")
        found[kind.name] = kind
    return found


def kind(name: str) -> Kind:
    """The kind of that name. Raises NotFound with the names that there are."""
    try:
        return kinds()[name]
    except KeyError:
        raise NotFound(f"there is no kind of plan {name!r}; there are: {', '.join(sorted(kinds()))}") from None


def ready_plans(of: Kind) -> list[Path]:
    """Plan files of a kind that are ready to run, by name: those that lie in its folder itself."""
    return sorted(of.folder.glob("*.yaml"))


def load(package: str) -> Kind:
    """The KIND of one package. Raises BrokenKind."""
    where = package.replace(".", "/")
    try:
        module = importlib.import_module(package)
    except Exception as error:
        raise BrokenKind(f"{where}: cannot be imported: {type(error).__name__}: {error}") from error
    candidate = getattr(module, "KIND", None)
    if candidate is None:
        raise BrokenKind(f"{where}: expected a KIND in its __init__.py, found none")
    missing = [name for name in (*_VALUES, *_METHODS) if not hasattr(candidate, name)]
    if missing:
        raise BrokenKind(f"{where}: expected a KIND with all of testplans.kind.Kind, found none of {', '.join(missing)}")
    if not issubclass(candidate.plan_model, Plan):
        raise BrokenKind(f"{where}: expected a plan_model made from testplans.kind.Plan, found {candidate.plan_model.__name__}")
    return cast(Kind, candidate)
