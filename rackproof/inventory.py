"""What does an inventory file say, and does it hold together? Every fault with its line, and no secret in any message."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rackproof.errors import InventoryError, PlanError, Problem
from rackproof.model.inventory import REFERENCE, Credentials, DeviceEntry, GeneratorEntry, HostEntry, Inventory
from rackproof.model.topology import GENERATOR
from rackproof.planfile import Path_, PlanFile, dotted, parse_plan, read_plan, validate

#: The testbed in the box has no inventory.
BENCH = "bench"

_Node = DeviceEntry | GeneratorEntry | HostEntry

_NOT_SHOWN = "something else, which is not shown here"
_REFERENCE_WORDS = "a reference to the secret, never the secret itself: env:NAME, file:/PATH or vault:/PATH#KEY"
#: Names of options that hold secrets.
_SECRET = re.compile(r"(^|[._-])(pass(word|wd|phrase)?|secret|token|(private|api)[_-]?key|community)$", re.IGNORECASE)
_USER_IN_ADDRESS = re.compile(r"^([a-z]+://)?[^/@]*@")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")


def read_inventory(path: Path) -> tuple[PlanFile, Inventory]:
    """Read an inventory file. Raises InventoryError."""
    try:
        return _checked(read_plan(path))
    except PlanError as error:
        raise _without_secrets(error) from None


def parse_inventory(content: bytes, source: str) -> tuple[PlanFile, Inventory]:
    """Read an inventory in YAML or JSON from bytes; source is what messages call it. Raises InventoryError."""
    try:
        return _checked(parse_plan(content, source))
    except PlanError as error:
        raise _without_secrets(error) from None


def _checked(file: PlanFile) -> tuple[PlanFile, Inventory]:
    if key := _PRIVATE_KEY.search(file.text):
        line = file.text.count("\n", 0, key.start()) + 1
        raise PlanError(file.source, [Problem(where="file", expected=_REFERENCE_WORDS, found="a private key", line=line)])
    inventory = validate(Inventory, file)
    problems = [replace(problem, line=file.line_of(path), where=dotted(path)) for path, problem in _faults(inventory)]
    if problems:
        raise PlanError(file.source, sorted(problems, key=lambda problem: problem.line or 0))
    return file, inventory


def _without_secrets(error: PlanError) -> InventoryError:
    """The same problems, but whoever wrote a secret where a reference belongs does not see it again in a message or a log."""
    return InventoryError(error.source, [_hidden(problem) for problem in error.problems])


def _hidden(problem: Problem) -> Problem:
    holds_secrets = ".credentials" in problem.where or _SECRET.search(problem.where)
    if not holds_secrets or problem.found == "nothing" or problem.found.startswith("the unknown key "):
        return problem
    if problem.where.endswith("credentials"):
        return replace(problem, expected=f"a mapping with {', '.join(Credentials.model_fields)}", found=_NOT_SHOWN)
    return replace(problem, expected=_REFERENCE_WORDS, found=_NOT_SHOWN)


def _faults(inventory: Inventory) -> Iterator[tuple[Path_, Problem]]:
    """What no single key can tell: where it is, and what is wrong with it."""
    if inventory.name == BENCH:
        yield ("name",), _problem("a name of its own", f"{BENCH}, the testbed in the box")
    yield from _names(inventory)
    yield from _secrets(inventory)
    yield from _cables(inventory)
    yield from _roles(inventory)


def _nodes(inventory: Inventory) -> Iterator[tuple[Path_, _Node]]:
    parts: Mapping[str, Sequence[_Node]] = {"devices": inventory.devices, "generators": inventory.generators, "hosts": inventory.hosts}
    return (((part, at), node) for part, nodes in parts.items() for at, node in enumerate(nodes))


def _names(inventory: Inventory) -> Iterator[tuple[Path_, Problem]]:
    seen: dict[str, Path_] = {}
    for path, node in _nodes(inventory):
        if node.name in seen:
            yield (*path, "name"), _problem("a name of its own", f"{node.name}, which {dotted(seen[node.name])} has already")
        elif node.name == GENERATOR and not isinstance(node, GeneratorEntry):
            yield (*path, "name"), _problem("another name", f"{GENERATOR}, which stands for the generator in plans")
        seen.setdefault(node.name, path)
        if isinstance(node, GeneratorEntry):
            for port, count in Counter(node.ports).items():
                if count > 1:
                    yield (*path, "ports"), _problem("each port once", f"{port} {count} times")


def _secrets(inventory: Inventory) -> Iterator[tuple[Path_, Problem]]:
    for path, node in _nodes(inventory):
        if _USER_IN_ADDRESS.match(node.address):
            yield (*path, "address"), _problem("an address alone; how to sign in stands in credentials", "a user or password in it")
        for key, value in {} if isinstance(node, HostEntry) else node.options.items():
            if _SECRET.search(key) and not (isinstance(value, str) and REFERENCE.match(value)):
                yield (*path, "options", key), _problem(_REFERENCE_WORDS, _NOT_SHOWN)


def _cables(inventory: Inventory) -> Iterator[tuple[Path_, Problem]]:
    nodes = set(inventory.resources)
    ports = {generator.name: generator.ports for generator in inventory.generators}
    cabled: dict[str, str] = {}
    for at, link in enumerate(inventory.links):
        for end, text in (("a", link.a), ("b", link.b)):
            path = ("links", at, end)
            node, _, port = text.partition(":")
            if node not in nodes:
                yield path, _problem(f"a device, generator or host of this inventory ({', '.join(sorted(nodes)) or 'none'})", node)
            elif node in ports and port not in ports[node]:
                yield path, _problem(f"a port of {node} ({', '.join(ports[node])})", port)
            elif text in cabled:
                yield path, _problem("a port without a cable", f"{text}, which {cabled[text]} is at already")
            cabled.setdefault(text, dotted(("links", at)))


def _roles(inventory: Inventory) -> Iterator[tuple[Path_, Problem]]:
    managed = {node.name for node in (*inventory.devices, *inventory.hosts)}
    cabled: Mapping[str, None] = dict.fromkeys(end for link in inventory.links for end in (link.a, link.b))
    for kind, nodes in inventory.roles.items():
        for node, ports in nodes.items():
            path = ("roles", kind, node)
            if node not in managed:
                yield path, _problem(f"a device or host of this inventory ({', '.join(sorted(managed)) or 'none'})", node)
                continue
            if not ports:
                yield path, _problem("at least one port of the plan -> port of the node", "none")
            taken: dict[str, str] = {}
            for name, port in ports.items():
                if f"{node}:{port}" not in cabled:
                    yield (*path, name), _problem(f"a port of {node} with a cable (see links)", port)
                elif port in taken:
                    yield (*path, name), _problem(f"a port that has no other role; a pattern ({taken[port][:1]}*) may stand for many", port)
                taken.setdefault(port, name)


def _problem(expected: str, found: str) -> Problem:
    return Problem(where="", expected=expected, found=found)
