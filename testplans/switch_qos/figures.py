"""How the figures of a switch's report are drawn. Run by the workers of reports.figures; data is what the sections put in."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reports import panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Data = Mapping[str, Any]
#: Titles of panels are cut here; captions have the whole name.
TITLE_LETTERS = 26


def throughput(figure: "Figure", data: Data) -> None:
    """Throughput of each queue over the load, and below it what differs from the ideal."""
    rows = panels.panels(figure, 2, len(data["devices"]), heights=(2.0, 1.0))
    worst = _largest(abs(y) for device in data["devices"] for one in device["deviation"].values() for y in one["y"])
    for column, device in enumerate(data["devices"]):
        above, below = rows[0][column], rows[1][column]
        first = column == 0
        _limits(above, data, 0, data["y_max"] * 1.04)
        panels.mark_x(above, data["points"].items(), named=True)
        for queue in data["queues"]:
            mark = style.queue(queue)
            panels.ideal(above, data["ideal_x"], data["ideal"][str(queue)], mark)
            _measured(above, device["measured"][str(queue)], queue)
        panels.frame(above, title=_title(device), y_label=data["y_label"] if first else "", y_numbers=first, x_numbers=False, title_up=13)
        span = max(worst * 1.15, data["y_max"] * 0.01)
        _limits(below, data, -span, span)
        panels.mark_x(below, data["points"].items(), named=False)
        for queue in data["queues"]:
            _measured(below, device["deviation"][str(queue)], queue)
        panels.frame(below, x_label=data["x_label"], y_label="Minus ideal [Mbit/s]" if first else "", y_numbers=first, most=4)
    _legend(figure, data, ideal="ideal")


def delay_and_loss(figure: "Figure", data: Data) -> None:
    """Mean delay on a logarithmic scale, and loss, of each queue over the load."""
    rows = panels.panels(figure, 2, len(data["devices"]), heights=(1.5, 1.0))
    finite = [y for device in data["devices"] for one in device["delay"].values() for y in one["y"] if math.isfinite(y) and y > 0]
    finite += [y for line in data["ideal_delay"].values() for y in line if math.isfinite(y) and y > 0]
    low, high = _decades(finite)
    for column, device in enumerate(data["devices"]):
        above, below = rows[0][column], rows[1][column]
        first = column == 0
        above.set_yscale("log")
        _limits(above, data, low, high)
        panels.mark_x(above, data["points"].items(), named=True)
        for place, queue in enumerate(data["queues"]):
            mark = style.queue(queue)
            if data["ideal_delay"]:
                panels.ideal(above, data["ideal_x"], data["ideal_delay"][str(queue)], mark)
            one = device["delay"][str(queue)]
            _measured(above, {**one, "y": [y if math.isfinite(y) else math.nan for y in one["y"]]}, queue)
            _starved(above, one, mark, place)
        panels.frame(
            above,
            title=_title(device),
            y_label="Mean delay [ms]" if first else "",
            y_numbers=first,
            x_numbers=False,
            y_scale="log",
            title_up=13,
        )
        _limits(below, data, -3, 103)
        panels.mark_x(below, data["points"].items(), named=False)
        for queue in data["queues"]:
            panels.ideal(below, data["ideal_x"], data["ideal_loss"][str(queue)], style.queue(queue))
            _measured(below, device["loss"][str(queue)], queue)
        panels.frame(below, x_label=data["x_label"], y_label="Frames lost [%]" if first else "", y_numbers=first, most=4)
    _legend(figure, data, ideal="ideal or theory")


def distribution(figure: "Figure", data: Data) -> None:
    """Delta-Q as an improper distribution, and its complement on a logarithmic scale."""
    rows = panels.panels(figure, 2, len(data["devices"]), heights=(1.3, 1.0))
    delays = [x for device in data["devices"] for curve in device["curves"].values() for x in curve["x"] if x > 0]
    low, high = _decades(delays)
    rest = [1 - y for device in data["devices"] for curve in device["curves"].values() for y in curve["y"] if y < 1 - 1e-9]
    least = 10 ** math.floor(math.log10(max(min(rest, default=0.1), 1e-6)))
    for column, device in enumerate(data["devices"]):
        above, below = rows[0][column], rows[1][column]
        first = column == 0
        for axes, bottom, top in ((above, 0.0, 1.04), (below, least, 1.3)):
            axes.set_xscale("log")
            axes.set_xlim(low, high)
            if axes is below:
                axes.set_yscale("log")
            axes.set_ylim(bottom, top)
        starved: list[str] = []
        for queue in data["queues"]:
            curve = device["curves"].get(str(queue))
            if curve is None:
                continue
            mark = style.queue(queue)
            points = [(x, y) for x, y in zip(curve["x"], curve["y"], strict=True) if x > 0]
            if not points:
                starved.append(f"q{queue}")
                below.plot((low, high), (1.0, 1.0), color=mark.colour)
                continue
            x, y = [points[0][0], *(x for x, _ in points)], [0.0, *(y for _, y in points)]
            above.plot(x, y, color=mark.colour, drawstyle="steps-post")
            above.plot((x[-1],), (y[-1],), color=mark.colour, marker=mark.marker, clip_on=False)
            above.plot((x[-1], high), (y[-1], y[-1]), color=mark.colour, linewidth=0.6, alpha=0.6)
            left = [(low, 1.0), *((a, 1 - b) for a, b in zip(x, y, strict=True) if 1 - b > 1e-9)]
            tail = [*left, (high, left[-1][1])] if y[-1] < 1 - 1e-9 else left
            below.plot([a for a, _ in tail], [b for _, b in tail], color=mark.colour, drawstyle="steps-post")
        words = f"nothing arrived of {', '.join(starved)}" if starved else "" if device["curves"] else "no valid trial"
        if words:
            above.annotate(words, (0.98, 1), xycoords="axes fraction", ha="right", va="top", fontsize=style.SMALL_PT, color=style.INK_SOFT)
        panels.frame(
            above, title=_title(device), y_label="Arrived within" if first else "", y_numbers=first, x_numbers=False, x_scale="log"
        )
        panels.frame(
            below, x_label="Delay [ms]", y_label="Longer, or lost" if first else "", y_numbers=first, x_scale="log", y_scale="log", most=4
        )
    _legend(figure, data, interval=False)


def fairness(figure: "Figure", data: Data) -> None:
    """Jain's index and the spread of each queue over the load."""
    rows = panels.panels(figure, 2, len(data["devices"]))
    lowest = _least((y for device in data["devices"] for one in device["jain"].values() for y in (*one["y"], *one["low"])), 0.98)
    lowest = max(data["least"], lowest - 0.04 * (1 - lowest) - 0.002)
    highest = _largest(y for device in data["devices"] for one in device["spread"].values() for y in (*one["y"], *one["high"]))
    highest = max(highest, data["limit"] or 0.0, 1.0)
    for column, device in enumerate(data["devices"]):
        above, below = rows[0][column], rows[1][column]
        first = column == 0
        _limits(above, data, lowest, 1 + 0.05 * (1 - lowest))
        _limits(below, data, 0, highest * 1.08)
        panels.mark_x(above, data["points"].items(), named=True)
        panels.mark_x(below, data["points"].items(), named=False)
        for queue in data["queues"]:
            _measured(above, device["jain"][str(queue)], queue)
            _measured(below, device["spread"][str(queue)], queue)
        if data["limit"] is not None:
            below.plot((0, data["x_max"]), (data["limit"],) * 2, color=style.INK_SOFT, linewidth=0.9, linestyle=(0, (3.2, 1.8)))
        panels.frame(
            above, title=_title(device), y_label="Jain's index" if first else "", y_numbers=first, x_numbers=False, title_up=13, most=4
        )
        panels.frame(below, x_label=data["x_label"], y_label="Spread [%]" if first else "", y_numbers=first, most=4)
    _legend(figure, data, ideal="limit" if data["limit"] is not None else "")


