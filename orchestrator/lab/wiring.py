"""Which port of which thing in the rack is which port of the plan? Found in the inventory alone; what is missing is said in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from rackproof.model.inventory import DeviceEntry, GeneratorEntry, Inventory, LinkEntry
from rackproof.model.topology import GENERATOR, DeviceSpec, Endpoint, Link, Topology

#: Rates are compared with this much room for rounding.
_SLACK = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Wiring:
    """What a topology is in the rack; whole only where there are no objections.

    generator: what sends and receives, None where the topology has no such port. generator_ports: the plan's port of the generator -> the
    generator's own. devices: the plan's name of a device -> its entry. device_ports: that name -> the plan's port -> the device's own.
    """

    generator: GeneratorEntry | None = None
    generator_ports: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, DeviceEntry] = field(default_factory=dict)
    device_ports: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    objections: tuple[str, ...] = ()


def wire(topology: Topology, inventory: Inventory) -> Wiring:
    """Find the topology's devices, generator, ports and cables in the inventory."""
    return _Search(topology, inventory).found()


def loopback(inventory: Inventory, generator: GeneratorEntry) -> tuple[str, str] | None:
    """Two ports of the generator with a cable between them, None where there is none."""
    for link in inventory.links:
        one, other = (_end(text) for text in (link.a, link.b))
        if one.node == other.node == generator.name:
            return one.port, other.port
    return None


def speed_of(inventory: Inventory, generator: GeneratorEntry, port: str) -> float:
    """What a port's cable runs at [Mbit/s]. Raises KeyError where it has none."""
    return ends(inventory)[Endpoint(node=generator.name, port=port)][1].speed_mbps


def cabled(inventory: Inventory, generator: GeneratorEntry) -> tuple[str, ...]:
    """The generator's ports that have a cable, in its own order."""
    found = {end.port for end in ends(inventory) if end.node == generator.name}
    return tuple(port for port in generator.ports if port in found)


def ends(inventory: Inventory) -> Mapping[Endpoint, tuple[Endpoint, LinkEntry]]:
    """Every cabled port: what is at the other end, and by which cable."""
    found: dict[Endpoint, tuple[Endpoint, LinkEntry]] = {}
    for link in inventory.links:
        one, other = _end(link.a), _end(link.b)
        found |= {one: (other, link), other: (one, link)}
    return found


def driving(inventory: Inventory) -> tuple[GeneratorEntry, ...]:
    """The generators that the cables of the roles lead to; all of them where none does."""
    far = ends(inventory)
    ports = {Endpoint(node=node, port=port) for kind in inventory.roles.values() for node, roles in kind.items() for port in roles.values()}
    names = {far[port][0].node for port in ports if port in far}
    return tuple(entry for entry in inventory.generators if entry.name in names) or inventory.generators


