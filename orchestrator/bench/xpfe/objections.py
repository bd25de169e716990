"""Whether the tables of a forwarding element make sense together; pure."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from orchestrator.bench.xpfe.layout import MEMBERS_MAX, RULES_MAX
from rackproof.model.xcf import ForwardingElement

_I_SID_MAX = 2**24 - 1
_VLAN_MAX = 4094


def objection(element: ForwardingElement) -> str:
    """What is wrong with the tables first of all, "" where nothing is."""
    return next(_faults(element), "")


def _faults(element: ForwardingElement) -> Iterator[str]:
    yield from _doubles("port", (*element.uni, *element.nni))
    yield from _unicast("the element", element.address)
    yield from _services(element)
    here = {service.i_sid for service in element.services}
    for table in (element.priorities, element.access, element.policers, element.stations, element.groups):
        for entry in table:
            if entry.i_sid not in here:
                yield f"{type(entry).__name__} of I-SID {entry.i_sid}: expected a service of the element, found none with this I-SID"
    yield from _priorities(element)
    yield from _access(element)
    yield from _policers(element)
    yield from _stations(element)
    yield from _network(element)


def _services(element: ForwardingElement) -> Iterator[str]:
    yield from _doubles("I-SID", (service.i_sid for service in element.services))
    attachments = [(attachment.port, attachment.c_vlan) for service in element.services for attachment in service.attachments]
    yield from _doubles("attachment", attachments)
    for service in element.services:
        if not 1 <= service.i_sid <= _I_SID_MAX:
            yield f"I-SID {service.i_sid}: expected 1 to {_I_SID_MAX}"
        yield from _vlan(f"b_vlan of I-SID {service.i_sid}", service.b_vlan)
    for port, c_vlan in attachments:
        yield from _vlan(f"c_vlan at {port}", c_vlan)
        if port not in element.uni:
            yield f"attachment at {port}: expected a UNI port ({', '.join(element.uni)})"


def _priorities(element: ForwardingElement) -> Iterator[str]:
    yield from _doubles("priority", ((entry.i_sid, entry.pcp) for entry in element.priorities))
    for entry in element.priorities:
        if not (0 <= entry.pcp <= 7 and 0 <= entry.b_pcp <= 7):
            yield f"priority {entry.pcp} -> {entry.b_pcp} of I-SID {entry.i_sid}: expected 0 to 7"


def _access(element: ForwardingElement) -> Iterator[str]:
    for i_sid, rules in Counter(rule.i_sid for rule in element.access).items():
        if rules > RULES_MAX:
            yield f"access control of I-SID {i_sid}: expected at most {RULES_MAX} rules, found {rules}"
    for rule in element.access:
        if rule.ethertype is not None and not 0 <= rule.ethertype <= 0xFFFF:
            yield f"access control of I-SID {rule.i_sid}: expected an ethertype of 16 bits, found {rule.ethertype}"
        for address in (rule.source, rule.destination):
            if address is not None and _octets(address) is None:
                yield f"access control of I-SID {rule.i_sid}: expected an address like 02:00:00:00:00:01, found {address!r}"


def _policers(element: ForwardingElement) -> Iterator[str]:
    yield from _doubles("policer of I-SID", (policer.i_sid for policer in element.policers))
    for policer in element.policers:
        if policer.rate_bps <= 0 or policer.burst_bytes <= 0:
            yield f"policer of I-SID {policer.i_sid}: expected a rate and a burst above 0"


def _stations(element: ForwardingElement) -> Iterator[str]:
    yield from _doubles("station", ((station.i_sid, station.address.lower()) for station in element.stations))
    for station in element.stations:
        yield from _unicast("a station", station.address)
        if (station.port is None) == (station.element is None):
            yield f"station {station.address}: expected a port or an element, one of them"
        if station.port is not None and station.port not in element.uni:
            yield f"station {station.address} at {station.port}: expected a UNI port ({', '.join(element.uni)})"
        if station.element is not None:
            yield from _unicast(f"the element of station {station.address}", station.element)
            if station.element.lower() == element.address.lower():
                yield f"station {station.address}: expected another element, or a port of this one"


def _network(element: ForwardingElement) -> Iterator[str]:
    yield from _doubles("group of I-SID", (group.i_sid for group in element.groups))
    yield from _doubles("route", ((route.address.lower(), route.b_vlan) for route in element.routes))
    for group in element.groups:
        octets = _octets(group.address)
        if octets is None or not octets[0] & 1:
            yield f"group of I-SID {group.i_sid}: expected a group address, found {group.address!r}"
    for route in element.routes:
        octets = _octets(route.address)
        if octets is None:
            yield f"route: expected an address like 02:00:00:00:00:01, found {route.address!r}"
        elif not route.ports or (len(route.ports) > 1 and not octets[0] & 1):
            yield f"route to {route.address}: expected one port, found {len(route.ports)}"
        elif len(route.ports) + len(element.uni) > MEMBERS_MAX:
            yield f"route to {route.address}: expected at most {MEMBERS_MAX} ports with the UNI ports"
        yield from _vlan(f"b_vlan of the route to {route.address}", route.b_vlan)
        for port in route.ports:
            if port not in element.nni:
                yield f"route to {route.address} through {port}: expected an NNI port ({', '.join(element.nni)})"


def _doubles(what: str, keys: Iterable[Hashable]) -> Iterator[str]:
    for found, count in Counter(keys).items():
        if count > 1:
            yield f"{what} {found}: expected once, found {count} times"


def _vlan(what: str, vlan: int) -> Iterator[str]:
    if not 1 <= vlan <= _VLAN_MAX:
        yield f"{what}: expected 1 to {_VLAN_MAX}, found {vlan}"


def _unicast(what: str, address: str) -> Iterator[str]:
    octets = _octets(address)
    if octets is None or octets[0] & 1:
        yield f"{what}: expected an address of one station like 02:00:00:00:00:01, found {address!r}"


def _octets(address: str) -> bytes | None:
    parts = address.split(":")
    if len(parts) != 6 or any(len(part) != 2 for part in parts):
        return None
    try:
        return bytes(int(part, 16) for part in parts)
    except ValueError:
        return None
