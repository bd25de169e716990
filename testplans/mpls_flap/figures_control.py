"""How the control plane is drawn: K over N, and the distributions of what takes time."""

from reports import style
from reports.multiples import dot, frame, grid, measured
from reports.sketch import Panel, Sketch
from testplans.mpls_flap.figures import Data, Times, key, nothing, path, series_mark, size_mark, staircase

#: Series of one panel stand so far apart [share of the axis].
_APART = 0.012


def over_flapped(sketch: Sketch, data: Data) -> None:
    """K over N: a panel for each network, a series for each frame size; the line K = N, the fitted line with its knee, P - N hollow."""
    groups = data["panels"]
    columns = min(len(groups), data["columns"])
    rows = -(-len(groups) // columns)
    panels = [panel for line in grid(sketch, rows, columns, top_in=0.5, gap_in=(0.24, 0.5)) for panel in line]
    every = [point for group in groups for series in group["series"] for point in (*series["points"], *series["paper"])]
    top = max([point["high"] for point in every] + [1.0]) * 1.12
    most = max([point["x"] for point in every] + [1.0]) * 1.06
    places = [place for place, _ in data["key"]]
    for at, (panel, group) in enumerate(zip(panels, groups, strict=False)):
        panel.limits((0.0, most), (0.0, top))
        first, last = at % columns == 0, at >= len(groups) - columns
        frame(panel, title=group["title"], x_label="Flapped LSPs, N" if last else "", y_label="K" if first else "", y_numbers=first, most=6)
        end = min(most, top)
        panel.line([0.0, end], [0.0, end], style.INK_SOFT, 0.8, "3 1.7")
        if not any(series["points"] for series in group["series"]):
            nothing(panel, "no valid trial")
        for series in group["series"]:
            _series(panel, series, most, (places.index(series["place"]) - (len(places) - 1) / 2) * _APART * most)
    entries = [(words, size_mark(place).colour, "dot") for place, words in data["key"]]
    entries.append(("K = N", style.INK_SOFT, "dashed"))
    if any(series["fit"] for group in groups for series in group["series"]):
        entries.append(("fit, knee with interval", style.INK, ""))
    if any(series["paper"] for group in groups for series in group["series"]):
        entries.append(("P − N, where it differs", style.INK, "ring"))
    key(sketch, entries)


def _series(panel: Panel, series: Data, most: float, shift: float) -> None:
    colour = size_mark(series["place"]).colour
    path(panel, [tuple(point) for point in series["fit"]], colour, 0.9)
    if knee := series["knee"]:
        x, y = panel.at(knee["value"], knee["k"])
        left, right = (panel.at(min(max(end, 0.0), most), 0)[0] for end in (knee["low"], knee["high"]))
        panel.sketch.stroke(((left, y), (right, y)), colour, 0.9)
        panel.sketch.add(f'<path d="M{x:.2f},{y - 4:.2f}l4,4l-4,4l-4,-4z" style="fill: {style.PAPER}; stroke: {colour}; stroke-width: 1"/>')
    for point in series["points"]:
        measured(panel, {**point, "x": point["x"] + shift}, colour)
    for point in series["paper"]:
        dot(panel, point["x"] + shift, min(point["y"], panel.y_limits[1]), colour, hollow=True)


def times(sketch: Sketch, data: Data) -> None:
    """Distributions: a panel for each quantity, a line for each number of flapped LSPs."""
    quantities = data["quantities"]
    panels = [panel for line in grid(sketch, -(-len(quantities) // 2), 2, top_in=0.5, gap_in=(0.3, 0.62)) for panel in line]
    for at, (panel, quantity) in enumerate(zip(panels, quantities, strict=False)):
        axis = Times(x for series in quantity["series"] for x, _ in series["points"])
        panel.limits(axis.limits, (0.0, 1.04))
        axis.frame(panel, title=quantity["title"], x_label="ms", y_label="Share of the LSPs" if at % 2 == 0 else "", y_numbers=at % 2 == 0)
        for series in quantity["series"]:
            corners = [(axis.place(x), y) for x, y in staircase(series["points"])]
            path(panel, corners, series_mark(series["place"]).colour, 1.2)
        if not quantity["series"]:
            nothing(panel, quantity["none"])
    key(sketch, [(words, series_mark(place).colour, "") for place, words in enumerate(data["key"])])
