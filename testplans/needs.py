"""Which kinds of plan can a testbed run, as its inventory says, and what is missing for the others? Found without touching anything.

What a kind needs is what one of its ready plans asks for: a plan may ask for more, and its rehearsal then says so.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rackproof.model.inventory import DeviceEntry, Inventory
from rackproof.model.topology import GENERATOR, Topology
from testplans.kind import Kind
from testplans.registry import kinds, ready_plans
from testplans.submission import submission_at

#: A path has two ends.
_ENDS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """What a testbed is to a kind. devices: those that can be tested; missing: why it cannot run the kind, in words (empty: it can)."""

    kind: str
    title: str
    devices: tuple[str, ...]
    missing: tuple[str, ...]


def fits(inventory: Inventory) -> tuple[Fit, ...]:
    """One for each kind, by name."""
    return tuple(_fit(kind, inventory) for _, kind in sorted(kinds().items()))


@functools.cache
def _asked(kind: str) -> tuple[Topology, ...]:
    """The topologies that the ready plans of the kind begin with, the one with the fewest links first; none where it has no such plan."""
    found = []
    for path in ready_plans(kinds()[kind]):
        ready = submission_at(path)
        if ready.kind.name == kind and ready.trials:
            found.append(ready.kind.setup(ready.plan, ready.trials[0]).topology)
    return tuple(sorted(found, key=lambda topology: len(topology.links)))


def _fit(kind: Kind, inventory: Inventory) -> Fit:
    """By the first topology that can be found; where none can, by the one that lacks least."""
    found = [_fit_of(kind, topology, inventory) for topology in _asked(kind.name)]
    if not found:
        missing = ("nobody can say what it needs: it has no plan that is ready to run",)
        return Fit(kind=kind.name, title=kind.title, devices=(), missing=missing)
    return min(found, key=lambda fit: len(fit.missing))


def _fit_of(kind: Kind, topology: Topology, inventory: Inventory) -> Fit:
    if topology.hosts:
        return Fit(kind=kind.name, title=kind.title, devices=(), missing=tuple(_hosts_missing(inventory)))
    if len(topology.devices) > 1:
        return _chain_fit(kind, topology, inventory)
    ports = tuple(_ports(topology))
    missing_for = {device.name: tuple(_device_missing(kind.name, ports, device, inventory)) for device in inventory.devices}
    able = tuple(name for name, missing in missing_for.items() if not missing)
    # Devices that have roles of the kind are meant to be tested by it: what they lack is what is worth saying.
    meant = [why for name, missing in missing_for.items() if name in inventory.roles.get(kind.name, {}) for why in missing]
    missing = () if able else (*_generator_missing(inventory), *(meant or _no_roles(kind.name, inventory)))
    return Fit(kind=kind.name, title=kind.title, devices=able, missing=missing)


def _chain_fit(kind: Kind, topology: Topology, inventory: Inventory) -> Fit:
    """Several devices: those with roles of the kind, in the order of the inventory; rehearsal looks at the cables between them."""
    meant = [device for device in inventory.devices if device.name in inventory.roles.get(kind.name, {})]
    missing = list(_generator_missing(inventory))
    if len(meant) < len(topology.devices):
        missing.append(f"roles.{kind.name}: ports of {len(topology.devices)} devices in a row; it has {len(meant) or 'none'}")
    for spec, device in zip(topology.devices, meant, strict=False):
        missing += _device_missing(kind.name, _ports(topology, spec.name), device, inventory)
    names = () if missing else tuple(device.name for device in meant)
    return Fit(kind=kind.name, title=kind.title, devices=names, missing=tuple(missing))


def _hosts_missing(inventory: Inventory) -> Iterator[str]:
    if len(inventory.hosts) < _ENDS:
        yield f"two hosts, the ends of a path; it has {len(inventory.hosts) or 'none'}"


def _generator_missing(inventory: Inventory) -> Iterator[str]:
    if not inventory.generators:
        yield "a generator"


def _no_roles(kind: str, inventory: Inventory) -> Iterator[str]:
    if not inventory.devices:
        yield "a device"
    else:
        yield f"roles.{kind}: which port of {' or '.join(device.name for device in inventory.devices)} is which port of the plan"


def _device_missing(kind: str, ports: Iterable[str], device: DeviceEntry, inventory: Inventory) -> Iterator[str]:
    """What the device lacks to be the one under test: roles for each port of the plan, and cables from there to a generator."""
    roles: Mapping[str, str] = inventory.roles.get(kind, {}).get(device.name, {})
    generators = {generator.name for generator in inventory.generators}
    far = {**{link.a: link.b for link in inventory.links}, **{link.b: link.a for link in inventory.links}}
    lost, loose = [], []
    for port in ports:
        key = port if port in roles else next((key for key in roles if fnmatchcase(port, key)), None)
        if key is None:
            lost.append(port)
        elif far.get(f"{device.name}:{roles[key]}", "").partition(":")[0] not in generators:
            loose.append(f"{roles[key]} ({port})")
    if lost:
        yield f"roles.{kind}.{device.name}: a port for {', '.join(lost)}"
    if loose:
        yield f"cables from {device.name} to a generator at {', '.join(loose)}"


def _ports(topology: Topology, device: str = "") -> Iterator[str]:
    """What the plan calls the ports of its devices, or of one of them, that are cabled to the generator."""
    for link in topology.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            if other.node == GENERATOR and end.node != GENERATOR and device in ("", end.node):
                yield end.port
