"""Who has which address and which port: routers between two emulated label edge routers, in a row or in a ring.

Router k (from 1) has the router id 10.83.253.k, and between it and router k + 1 is 10.83.k.0/30, where it is .1. The ring's last link, from
the last router back to the first, is 10.83.251.0/30. The ingress sits at router 1 (10.83.0.0/30), the egress at the last of a row, or
half-way round a ring (10.83.250.0/30).
"""

from rackproof.model.functions import Mpls, MplsInterface, StaticLabel
from rackproof.model.lsp import Ler

#: Ports of the generator.
IN, OUT = "in", "out"
#: Ports of a router; RING_WEST of the first is cabled to RING_EAST of the last, EXIT is where a ring has its egress.
WEST, EAST, RING_WEST, RING_EAST, EXIT = "west", "east", "ring-w", "ring-e", "exit"

INGRESS_ID = "10.83.254.1"
EGRESS_ID = "10.83.254.2"
INGRESS = Ler(port=IN, address="10.83.0.2", neighbour="10.83.0.1", router_id=INGRESS_ID)
EGRESS = Ler(port=OUT, address="10.83.250.2", neighbour="10.83.250.1", router_id=EGRESS_ID)
_RING_LAST, _RING_FIRST = "10.83.251.1", "10.83.251.2"
_PREFIX = 30


def router_id(number: int) -> str:
    """The router id of router `number`, from 1."""
    return f"10.83.253.{number}"


def exit_of(routers: int, *, ring: bool) -> int:
    """The router that the egress sits at."""
    return 1 + routers // 2 if ring else routers


def exit_port(*, ring: bool) -> str:
    """Its port to the egress."""
    return EXIT if ring else EAST


def ports(number: int, routers: int, *, ring: bool) -> dict[str, tuple[str, str]]:
    """Port of a router -> its address there, and that of who is on the other side."""
    found = {WEST: (INGRESS.neighbour, INGRESS.address) if number == 1 else (f"10.83.{number - 1}.2", f"10.83.{number - 1}.1")}
    if number < routers:
        found[EAST] = (f"10.83.{number}.1", f"10.83.{number}.2")
    if ring and number == 1:
        found[RING_WEST] = (_RING_FIRST, _RING_LAST)
    if ring and number == routers:
        found[RING_EAST] = (_RING_LAST, _RING_FIRST)
    if number == exit_of(routers, ring=ring):
        found[exit_port(ring=ring)] = (EGRESS.neighbour, EGRESS.address)
    return found


def router(number: int, routers: int, *, ring: bool, rsvp: bool = True, labels: tuple[StaticLabel, ...] = ()) -> Mpls:
    """All that a router is told. Its routes to both ends go the shorter way; LSPs of a ring have explicit routes beside."""
    mine = ports(number, routers, ring=ring)
    return Mpls(
        router_id=router_id(number),
        interfaces=tuple(MplsInterface(port=port, address=f"{address}/{_PREFIX}", rsvp=rsvp) for port, (address, _) in mine.items()),
        labels=labels,
        routes={
            f"{INGRESS_ID}/32": mine[_towards_ingress(number, routers, ring=ring)][1],
            f"{EGRESS_ID}/32": mine[_towards_egress(number, routers, ring=ring)][1],
        },
    )


def _towards_ingress(number: int, routers: int, *, ring: bool) -> str:
    if not ring or number <= exit_of(routers, ring=ring):
        return WEST
    return RING_EAST if number == routers else EAST


def _towards_egress(number: int, routers: int, *, ring: bool) -> str:
    last = exit_of(routers, ring=ring)
    if number == last:
        return exit_port(ring=ring)
    return EAST if number < last else WEST


def path(number: int, routers: int, *, ring: bool) -> tuple[tuple[int, str], ...]:
    """Routers that LSP `number` passes, each with the port that it is left by."""
    last = exit_of(routers, ring=ring)
    if ring and number % 2:
        return ((1, RING_WEST), *((each, WEST) for each in range(routers, last, -1)), (last, EXIT))
    return (*((each, EAST) for each in range(1, last)), (last, exit_port(ring=ring)))


def routes(routers: int, *, ring: bool) -> tuple[tuple[str, ...], ...]:
    """Explicit routes as Signalling has them, down to the egress: along a row; clockwise and counter-clockwise round a ring.

    Routers without a routing protocol need every hop: some take an explicit route that ends at them for a path that does.
    """
    return tuple(_route(path(way, routers, ring=ring), routers, ring=ring) for way in ((0, 1) if ring else (0,)))


def _route(way: tuple[tuple[int, str], ...], routers: int, *, ring: bool) -> tuple[str, ...]:
    """The address at which each router is entered, and the egress."""
    return (INGRESS.neighbour, *(ports(number, routers, ring=ring)[port][1] for number, port in way))
