"""How delays are drawn: histograms with their fitted curves, delta-Q along the path, and delay over size."""

from collections.abc import Mapping, Sequence
from typing import Any

from reports import style
from reports.multiples import ceiling, dot, frame, grid, measured
from reports.sketch import DASHED, Panel, Sketch
from testplans.xpfe_delay.figures import distribution_mark, distribution_words, hop_mark

Data = Mapping[str, Any]
#: Share of the frames at each end of a histogram that need not be in the picture.
TAIL = 0.001
#: And of what is far from all others.
REACH = 1.5
#: A histogram is not drawn so many times narrower than it could be, for the sake of others in its row.
SQUEEZED = 5.0
#: Share of the slowest frames that delta-Q leaves out.
SLOWEST = 0.005
DELAY = "Delay [µs]"


def trial(sketch: Sketch, data: Data) -> None:
    """One trial: at the left the histogram with every fitted curve, at the right delta-Q after each hop."""
    panels = grid(sketch, 1, 2, top_in=0.36, gap_in=(0.62, 0.0))[0]
    histogram, edges = data["histogram"], data["histogram"]["x"]
    limits = window(edges, histogram["y"])
    panels[0].limits(limits, (0.0, max([*histogram["y"], 1e-9]) * 1.12))
    frame(panels[0], x_label=DELAY, y_label="Density [1/µs]", most=5, title=_beyond(histogram, limits, data["longest"]))
    _histogram(panels[0], histogram, data["fits"], chosen=data["chosen"])
    _within(panels[1], data["delta_q"])
    frame(panels[1], x_label=DELAY, y_label="Share that has arrived", most=5)
    _delta_q(panels[1], data["delta_q"], numbered=True)
    names = sorted(data["fits"], key=lambda name: name != data["chosen"])
    sketch.key([(distribution_words(name), distribution_mark(name).colour, "" if name == data["chosen"] else "dashed") for name in names])


def multiples(sketch: Sketch, data: Data) -> None:
    """All trials of a chain and a number of hops: sizes down, rates across."""
    rows = data["rows"]
    panels = grid(sketch, len(rows), len(data["columns"]), top_in=0.42, gap_in=(0.34, 0.34))
    names: dict[str, None] = {}
    for row, (line, each) in enumerate(zip(panels, rows, strict=True)):
        shown = [cell for cell in each["cells"] if cell]
        limits = [window(cell["histogram"]["x"], cell["histogram"]["y"]) for cell in shown]
        alike = _alike(limits)
        together = _shared(limits), max([max(cell["histogram"]["y"]) for cell in shown] + [1e-9]) * 1.12
        for column, (panel, cell) in enumerate(zip(line, each["cells"], strict=True)):
            own = (window(cell["histogram"]["x"], cell["histogram"]["y"]), max(cell["histogram"]["y"]) * 1.12) if cell else together
            x_limits, top = together if alike else own
            panel.limits(x_limits, (0.0, top))
            frame(
                panel,
                title=f"{each['title']}, {data['columns'][column]}",
                x_label=DELAY if row == len(rows) - 1 else "",
                y_label="1/µs" if column == 0 else "",
                y_numbers=column == 0 or not alike,
            )
            if cell:
                _histogram(panel, cell["histogram"], cell["fits"], chosen=cell["chosen"])
                names.update(dict.fromkeys("mixture" if "mixture" in name else name for name in cell["fits"]))
            else:
                x, y = panel.left + panel.wide / 2, panel.top + panel.high / 2
                sketch.text(x, y, "no valid trial", size=style.SMALL_PT, colour=style.INK_SOFT, anchor="middle")
    sketch.key([(distribution_words(name), distribution_mark(name).colour, "") for name in names])


def over_size(sketch: Sketch, data: Data) -> None:
    """Mean delay over the frame size: a panel for each rate, a line for each number of hops."""
    groups = data["rates"]
    panels = grid(sketch, 1, len(groups), top_in=0.46)[0]
    points = [point for group in groups for series in group["series"] for point in series["points"]]
    top = ceiling(points)
    sizes = sorted({point["x"] for point in points}) or [0.0, 1.0]
    room = 0.08 * (sizes[-1] - sizes[0]) or 50.0
    for place, (panel, group) in enumerate(zip(panels, groups, strict=True)):
        panel.limits((sizes[0] - room, sizes[-1] + room), (0.0, top))
        first = place == 0
        frame(panel, title=group["title"], x_label="Frame size [byte]", y_label="Mean delay [µs]" if first else "", y_numbers=first)
        for series in group["series"]:
            colour = hop_mark(series["hops"]).colour
            if series["line"] and series["points"]:
                line = [series["line"]["intercept"] + series["line"]["slope"] * size for size in sizes]
                panel.line(sizes, [min(max(value, 0.0), top) for value in line], colour, 0.9)
            for point in series["points"]:
                measured(panel, point, colour)
            for point in series["published"]:
                if point["y"] <= top:
                    dot(panel, point["x"], point["y"], style.INK_FAINT, hollow=True)
    hops = sorted({series["hops"] for group in groups for series in group["series"]})
    entries = [(f"{each} hops" if each > 1 else "1 hop", hop_mark(each).colour, "") for each in hops]
    published = any(point["y"] <= top for group in groups for series in group["series"] for point in series["published"])
    sketch.key([*entries, *([("published (hollow)", style.INK_FAINT, "")] if published else [])])


