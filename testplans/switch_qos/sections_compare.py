"""The paper's Tables 2 to 5 for the devices of the campaign, the published switches beside them."""

import csv
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path

from rackproof.model.functions import Discipline
from reports.document import Block, Callout, Cell, Column, Paragraph, Section, Table
from reports.text import ABSENT, INFINITE, number
from testplans.switch_qos import ideal, of_plan
from testplans.switch_qos.evidence import Number
from testplans.switch_qos.parts import Scheduler
from testplans.switch_qos.sections_view import (
    View,
    cell_at,
    frames,
    interval_note,
    missing,
    queue_columns,
    short_title,
    title_of,
    value,
)

#: The link of the published switches [Mbit/s], and the load per sender at which they were compared.
PUBLISHED_LINK_MBPS = 1000.0
PUBLISHED_LOAD_MBPS = 600.0
PUBLISHED_QUEUES = 4

Row = tuple[Cell, ...]


def section(seen: View) -> Section:
    """One part for each discipline, at the highest load of the sweep."""
    load = seen.saturated_load()
    share = load / seen.plan.link.rate_mbps
    blocks: list[Block] = [
        Paragraph(
            text=f"All devices at {load:g} Mbit/s per sender, {100 * share:.3g} % of the link each, the highest load of the sweep. In "
            f"grey: what "
            "an ideal switch does, and the switches that R. Beuran, M. Ivanovici, N. Davies and B. Dobinson published (Evaluation of the "
            f"Delivery QoS Characteristics of Gigabit Ethernet Switches, 2004), measured at {PUBLISHED_LOAD_MBPS:g} Mbit/s per sender "
            f"on links of "
            "1 Gbit/s. Shares of the link make the two comparable."
        )
    ]
    unsaturated = [
        f"{', '.join(f'q{queue}' for queue in idle)} under {short_title(scheduler)}"
        for scheduler in seen.plan.disciplines
        if (idle := set(seen.plan.used_queues) - set(of_plan.point(seen.plan, scheduler, load).saturated))
    ]
    if unsaturated:
        text = (
            f"At this load not every queue is saturated ({'; '.join(unsaturated)}): the comparison with the published switches is of "
            f"limited use."
        )
        blocks.append(Callout(tone="warning", title="Below saturation", text=text))
    parts = tuple(
        Section(id=f"compare-{at}", title=title_of(scheduler), blocks=tuple(_tables(seen, scheduler, load)))
        for at, scheduler in enumerate(seen.plan.disciplines)
    )
    return Section(id="compare", title="Comparison of the switches", blocks=tuple(blocks), sections=parts, page_break=True)


def brief(seen: View) -> list[Table]:
    """What came out for the devices of the campaign in one table a discipline, without the published switches; for the terminal."""
    load = seen.saturated_load()
    tables = []
    for scheduler in seen.plan.disciplines:
        strict = scheduler.discipline is Discipline.STRICT_PRIORITY
        whole = (_throughput if strict else _throughput_ratio)(seen, scheduler, load)
        ours = takewhile(lambda row: len(row) > 1, whole.rows[1:])
        # Queues and wasted rate; the terminal has no room for more.
        kept = 1 + len(seen.plan.used_queues) + 1
        rows = tuple(row[:kept] for row in ours)
        tables.append(replace(whole, columns=whole.columns[:kept], rows=rows, note="± is half of a 95 % interval."))
    return tables


def _tables(seen: View, scheduler: Scheduler, load: float) -> Iterator[Block]:
    if scheduler.discipline is Discipline.STRICT_PRIORITY:
        yield _throughput(seen, scheduler, load)
        yield _shares(seen, scheduler, load)
        yield _delay(seen, scheduler, load)
    else:
        yield _throughput_ratio(seen, scheduler, load)
        yield _delay_ratio(seen, scheduler, load)