def _measured(axes: "Axes", one: Mapping[str, Sequence[float]], queue: int) -> None:
    mark = style.queue(queue)
    panels.intervals(axes, one["x"], one["low"], one["high"], mark)
    panels.line(axes, one["x"], one["y"], mark)


def _starved(axes: "Axes", one: Mapping[str, Sequence[float]], mark: style.Mark, place: int) -> None:
    # One line for each queue, so that several starved queues can be told apart.
    for x, y in zip(one["x"], one["y"], strict=True):
        if math.isinf(y):
            axes.annotate(
                "∞",
                (x, 1),
                xycoords=axes.get_xaxis_transform(),
                xytext=(0, -4 - 7 * place),
                textcoords="offset points",
                ha="center",
                va="center",
                color=mark.colour,
                fontsize=style.TEXT_PT + 1,
                weight=600,
            )


def _limits(axes: "Axes", data: Data, low: float, high: float) -> None:
    axes.set_xlim(0, data["x_max"])
    axes.set_ylim(low, high)


def _legend(figure: "Figure", data: Data, *, ideal: str = "", interval: bool = True) -> None:
    extra = [(ideal, "ideal")] if ideal else []
    panels.legend(
        figure,
        [(f"q{queue}", style.queue(queue)) for queue in data["queues"]],
        [*extra, *([("95 % interval", "interval")] if interval else [])],
    )


def _title(device: Mapping[str, Any]) -> str:
    name = str(device["name"])
    return name if len(name) <= TITLE_LETTERS else f"{name[: TITLE_LETTERS - 1]}…"


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Limits of a logarithmic axis, with room at both ends and never less than a decade."""
    if not values:
        return 0.1, 10.0
    low, high = min(values) / 1.4, max(values) * 1.8
    return (low, high) if high / low > 10 else (low / 3, high * 3)


def _largest(values: Iterable[float]) -> float:
    return max((value for value in values if math.isfinite(value)), default=0.0)


def _least(values: Iterable[float], default: float) -> float:
    return min([value for value in values if math.isfinite(value)] + [default])
