"""Where in the next hours does each place of a queue lie? For a drawing that a testbed's day fits into."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rackproof.store.queue import Place

#: The lane is so many units wide.
WIDTH = 1000.0
_NARROWEST = 4.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A place as it is drawn: x and width in units of the lane; kind: now, next or kept."""

    x: float
    width: float
    kind: str
    label: str


def lane(places: Sequence[Place], now: datetime, span: timedelta) -> list[Block]:
    """The places that are expected to begin in the span from now; those of which nobody can say when are left out."""
    blocks = []
    for place in places:
        if place.expected_start is None:
            continue
        begins = max((place.expected_start - now) / span, 0.0)
        ends = min((place.expected_end - now) / span, 1.0) if place.expected_end is not None else 1.0
        if begins >= 1 or ends <= 0:
            continue
        kind = "kept" if place.campaign is None else "now" if place.position == 0 else "next"
        width = max((ends - begins) * WIDTH, _NARROWEST)
        label = place.name if place.campaign is not None else f"kept by {place.owner}"
        blocks.append(Block(x=round(begins * WIDTH, 1), width=round(width, 1), kind=kind, label=label))
    return blocks