def _throughput(seen: View, scheduler: Scheduler, load: float) -> Table:
    promise = of_plan.point(seen.plan, scheduler, load)
    rows: list[Row] = [_muted("Ideal", *(number(rate) for rate in promise.queue_mbps.values()), "0", "")]
    rows += _devices(seen, scheduler, load, "throughput", last="wasted")
    theirs = [_muted(_switch(row), *_quarter(row, "mbps"), row["wasted_mbps"], "") for row in _published("sp_throughput")]
    return Table(
        caption=f"Throughput, {short_title(scheduler)}, {load:g} Mbit/s per sender.",
        columns=(Column(title="Switch"), *queue_columns(seen.plan, "Mbit/s"), Column(title="Wasted", unit="Mbit/s", numeric=True), _N),
        rows=_grouped(seen, rows, theirs),
        note=interval_note(seen) + " The paper's Table 2.",
    )


def _shares(seen: View, scheduler: Scheduler, load: float) -> Table:
    promise = of_plan.point(seen.plan, scheduler, load)
    capacity = promise.capacity_mbps
    rows: list[Row] = [_muted("Ideal", *(number(100 * rate / capacity, 3) for rate in promise.queue_mbps.values()), "0", "")]
    rows += _devices(seen, scheduler, load, "throughput", last="wasted", scale=100 / capacity)
    theirs = [
        _muted(_switch(row), *(_percent_of_link(rate) for rate in (*_quarter(row, "mbps"), row["wasted_mbps"])), "")
        for row in _published("sp_throughput")
    ]
    return Table(
        caption="The same as share of what the link can carry.",
        columns=(Column(title="Switch"), *queue_columns(seen.plan, "%"), Column(title="Wasted", unit="%", numeric=True), _N),
        rows=_grouped(seen, rows, theirs),
        note=f"The link carries {number(capacity)} Mbit/s of these frames ({seen.plan.link.layer}), the published ones 1000 Mbit/s. "
        f"{interval_note(seen)}",
    )


def _delay(seen: View, scheduler: Scheduler, load: float) -> Table:
    promise = of_plan.point(seen.plan, scheduler, load)
    top = seen.plan.used_queues[-1]
    ideal_cells = (INFINITE if queue in promise.starved else "Δ" if queue == top else ABSENT for queue in seen.plan.used_queues)
    rows: list[Row] = [_muted("Ideal", *ideal_cells, "")]
    rows += _devices(seen, scheduler, load, "delay.mean", scale=1e-3)
    theirs = [
        _muted(_switch(row), *(INFINITE if delay == "inf" else delay for delay in _quarter(row, "ms")), "")
        for row in _published("sp_delay")
    ]
    return Table(
        caption=f"Mean delay, {short_title(scheduler)}, {load:g} Mbit/s per sender.",
        columns=(Column(title="Switch"), *queue_columns(seen.plan, "ms"), _N),
        rows=_grouped(seen, rows, theirs),
        note=f"{INFINITE}: starved, no frame arrived. Δ: what the length of the queue makes of it, which differs from switch to switch. "
        f"{interval_note(seen)} The paper's Table 3.",
    )


def _throughput_ratio(seen: View, scheduler: Scheduler, load: float) -> Table:
    expected = of_plan.expected_shares(seen.plan, scheduler)
    rows: list[Row] = [_muted("Ideal", *(number(share, decimals=3) for share in expected.values()), "0", "0", "")]
    capacity = of_plan.point(seen.plan, scheduler, load).capacity_mbps
    for name, cells, found, wasted in _measured(seen, scheduler, load, "throughput_ratio", last="wasted"):
        tail = (value(wasted), value(wasted, 100 / capacity, 3), frames(found)) if found else ()
        rows.append((name, *cells, *tail))
    theirs = [
        _muted(_switch(row), *_quarter(row, "ratio"), row["wasted_mbps"], _percent_of_link(row["wasted_mbps"]), "")
        for row in _published("wrr_throughput")
    ]
    return Table(
        caption=f"Throughput ratios, {short_title(scheduler)}, {load:g} Mbit/s per sender.",
        columns=(
            Column(title="Switch"),
            *queue_columns(seen.plan, "share"),
            Column(title="Wasted", unit="Mbit/s", numeric=True),
            Column(title="Wasted", unit="% of link", numeric=True),
            _N,
        ),
        rows=_grouped(seen, rows, theirs),
        note=interval_note(seen) + " The paper's Table 4.",
    )


