"""How the forwarding plane is drawn: effects of the flaps against their margins, and delay and loss of each stable LSP."""

from reports import style
from reports.multiples import dot, frame, grid
from reports.sketch import Panel, Sketch
from reports.text import number
from testplans.mpls_flap.figures import DURING, PRIOR, Data, delay_unit, key, nothing

#: Delays are drawn up to so many times their median.
_FAR = 4.0


def forest(sketch: Sketch, data: Data) -> None:
    """Effects with their intervals against a margin: a row for each test, a stroke for each number of flapped LSPs, from the top down."""
    quantities = data["quantities"]
    panels = grid(sketch, 1, len(quantities), top_in=0.5, gap_in=(0.2, 0.0), left_in=data["left_in"])[0]
    rows = data["rows"]
    total = sum(max(len(row["strokes"]), 1) + 1 for row in rows)
    for at, (panel, quantity) in enumerate(zip(panels, quantities, strict=True)):
        reach = quantity["reach"]
        panel.limits((-reach, reach), (-total, 0.0))
        _across(panel, quantity)
        y = -1.0
        for row in rows:
            strokes = row["strokes"]
            if at == 0:
                middle = panel.at(0, y - (len(strokes) - 1) / 2)[1]
                sketch.text(panel.left - 4, middle + 2.5, row["title"], size=style.SMALL_PT, colour=style.INK, anchor="end")
            for stroke in strokes:
                _stroke(panel, stroke[quantity["name"]], y, reach)
                y -= 1.0
            y -= 1.0 if strokes else 2.0
    key(sketch, [(words, colour, "dot") for words, colour in data["key"]])


def _across(panel: Panel, quantity: Data) -> None:
    """The frame of a forest's column: numbers below, the margin dashed, zero in full."""
    bottom, margin = panel.top + panel.high, quantity["margin"]
    panel.sketch.text(panel.left, panel.top - 4, quantity["title"], size=style.SMALL_PT + 0.5, colour=style.INK)
    low, high = (panel.at(end, 0)[0] for end in (-margin, margin))
    look = f"fill: {style.GRID}; fill-opacity: 0.5"
    panel.sketch.add(f'<rect x="{low:.2f}" y="{panel.top:.2f}" width="{high - low:.2f}" height="{panel.high:.2f}" style="{look}"/>')
    for value, dash in ((-margin, "3 1.7"), (0.0, ""), (margin, "3 1.7")):
        x, _ = panel.at(value, 0)
        panel.sketch.stroke(((x, panel.top), (x, bottom)), style.INK_FAINT, 0.7, dash)
        panel.sketch.text(x, bottom + 9, number(value), size=style.SMALL_PT, colour=style.INK_SOFT, anchor="middle")
    panel.sketch.stroke(((panel.left, bottom), (panel.left + panel.wide, bottom)), style.RULE, 0.8)
    middle = panel.left + panel.wide / 2
    panel.sketch.text(middle, bottom + 21, quantity["label"], size=style.TEXT_PT, colour=style.INK_SOFT, anchor="middle")


def _stroke(panel: Panel, found: Data | None, y: float, reach: float) -> None:
    if found is None:
        return
    low, high = max(found["low"], -reach), min(found["high"], reach)
    if low <= high:
        panel.sketch.stroke((panel.at(low, y), panel.at(high, y)), found["colour"], 1.4)
    if abs(found["value"]) <= reach:
        dot(panel, found["value"], y, found["colour"], radius=1.6)
        return
    x, at = panel.at(reach if found["value"] > 0 else -reach, y)
    tip = -4 if found["value"] > 0 else 4
    panel.sketch.add(f'<path d="M{x:.2f},{at:.2f}l{tip},-3v6z" style="fill: {found["colour"]}"/>')
    anchor = "end" if found["value"] > 0 else "start"
    panel.sketch.text(x + 1.5 * tip, at + 2.4, found["words"], size=style.SMALL_PT - 0.5, colour=style.INK_SOFT, anchor=anchor)


def per_lsp(sketch: Sketch, data: Data) -> None:
    """Mean delay of each stable LSP before and while others flap, and below it what each lost."""
    above, below = (line[0] for line in grid(sketch, 2, 1, top_in=0.3, gap_in=(0.0, 0.3), heights=(2.2, 1.0)))
    most = max([x for points in data["delay"].values() for x, _ in points] + [1.0])
    unit, scale = delay_unit(max([y for points in data["delay"].values() for _, y in points] + [0.0]))
    ys = sorted(y * scale for points in data["delay"].values() for _, y in points)
    top = min(ys[-1], _FAR * ys[len(ys) // 2]) if ys else 1.0
    ground = ys[0] if ys else 0.0
    room = 0.15 * (top - ground) + 0.02 * top
    lost = max([y for points in data["loss"].values() for _, y in points] + [0.0])
    for panel, limits in ((above, (max(0.0, ground - room), top + room)), (below, (0.0, lost * 1.15 or 1.0))):
        panel.limits((-0.02 * most, 1.02 * most), limits)
    frame(above, x_numbers=False, y_label=f"Mean delay [{unit}]", most=8)
    frame(below, x_label="Stable LSP", y_label="Loss [%]", y_numbers=lost > 0, most=8)
    colours = {"prior": PRIOR, "during": DURING}
    for phase, points in data["delay"].items():
        for x, y in points:
            dot(above, x, min(y * scale, top), colours[phase], radius=1.3)
    for phase, points in data["loss"].items():
        for x, y in points:
            if y > 0:
                below.line([x, x], [0.0, y], colours[phase], 1.0)
    if lost == 0:
        nothing(below, "no LSP lost a frame")
    words = {"prior": "prior", "during": "during the flaps"}
    key(sketch, [(words[phase], colours[phase], "dot") for phase in data["delay"]])
