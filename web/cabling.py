"""How is a testbed drawn? Generators, devices and hosts as boxes in three columns, and the cables between their ports as lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rackproof.model.inventory import Inventory, LinkEntry

_BOX = 230
_GAP = 190
_HEAD = 46
_ROW = 28
_BETWEEN = 26
_MARGIN = 8
#: How far the cable between two ports of one column bends out.
_BEND = 70
#: From the middle of a line of text to where it stands.
_BASELINE = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Port:
    """A port in its box; side: "left" or "right", where its cable leaves."""

    name: str
    y: float
    side: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A node. what: "generator", "device" or "host"; note: what it is, in words."""

    name: str
    what: str
    note: str
    x: float
    y: float
    width: float
    height: float
    ports: tuple[Port, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cable:
    """A line from port to port (SVG path); words: what it is; x, y: where its label stands."""

    path: str
    label: str
    words: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """All of it, in its own units."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    cables: tuple[Cable, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Node:
    name: str
    what: str
    note: str
    ports: tuple[str, ...]


def drawing(inventory: Inventory) -> Drawing:
    """The parts and cables of a testbed. Links end at nodes and ports that are there, as in every inventory that was accepted."""
    columns = [column for column in _columns(inventory) if column]
    place = {node.name: at for at, column in enumerate(columns) for node in column}
    sides = _sides(inventory.links, place)
    boxes = [box for at, column in enumerate(columns) for box in _stack(column, _MARGIN + at * (_BOX + _GAP), sides)]
    ends = {
        f"{box.name}:{port.name}": (box.x + (box.width if port.side == "right" else 0), port.y, port.side)
        for box in boxes
        for port in box.ports
    }
    cables = tuple(_cable(link, ends[link.a], ends[link.b]) for link in inventory.links)
    bent = any(place[link.a.partition(":")[0]] == place[link.b.partition(":")[0]] == len(columns) - 1 for link in inventory.links)
    width = 2 * _MARGIN + len(columns) * _BOX + max(len(columns) - 1, 0) * _GAP + (_GAP if bent else 0)
    height = max((box.y + box.height for box in boxes), default=0) + _MARGIN
    return Drawing(width=width, height=height, boxes=tuple(boxes), cables=cables)


def speed(mbps: float) -> str:
    """A speed as people say it."""
    return f"{mbps / 1000:g} Gbit/s" if mbps >= 1000 else f"{mbps:g} Mbit/s"


def _columns(inventory: Inventory) -> Iterator[list[_Node]]:
    cabled = [end.partition(":") for link in inventory.links for end in (link.a, link.b)]

    def ports(name: str, own: Sequence[str] = ()) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*own, *(port for node, _, port in cabled if node == name)]))

    yield [_Node(name=one.name, what="generator", note=one.kind, ports=ports(one.name, one.ports)) for one in inventory.generators]
    yield [_Node(name=one.name, what="device", note=one.platform, ports=ports(one.name)) for one in inventory.devices]
    yield [_Node(name=one.name, what="host", note=one.test_address, ports=ports(one.name)) for one in inventory.hosts]


def _sides(links: Sequence[LinkEntry], place: Mapping[str, int]) -> dict[str, str]:
    """Where the cable of each cabled port leaves: towards the column of its other end; within a column, to the right."""
    sides = {}
    for link in links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            mine, theirs = place[end.partition(":")[0]], place[other.partition(":")[0]]
            sides[end] = "left" if theirs < mine else "right"
    return sides


def _stack(nodes: Sequence[_Node], x: float, sides: Mapping[str, str]) -> Iterator[Box]:
    y: float = _MARGIN
    for node in nodes:
        ports = tuple(
            Port(name=port, y=y + _HEAD + (at + 0.5) * _ROW, side=sides.get(f"{node.name}:{port}", "right"))
            for at, port in enumerate(node.ports)
        )
        height = _HEAD + len(ports) * _ROW + (_ROW / 3 if ports else 0)
        yield Box(name=node.name, what=node.what, note=node.note, x=x, y=y, width=_BOX, height=height, ports=ports)
        y += height + _BETWEEN


def _cable(link: LinkEntry, one: tuple[float, float, str], other: tuple[float, float, str]) -> Cable:
    (x1, y1, side1), (x2, y2, side2) = one, other
    reach = _BEND if x1 == x2 else abs(x2 - x1) / 2
    bend1, bend2 = (x + (reach if side == "right" else -reach) for x, side in ((x1, side1), (x2, side2)))
    path = f"M{x1:g} {y1:g} C{bend1:g} {y1:g} {bend2:g} {y2:g} {x2:g} {y2:g}"
    words = f"{link.a} to {link.b}, {speed(link.speed_mbps)}, {link.media.value}"
    # Cables cross in the middle between two columns: labels stand before that.
    at = 0.5 if x1 == x2 else 0.3
    x, y = _on_curve((x1, bend1, bend2, x2), at), _on_curve((y1, y1, y2, y2), at)
    return Cable(path=path, label=speed(link.speed_mbps), words=words, x=round(x, 1), y=round(y + _BASELINE, 1))


def _on_curve(points: tuple[float, float, float, float], at: float) -> float:
    """A coordinate of a cubic Bezier curve, at from 0 to 1."""
    p0, p1, p2, p3 = points
    return (1 - at) ** 3 * p0 + 3 * (1 - at) ** 2 * at * p1 + 3 * (1 - at) * at**2 * p2 + at**3 * p3
