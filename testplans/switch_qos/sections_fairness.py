"""Are flows that share a queue treated alike?"""

from reports.document import Block, Cell, Column, Figure, Paragraph, Section, Table
from testplans.switch_qos import figures, of_plan
from testplans.switch_qos.candidates import congested
from testplans.switch_qos.parts import Scheduler
from testplans.switch_qos.sections_view import (
    View,
    columns_of_devices,
    frames,
    interval_note,
    load_axis,
    series,
    short_title,
    title_of,
    value,
)


def section(seen: View) -> Section:
    """Jain's index and the largest relative difference, for each queue and load."""
    shared = _shared(seen)
    if not shared:
        return Section(
            id="fairness",
            title="Fairness",
            blocks=(Paragraph(text="No two flows share a queue: there is nothing to be fair about."),),
            page_break=False,
        )
    text = (
        "Flows of one queue should get the same share of what they offer. Jain's index is 1 where they do and falls to 1 over the "
        "number of flows "
        "where one has all; the spread is the largest share minus the smallest, by their mean. A queue that nothing is dropped from is "
        "fair by "
        "itself, and a starved one has nothing to share: the table has the queues and loads in between."
    )
    parts = tuple(
        Section(
            id=f"fairness-{at}", title=title_of(scheduler), blocks=(*_figures(seen, scheduler, shared), _table(seen, scheduler, shared))
        )
        for at, scheduler in enumerate(seen.plan.disciplines)
    )
    return Section(id="fairness", title="Fairness", blocks=(Paragraph(text=text),), sections=parts, page_break=True)


def _shared(seen: View) -> list[int]:
    return [queue for queue in seen.plan.used_queues if len(seen.plan.senders_of(queue)) > 1]


def _figures(seen: View, scheduler: Scheduler, shared: list[int]) -> tuple[Block, ...]:
    limit = seen.plan.criteria.fairness_spread_max
    return tuple(
        Figure(
            caption=f"Jain's index and spread of each queue, {short_title(scheduler)}: {', '.join(each.device for each in group)}."
            + (f" Dashed: the plan's limit, {100 * limit:g} %." if limit is not None else ""),
            alt=f"Lines of Jain's index and of spread per queue over offered load for {', '.join(each.device for each in group)}.",
            draw=figures.fairness,
            data={
                **load_axis(seen),
                "queues": shared,
                "points": of_plan.saturation_points(seen.plan, scheduler),
                "limit": 100 * limit if limit is not None else None,
                "least": min(1 / len(seen.plan.senders_of(queue)) for queue in shared),
                "devices": [
                    {
                        "name": each.device,
                        "jain": series(each, "fairness.jain", queues=shared),
                        "spread": series(each, "fairness.spread", 100, queues=shared),
                    }
                    for each in group
                ],
            },
            height_in=3.9,
        )
        for group in columns_of_devices(seen, scheduler)
    )


def _table(seen: View, scheduler: Scheduler, shared: list[int]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for evidence in seen.under(scheduler):
        rows.append((Cell(text=evidence.device, strong=True),))
        for cell in evidence.cells:
            for queue in shared:
                index, spread = cell.number("fairness.jain", queue=str(queue)), cell.number("fairness.spread", queue=str(queue))
                if index is None or spread is None or not congested(cell, queue):
                    continue
                rows.append(
                    (Cell(text=f"{cell.load_mbps:g}"), Cell(text=f"q{queue}"), value(index, digits=5), value(spread, 100, 3), frames(index))
                )
    return Table(
        caption=f"Fairness where a queue is congested and served, {short_title(scheduler)}.",
        columns=(
            Column(title="Load per sender", unit="Mbit/s", numeric=True),
            Column(title="Queue"),
            Column(title="Jain's index", numeric=True),
            Column(title="Spread", unit="%", numeric=True),
            Column(title="n", unit="frames", numeric=True),
        ),
        rows=tuple(rows),
        note=interval_note(seen).replace("batch means", "jackknife"),
    )
