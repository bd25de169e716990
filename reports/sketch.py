"""Charts written as SVG without matplotlib, for figures of which a report has a hundred: 1 ms for what takes it 30 ms.

They look like those of panels, whose ticks, sizes and labels they have. Lengths are in points, from the upper left corner.
"""

import base64
from collections.abc import Sequence
from html import escape

from reports import panels, style, typeface

_INCH = 72.0
DASHED = "3 1.7"


class Sketch:
    """A drawing of a size [in]."""

    def __init__(self, width_in: float, height_in: float) -> None:
        self.width, self.height = width_in * _INCH, height_in * _INCH
        self._parts: list[str] = []

    def panels(self, rows: int, *, top_in: float) -> "list[Panel]":
        """Panels below each other, with room for a key on top (top_in [in]) and labels at the left and below."""
        left, top = panels.LEFT * _INCH, top_in * _INCH
        gap = panels.GAP_Y * _INCH
        wide = self.width - left - panels.RIGHT * _INCH
        high = (self.height - top - panels.BOTTOM * _INCH - gap * (rows - 1)) / rows
        return [Panel(self, left, top + row * (high + gap), wide, high) for row in range(rows)]

    def add(self, markup: str) -> None:
        """Add markup; what it says in words must be escaped."""
        self._parts.append(markup)

    def text(self, x: float, y: float, words: str, *, size: float, colour: str, anchor: str = "start", turned: bool = False) -> None:
        """Words whose baseline begins (anchor: "start", "middle", "end") at a point."""
        turn = f' transform="rotate(-90 {x:.2f} {y:.2f})"' if turned else ""
        look = f"font-family: '{typeface.FAMILY}'; font-size: {size}px; fill: {colour}; text-anchor: {anchor}"
        self.add(f'<text x="{x:.2f}" y="{y:.2f}" style="{look}"{turn}>{escape(words)}</text>')

    def stroke(self, points: Sequence[tuple[float, float]], colour: str, width: float, dash: str = "") -> None:
        """A line through points."""
        path = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
        dashed = f"; stroke-dasharray: {dash}" if dash else ""
        look = f"fill: none; stroke: {colour}; stroke-width: {width}; stroke-linejoin: round{dashed}"
        self.add(f'<polyline points="{path}" style="{look}"/>')

    def key(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """Along the top: words, colour, and "" (a line), "dashed" or "area"."""
        x, y = panels.LEFT * _INCH, 7.0
        for words, colour, how in entries:
            if how == "area":
                self.add(f'<rect x="{x:.2f}" y="{y - 4:.2f}" width="14" height="8" style="fill: {colour}; fill-opacity: 0.6"/>')
            else:
                self.stroke(((x, y), (x + 14, y)), colour, 1.2, DASHED if how else "")
            self.text(x + 18, y + 2.8, words, size=style.TEXT_PT, colour=style.INK)
            # Letters are about half as wide as high.
            x += 18 + 0.5 * style.TEXT_PT * len(words) + 14

    def svg(self) -> str:
        """The drawing."""
        size = f'width="{self.width:.2f}pt" height="{self.height:.2f}pt" viewBox="0 0 {self.width:.2f} {self.height:.2f}"'
        return f'<svg {size} xmlns="http://www.w3.org/2000/svg">{"".join(self._parts)}</svg>'


class Panel:
    """A pair of axes. limits() comes first, then whatever is drawn in it."""

    def __init__(self, sketch: Sketch, left: float, top: float, wide: float, high: float) -> None:
        self.sketch, self.left, self.top, self.wide, self.high = sketch, left, top, wide, high
        self.x_limits = self.y_limits = (0.0, 1.0)

    def limits(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """What the axes span."""
        self.x_limits, self.y_limits = x, y

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a pair of values is."""
        (left, right), (bottom, top) = self.x_limits, self.y_limits
        return self.left + (x - left) / (right - left) * self.wide, self.top + (top - y) / (top - bottom) * self.high

    def line(self, x: Sequence[float], y: Sequence[float], colour: str, width: float, dash: str = "") -> None:
        """A measured series."""
        self.sketch.stroke([self.at(*point) for point in zip(x, y, strict=True)], colour, width, dash)

    def steps(self, x: Sequence[float], y: Sequence[float], colour: str) -> None:
        """The area below values that hold from their x to the next one, the last one to the end."""
        ends = [*x[1:], self.x_limits[1]]
        corners = [corner for begin, end, value in zip(x, ends, y, strict=True) for corner in ((begin, value), (end, value))]
        outline = [(x[0], self.y_limits[0]), *corners, (ends[-1], self.y_limits[0])]
        path = " ".join("{:.2f},{:.2f}".format(*self.at(*corner)) for corner in outline)
        self.sketch.add(f'<polygon points="{path}" style="fill: {colour}; fill-opacity: 0.6"/>')

    def image(self, png: bytes) -> None:
        """An image that fills the panel."""
        box = f'x="{self.left:.2f}" y="{self.top:.2f}" width="{self.wide:.2f}" height="{self.high:.2f}"'
        source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        self.sketch.add(f'<image {box} preserveAspectRatio="none" href="{source}"/>')

    def title(self, words: str) -> None:
        """A remark above the panel."""
        self.sketch.text(self.left, self.top - 3, words, size=style.SMALL_PT, colour=style.INK_SOFT)

    def frame(self, *, y_label: str, x_label: str = "", most: int = 6) -> None:
        """Grid, numbers and labels; no numbers of x without their label."""
        small = style.SMALL_PT + 0.5
        right, bottom = self.left + self.wide, self.top + self.high
        x_ticks, y_ticks = panels.ticks(*self.x_limits, "linear", most), panels.ticks(*self.y_limits, "linear", most)
        for tick, words in zip(x_ticks, panels.labels(x_ticks, "linear"), strict=True):
            x, _ = self.at(tick, 0)
            self.sketch.stroke(((x, self.top), (x, bottom)), style.GRID, 0.4)
            if x_label:
                self.sketch.text(x, bottom + 9, words, size=small, colour=style.INK_SOFT, anchor="middle")
        for tick, words in zip(y_ticks, panels.labels(y_ticks, "linear"), strict=True):
            _, y = self.at(0, tick)
            self.sketch.stroke(((self.left, y), (right, y)), style.GRID, 0.4)
            self.sketch.text(self.left - 4, y + 2.5, words, size=small, colour=style.INK_SOFT, anchor="end")
        self.sketch.stroke(((self.left, bottom), (right, bottom)), style.RULE, 0.8)
        middle = self.top + self.high / 2
        self.sketch.text(self.left - 31, middle, y_label, size=style.TEXT_PT, colour=style.INK_SOFT, anchor="middle", turned=True)
        if x_label:
            self.sketch.text(self.left + self.wide / 2, bottom + 21, x_label, size=style.TEXT_PT, colour=style.INK_SOFT, anchor="middle")
