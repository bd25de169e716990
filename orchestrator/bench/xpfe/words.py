"""The tables of a forwarding element in words, one entry a line, the same text for the same tables."""

from collections import Counter
from collections.abc import Iterator

from orchestrator.bench.xpfe.tables import tenant_of
from rackproof.model.xcf import ForwardingElement


def text(element: ForwardingElement | None) -> str:
    """All entries by table; None: there are no tables."""
    return "\n".join(_lines(element)) if element is not None else "tables none"


def _lines(element: ForwardingElement) -> Iterator[str]:
    tenants = {service.i_sid: tenant_of(service.tenant) for service in element.services}
    yield f"address {element.address}"
    yield f"table 0: uni {' '.join(element.uni)}; nni {' '.join(element.nni)}"
    for service in element.services:
        yield f"table 3: i-sid {service.i_sid} b-vlan {service.b_vlan} -> tables of {_tenant(tenants[service.i_sid])}"
    for service in element.services:
        for attachment in service.attachments:
            yield f"table {tenants[service.i_sid]},1: port {attachment.port} c-vlan {attachment.c_vlan} -> i-sid {service.i_sid}"
    for priority in element.priorities:
        yield f"table {tenants[priority.i_sid]},0: i-sid {priority.i_sid} pcp {priority.pcp} -> {priority.b_pcp}"
    numbers: Counter[int] = Counter()
    for rule in element.access:
        matches = [
            f"{name} {value}"
            for name, value in (("source", rule.source), ("destination", rule.destination), ("ethertype", _hex(rule.ethertype)))
            if value is not None
        ]
        verdict = "permit" if rule.permit else "deny"
        yield f"table {tenants[rule.i_sid]},2: i-sid {rule.i_sid} rule {numbers[rule.i_sid]} {verdict} {' '.join(matches) or 'all'}"
        numbers[rule.i_sid] += 1
    for policer in element.policers:
        yield f"table {tenants[policer.i_sid]},3: i-sid {policer.i_sid} rate {policer.rate_bps} bit/s burst {policer.burst_bytes} bytes"
    for station in element.stations:
        table, where = ("4", f"port {station.port}") if station.element is None else ("7", f"element {station.element}")
        yield f"table {tenants[station.i_sid]},{table}: i-sid {station.i_sid} {station.address} -> {where}"
    for group in element.groups:
        yield f"table {tenants[group.i_sid]},7: i-sid {group.i_sid} multicast -> {group.address}"
    for route in element.routes:
        yield f"table 253: {route.address} b-vlan {route.b_vlan} -> {' '.join(route.ports)}"


def _tenant(name: str) -> str:
    return "all other tenants" if name == "shared" else f"tenant {name}"


def _hex(value: int | None) -> str | None:
    return None if value is None else f"0x{value:04x}"
