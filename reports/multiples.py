"""What figures of many small panels share: a grid of them, a frame for each, and values drawn into it."""

from collections.abc import Mapping, Sequence
from statistics import median

from reports import panels, style
from reports.sketch import Panel, Sketch

_INCH = 72.0
#: What is so many times above the median of its figure is not what the figure is about.
FAR = 4.0


def grid(
    sketch: Sketch,
    rows: int,
    columns: int,
    *,
    top_in: float,
    gap_in: tuple[float, float] = (0.2, 0.34),
    heights: Sequence[float] = (),
    left_in: float = panels.LEFT,
) -> list[list[Panel]]:
    """Rows x columns of panels. gap_in: room between them across and down [in]; heights: shares of the rows; left_in: for labels [in]."""
    left, top = left_in * _INCH, top_in * _INCH
    across, down = gap_in[0] * _INCH, gap_in[1] * _INCH
    wide = (sketch.width - left - panels.RIGHT * _INCH - across * (columns - 1)) / columns
    room = sketch.height - top - panels.BOTTOM * _INCH - down * (rows - 1)
    shares = heights or (1.0,) * rows
    found = []
    for share in shares:
        high = room * share / sum(shares)
        found.append([Panel(sketch, left + column * (wide + across), top, wide, high) for column in range(columns)])
        top += high + down
    return found


def frame(
    panel: Panel,
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    x_numbers: bool = True,
    y_numbers: bool = True,
    most: int = 4,
    x_ticks: Sequence[float] = (),
    x_words: Sequence[str] = (),
) -> None:
    """Grid, numbers, labels and a title for one panel of many.

    x_ticks: where x has its numbers, where not at round values; x_words: what stands there instead of the numbers.
    """
    sketch, small = panel.sketch, style.SMALL_PT
    right, bottom = panel.left + panel.wide, panel.top + panel.high
    ticks = list(x_ticks) or panels.ticks(*panel.x_limits, "linear", most)
    for tick, words in zip(ticks, x_words or panels.labels(ticks, "linear"), strict=True):
        x, _ = panel.at(tick, 0)
        sketch.stroke(((x, panel.top), (x, bottom)), style.GRID, 0.4)
        if x_numbers:
            sketch.text(x, bottom + 8, words, size=small, colour=style.INK_SOFT, anchor="middle")
    ticks = panels.ticks(*panel.y_limits, "linear", 4)
    for tick, words in zip(ticks, panels.labels(ticks, "linear"), strict=True):
        _, y = panel.at(0, tick)
        sketch.stroke(((panel.left, y), (right, y)), style.GRID, 0.4)
        if y_numbers:
            sketch.text(panel.left - 3, y + 2.3, words, size=small, colour=style.INK_SOFT, anchor="end")
    sketch.stroke(((panel.left, bottom), (right, bottom)), style.RULE, 0.8)
    if title:
        sketch.text(panel.left, panel.top - 3.5, title, size=style.SMALL_PT + 0.5, colour=style.INK)
    if x_label:
        sketch.text(panel.left + panel.wide / 2, bottom + 20, x_label, size=style.TEXT_PT, colour=style.INK_SOFT, anchor="middle")
    if y_label:
        middle = panel.top + panel.high / 2
        sketch.text(panel.left - 29, middle, y_label, size=style.TEXT_PT, colour=style.INK_SOFT, anchor="middle", turned=True)


def bar(panel: Panel, x: tuple[float, float], y: tuple[float, float], colour: str, opacity: float = 0.85) -> None:
    """A filled rectangle between two values of x and two of y."""
    left, top = panel.at(x[0], max(y))
    right, bottom = panel.at(x[1], min(y))
    look = f"fill: {colour}; fill-opacity: {opacity}"
    panel.sketch.add(f'<rect x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}" style="{look}"/>')


def dot(panel: Panel, x: float, y: float, colour: str, *, hollow: bool = False, radius: float = 2.0) -> None:
    """A measured value; hollow: a predicted one."""
    at_x, at_y = panel.at(x, y)
    look = f"fill: {style.PAPER}; stroke: {colour}; stroke-width: 0.9" if hollow else f"fill: {colour}"
    panel.sketch.add(f'<circle cx="{at_x:.2f}" cy="{at_y:.2f}" r="{radius}" style="{look}"/>')


def measured(panel: Panel, point: Mapping[str, float], colour: str) -> None:
    """A measured value with its interval; a triangle at the edge where it lies above the panel."""
    top = panel.y_limits[1]
    if point["y"] <= top:
        whisker(panel, point["x"], max(point["low"], panel.y_limits[0]), min(point["high"], top), colour)
        dot(panel, point["x"], point["y"], colour)
        return
    x, y = panel.at(point["x"], top)
    panel.sketch.add(f'<polygon points="{x - 3:.2f},{y + 5:.2f} {x + 3:.2f},{y + 5:.2f} {x:.2f},{y:.2f}" style="fill: {colour}"/>')


def ceiling(points: Sequence[Mapping[str, float]]) -> float:
    """As far up as a figure goes: over all intervals, but not for the sake of a few that are far above the others."""
    if not points:
        return 1.0
    return min(max(point["high"] for point in points), FAR * median(point["y"] for point in points)) * 1.06


def whisker(panel: Panel, x: float, low: float, high: float, colour: str) -> None:
    """An interval as an upright stroke."""
    panel.sketch.stroke((panel.at(x, low), panel.at(x, high)), colour, 2.2)


def band(panel: Panel, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str) -> None:
    """The area between two lines, as far as the panel has room for it."""
    bottom, top = panel.y_limits
    corners = [*zip(x, low, strict=True), *reversed(list(zip(x, high, strict=True)))]
    outline = [panel.at(at, min(max(value, bottom), top)) for at, value in corners]
    path = " ".join(f"{a:.2f},{b:.2f}" for a, b in outline)
    panel.sketch.add(f'<polygon points="{path}" style="fill: {colour}; fill-opacity: 0.18"/>')


def rule(panel: Panel, y: float, words: str) -> None:
    """A limit: a dashed line across the panel, with its name at the left."""
    at = panel.at(panel.x_limits[0], y)[1]
    right = panel.left + panel.wide
    panel.sketch.stroke(((panel.left, at), (right, at)), style.INK_SOFT, 0.8, "3 1.7")
    if words:
        panel.sketch.text(panel.left + 2, at - 2.5, words, size=style.SMALL_PT, colour=style.INK_SOFT)
