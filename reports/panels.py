"""Panels: axes that draw quickly. A report has a hundred of them, and matplotlib's own ticks take three quarters of their time.

A panel is a common Axes with its axis taken off; frame() then draws grid, ticks and labels as one collection and a few texts.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from reports import style
from reports.style import Mark
from reports.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Room around and between panels [in].
LEFT, RIGHT, TOP, BOTTOM, GAP_X, GAP_Y = 0.56, 0.06, 0.58, 0.42, 0.16, 0.22

Scale = Literal["linear", "log", "log2"]


def panels(
    figure: "Figure", rows: int, columns: int, *, gap_x: float = GAP_X, heights: Sequence[float] = (), top: float = TOP
) -> "list[list[Axes]]":
    """Rows x columns of empty panels, with room for a legend on top (top [in]) and labels at the left and below."""
    width, height = figure.get_size_inches()
    wide = (width - LEFT - RIGHT - gap_x * (columns - 1)) / columns
    shares = heights or (1.0,) * rows
    room = height - top - BOTTOM - GAP_Y * (rows - 1)
    grid: list[list[Axes]] = []
    edge = height - top
    for row in range(rows):
        tall = room * shares[row] / sum(shares)
        below = edge - tall
        boxes = [((LEFT + column * (wide + gap_x)) / width, below / height, wide / width, tall / height) for column in range(columns)]
        grid.append([figure.add_axes(box) for box in boxes])
        edge = below - GAP_Y
    for axes in (each for line in grid for each in line):
        axes.set_axis_off()
    return grid


def line(axes: "Axes", x: Sequence[float], y: Sequence[float], mark: Mark, *, width: float = 0.9, marker: bool = True) -> None:
    """A measured series in its colour: the markers are what was measured, the thin line between them only leads the eye."""
    axes.plot(x, y, color=mark.colour, linewidth=width, alpha=0.55, solid_joinstyle="round")
    if marker:
        axes.plot(x, y, color=mark.colour, linewidth=0, marker=mark.marker, zorder=2.5)


def ideal(axes: "Axes", x: Sequence[float], y: Sequence[float], mark: Mark) -> None:
    """What was expected of the same series: dashed, without markers."""
    axes.plot(x, y, color=mark.colour, linewidth=0.9, linestyle=(0, (3.2, 1.8)), alpha=0.9, zorder=1.8)


def intervals(axes: "Axes", x: Sequence[float], low: Sequence[float], high: Sequence[float], mark: Mark) -> None:
    """The intervals of a series as upright strokes."""
    from matplotlib.collections import LineCollection

    strokes = [
        ((at, bottom), (at, top)) for at, bottom, top in zip(x, low, high, strict=True) if math.isfinite(bottom) and math.isfinite(top)
    ]
    if strokes:
        axes.add_collection(LineCollection(strokes, colors=mark.colour, linewidths=2.4, alpha=0.4), autolim=False)


def mark_x(axes: "Axes", points: Iterable[tuple[str, float]], *, named: bool) -> None:
    """Upright dotted lines at points of interest, their names above the panel."""
    low, high = axes.get_xlim()
    last = -math.inf
    for name, at in sorted(points, key=lambda point: point[1]):
        if not low <= at <= high:
            continue
        axes.plot((at, at), (0, 1), transform=axes.get_xaxis_transform(), color=style.INK_FAINT, linewidth=0.7, linestyle=(0, (1, 1.6)))
        # Where names would overlap, one of them stands for all; the caption has every point.
        if named and at - last >= (0.03 + 0.016 * len(name)) * (high - low):
            last = at
            axes.annotate(
                name, (at, 1), xycoords=axes.get_xaxis_transform(), xytext=(0, 2), textcoords="offset points", ha="center", va="bottom",
                fontsize=style.SMALL_PT, color=style.INK_SOFT, annotation_clip=False,
            )  # fmt: skip


def frame(
    axes: "Axes",
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    x_numbers: bool = True,
    y_numbers: bool = True,
    title_up: float = 3.0,
    most: int = 5,
) -> None:
    """Grid, numbers and labels, within the limits that the axes have: set these before. Limits of x that fall turn it around."""
    from matplotlib.collections import LineCollection

    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    x_ticks, y_ticks = ticks(min(left, right), max(left, right), x_scale, most), ticks(bottom, top, y_scale, most)
    grid = [((at, bottom), (at, top)) for at in x_ticks] + [((left, at), (right, at)) for at in y_ticks]
    axes.add_collection(LineCollection(grid, colors=style.GRID, linewidths=0.5, zorder=0.5), autolim=False)
    axes.add_collection(
        LineCollection([((left, bottom), (right, bottom))], colors=style.RULE, linewidths=0.8, zorder=1, clip_on=False), autolim=False
    )
    small: dict[str, Any] = {
        "fontsize": style.SMALL_PT + 0.5,
        "color": style.INK_SOFT,
        "textcoords": "offset points",
        "annotation_clip": False,
    }
    if x_numbers:
        for at, label in zip(x_ticks, labels(x_ticks, x_scale), strict=True):
            axes.annotate(label, (at, bottom), xytext=(0, -3), ha="center", va="top", **small)
    if y_numbers:
        for at, label in zip(y_ticks, labels(y_ticks, y_scale), strict=True):
            axes.annotate(label, (left, at), xytext=(-4, 0), ha="right", va="center_baseline", **small)
    box: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    soft: dict[str, Any] = {"fontsize": style.TEXT_PT, "color": style.INK_SOFT}
    if x_label:
        axes.annotate(x_label, (0.5, 0), xytext=(0, -14), ha="center", va="top", **box, **soft)
    if y_label:
        axes.annotate(y_label, (0, 0.5), xytext=(-34, 0), ha="center", va="center", rotation=90, **box, **soft)
    if title:
        axes.annotate(
            title, (0, 1), xytext=(0, title_up), ha="left", va="bottom", fontsize=style.TEXT_PT + 0.5, weight=600, color=style.INK, **box
        )


def legend(figure: "Figure", marks: Iterable[tuple[str, Mark]], extra: Iterable[tuple[str, str]] = ()) -> None:
    """One legend for the whole figure, along its top. extra: name and "ideal" (dashed) or "interval" (a broad stroke)."""
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    at = LEFT / width
    up = 1 - 0.09 / height
    entries: list[tuple[str, dict[str, Any]]] = [(name, {"color": mark.colour, "marker": mark.marker}) for name, mark in marks]
    for name, kind in extra:
        entries.append((name, {"linestyle": (0, (3.2, 1.8)), "linewidth": 0.9} if kind == "ideal" else {"linewidth": 2.4, "alpha": 0.4}))
    # Letters are about 0.06 in wide; many entries stand closer together.
    words = [0.25 + 0.06 * len(name) for name, _ in entries]
    gap = min(0.2, (width - LEFT - RIGHT - sum(words)) / max(len(entries) - 1, 1))
    for (name, how), wide in zip(entries, words, strict=True):
        stroke = 0.2 / width
        settings: dict[str, Any] = {"color": style.INK_SOFT, "linewidth": 1.2, **how}
        figure.add_artist(Line2D((at, at + stroke / 2, at + stroke), (up, up, up), transform=figure.transFigure, **settings))
        figure.text(at + stroke + 0.05 / width, up, name, fontsize=style.TEXT_PT, color=style.INK, ha="left", va="center_baseline")
        at += (wide + gap) / width


def ticks(low: float, high: float, scale: Scale, most: int) -> list[float]:
    """Round values between two limits, about so many at most."""
    if scale == "log":
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        every = max(1, math.ceil((last - first + 1) / (most + 1)))
        decades = [10.0**power for power in range(first, last + 1, every)]
        if len(decades) >= 3:
            return decades
        return [at for power in range(first - 1, last + 1) for step in (1, 2, 5) if low <= (at := step * 10.0**power) <= high]
    if scale == "log2":
        powers = range(math.floor(math.log2(low)), math.floor(math.log2(high) + 1e-9) + 1)
        every = math.ceil(len(powers) / (2 * most))
        between = (1.0, 1.5) if len(powers) < most else (1.0,)
        return [at for power in powers[::every] for step in between if low <= (at := step * 2.0**power) <= high]
    span = high - low
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-6)
    return [index * step for index in range(first, math.floor(high / step + 1e-6) + 1)]


def labels(ticks: Sequence[float], scale: Scale) -> list[str]:
    """The numbers at ticks, all with the same decimals."""
    if scale != "linear" or not ticks:
        return [
            f"{at:,g}".replace(",", "\u202f") if 0.001 <= at < 1e5 else f"{at:.0e}".replace("e-0", "e−").replace("e+0", "e") for at in ticks
        ]
    step = abs(ticks[1] - ticks[0]) if len(ticks) > 1 else abs(ticks[0])
    decimals = next((places for places in range(7) if abs(step * 10**places - round(step * 10**places)) < 1e-6), 6)
    return [number(at, decimals=decimals) for at in ticks]
