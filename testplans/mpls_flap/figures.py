"""What the figures of this kind share: colours, thin lines through many points, and axes of times that span decades."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reports import panels, style
from reports.multiples import frame
from reports.sketch import Panel, Sketch
from reports.style import Mark
from reports.text import number

Data = Mapping[str, Any]
#: Where the longest of an axis is so many times its median, the axis is logarithmic.
DECADES = 30.0
#: Delays above this are drawn in milliseconds [us].
MILLISECONDS_US = 20_000.0
#: What is within its margin, not settled, and outside of it.
WITHIN, OPEN, OUTSIDE = style.queue(2).colour, style.queue(1).colour, style.SCHEMES[9].colour
#: Before and while LSPs flap.
PRIOR, DURING = style.INK_FAINT, style.queue(0).colour
#: Messages of the flap microscope: the name of the curve, words, colour, how the line is drawn.
MESSAGES: tuple[tuple[str, str, str, str], ...] = (
    ("timeline.tears_sent", "PATH_TEAR sent", style.queue(0).colour, "dashed"),
    ("timeline.tears_received", "received", style.queue(0).colour, ""),
    ("timeline.paths_sent", "PATH sent", style.queue(3).colour, "dashed"),
    ("timeline.paths_received", "received", style.queue(3).colour, ""),
    ("timeline.resvs_received", "RESV received", style.queue(2).colour, ""),
)


def size_mark(place: int) -> Mark:
    """How a frame size is drawn, by its place among those of the campaign."""
    return style.queue((3, 0, 2, 4, 1, 6, 5, 7)[place % 8])


def series_mark(place: int) -> Mark:
    """How a number of flapped LSPs, or a network, is drawn, by its place among those that are shown."""
    return style.queue((5, 2, 0, 6, 3, 1, 4, 7)[place % 8])


def delay_unit(most_us: float) -> tuple[str, float]:
    """In what delays are drawn of which the longest is so long, and by what they are multiplied for it."""
    return ("ms", 1e-3) if most_us > MILLISECONDS_US else ("µs", 1.0)


def nothing(panel: Panel, words: str) -> None:
    """Words in the middle of a panel that has nothing to show."""
    x, y = panel.left + panel.wide / 2, panel.top + panel.high / 2 + 2.5
    panel.sketch.text(x, y, words, size=style.SMALL_PT, colour=style.INK_SOFT, anchor="middle")


def path(panel: Panel, points: Sequence[tuple[float, float]], colour: str, width: float, dash: str = "") -> None:
    """A line through points, without those that a straight line passes anyway, cut off at the panel's edges."""
    low, high = panel.y_limits
    kept = [(x, min(max(y, low), high)) for x, y in points if panel.x_limits[0] <= x <= panel.x_limits[1]]
    kept = [point for at, point in enumerate(kept) if not 0 < at < len(kept) - 1 or not kept[at - 1][1] == point[1] == kept[at + 1][1]]
    if len(kept) > 1:
        panel.sketch.stroke([panel.at(*point) for point in kept], colour, width, dash)


def upright(panel: Panel, x: float, words: str = "") -> None:
    """A moment: a dotted line from top to bottom, with words above it."""
    left, _ = panel.at(x, 0)
    panel.sketch.stroke(((left, panel.top), (left, panel.top + panel.high)), style.INK_FAINT, 0.7, "1 1.6")
    if words:
        panel.sketch.text(left, panel.top - 3, words, size=style.SMALL_PT, colour=style.INK_SOFT, anchor="middle")


def staircase(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of a share that steps up at each of its points, from 0 on."""
    corners, below = [], 0.0
    for x, y in points:
        corners += [(x, below), (x, y)]
        below = y
    return corners


class Times:
    """An axis of times: from zero in equal steps, or by decades where a few are far longer than the others."""

    def __init__(self, values: Iterable[float]) -> None:
        ordered = sorted(value for value in values if math.isfinite(value) and value > 0)
        self.most = ordered[-1] if ordered else 1.0
        self.by_decades = bool(ordered) and self.most > DECADES * ordered[len(ordered) // 2]
        # A log axis begins where all but a few of the values do.
        self.least = max(ordered[len(ordered) // 50], self.most * 1e-6) * 0.7 if self.by_decades else 0.0

    def place(self, value: float) -> float:
        """Where a time is on the axis."""
        return math.log10(max(value, self.least)) if self.by_decades else value

    @property
    def limits(self) -> tuple[float, float]:
        """What the axis spans."""
        return self.place(self.least), self.place(self.most * (1.3 if self.by_decades else 1.04))

    def frame(self, panel: Panel, most: int = 5, **how: Any) -> None:
        """Grid and numbers of a panel with this axis across."""
        if not self.by_decades:
            frame(panel, most=most, **how)
            return
        ticks = panels.ticks(self.least, self.most * 1.3, "log", most)
        frame(panel, x_ticks=[math.log10(tick) for tick in ticks], x_words=[number(tick) for tick in ticks], **how)


def key(sketch: Sketch, entries: Sequence[tuple[str, str, str]]) -> None:
    """Along the top, in as many rows as it needs: words, colour, how ("", "dashed", "area", "dot", "ring")."""
    left, right = panels.LEFT * 72.0, sketch.width - panels.RIGHT * 72.0
    x, y = left, 7.0
    for words, colour, how in entries:
        wide = 18 + 0.5 * style.TEXT_PT * len(words) + 10
        if x + wide > right + 10 and x > left:
            x, y = left, y + 11
        if how in {"dot", "ring"}:
            look = f"fill: {colour}" if how == "dot" else f"fill: {style.PAPER}; stroke: {colour}; stroke-width: 0.9"
            sketch.add(f'<circle cx="{x + 7:.2f}" cy="{y:.2f}" r="2" style="{look}"/>')
        elif how == "area":
            sketch.add(f'<rect x="{x:.2f}" y="{y - 4:.2f}" width="14" height="8" style="fill: {colour}; fill-opacity: 0.6"/>')
        else:
            sketch.stroke(((x, y), (x + 14, y)), colour, 1.2, "3 1.7" if how else "")
        sketch.text(x + 18, y + 2.8, words, size=style.TEXT_PT, colour=style.INK)
        x += wide