def _delay_ratio(seen: View, scheduler: Scheduler, load: float) -> Table:
    weights = [scheduler.weights[queue] for queue in seen.plan.used_queues]
    rows: list[Row] = [
        _muted("Expected as the paper has it", *(number(ratio, decimals=3) for ratio in ideal.published_delay_ratios(weights)), ""),
        _muted("Expected of full queues", *(number(ratio, decimals=3) for ratio in ideal.full_queue_delay_ratios(weights)), ""),
    ]
    rows += _devices(seen, scheduler, load, "delay_ratio")
    theirs = [_muted(_switch(row), *_quarter(row, "ratio"), "") for row in _published("wrr_delay")]
    return Table(
        caption=f"Delay ratios, {short_title(scheduler)}, {load:g} Mbit/s per sender: mean delay of a queue by the sum over the queues.",
        columns=(Column(title="Switch"), *queue_columns(seen.plan, "share"), _N),
        rows=_grouped(seen, rows, theirs),
        note="The paper takes the mean delay of queue i as proportional to the sum over queues j ≥ i of 1/w; Little's law on full "
        "queues of equal "
        f"length gives 1/w. {interval_note(seen)} The paper's Table 5.",
    )


_N = Column(title="n", unit="frames", numeric=True)


def _devices(seen: View, scheduler: Scheduler, load: float, name: str, *, last: str = "", scale: float = 1.0) -> Iterator[Row]:
    for device, cells, found, extra in _measured(seen, scheduler, load, name, last=last, scale=scale):
        tail = (*((value(extra, scale),) if last else ()), frames(found)) if found else ()
        yield (device, *cells, *tail)


def _measured(
    seen: View, scheduler: Scheduler, load: float, name: str, *, last: str = "", scale: float = 1.0
) -> Iterator[tuple[Cell, tuple[Cell, ...], Number | None, Number | None]]:
    """For each device: its name, a cell for each queue, the port's throughput (for n), and one more number."""
    for evidence in seen.under(scheduler):
        cell = cell_at(evidence, load)
        device = Cell(text=evidence.device, strong=True, link=f"verdict-{evidence.device}")
        if not cell.valid:
            yield device, (missing(cell),), None, None
            continue
        cells = tuple(value(cell.number(name, queue=str(queue)), scale) for queue in seen.plan.used_queues)
        yield device, cells, cell.number("throughput"), cell.number(last) if last else None


def _grouped(seen: View, ours: list[Row], theirs: list[Row]) -> tuple[Row, ...]:
    """The rows with headings; the published switches have four queues and stand only beside four."""
    link = f"{seen.plan.link.rate_mbps:g} Mbit/s"
    shown = [(Cell(text=f"This campaign, links of {link}", strong=True),), *ours]
    if len(seen.plan.used_queues) == PUBLISHED_QUEUES:
        shown += [(Cell(text="Published, links of 1000 Mbit/s", muted=True),), *theirs]
    return tuple(shown)


def _muted(*texts: str) -> Row:
    return tuple(Cell(text=text, muted=True) for text in texts)


def _switch(row: dict[str, str]) -> str:
    if row["switch"] != "expected":
        return f"#{row['switch']}"
    return f"Expected, weights {' '.join(row[f'w{queue}'] for queue in range(PUBLISHED_QUEUES))}" if "w0" in row else "Expected"


def _quarter(row: dict[str, str], what: str) -> tuple[str, ...]:
    return tuple(row[f"q{queue}_{what}"] for queue in range(PUBLISHED_QUEUES))


def _percent_of_link(mbps: str) -> str:
    return number(float(mbps) * 100 / PUBLISHED_LINK_MBPS, 3)


@cache
def _published(name: str) -> tuple[dict[str, str], ...]:
    with (Path(__file__).parent / "published" / f"switch_{name}.csv").open(newline="") as file:
        return tuple(csv.DictReader(file))
