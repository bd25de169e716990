"""Which trials of a campaign are worth a page of their own? Of each network a usual one, and those where most happens."""

from collections.abc import Iterator

from rackproof.model.campaign import TrialRecord
from testplans.mpls_flap.view import Point, View

#: Up to so many trials, each has a page.
EVERY = 6


def chosen(seen: View) -> dict[int, str]:
    """The trials' indices, ascending, and why each was chosen; one was chosen for the first reason that fits."""
    ended = [record for record in seen.campaign.trials if record.result is not None]
    if len(ended) <= EVERY:
        return {record.trial.index: "" for record in ended}
    found: dict[int, str] = {}
    for network in seen.networks:
        points = [point for point in seen.of(network) if point.valid]
        for point, why in _of_network(points):
            found.setdefault(_first(point).trial.index, why)
    return dict(sorted(found.items()))


def _of_network(points: list[Point]) -> Iterator[tuple[Point, str]]:
    if len(points) < 2:
        yield from ((point, "the only one") for point in points)
        return
    all_up = [point for point in points if _number(point, "flap.k", flap="1") >= point.key.flapped - 0.5]
    if all_up:
        yield all_up[len(all_up) // 2], "a usual trial: all LSPs come up again in time"
    late = [point for point in points if point not in all_up]
    if late:
        yield min(late, key=lambda point: point.key.flapped), "the fewest LSPs that do not all come up again in time"
    worst = max(points, key=_harm)
    yield worst, "where the flaps change most for the stable LSPs" if _harm(worst)[0] == 0 else "where the stable LSPs lose most"


def _harm(point: Point) -> tuple[float, float]:
    """What a point's flaps do to the stable LSPs: what is lost, then how much the delay changes."""
    return _number(point, "loss", phase="during"), abs(_number(point, "effect.delay"))


def _number(point: Point, name: str, **subject: str) -> float:
    found = point.get(name, **subject)
    return found.value if found else 0.0


def _first(point: Point) -> TrialRecord:
    return point.valid[0]
