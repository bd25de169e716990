"""How the figures of a comparison are drawn. Run by the workers of reports.figures; data is what the sections put in."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reports import panels, placing, style
from reports.sketch import DASHED, Panel, Sketch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Data = Mapping[str, Any]
#: The axis of delays is logarithmic from this ratio of the largest to the smallest on.
WIDE = 4.0
DELAY_LABEL = "95th percentile one-way delay [ms], less is to the right"
RATE_LABEL = "Average throughput [Mbit/s]"
#: A label this far from its point gets a line to it [pt].
_FAR_PT = 9.0
_POINTS_PER_INCH = 72.0


def means(figure: "Figure", data: Data) -> None:
    """One point for each scheme, the mean of its runs, with its name beside it and faint intervals around it."""
    ((axes,),) = panels.panels(figure, 1, 1, top=0.08)
    points = data["points"]
    _limits(axes, [point["x"] for point in points], [point["y"] for point in points])
    _frame(axes)
    for point in points:
        mark = style.scheme(point["scheme"])
        stroke: dict[str, Any] = {"color": mark.colour, "linewidth": 1.6, "alpha": 0.25, "zorder": 1.5, "solid_capstyle": "butt"}
        if point["x_interval"]:
            axes.plot(_clipped(point["x_interval"], axes.get_xlim()), (point["y"],) * 2, **stroke)
        if point["y_interval"]:
            axes.plot((point["x"],) * 2, _clipped(point["y_interval"], axes.get_ylim()), **stroke)
        axes.plot((point["x"],), (point["y"],), color=mark.colour, marker=mark.marker, markersize=6, clip_on=False)
    _name(figure, axes, points)


def runs(figure: "Figure", data: Data) -> None:
    """One point for each run, and a key."""
    ((axes,),) = panels.panels(figure, 1, 1, top=0.08)
    schemes = data["schemes"]
    _limits(axes, [x for each in schemes for x in each["x"]], [y for each in schemes for y in each["y"]])
    columns = 1 if len(schemes) <= 24 else 2
    box = axes.get_position()
    width, height = figure.get_size_inches()
    room = 1.12 * columns / width
    axes.set_position((box.x0, box.y0, box.width - room, box.height))
    _frame(axes)
    for place, each in enumerate(schemes):
        mark = style.scheme(each["scheme"])
        axes.plot(each["x"], each["y"], color=mark.colour, marker=mark.marker, linewidth=0, markersize=5, clip_on=False)
        column, row = divmod(place, math.ceil(len(schemes) / columns))
        at = (box.x1 - room + (0.14 + 1.12 * column) / width, box.y1 - (0.07 + 0.165 * row) / height)
        axes.plot((at[0],), (at[1],), transform=figure.transFigure, color=mark.colour, marker=mark.marker, markersize=5, clip_on=False)
        figure.text(
            at[0] + 0.09 / width, at[1], _short(each["label"]), fontsize=style.SMALL_PT + 0.5, color=style.INK, va="center_baseline"
        )


def run(sketch: Sketch, data: Data) -> None:
    """Throughput over time, and below it the one-way delay of every packet, or its percentile where the packets are gone."""
    above, below = sketch.panels(2, top_in=0.3)
    flows = data["flows"]
    colours = [mark.colour for mark in flow_marks([flow["scheme"] for flow in flows])]
    packets = _packets(data)
    ends = [curve["x"][-1] for flow in flows for curve in flow["curves"].values() if curve["x"]]
    last = max([*ends, *([packets["last"]] if packets else []), 1.0])
    _throughput(above, data, colours, last)
    _delay(below, data, colours, last, packets)
    capacity = [("capacity", style.GRID, "area")] if data["capacity"] else []
    lines = [(flow["title"], colour, "") for flow, colour in zip(flows, colours, strict=True)]
    sketch.key([*lines, ("ingress", style.INK_SOFT, "dashed"), *capacity])


def flow_marks(schemes: Sequence[str]) -> list[style.Mark]:
    """How each flow is drawn: as its scheme where no two flows have the same, else a colour for each."""
    if len(set(schemes)) == len(schemes):
        return [style.scheme(each) for each in schemes]
    return [style.queue(place) for place in range(len(schemes))]


def _throughput(panel: Panel, data: Data, colours: Sequence[str], last: float) -> None:
    capacity = data["capacity"]
    lines = [
        (curve, colour, dash)
        for flow, colour in zip(data["flows"], colours, strict=True)
        for name, dash in (("ingress", DASHED), ("egress", ""))
        if (curve := flow["curves"].get(name))
    ]
    highest = max([y for curve, _, _ in lines for y in curve["y"]] + (list(capacity["y"]) if capacity else []) + [0.01])
    panel.limits((0, last), (0, highest * 1.06))
    if capacity:
        panel.steps(capacity["x"], capacity["y"], style.GRID)
    panel.frame(y_label="Throughput [Mbit/s]")
    for curve, colour, dash in lines:
        panel.line(curve["x"], curve["y"], colour, 0.8, dash)


def _delay(panel: Panel, data: Data, colours: Sequence[str], last: float, packets: Data | None) -> None:
    if packets is not None:
        from reports import raster  # numpy and Pillow are for whoever draws

        delays = packets["delay_ms"]
        low, high = min(0.0, float(delays.min(initial=0.0))), max(float(delays.max(initial=0.0)) * 1.04, 0.1)
        panel.limits((0, last), (low, high))
        up = (delays - low) / (high - low)
        panel.image(raster.scatter((panel.wide, panel.high), packets["time_s"] / last, up, packets["flow"], colours))
        panel.frame(x_label="Time [s]", y_label="One-way delay [ms]")
        return
    curves = [(curve, colour) for flow, colour in zip(data["flows"], colours, strict=True) if (curve := flow["curves"].get("delay"))]
    values = [y for curve, _ in curves for y in curve["y"]]
    panel.limits((0, last), (min([0.0, *values]), max([*values, 0.1]) * 1.1))
    panel.frame(x_label="Time [s]", y_label="95th percentile of delay [ms]")
    panel.title("The packets are gone or cannot be read: this is the 95th percentile of each half second.")
    for curve, colour in curves:
        panel.line(curve["x"], curve["y"], colour, 1.0)


def _packets(data: Data) -> dict[str, Any] | None:
    """Departures (time since the first event [s], delay [ms], flow from 0) on the way there; None where the samples are gone."""
    import numpy as np

    from rackproof.model.path import FORWARD
    from testplans.congestion_control.opportunities import PORTS

    samples = data["samples"](data["trial"])
    there = samples is not None and samples.port == FORWARD
    if not np.any(there):
        return None
    # Curves begin with the first event as well, be it a packet or an opportunity to deliver one.
    begin = samples.tx_ns[there | (samples.port == PORTS[FORWARD])].min()
    left = there & (samples.rx_ns > 0)
    sent, departed = samples.tx_ns[left], samples.rx_ns[left]
    # Flows that the trial does not have (a truncated log) would have no colour.
    flow = np.clip(samples.stream[left].astype(np.int64) - 1, 0, len(data["flows"]) - 1)
    time_s = (departed - begin) / 1e9
    return {"time_s": time_s, "delay_ms": (departed - sent) / 1e6, "flow": flow, "last": float(time_s.max(initial=0.0))}


# ---- summary charts


def _limits(axes: "Axes", delays: Sequence[float], rates: Sequence[float]) -> None:
    """Less delay to the right; base 2 where delays range widely."""
    if min(delays) > 0 and max(delays) / min(delays) > WIDE:
        axes.set_xscale("log", base=2)
        axes.set_xlim(max(delays) * 1.25, min(delays) / 1.35)
    else:
        room = max(max(delays) - min(delays), 0.05 * max(delays), 0.1)
        axes.set_xlim(max(delays) + 0.12 * room, min(delays) - 0.2 * room)
    highest = max(*rates, 0.01)
    axes.set_ylim(-0.03 * highest, 1.1 * highest)


def _frame(axes: "Axes") -> None:
    scale: panels.Scale = "log2" if axes.get_xscale() == "log" else "linear"
    panels.frame(axes, x_label=DELAY_LABEL, y_label=RATE_LABEL, x_scale=scale, most=6)


def _clipped(interval: tuple[float, float], limits: tuple[float, float]) -> list[float]:
    low, high = sorted(limits)
    return [min(max(end, low), high) for end in interval]


def _name(figure: "Figure", axes: "Axes", points: Sequence[Data]) -> None:
    """Write each point's name where it covers nothing; a fine line leads to a name that is far off."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=style.SMALL_PT + 0.5)
    names = [_short(point["label"]) for point in points]
    scale = _POINTS_PER_INCH / figure.dpi
    sizes = [(text_to_path.get_text_width_height_descent(name, font, ismath=False)[0] + 3, style.SMALL_PT + 2.5) for name in names]
    at = [tuple(value * scale for value in axes.transData.transform((point["x"], point["y"]))) for point in points]
    box = axes.bbox
    bounds = (box.x0 * scale, box.y0 * scale, box.x1 * scale, box.y1 * scale)
    for point, (x, y), name, size, centre in zip(points, at, names, sizes, placing.place(at, sizes, bounds, clear=4.5), strict=True):
        colour = style.scheme(point["scheme"]).colour
        if math.hypot(max(abs(centre[0] - x) - size[0] / 2, 0), max(abs(centre[1] - y) - size[1] / 2, 0)) > _FAR_PT:
            axes.annotate(
                "", (point["x"], point["y"]), xytext=(centre[0] - x, centre[1] - y), textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.6, "shrinkA": 5, "shrinkB": 3},
            )  # fmt: skip
        axes.annotate(
            name, (point["x"], point["y"]), xytext=(centre[0] - x, centre[1] - y), textcoords="offset points",
            ha="center", va="center", fontsize=style.SMALL_PT + 0.5, color=style.INK, annotation_clip=False,
        )  # fmt: skip


def _short(label: str, most: int = 24) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"
