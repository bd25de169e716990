"""How a flap is drawn: messages, LSPs, lost frames and delay on one time axis."""

from collections.abc import Mapping, Sequence
from typing import Any

from reports import style
from reports.multiples import frame, grid
from reports.sketch import Panel, Sketch
from testplans.mpls_flap.figures import MESSAGES, OUTSIDE, Data, delay_unit, key, nothing, path, upright

_UP = style.queue(6).colour
_PROBES = style.RULE
_MEAN, _SLOW = style.queue(3).colour, style.queue(5).colour
#: Delays are drawn up to so many times their median.
_FAR = 6.0

Line = Sequence[tuple[float, float]]


def microscope(sketch: Sketch, data: Data) -> None:
    """Flaps side by side, each on its own time axis: messages so far, LSPs that are up, frames lost, delay of the stable LSPs."""
    flaps = data["flaps"]
    panels = grid(sketch, 4, len(flaps), top_in=0.52, gap_in=(0.2, 0.2), heights=(1.7, 1.0, 0.7, 1.0))
    *tops, most_us = _tops(flaps)
    unit, scale = delay_unit(most_us)
    tops.append(most_us * scale)
    for column, flap in enumerate(flaps):
        for row, line in enumerate(panels):
            panel, first, last = line[column], column == 0, row == len(panels) - 1
            panel.limits((flap["from"], flap["to"]), (0.0, tops[row] or 1.0))
            label = ("Messages", "LSPs up", "Lost", f"Delay [{unit}]")[row] if first else ""
            x_label = "Time since the flap began [s]" if last else ""
            frame(panel, x_label=x_label, x_numbers=last, y_label=label, y_numbers=first and tops[row] > 0, most=6)
            upright(panel, 0.0, flap["title"] if row == 0 else "")
            if flap["window"] < flap["to"]:
                upright(panel, flap["window"], "end" if row == 0 else "")
        _messages(panels[0][column], flap["curves"])
        path(panels[1][column], flap["curves"].get("timeline.up", ()), _UP, 1.2)
        _lost(panels[2][column], flap["curves"])
        _delay(panels[3][column], flap["curves"], scale)
    shown = {name for flap in flaps for name in flap["curves"]}
    entries = [(words, colour, how) for name, words, colour, how in MESSAGES if name in shown]
    entries.append(("lost by stable LSPs", OUTSIDE, ""))
    if "timeline.probes_lost" in shown:
        entries.append(("probes lost", _PROBES, ""))
    entries += [
        (words, colour, "")
        for name, words, colour in (("timeline.delay", "mean delay", _MEAN), ("timeline.delay.p99", "its p99", _SLOW))
        if name in shown
    ]
    key(sketch, entries)


def _tops(flaps: Sequence[Mapping[str, Any]]) -> tuple[float, float, float, float]:
    """How far up each row goes, the same for all flaps; 0 where nothing is to be seen in it."""

    def highest(*names: str) -> float:
        return float(max([y for flap in flaps for name in names for _, y in flap["curves"].get(name, ())] + [0.0]))

    delays = sorted(y for flap in flaps for _, y in flap["curves"].get("timeline.delay", ()))
    slow = highest("timeline.delay", "timeline.delay.p99")
    delay = min(slow, _FAR * delays[len(delays) // 2]) if delays else 0.0
    return (
        highest(*(name for name, *_ in MESSAGES)) * 1.08,
        highest("timeline.up") * 1.12,
        highest("timeline.lost", "timeline.probes_lost") * 1.15,
        delay * 1.1,
    )


def _messages(panel: Panel, curves: Mapping[str, Line]) -> None:
    if not any(y > 0 for name, *_ in MESSAGES for _, y in curves.get(name, ())):
        nothing(panel, "no messages")
        return
    for name, _, colour, how in MESSAGES:
        path(panel, curves.get(name, ()), colour, 1.0, "3 1.7" if how else "")


def _lost(panel: Panel, curves: Mapping[str, Line]) -> None:
    """A stroke for each span in which frames were lost."""
    found = 0
    for name, colour in (("timeline.probes_lost", _PROBES), ("timeline.lost", OUTSIDE)):
        for x, y in curves.get(name, ()):
            if y > 0 and panel.x_limits[0] <= x <= panel.x_limits[1]:
                panel.line([x, x], [0.0, y], colour, 0.9)
                found += 1
    if not found:
        nothing(panel, "nothing was lost")


def _delay(panel: Panel, curves: Mapping[str, Line], scale: float) -> None:
    if not any(name in curves for name in ("timeline.delay", "timeline.delay.p99")):
        nothing(panel, "no delay was measured")
    for name, colour, width in (("timeline.delay.p99", _SLOW, 0.7), ("timeline.delay", _MEAN, 1.0)):
        path(panel, [(x, y * scale) for x, y in curves.get(name, ())], colour, width)
