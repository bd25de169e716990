"""The tables of an XPFE (rackproof.model.xcf) as OpenFlow 1.3 flows, numbered as in Figure 3 of "5G-Crosshaul packet forwarding element".

Table 0 tells UNI from NNI and knows the own address, 1 finds the tenant, 3 ends tunnels, 252 finishes the encapsulation, 253 forwards.
Tenant t of the first 30 has the eight tables from 8 t on. A flow can only go on to a table of a higher number: so (t,1) stands before
(t,0). (t,6) is kept free. All other tenants share one set.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from orchestrator.openflow.flows import Group, Meter, Tables
from rackproof.model.functions import Flow
from rackproof.model.xcf import OWN_TABLES_MAX, AccessRule, ForwardingElement, Service, Station

#: The tables that all tenants have in common.
CLASSIFY, TENANT, TUNNEL, ENCAPSULATE, FORWARD = 0, 1, 3, 252, 253
#: Place of (t,n) among the eight tables of a tenant, and its table in the set that is shared.
_PLACES = {1: 0, 0: 1, 2: 2, 3: 3, 4: 4, 5: 5, 7: 7}
_SHARED = {1: 4, 0: 5, 2: 6, 3: 7, 4: 248, 5: 249, 7: 250}

# Metadata: I-SID, where the frame came from, whether its B-DA was a group, and its priority in the network.
SERVICE_MASK = 0xFFFFFF
UNI, NNI, GROUP = 1 << 24, 1 << 25, 1 << 26
PRIORITY_SHIFT = 28
PRIORITY_MASK = 7 << PRIORITY_SHIFT

_OAM_ADDRESSES = "eth_dst=01:80:c2:00:00:30/ff:ff:ff:ff:ff:f0"
_OAM_TYPE = "eth_type=0x8902"
_PBB = "eth_type=0x88e7"
_TAGGED = "vlan_vid=0x1000/0x1000"
_MULTICAST = "eth_dst=01:00:00:00:00:00/01:00:00:00:00:00"

#: Makes a flow of a table: priority, match, actions.
_Entry = Callable[[int, str, str], Flow]


def table(tenant: int, number: int) -> int:
    """The OpenFlow table of (t,n)."""
    return 8 * tenant + _PLACES[number] if 1 <= tenant <= OWN_TABLES_MAX else _SHARED[number]


def tables(element: ForwardingElement) -> Tables:
    """All flows, groups and meters of an element; ports are called as the element calls them.

    Group n is the n-th pair of a service and a customer VLAN, meter n the n-th policer, counted from 1. What OpenFlow 1.3 cannot tell is
    in docs/platforms/openflow.md.
    """
    groups = _groups(element)
    meters = {policer.i_sid: number for number, policer in enumerate(element.policers, 1)}
    flows = [*_common(element)]
    for tenant in dict.fromkeys(service.tenant for service in element.services):
        flows += _of_a_tenant(tenant)
    for service in element.services:
        flows += _of_a_service(element, service, groups, meters.get(service.i_sid))
    return Tables(
        flows=tuple(dict.fromkeys(flows)),
        groups=tuple(Group(number=number, buckets=tuple(f"output:{port}" for port in ports)) for number, ports in groups.values()),
        meters=tuple(
            Meter(number=number, rate_kbps=policer.rate_bps // 1000, burst_kbits=max(1, round(policer.burst_bytes * 8 / 1000)))
            for number, policer in enumerate(element.policers, 1)
        ),
    )


def objection(element: ForwardingElement) -> str:
    """Why OpenFlow 1.3 cannot do it, "" where it can."""
    for policer in element.policers:
        if policer.rate_bps % 1000:
            return f"the rate of service {policer.i_sid:#x} is {policer.rate_bps} bit/s; meters count whole kbit/s"
    known = {service.i_sid for service in element.services}
    entries = (element.priorities, element.access, element.policers, element.stations, element.groups)
    unknown = sorted({entry.i_sid for kind in entries for entry in kind} - known)
    return f"there is no service {unknown[0]:#x} that an entry names" if unknown else ""


def _groups(element: ForwardingElement) -> Mapping[tuple[int, int], tuple[int, tuple[str, ...]]]:
    """(I-SID, C-VLAN) -> number of the group, and its UNI ports."""
    found: dict[tuple[int, int], list[str]] = {}
    for service in element.services:
        for each in service.attachments:
            found.setdefault((service.i_sid, each.c_vlan), []).append(each.port)
    return {key: (number, tuple(ports)) for number, (key, ports) in enumerate(found.items(), 1)}


def _in(number: int, priority: int, match: str, actions: str) -> Flow:
    return Flow(table=number, priority=priority, match=match, actions=actions)


def _at(tenant: int, number: int) -> _Entry:
    return partial(_in, table(tenant, number))


def _of(i_sid: int, side: int = 0) -> str:
    """Frames of a service, whether from UNI or NNI where a side is given."""
    return f"metadata={i_sid | side:#x}/{SERVICE_MASK | (UNI | NNI if side else 0):#x}"


def _common(element: ForwardingElement) -> Iterator[Flow]:
    """Tables 0 and 253."""
    classify, own = partial(_in, CLASSIFY), f"eth_dst={element.address}"
    routes = {(route.address, route.b_vlan): ",".join(f"output:{port}" for port in route.ports) for route in element.routes}
    travels = {service.i_sid: service.b_vlan for service in element.services}
    for port in element.nni:
        here, record = f"in_port={port}", f"write_metadata:{NNI:#x}/{NNI:#x}"
        yield classify(50, f"{here},eth_src={element.address}", "drop")
        yield classify(40, f"{here},{_TAGGED},{_OAM_ADDRESSES}", "drop")
        yield classify(40, f"{here},{_TAGGED},{_OAM_TYPE},{own}", "drop")
        yield classify(30, f"{here},{_TAGGED},{_OAM_TYPE}", f"{record},goto_table:{FORWARD}")
        yield classify(30, f"{here},{_TAGGED},{_PBB},{own}", f"{record},goto_table:{TUNNEL}")
        for group in element.groups:
            b_vlan = travels[group.i_sid]
            onward = ",".join(filter(None, (routes.get((group.address, b_vlan), ""), record, f"goto_table:{TUNNEL}")))
            yield classify(30, f"{here},dl_vlan={b_vlan},{_PBB},eth_dst={group.address}", onward)
        yield classify(20, f"{here},{_TAGGED},{_PBB}", f"{record},goto_table:{FORWARD}")
    for port in element.uni:
        yield classify(40, f"in_port={port},{_OAM_ADDRESSES}", "drop")
        yield classify(40, f"in_port={port},{_OAM_TYPE}", "drop")
        yield classify(20, f"in_port={port},{_TAGGED}", f"write_metadata:{UNI:#x}/{UNI:#x},goto_table:{TENANT}")
    for (address, b_vlan), ports in routes.items():
        yield _in(FORWARD, 10, f"dl_vlan={b_vlan},eth_dst={address}", ports)


def _of_a_tenant(tenant: int) -> Iterator[Flow]:
    """What happens where no entry of a service says otherwise; a frame that finds nothing is dropped."""
    yield _at(tenant, 2)(0, "", f"goto_table:{table(tenant, 3)}")
    yield _at(tenant, 3)(0, "", f"goto_table:{table(tenant, 4)}")
    yield _at(tenant, 4)(100, f"metadata={GROUP:#x}/{GROUP:#x}", f"goto_table:{table(tenant, 5)}")
    yield _at(tenant, 4)(70, _MULTICAST, f"goto_table:{table(tenant, 5)}")
    yield _at(tenant, 4)(60, f"metadata={UNI:#x}/{UNI:#x}", f"goto_table:{table(tenant, 7)}")


def _of_a_service(
    element: ForwardingElement, service: Service, groups: Mapping[tuple[int, int], tuple[int, tuple[str, ...]]], meter: int | None
) -> Iterator[Flow]:
    i_sid, tenant = service.i_sid, service.tenant
    at = partial(_at, tenant)
    addresses = [group.address for group in element.groups if group.i_sid == i_sid]
    for each in service.attachments:
        match = f"in_port={each.port},dl_vlan={each.c_vlan}"
        yield _in(TENANT, 10, match, f"goto_table:{table(tenant, 1)}")
        yield at(1)(10, match, f"write_metadata:{i_sid:#x}/{SERVICE_MASK:#x},goto_table:{table(tenant, 0)}")
    yield from _priorities(element, service)
    for number, rule in enumerate(rule for rule in element.access if rule.i_sid == i_sid):
        yield at(2)(100 - number, _rule(rule), f"goto_table:{table(tenant, 3)}" if rule.permit else "drop")
    if meter is not None:
        yield at(3)(10, _of(i_sid), f"meter:{meter},goto_table:{table(tenant, 4)}")
    for station in (station for station in element.stations if station.i_sid == i_sid):
        yield from _station(service, station)
    for c_vlan in dict.fromkeys(each.c_vlan for each in service.attachments):
        copies = f"group:{groups[i_sid, c_vlan][0]}"
        onward = f",goto_table:{table(tenant, 7)}" if addresses else ""
        yield at(5)(10, f"{_of(i_sid, UNI)},dl_vlan={c_vlan}", f"{copies}{onward}")
        yield at(5)(10, f"{_of(i_sid, NNI)},dl_vlan={c_vlan}", copies)
    if element.nni:
        yield from _tunnels(element, service, addresses)
        yield from _encapsulated(element, service)
    for address in addresses:
        yield at(7)(10, f"{_of(i_sid)},{_MULTICAST}", _encapsulation(address))


def _priorities(element: ForwardingElement, service: Service) -> Iterator[Flow]:
    """(t,0): one entry for every C-VLAN and priority, since some switches match a priority only beside a whole VLAN."""
    changed = {entry.pcp: entry.b_pcp for entry in element.priorities if entry.i_sid == service.i_sid}
    onward = f"goto_table:{table(service.tenant, 2)}"
    for c_vlan in dict.fromkeys(each.c_vlan for each in service.attachments):
        for pcp in range(8):
            record = f"write_metadata:{changed.get(pcp, pcp) << PRIORITY_SHIFT:#x}/{PRIORITY_MASK:#x}"
            yield _at(service.tenant, 0)(10, f"{_of(service.i_sid)},dl_vlan={c_vlan},vlan_pcp={pcp}", f"{record},{onward}")


def _tunnels(element: ForwardingElement, service: Service, addresses: Sequence[str]) -> Iterator[Flow]:
    """Table 3: frames for this element, and those for the groups of the service."""
    tunnel = f"dl_vlan={service.b_vlan},{_PBB},pbb_isid={service.i_sid:#x}"
    for address, bits in [(element.address, 0), *((address, GROUP) for address in addresses)]:
        record = f"write_metadata:{service.i_sid | bits:#x}/{SERVICE_MASK | bits:#x}"
        yield _in(TUNNEL, 10, f"eth_dst={address},{tunnel}", f"pop_vlan,pop_pbb,{record},goto_table:{table(service.tenant, 4)}")


def _rule(rule: AccessRule) -> str:
    wanted = {"eth_src": rule.source, "eth_dst": rule.destination, "eth_type": None if rule.ethertype is None else f"{rule.ethertype:#x}"}
    return ",".join([_of(rule.i_sid), *(f"{name}={value}" for name, value in wanted.items() if value is not None)])


def _station(service: Service, station: Station) -> Iterator[Flow]:
    match = f"{_of(service.i_sid)},eth_dst={station.address}"
    if station.element is not None:
        yield _at(service.tenant, 7)(20, match, _encapsulation(station.element))
        return
    for each in service.attachments:
        if each.port == station.port:
            yield _at(service.tenant, 4)(90, f"{match},dl_vlan={each.c_vlan}", f"output:{station.port}")
    yield _at(service.tenant, 4)(80, match, "drop")


def _encapsulation(address: str) -> str:
    """(t,7): where the frame goes; 252 says the rest, since some switches set only fields of headers that the flow itself matches."""
    return f"push_pbb:0x88e7,set_field:{address}->eth_dst,push_vlan:0x88a8,goto_table:{ENCAPSULATE}"


def _encapsulated(element: ForwardingElement, service: Service) -> Iterator[Flow]:
    """Table 252: address, I-SID, VLAN and priority."""
    for b_pcp in range(8):
        bits = service.i_sid | b_pcp << PRIORITY_SHIFT
        fields = {"eth_src": element.address, "pbb_isid": f"{service.i_sid:#x}", "dl_vlan": service.b_vlan, "vlan_pcp": b_pcp}
        done = ",".join(f"set_field:{value}->{name}" for name, value in fields.items())
        match = f"metadata={bits:#x}/{SERVICE_MASK | PRIORITY_MASK:#x},{_TAGGED},{_PBB}"
        yield _in(ENCAPSULATE, 10, match, f"{done},goto_table:{FORWARD}")
