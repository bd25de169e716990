"""Which drivers are there for traffic generators? A driver is found by being here: a module or package of this folder, named as its kind.

It has all that orchestrator.generators.driver.Driver says, and imports what it drives with only when it is opened.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import cast

import orchestrator.generators
from orchestrator.generators.driver import Driver
from rackproof.errors import NotFound

_NEEDED = ("TITLE", "OPTIONS", "objections", "opened")
#: What stands beside the drivers.
_OTHERS = frozenset({"driver", "registry"})


@cache
def drivers() -> Mapping[str, Driver]:
    """All drivers by the kind that inventories give. Raises RuntimeError that names a driver that is broken."""
    return found(orchestrator.generators.__path__, orchestrator.generators.__name__)


def driver(kind: str) -> Driver:
    """The driver of a kind. Raises NotFound with the kinds that there are."""
    try:
        return drivers()[kind]
    except KeyError:
        raise NotFound(f"there is no generator of kind {kind!r}; there are: {', '.join(sorted(drivers()))}") from None


def found(folders: list[str], package: str) -> Mapping[str, Driver]:
    """The drivers in the folders of a package. Raises RuntimeError that names a driver that is broken."""
    modules = {}
    for info in pkgutil.iter_modules(folders):
        if info.name in _OTHERS:
            continue
        name = f"{package}.{info.name}"
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise RuntimeError(f"{name}: this driver of a generator cannot be imported: {error}") from error
        missing = [need for need in _NEEDED if not hasattr(module, need)]
        if missing:
            raise RuntimeError(f"{name}: a driver of a generator needs {', '.join(missing)}")
        modules[info.name] = cast(Driver, module)
    return modules
