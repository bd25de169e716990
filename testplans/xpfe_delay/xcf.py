"""The tables of a chain's elements: one service from end to end, and one of another tenant over each link where there is background."""

from collections.abc import Iterator

from rackproof.model.xcf import Attachment, ForwardingElement, Route, Service, Station

UNI, OUT, WEST, EAST, BACKGROUND = "uni", "out", "west", "east", "bg"
TX, RX = "tx", "rx"

C_VLAN = 10
I_SID = 0x10001
TENANT = 1
B_VLAN = 101
BACKGROUND_C_VLAN = 20
BACKGROUND_I_SID = 0x20000
BACKGROUND_TENANT = 2
BACKGROUND_B_VLAN = 102


def background_port(element: int) -> str:
    """The generator's port that an element's background port is cabled to."""
    return f"g{element}"


def mac(port: str) -> str:
    """Address of a generator's port: locally administered, 02:52:50:00:00:00 of tx, 02:52:50:00:01:00 of rx, 02:52:50:00:02:KK of gK."""
    if port == TX:
        return "02:52:50:00:00:00"
    return "02:52:50:00:01:00" if port == RX else f"02:52:50:00:02:{int(port[1:]):02x}"


def address(element: int) -> str:
    """What identifies an element, from 1: 02:52:50:01:00:KK."""
    return f"02:52:50:01:00:{element:02x}"


def element(number: int, hops: int, *, background: bool) -> ForwardingElement:
    """All tables of one element (from 1) of a chain of so many.

    The service's stations are known at both of its ends, so that nothing has to be learnt; elements between them forward by address alone.
    """
    first, last = number == 1, number == hops
    carried = tuple(_carried(number, hops)) if background else ()
    services = [Service(i_sid=I_SID, tenant=TENANT, b_vlan=B_VLAN, attachments=tuple(_attachments(number, hops)))] if first or last else []
    services += [
        Service(
            i_sid=BACKGROUND_I_SID + hop,
            tenant=BACKGROUND_TENANT,
            b_vlan=BACKGROUND_B_VLAN,
            attachments=(Attachment(port=BACKGROUND, c_vlan=BACKGROUND_C_VLAN + hop),),
        )
        for hop in carried
    ]
    return ForwardingElement(
        address=address(number),
        uni=(*((UNI,) if first else ()), *((OUT,) if last else ()), *((BACKGROUND,) if carried else ())),
        nni=(*(() if first else (WEST,)), *(() if last else (EAST,))),
        services=tuple(services),
        stations=(*_stations(number, hops), *(station for hop in carried for station in _background_stations(number, hop))),
        routes=(*_routes(number, hops), *(_background_route(number, hop) for hop in carried)),
    )


def _carried(number: int, hops: int) -> Iterator[int]:
    """The hops whose background begins or ends at an element."""
    return (hop for hop in (number - 1, number) if 1 <= hop < hops)


def _attachments(number: int, hops: int) -> Iterator[Attachment]:
    if number == 1:
        yield Attachment(port=UNI, c_vlan=C_VLAN)
    if number == hops:
        yield Attachment(port=OUT, c_vlan=C_VLAN)


def _stations(number: int, hops: int) -> Iterator[Station]:
    for port, here, at in ((TX, UNI, 1), (RX, OUT, hops)):
        if number == at:
            yield Station(i_sid=I_SID, address=mac(port), port=here)
        elif number in (1, hops):
            yield Station(i_sid=I_SID, address=mac(port), element=address(at))


def _background_stations(number: int, hop: int) -> Iterator[Station]:
    for at in (hop, hop + 1):
        station = mac(background_port(at))
        if number == at:
            yield Station(i_sid=BACKGROUND_I_SID + hop, address=station, port=BACKGROUND)
        else:
            yield Station(i_sid=BACKGROUND_I_SID + hop, address=station, element=address(at))


def _routes(number: int, hops: int) -> Iterator[Route]:
    for end in dict.fromkeys((1, hops)):
        if end != number:
            yield Route(address=address(end), b_vlan=B_VLAN, ports=(WEST if end < number else EAST,))


def _background_route(number: int, hop: int) -> Route:
    """To the other end of a hop."""
    if number == hop:
        return Route(address=address(hop + 1), b_vlan=BACKGROUND_B_VLAN, ports=(EAST,))
    return Route(address=address(hop), b_vlan=BACKGROUND_B_VLAN, ports=(WEST,))