class _Search:
    def __init__(self, topology: Topology, inventory: Inventory) -> None:
        self._topology = topology
        self._inventory = inventory
        self._ends = ends(inventory)
        self._entries = {entry.name: entry for entry in inventory.devices}
        self._generators = {entry.name: entry for entry in inventory.generators}
        self._devices: dict[str, DeviceEntry] = {}
        self._ports: dict[str, dict[str, str]] = {}
        self._keys: dict[Endpoint, str] = {}  # a port of the rack -> the key of the roles that leads there
        self._far: dict[str, Endpoint] = {}  # the plan's port of the generator -> the port of the rack
        self._used: dict[Endpoint, tuple[LinkEntry, list[Link]]] = {}
        self._objections: dict[str, None] = {}

    def found(self) -> Wiring:
        for spec in self._topology.devices:
            self._device(spec)
        for link in self._topology.links:
            self._link(link)
        generators = {end.node for end in self._far.values()}
        if len(generators) > 1:
            self._object(f"the cables lead to several generators ({', '.join(sorted(generators))}): a plan is driven by one")
        self._speeds()
        return Wiring(
            generator=self._generators[generators.pop()] if len(generators) == 1 else None,
            generator_ports={port: end.port for port, end in self._far.items()},
            devices=self._devices,
            device_ports=self._ports,
            objections=tuple(self._objections),
        )

    def _object(self, text: str) -> None:
        self._objections[f"testbed {self._inventory.name}: {text}"] = None

    def _device(self, spec: DeviceSpec) -> None:
        entry = self._entries.get(spec.model)
        if entry is None:
            self._object(f"{spec.name}: expected a device of the inventory ({_names(self._entries)}) as its model, found {spec.model}")
            return
        other = next((name for name, taken in self._devices.items() if taken is entry), None)
        if other is not None:
            self._object(f"{other} and {spec.name} cannot both be {entry.name}")
        self._devices[spec.name] = entry
        self._ports[spec.name] = {}

    def _link(self, link: Link) -> None:
        if link.wire is not None and link.wire.delay_us:
            planted = f"{_at(link.a)} to {_at(link.b)} is a cable"
            self._object(f"{planted}: {link.wire.delay_us:g} us cannot be planted behind it, only on the bench")
        sides = [end for end in (link.a, link.b) if end.node != GENERATOR]
        if not sides:
            self._object(f"{link.a.port} and {link.b.port} of the generator are connected through no device")
        elif len(sides) == 1:
            self._to_generator(link, *sides)
        else:
            self._between(link)

    def _to_generator(self, link: Link, side: Endpoint) -> None:
        ours = link.b if link.a == side else link.a
        here = self._port(side)
        if here is None:
            return
        there = self._ends.get(here)
        if there is None:
            self._object(f"{_at(here)}, which is {side.port} of {side.node}, has no cable; {ours.port} of the generator must be at its end")
        elif there[0].node not in self._generators:
            self._object(f"the cable of {_at(here)}, which is {side.port} of {side.node}, leads to {_at(there[0])}, which is no generator")
        else:
            self._far[ours.port] = there[0]
            self._used.setdefault(here, (there[1], []))[1].append(link)

    def _between(self, link: Link) -> None:
        one, other = self._port(link.a), self._port(link.b)
        if one is None or other is None:
            return
        there = self._ends.get(one)
        if there is None or there[0] != other:
            self._object(f"there is no cable between {_at(one)} and {_at(other)}, as {_at(link.a)} to {_at(link.b)} needs")
        else:
            self._used.setdefault(one, (there[1], []))[1].append(link)

    def _port(self, end: Endpoint) -> Endpoint | None:
        """The port of the rack that a device's port of the plan is."""
        entry = self._devices.get(end.node)
        if entry is None:
            return None
        roles = self._inventory.roles.get(self._topology.kind, {}).get(entry.name, {})
        key = end.port if end.port in roles else next((key for key in roles if fnmatchcase(end.port, key)), None)
        if key is None:
            known = f"roles of {self._topology.kind} for {entry.name}: {_names(roles)}"
            self._object(f"it does not say which port of {entry.name} is {end.port} of {end.node} ({known})")
            return None
        found = Endpoint(node=entry.name, port=roles[key])
        # One key that leads several ports of the plan to one port means that; two keys are a slip.
        other = self._keys.setdefault(found, key)
        if other != key:
            self._object(f"{_at(found)} cannot be both {other} and {key}")
        self._ports[end.node][end.port] = found.port
        return found

    def _speeds(self) -> None:
        for here, (cable, links) in self._used.items():
            needed, speed = sum(link.rate_bps for link in links) / 1e6, cable.speed_mbps
            if needed > speed * (1 + _SLACK):
                who = ", ".join(sorted({_at(end) for link in links for end in (link.a, link.b) if end.node == GENERATOR}))
                where = f"the cable {cable.a} to {cable.b} runs at {speed:g} Mbit/s"
                self._object(f"{where}, but {needed:g} Mbit/s are needed on it ({who or _at(here)})")


def _end(text: str) -> Endpoint:
    node, _, port = text.partition(":")
    return Endpoint(node=node, port=port)


def _at(end: Endpoint) -> str:
    return f"{end.node}:{end.port}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
