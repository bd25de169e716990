"""Which schemes are there? One YAML file each in this folder; a broken one stops everything and says so."""

import functools
from collections.abc import Mapping
from pathlib import Path

from rackproof.errors import NotFound, PlanError, RackproofError
from rackproof.planfile import read_plan, validate
from testplans.congestion_control.schemes.model import Scheme

FOLDER = Path(__file__).parent


class BrokenScheme(RackproofError):
    """A scheme's file cannot be used."""


@functools.cache
def schemes() -> Mapping[str, Scheme]:
    """All schemes by id, in the order of their ids. Raises BrokenScheme, naming the file."""
    return read_folder(FOLDER)


def scheme(name: str) -> Scheme:
    """The scheme of that id. Raises NotFound with the ids that there are."""
    try:
        return schemes()[name]
    except KeyError:
        raise NotFound(f"there is no scheme {name!r}; there are: {', '.join(schemes())}") from None


def read_folder(folder: Path) -> Mapping[str, Scheme]:
    """The schemes of a folder by id. Raises BrokenScheme."""
    found: dict[str, Scheme] = {}
    labels: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml"), key=lambda path: path.stem):
        each = read(path)
        if each.id != path.stem:
            raise BrokenScheme(f"{path}: expected the id {path.stem}, which the file's name gives, found {each.id}")
        if each.label in labels:
            raise BrokenScheme(f"{path}: expected a label of its own, found {each.label}, which {labels[each.label]} has")
        labels[each.label] = each.id
        found[each.id] = each
    return found


def read(path: Path) -> Scheme:
    """The scheme of one file. Raises BrokenScheme with every problem: line, key, expected, found."""
    try:
        return validate(Scheme, read_plan(path))
    except PlanError as error:
        raise BrokenScheme("\n".join([f"{path}: the scheme cannot be used", *(f"  {problem}" for problem in error.problems)])) from None
