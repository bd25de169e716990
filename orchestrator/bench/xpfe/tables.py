"""The tables of a forwarding element as entries of the maps of xpfe.bpf.o, and the names of their counters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from orchestrator.bench.xpfe import layout
from orchestrator.bench.xpfe.layout import entry, key
from rackproof.model.xcf import OWN_TABLES_MAX, ForwardingElement, Service

#: Map -> key -> value.
Maps = dict[str, dict[bytes, bytes]]
_UNI, _NNI = 0, 1


class Numbers:
    """A number for each name, the same as long as the name is used; those of names that are given up are used again."""

    def __init__(self, first: int, end: int) -> None:
        self._numbers: dict[str, int] = {}
        self._free = list(range(end - 1, first - 1, -1))

    def __call__(self, name: str) -> int:
        """The number of a name. Raises OverflowError where there is none left."""
        if name not in self._numbers:
            if not self._free:
                raise OverflowError(f"no number is left for {name}: the tables are too large")
            self._numbers[name] = self._free.pop()
        return self._numbers[name]

    def keep(self, names: set[str]) -> None:
        """Give up all names but these."""
        for name in self._numbers.keys() - names:
            self._free.append(self._numbers.pop(name))

    @property
    def names(self) -> Mapping[str, int]:
        """All names in use."""
        return self._numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class Tables:
    """What the maps should hold, and the names of the counters and sets in it."""

    maps: Maps
    counters: set[str] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiler:
    """Makes Tables of a ForwardingElement. interfaces: index of each port; pop_fd: the program that takes the header off."""

    interfaces: Mapping[str, int]
    counters: Numbers
    sets: Numbers
    pop_fd: int

    def tables(self, element: ForwardingElement) -> Tables:
        """All entries; the element has no objection to it."""
        one = _Compilation(self, element)
        maps: Maps = {}
        for name, where, value in one.entries():
            maps.setdefault(name, {})[where] = value
        return Tables(maps=maps, counters=one.counters, sets=one.sets)


class _Compilation:
    def __init__(self, compiler: Compiler, element: ForwardingElement) -> None:
        self._compiler = compiler
        self._element = element
        self._services = {service.i_sid: service for service in element.services}
        self.counters: set[str] = set()
        self.sets: set[str] = set()

    def entries(self) -> Iterator[tuple[str, bytes, bytes]]:
        """Map, key and value of everything."""
        yield "element", layout.number(0), entry(station=self._element.address)
        for kind, ports in ((_UNI, self._element.uni), (_NNI, self._element.nni)):
            for port in ports:
                yield "ports", key(identity=self._port(port)), entry(counter=self._count(f"table.0.{port}"), value=kind)
        yield from self._routes()
        groups = {group.i_sid: group.address for group in self._element.groups}
        for service in self._element.services:
            yield from self._service(service, groups.get(service.i_sid))
        yield from self._stations()
        yield from self._customers()

    def _routes(self) -> Iterator[tuple[str, bytes, bytes]]:
        for route in self._element.routes:
            name = f"{route.address.lower()}/{route.b_vlan}"
            value = self._port(route.ports[0])
            if layout.address(route.address)[0] & 1:
                value = self._set(f"network {name}")
                for port in route.ports:
                    yield f"sets/{value}", *self._member(port)
            where = key(number=route.b_vlan, station=route.address)
            yield "routes", where, entry(counter=self._count(f"table.253.{name}"), value=value)

    def _service(self, service: Service, group: str | None) -> Iterator[tuple[str, bytes, bytes]]:
        i_sid, slot, tenant = service.i_sid, slot_of(service.tenant), tenant_of(service.tenant)
        yield (
            "services",
            key(identity=i_sid),
            entry(counter=self._count(f"table.3.{i_sid}"), value=slot, number=service.b_vlan, station=group),
        )
        if group is not None:
            counter = self._count(f"table.{tenant},7.{i_sid}/{group.lower()}")
            yield own(slot, 7), key(identity=i_sid, station=layout.ANY_GROUP), entry(counter=counter, station=group)
        encapsulated = self._count(f"table.252.{i_sid}")
        for attachment in service.attachments:
            where = key(identity=self._port(attachment.port), number=attachment.c_vlan)
            counter = self._count(f"table.{tenant},1.{attachment.port}/{attachment.c_vlan}")
            yield "attached", where, entry(value=slot, second=i_sid)
            yield own(slot, 1), where, entry(counter=counter, value=i_sid, second=encapsulated, number=service.b_vlan)
        for c_vlan in sorted({attachment.c_vlan for attachment in service.attachments}):
            yield from self._multicast(service, group, c_vlan)

    def _multicast(self, service: Service, group: str | None, c_vlan: int) -> Iterator[tuple[str, bytes, bytes]]:
        """t,5: the ports of a service in one C-VLAN, alone and together with those of the network."""
        name = f"{service.i_sid}/{c_vlan}"
        ports = [attachment.port for attachment in service.attachments if attachment.c_vlan == c_vlan]
        here = self._set(f"service {name}")
        for port in ports:
            yield f"sets/{here}", *self._member(port)
        both = counter = 0
        for route in self._element.routes:
            if group is not None and (route.address.lower(), route.b_vlan) == (group.lower(), service.b_vlan):
                both = self._set(f"service and network {name}")
                counter = self._count(f"table.253.{route.address.lower()}/{route.b_vlan}")
                for port in ports:
                    yield f"sets/{both}", *self._member(port, self._compiler.pop_fd)
                for port in route.ports:
                    yield f"sets/{both}", *self._member(port)
        value = entry(counter=self._count(f"table.{tenant_of(service.tenant)},5.{name}"), value=here, second=both, route=counter)
        yield own(slot_of(service.tenant), 5), key(identity=service.i_sid, number=c_vlan), value

    def _stations(self) -> Iterator[tuple[str, bytes, bytes]]:
        for station in self._element.stations:
            slot, tenant = self._owner(station.i_sid)
            table = 4 if station.element is None else 7
            counter = self._count(f"table.{tenant},{table}.{station.i_sid}/{station.address.lower()}")
            port = self._port(station.port) if station.port is not None else 0
            where = key(identity=station.i_sid, station=station.address)
            yield own(slot, table), where, entry(counter=counter, value=port, station=station.element)

    def _customers(self) -> Iterator[tuple[str, bytes, bytes]]:
        for priority in self._element.priorities:
            slot, tenant = self._owner(priority.i_sid)
            counter = self._count(f"table.{tenant},0.{priority.i_sid}/{priority.pcp}")
            yield own(slot, 0), key(identity=priority.i_sid, number=priority.pcp), entry(counter=counter, value=priority.b_pcp)
        packed: dict[int, list[bytes]] = {}
        for rule in self._element.access:
            _, tenant = self._owner(rule.i_sid)
            those = packed.setdefault(rule.i_sid, [])
            counter = self._count(f"table.{tenant},2.{rule.i_sid}/{len(those)}")
            those.append(
                layout.rule(counter=counter, source=rule.source, destination=rule.destination, ethertype=rule.ethertype, permit=rule.permit)
            )
        for i_sid, those in packed.items():
            yield f"access_rules/{self._owner(i_sid)[0]}", key(identity=i_sid), layout.rules(those)
        for policer in self._element.policers:
            slot, tenant = self._owner(policer.i_sid)
            counter, exceeded = (self._count(f"table.{tenant},3.{policer.i_sid}{what}") for what in ("", ".exceeded"))
            value = layout.policer(counter=counter, exceeded=exceeded, rate_bps=policer.rate_bps, burst_bytes=policer.burst_bytes)
            yield f"policers/{slot}", key(identity=policer.i_sid), value

    def _owner(self, i_sid: int) -> tuple[int, str]:
        tenant = self._services[i_sid].tenant
        return slot_of(tenant), tenant_of(tenant)

    def _port(self, port: str) -> int:
        return self._compiler.interfaces[port]

    def _member(self, port: str, program_fd: int = 0) -> tuple[bytes, bytes]:
        return layout.number(self._port(port)), layout.member(self._port(port), program_fd)

    def _count(self, name: str) -> int:
        self.counters.add(name)
        return self._compiler.counters(name)

    def _set(self, name: str) -> int:
        self.sets.add(name)
        return self._compiler.sets(name)


def slot_of(tenant: int) -> int:
    """Which set of tables a tenant has: 0 is the one that tenants share."""
    return tenant if 1 <= tenant <= OWN_TABLES_MAX else 0


def tenant_of(tenant: int) -> str:
    """How a tenant's tables are called in the names of counters."""
    return str(tenant) if slot_of(tenant) else "shared"


def own(slot: int, table: int) -> str:
    """The map of table t,n of a slot."""
    return f"tenants/{slot * layout.TABLES + table}"
