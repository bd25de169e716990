"""How what happens hop by hop is drawn: the parts of each hop's delay, delay over the number of hops, and the budget over the hops."""

import math
from collections.abc import Mapping
from typing import Any

from reports import style
from reports.multiples import band, bar, ceiling, frame, grid, measured, rule
from reports.sketch import Sketch
from testplans.xpfe_delay.figures import PARTS, rate_mark

Data = Mapping[str, Any]
_WIDE = 0.36
#: Colours of the steps of a waterfall.
STEPS = {key: colour for key, _, colour in PARTS} | {
    "ends": style.INK_FAINT,
    "spread": style.queue(4).colour,
    "left": style.RULE,
    "overdrawn": style.SCHEMES[9].colour,
}


def parts(sketch: Sketch, data: Data) -> None:
    """The parts of each hop's delay as stacked bars: sizes across, rates down."""
    rows = data["rows"]
    panels = grid(sketch, len(rows), len(data["columns"]), top_in=0.42)
    every = [hop for row in rows for cell in row["cells"] for hop in cell]
    top = max([sum(max(hop["parts"].get(key, 0.0), 0.0) for key, _, _ in PARTS) for hop in every] + [0.1]) * 1.1
    most = max([hop["hop"] for hop in every] + [1])
    for row, (line, each) in enumerate(zip(panels, rows, strict=True)):
        for column, (panel, cell) in enumerate(zip(line, each["cells"], strict=True)):
            panel.limits((0.4, most + 0.6), (0.0, top))
            first, last = column == 0, row == len(rows) - 1
            title = f"{data['columns'][column]}, {each['title']}"
            label = "Delay [µs]" if first else ""
            ticks = list(range(1, most + 1))
            frame(panel, title=title, x_label="Hop" if last else "", y_label=label, y_numbers=first, x_ticks=ticks)
            for hop in cell:
                at = 0.0
                for key, _, colour in PARTS:
                    # What lies below zero by the error of the time stamps has no height.
                    high = max(hop["parts"].get(key, 0.0), 0.0)
                    if high > 0:
                        bar(panel, (hop["hop"] - _WIDE, hop["hop"] + _WIDE), (at, at + high), colour)
                    at += high
    shown = {key for hop in every for key in hop["parts"]}
    sketch.key([(words, colour, "area") for key, words, colour in PARTS if key in shown])


def over_hops(sketch: Sketch, data: Data) -> None:
    """A percentile of delay over the number of hops: a panel for each size, measured dots, the prediction with its band, budgets dashed."""
    groups = data["sizes"]
    panels = grid(sketch, 1, len(groups), top_in=0.46, gap_in=(0.14, 0.0))[0]
    points = [point for group in groups for series in group["series"] for point in series["measured"]]
    lines = [line for group in groups for series in group["series"] for line in series["predicted"]]
    top = max(ceiling(points), min(max([line["y"] for line in lines], default=0.0), 3 * ceiling(points)) * 1.1)
    most = max([point["x"] for point in points] + [line["x"] for line in lines] + [2])
    for place, (panel, group) in enumerate(zip(panels, groups, strict=True)):
        panel.limits((0.5, most + 0.5), (0.0, top))
        first = place == 0
        ticks = list(range(1, most + 1)) if most <= 8 else ()
        frame(panel, title=group["title"], x_label="Hops", y_label=data["y_label"] if first else "", y_numbers=first, x_ticks=ticks)
        said = -math.inf
        for name, limit in data["budgets"]:
            if limit <= top:
                # Where names would overlap, the lower budget has its name.
                near = (limit - said) / top * panel.high < style.SMALL_PT + 1
                rule(panel, limit, name if first and not near else "")
                said = said if near else limit
        for series in group["series"]:
            colour = rate_mark(series["place"]).colour
            predicted = series["predicted"]
            if len(predicted) > 1:
                x = [line["x"] for line in predicted]
                band(panel, x, [line["low"] for line in predicted], [line["high"] for line in predicted], colour)
                panel.line(x, [min(max(line["y"], 0.0), top) for line in predicted], colour, 0.8, "3 1.7")
            for point in series["measured"]:
                measured(panel, point, colour)
    sketch.key([(words, rate_mark(place).colour, "") for place, words in enumerate(data["key"])])


def waterfall(sketch: Sketch, data: Data) -> None:
    """What each hop takes of a budget, and what is left of it: a panel for each point, a bar for each step."""
    groups, columns = data["panels"], data["columns"]
    rows = -(-len(groups) // columns)
    panels = [panel for line in grid(sketch, rows, columns, top_in=0.46, gap_in=(0.42, 0.42)) for panel in line]
    for place, (panel, group) in enumerate(zip(panels, groups, strict=False)):
        bars = group["bars"]
        ends = [end for each in bars for _, begin, end in each["blocks"] for end in (begin, end)]
        panel.limits((0.4, len(bars) + 0.6), (min([0.0, *ends]), max([*ends, group["budget"]]) * 1.14))
        label = "Delay [µs]" if place % columns == 0 else ""
        frame(panel, title=group["title"], y_label=label, x_numbers=False, x_ticks=range(1, len(bars) + 1))
        for at, each in enumerate(bars, 1):
            for key, begin, end in each["blocks"]:
                bar(panel, (at - _WIDE, at + _WIDE), (begin, end), STEPS[key])
            x, y = panel.at(at, max(end for _, begin, end in each["blocks"] for end in (begin, end)))
            sketch.text(x, y - 2.5, each["words"], size=style.SMALL_PT, colour=style.INK, anchor="middle")
            bottom = panel.top + panel.high
            sketch.text(x, bottom + 8, each["name"], size=style.SMALL_PT, colour=style.INK_SOFT, anchor="middle")
        rule(panel, group["budget"], "")
    used = {key for group in groups for each in group["bars"] for key, _, _ in each["blocks"]}
    sketch.key([(words, colour, "area") for key, words, colour in PARTS if key in used])
