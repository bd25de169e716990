"""Delay and loss against the offered load, and delay's distribution at saturation."""

import math

from rackproof.model.functions import Discipline
from rackproof.model.measurement import Curve
from rackproof.model.traffic import Arrivals
from reports.document import Block, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import percent
from testplans.switch_qos import figures, of_plan
from testplans.switch_qos.evidence import Cell as LoadCell
from testplans.switch_qos.evidence import Evidence
from testplans.switch_qos.parts import Scheduler
from testplans.switch_qos.sections_view import (
    QUEUES_UPRIGHT,
    View,
    cell_at,
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

QUANTILES = (
    ("delay.mean", "Mean"),
    ("delay.p50", "p50"),
    ("delay.p95", "p95"),
    ("delay.p99", "p99"),
    ("delay.p999", "p99.9"),
    ("delay.max", "Max"),
)


def delay_and_loss(seen: View) -> Section:
    """Mean delay and frame loss rate of each queue over the load."""
    parts = tuple(
        Section(
            id=f"delay-{at}",
            title=title_of(scheduler),
            blocks=(*_load_figures(seen, scheduler), _delays(seen, scheduler), _losses(seen, scheduler)),
        )
        for at, scheduler in enumerate(seen.plan.disciplines)
    )
    theory = any(_theory(seen, scheduler, [1.0]) for scheduler in seen.plan.disciplines)
    text = (
        "Mean delay on a logarithmic scale, and the share of frames that were lost. Where no frame of a queue arrived, its delay is "
        "∞, at the top."
    )
    if theory:
        text += " Dashed in the upper panels: mean delay under Poisson arrivals and strict priority by M/G/1 theory, up to saturation."
    text += " Every measured delay contains the delay floor of the generator."
    return Section(id="delay", title="Delay and loss against offered load", blocks=(Paragraph(text=text),), sections=parts, page_break=True)


def distribution(seen: View) -> Section:
    """Delta-Q of each queue at the highest load: delay and loss as one improper distribution."""
    load = seen.saturated_load()
    lead = Paragraph(
        text=f"At {load:g} Mbit/s per sender, the highest load. ΔQ joins delay and loss in one improper distribution: a curve says "
        f"which share of the "
        "frames that were sent has arrived within a delay, and where it stops short of 1, the rest was lost. Below, its complement: the "
        "share of "
        "frames that took longer than a delay, or never came."
    )
    parts = tuple(
        Section(
            id=f"distribution-{at}",
            title=title_of(scheduler),
            blocks=(*_distribution_figures(seen, scheduler, load), _quantiles(seen, scheduler, load)),
        )
        for at, scheduler in enumerate(seen.plan.disciplines)
    )
    return Section(id="distribution", title="Delay distribution at saturation", blocks=(lead,), sections=parts, page_break=True)


def _load_figures(seen: View, scheduler: Scheduler) -> tuple[Block, ...]:
    points = of_plan.saturation_points(seen.plan, scheduler)
    loads = loads_fine(seen, points)
    lost = {str(queue): [_ideal_loss(seen, scheduler, load, queue) for load in loads] for queue in seen.plan.used_queues}
    theory = _theory(seen, scheduler, loads)
    return tuple(
        Figure(
            caption=f"Mean delay and frame loss rate of each queue, {short_title(scheduler)}: {', '.join(each.device for each in group)}.",
            alt=f"Lines of mean delay and of loss per queue over offered load for {', '.join(each.device for each in group)}.",
            draw=figures.delay_and_loss,
            data={
                **load_axis(seen),
                "ideal_x": loads,
                "ideal_loss": lost,
                "ideal_delay": theory,
                "points": points,
                "devices": [
                    {"name": each.device, "delay": series(each, "delay.mean", 1e-3), "loss": series(each, "frame_loss_rate", 100)}
                    for each in group
                ],
            },
            height_in=4.5,
        )
        for group in columns_of_devices(seen, scheduler)
    )


def _theory(seen: View, scheduler: Scheduler, loads: list[float]) -> dict[str, list[float]]:
    """Mean delay [ms] by theory; empty where there is none for these arrivals and this discipline."""
    if scheduler.discipline is not Discipline.STRICT_PRIORITY or seen.plan.traffic.arrivals is not Arrivals.POISSON:
        return {}
    delays = [of_plan.delays_us(seen.plan, load) for load in loads]
    # Close to saturation the theory knows no end of the queue; a real one is full before.
    room_ms = seen.plan.full_queue_s * 1e3
    return {str(queue): [at[queue] / 1e3 if at[queue] / 1e3 < room_ms else math.nan for at in delays] for queue in seen.plan.used_queues}


def _ideal_loss(seen: View, scheduler: Scheduler, load: float, queue: int) -> float:
    point = of_plan.point(seen.plan, scheduler, load)
    return 100 * (1 - point.queue_mbps[queue] / point.queue_offered_mbps[queue])


def _delays(seen: View, scheduler: Scheduler) -> Table:
    rows = [row for each in seen.under(scheduler) for row in _by_load(each, "delay.mean", 1e-3)]
    return Table(
        caption=f"Mean delay of each queue, {short_title(scheduler)}.",
        columns=(_LOAD, *queue_columns(seen.plan, "ms"), _N),
        rows=tuple(rows),
        note=interval_note(seen),
        wide=len(seen.plan.used_queues) > QUEUES_UPRIGHT,
    )


def _losses(seen: View, scheduler: Scheduler) -> Table:
    rows = [row for each in seen.under(scheduler) for row in _by_load(each, "frame_loss_rate", 100)]
    return Table(
        caption=f"Frame loss rate of each queue, {short_title(scheduler)}.",
        columns=(_LOAD, *queue_columns(seen.plan, "%"), _N),
        rows=tuple(rows),
        note=interval_note(seen, "frames sent in the measured span")
        + " Where no frame or every frame was lost, the interval is Clopper and Pearson's.",
        wide=len(seen.plan.used_queues) > QUEUES_UPRIGHT,
    )


_LOAD = Column(title="Load per sender", unit="Mbit/s", numeric=True)
_N = Column(title="n", unit="frames", numeric=True)


def _by_load(evidence: Evidence, name: str, scale: float) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = [(Cell(text=evidence.device, strong=True),)]
    for cell in evidence.cells:
        load = Cell(text=f"{cell.load_mbps:g}")
        if cell.valid:
            queues = (value(cell.number(name, queue=str(queue)), scale) for queue in evidence.plan.used_queues)
            rows.append((load, *queues, frames(cell.number(name))))
        else:
            rows.append((load, missing(cell)))
    return rows


def _distribution_figures(seen: View, scheduler: Scheduler, load: float) -> tuple[Block, ...]:
    return tuple(
        Figure(
            caption=f"ΔQ of each queue at {load:g} Mbit/s per sender, {short_title(scheduler)}: "
            f"{', '.join(each.device for each in group)}. A dot "
            "ends each curve at the share that arrived.",
            alt=f"Cumulative distributions of delay per queue, ending at the share of frames that arrived, for "
            f"{', '.join(each.device for each in group)}.",
            draw=figures.distribution,
            data={
                "queues": list(seen.plan.used_queues),
                "devices": [{"name": each.device, "curves": _curves(cell_at(each, load))} for each in group],
            },
            height_in=4.5,
        )
        for group in columns_of_devices(seen, scheduler)
    )


def _curves(cell: LoadCell) -> dict[str, dict[str, list[float]]]:
    """Queue -> delay [ms] and cumulative probability, of the first valid repetition."""
    found: dict[str, dict[str, list[float]]] = {}
    for record in cell.valid[:1]:
        for curve in record.result.curves if record.result else ():
            if curve.name == "delta_q" and "queue" in curve.subject:
                found[curve.subject["queue"]] = _points(curve)
    return found


def _points(curve: Curve) -> dict[str, list[float]]:
    return {"x": [delay / 1e3 for delay in curve.x], "y": list(curve.y)}


def _quantiles(seen: View, scheduler: Scheduler, load: float) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for evidence in seen.under(scheduler):
        cell = cell_at(evidence, load)
        rows.append((Cell(text=evidence.device, strong=True),))
        if not cell.valid:
            rows.append((Cell(text=""), missing(cell)))
            continue
        for queue in seen.plan.used_queues:
            numbers = [cell.number(name, queue=str(queue)) for name, _ in QUANTILES]
            lost = cell.number("frame_loss_rate", queue=str(queue))
            rows.append(
                (
                    Cell(text=f"q{queue}"),
                    *(value(each, 1e-3) for each in numbers),
                    Cell(text=percent(lost.value).removesuffix(" %") if lost else ""),
                    frames(numbers[0]),
                )
            )
    return Table(
        caption=f"Delay of each queue at {load:g} Mbit/s per sender, {short_title(scheduler)}.",
        columns=(
            Column(title="Queue"),
            *(Column(title=title, unit="ms", numeric=True) for _, title in QUANTILES),
            Column(title="Lost", unit="%", numeric=True),
            _N,
        ),
        rows=tuple(rows),
        note=interval_note(seen, "frames that arrived") + " Quantiles are of the frames that arrived.",
    )
