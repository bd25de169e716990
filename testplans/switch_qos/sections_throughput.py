"""Throughput of each queue against the offered load, beside the ideal."""

from reports.document import Block, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import number
from testplans.switch_qos import figures, of_plan
from testplans.switch_qos.evidence import Evidence
from testplans.switch_qos.parts import Scheduler
from testplans.switch_qos.sections_view import (
    QUEUES_UPRIGHT,
    View,
    columns_of_devices,
    frames,
    interval_note,
    load_axis,
    loads_fine,
    missing,
    queue_columns,
    series,
    short_title,
    title_of,
    value,
)


def section(seen: View) -> Section:
    """A figure and a table for each discipline."""
    lead = Paragraph(
        text="Each panel is a device. Points are measured, with their 95 % intervals; dashed lines are the ideal switch, which the "
        "points should lie "
        "on. Below each device: measured minus ideal, so that what differs can be seen."
    )
    parts = tuple(
        Section(id=f"throughput-{at}", title=title_of(scheduler), blocks=(*_figures(seen, scheduler), _table(seen, scheduler)))
        for at, scheduler in enumerate(seen.plan.disciplines)
    )
    return Section(id="throughput", title="Throughput against offered load", blocks=(lead,), sections=parts, page_break=True)


def _figures(seen: View, scheduler: Scheduler) -> tuple[Block, ...]:
    points = of_plan.saturation_points(seen.plan, scheduler)
    loads = loads_fine(seen, points)
    fine = [of_plan.point(seen.plan, scheduler, load) for load in loads]
    promised = {str(queue): [point.queue_mbps[queue] for point in fine] for queue in seen.plan.used_queues}
    names = ", ".join(f"{name} at {load:.4g}" for name, load in points.items())
    return tuple(
        Figure(
            caption=f"Throughput of each queue, {short_title(scheduler)}: {', '.join(each.device for each in group)}. Dotted: {names} "
            f"Mbit/s per sender.",
            alt=f"Lines of throughput per queue over offered load for {', '.join(each.device for each in group)}, beside the ideal.",
            draw=figures.throughput,
            data={
                **load_axis(seen),
                "y_max": max(max(rates) for rates in promised.values()),
                "y_label": f"Throughput of a queue [Mbit/s, {seen.plan.link.layer}]",
                "ideal_x": loads,
                "ideal": promised,
                "points": points,
                "devices": [
                    {"name": each.device, "measured": series(each, "throughput"), "deviation": series(each, "deviation.throughput")}
                    for each in group
                ],
            },
            height_in=4.5,
        )
        for group in columns_of_devices(seen, scheduler)
    )


def _table(seen: View, scheduler: Scheduler) -> Table:
    rows: list[tuple[Cell, ...]] = [(Cell(text="Ideal", strong=True, muted=True),)]
    for load in seen.plan.load.per_sender_mbps:
        point = of_plan.point(seen.plan, scheduler, load)
        rates = (*point.queue_mbps.values(), point.total_mbps, 0.0)
        rows.append((Cell(text=f"{load:g}", muted=True), *(Cell(text=number(rate), muted=True) for rate in rates), Cell(text="")))
    for evidence in seen.under(scheduler):
        rows.append((Cell(text=evidence.device, strong=True),))
        rows += _rows(evidence)
    return Table(
        caption=f"Throughput of each queue, {short_title(scheduler)}.",
        columns=(
            Column(title="Load per sender", unit="Mbit/s", numeric=True),
            *queue_columns(seen.plan, "Mbit/s"),
            Column(title="Port", unit="Mbit/s", numeric=True),
            Column(title="Wasted", unit="Mbit/s", numeric=True),
            Column(title="n", unit="frames", numeric=True),
        ),
        rows=tuple(rows),
        note=interval_note(seen) + " Wasted: what an ideal switch would have carried of what was really offered, and the device did not.",
        wide=len(seen.plan.used_queues) > QUEUES_UPRIGHT,
    )


def _rows(evidence: Evidence) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for cell in evidence.cells:
        load = Cell(text=f"{cell.load_mbps:g}")
        if not cell.valid:
            rows.append((load, missing(cell)))
            continue
        port = cell.number("throughput")
        queues = (value(cell.number("throughput", queue=str(queue))) for queue in evidence.plan.used_queues)
        rows.append((load, *queues, value(port), value(cell.number("wasted")), frames(port)))
    return rows
