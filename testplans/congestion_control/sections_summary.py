"""Pantheon's summary charts: throughput over delay, the mean of each scheme and every run."""

import math
from typing import Any

from reports.document import Block, Callout, Figure, Section
from reports.text import plural
from testplans.congestion_control import figures
from testplans.congestion_control.summary import Average
from testplans.congestion_control.view import View


def section(seen: View) -> Section:
    """Both charts; a remark where no run is valid."""
    points = [(test, test.mean("delay.p95"), test.mean("throughput")) for test in seen.tests]
    shown = [
        {
            "scheme": test.id,
            "label": test.label,
            "x": delay.value,
            "y": rate.value,
            "x_interval": _ends(delay),
            "y_interval": _ends(rate),
        }
        for test, delay, rate in points
        if delay and rate and math.isfinite(delay.value)
    ]
    blocks: list[Block] = []
    if not shown:
        blocks.append(Callout(tone="warning", title="Nothing to draw", text="No run has valid statistics."))
    else:
        what = f"{plural(len(shown), 'scheme')} over {seen.plan.path.words}"
        wide = "The axis is to base 2 where delays differ more than fourfold."
        blocks += [
            Figure(
                caption=f"Throughput against delay, mean of all runs of each scheme: better is up and to the right. {wide} "
                "The broad strokes are 95 % intervals over the runs, cut off at the frame.",
                alt=f"Mean throughput over mean 95th percentile delay of {what}",
                draw=figures.means,
                data={"points": shown},
                height_in=4.4,
            ),
            Figure(
                caption=f"The same, one point for every run. {wide}",
                alt=f"Throughput over 95th percentile delay of every run of {what}",
                draw=figures.runs,
                data={"schemes": _runs(seen)},
                height_in=4.4,
            ),
        ]
    return Section(id="summary", title="Throughput against delay", blocks=tuple(blocks), page_break=True)


def _runs(seen: View) -> list[dict[str, Any]]:
    found = []
    for test in seen.tests:
        both = [(run.get("delay.p95"), run.get("throughput")) for run in test.valid]
        pairs = [(delay.value, rate.value) for delay, rate in both if delay and rate and math.isfinite(delay.value)]
        if pairs:
            found.append({"scheme": test.id, "label": test.label, "x": [x for x, _ in pairs], "y": [y for _, y in pairs]})
    return found


def _ends(number: Average) -> tuple[float, float] | None:
    return (number.interval.low, number.interval.high) if number.interval else None
