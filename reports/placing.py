"""Where do the labels of points go, so that none covers another one, or a point?"""

import math
from collections.abc import Sequence

#: x, y from the lower left corner.
Point = tuple[float, float]
#: left, bottom, right, top.
Box = tuple[float, float, float, float]

_ANGLES = 16
_RINGS = 60


def place(points: Sequence[Point], sizes: Sequence[Point], bounds: Box, *, clear: float) -> list[Point]:
    """The centre of each point's label, as near to the point as there is room. All in one unit.

    sizes: width and height of each label; clear: how far labels stay away from any point. Where there is no room left, labels overlap.
    """
    taken: list[Box] = [(x - clear, y - clear, x + clear, y + clear) for x, y in points]
    centres: dict[int, Point] = {}
    for at in sorted(range(len(points)), key=lambda at: -_crowd(points, at)):
        centre = _free(points[at], sizes[at], taken, bounds, clear)
        centres[at] = centre
        taken.append(_around(centre, sizes[at]))
    return [centres[at] for at in range(len(points))]


def _free(point: Point, size: Point, taken: Sequence[Box], bounds: Box, clear: float) -> Point:
    """The nearest of many places around a point, in growing rings, that overlaps nothing; else the one that overlaps least."""
    best, least = point, math.inf
    for ring in range(_RINGS):
        for step in range(_ANGLES):
            angle = 2 * math.pi * step / _ANGLES
            away = 0.6 * clear * ring
            centre = (
                point[0] + math.cos(angle) * (clear + size[0] / 2 + away),
                point[1] + math.sin(angle) * (clear + size[1] / 2 + away),
            )
            box = _around(centre, size)
            cost = sum(_overlap(box, other) for other in taken) + _outside(box, bounds)
            if cost < least - 1e-9:
                best, least = centre, cost
            if least <= 0:
                return best
    return best


def _crowd(points: Sequence[Point], at: int) -> float:
    """How many neighbours a point has, the nearer the more they count."""
    return sum(1 / (1 + math.dist(points[at], other)) for other in points)


def _around(centre: Point, size: Point) -> Box:
    (x, y), (wide, high) = centre, size
    return (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)


def _overlap(one: Box, other: Box) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _outside(box: Box, bounds: Box) -> float:
    inside = _overlap(box, bounds)
    return (box[2] - box[0]) * (box[3] - box[1]) - inside