def along(sketch: Sketch, data: Data) -> None:
    """Delta-Q after each hop: a panel for each point, sizes across, rates down."""
    panels = grid(sketch, len(data["rows"]), len(data["columns"]), top_in=0.42)
    for row, (line, each) in enumerate(zip(panels, data["rows"], strict=True)):
        for column, (panel, curves) in enumerate(zip(line, each["cells"], strict=True)):
            _within(panel, curves)
            first, last = column == 0, row == len(data["rows"]) - 1
            title = f"{data['columns'][column]}, {each['title']}"
            frame(panel, title=title, x_label=DELAY if last else "", y_label="Arrived" if first else "", y_numbers=first, most=3)
            _delta_q(panel, curves, numbered=False)
    sketch.key([(words, hop_mark(hop).colour, "") for hop, words in data["key"]])


def window(edges: Sequence[float], density: Sequence[float]) -> tuple[float, float]:
    """The delays to draw: all but TAIL of the frames at each end, and no further from the middle nine tenths than REACH widths."""
    first, low, high, last = (_quantile(edges, density, share) for share in (TAIL, 0.05, 0.95, 1 - TAIL))
    reach = REACH * max(high - low, edges[1] - edges[0])
    first, last = max(first, low - reach), min(last, high + reach)
    room = 0.06 * (last - first) or 0.1
    return first - room, last + room


def _quantile(edges: Sequence[float], density: Sequence[float], share: float) -> float:
    """The delay that a share of what the histogram holds lies below."""
    masses = [(right - left) * value for left, right, value in zip(edges, edges[1:], density, strict=False)]
    wanted, below = share * sum(masses), 0.0
    for left, right, mass in zip(edges, edges[1:], masses, strict=False):
        if mass > 0 and below + mass >= wanted:
            return left + (right - left) * (wanted - below) / mass
        below += mass
    return edges[-1]


def _histogram(panel: Panel, histogram: Data, fits: Mapping[str, Data], *, chosen: str) -> None:
    low, high = panel.x_limits
    inside = [(x, y) for x, right, y in zip(histogram["x"], histogram["x"][1:], histogram["y"], strict=False) if right > low and x < high]
    if inside:
        end = min(next((x for x in histogram["x"] if x > inside[-1][0]), high), high)
        panel.steps([*(max(x, low) for x, _ in inside), end], [*(y for _, y in inside), 0.0], style.RULE)
    for name in sorted(fits, key=lambda each: each == chosen):
        curve, mark = fits[name], distribution_mark(name)
        points = [(x, min(y, panel.y_limits[1])) for x, y in zip(curve["x"], curve["y"], strict=True) if low <= x <= high]
        if len(points) > 1:
            best = name == chosen
            panel.line([x for x, _ in points], [y for _, y in points], mark.colour, 1.3 if best else 0.7, "" if best else DASHED)


def _within(panel: Panel, curves: Sequence[Data]) -> None:
    """Limits of a panel in which delta-Q is drawn."""
    high = max([_high(curve) for curve in curves] + [0.1])
    panel.limits((0.0, 1.06 * high), (0.0, 1.06))


def _delta_q(panel: Panel, curves: Sequence[Data], *, numbered: bool) -> None:
    """curves: hop and its curve, the first hop first; each ends at the share that arrived."""
    for curve in curves:
        points = [(x, y) for x, y in zip(curve["x"], curve["y"], strict=True) if x <= panel.x_limits[1]]
        if not points:
            continue
        colour = hop_mark(curve["hop"]).colour
        panel.line([points[0][0], *(x for x, _ in points)], [0.0, *(y for _, y in points)], colour, 1.1)
        if numbered:
            x, y = panel.at(*next((point for point in points if point[1] >= 0.5), points[-1]))
            panel.sketch.text(x + 3, y + 2.5, str(curve["hop"]), size=style.SMALL_PT, colour=colour)


def _high(curve: Data) -> float:
    """The delay within which nearly all of what arrived did."""
    most = curve["y"][-1] * (1 - SLOWEST) if curve["y"] else 0.0
    return next((float(x) for x, y in zip(curve["x"], curve["y"], strict=True) if y >= most), 0.0)


def _alike(limits: Sequence[tuple[float, float]]) -> bool:
    """Whether histograms can be read on one scale."""
    low, high = _shared(limits)
    return all(high - low <= SQUEEZED * (last - first) for first, last in limits)


def _shared(limits: Sequence[tuple[float, float]]) -> tuple[float, float]:
    if not limits:
        return 0.0, 1.0
    return min(low for low, _ in limits), max(high for _, high in limits)


def _beyond(histogram: Data, limits: tuple[float, float], longest: float) -> str:
    """How much is not in the picture; densities are by all frames, so that what is missing to 1 lies beyond the histogram."""
    low, high = limits
    triples = zip(histogram["x"], histogram["x"][1:], histogram["y"], strict=False)
    outside = 1 - sum((right - left) * y for left, right, y in triples if right > low and left < high)
    return f"{100 * outside:.2g} % of the frames lie outside, up to {longest:,.0f} µs" if outside > 1e-6 else ""
