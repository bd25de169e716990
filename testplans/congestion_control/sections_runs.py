"""The pages of every run: its statistics, then its charts. A run that failed keeps its place, with its reason."""

from collections.abc import Callable, Iterator
from typing import Any

from rackproof.model.measurement import Curve
from rackproof.model.traffic import Samples
from reports.campaign import trial_anchor
from reports.document import Block, Callout, Cell, Column, Figure, KeyValues, Preformatted, Section, Table
from reports.text import ABSENT, count, moment, number, plural
from testplans.congestion_control import figures, sections_tables
from testplans.congestion_control.quantities import QUANTITIES
from testplans.congestion_control.sections_words import test_anchor, value
from testplans.congestion_control.validity import SIDES
from testplans.congestion_control.view import ALL, Group, Run, View

Read = Callable[[int], Samples | None]
_CURVES = {"ingress": "throughput.ingress", "egress": "throughput.egress", "delay": "delay.p95.over_time"}
#: So many letters have room in the key of a figure.
_KEY_LETTERS = 84
#: Characters of a reason that stand in a callout; a longer one is the end of a program's output.
_REASON = 300


def section(seen: View, samples: Read) -> Section:
    """A section for each test, and in it two for each run."""
    parts = tuple(
        Section(
            id=test_anchor(test),
            title=test.label,
            sections=tuple(part for place, run in enumerate(test.runs) for part in _run(seen, test, run, samples, first=place == 0)),
            page_break=True,
        )
        for test in seen.tests
        if test.runs
    )
    return Section(id="runs", title="Every run", blocks=(sections_tables.runs(seen),), sections=parts, page_break=True)


def _run(seen: View, test: Group, run: Run, samples: Read, *, first: bool) -> tuple[Section, Section]:
    statistics = Section(
        id=trial_anchor(run.index),
        title=f"Run {run.number}: Statistics of {test.label}",
        blocks=tuple(_statistics(seen, test, run)),
        page_break=not first,
    )
    charts = Section(
        id=f"charts-{run.index}",
        title=f"Run {run.number}: Report of {test.label}",
        blocks=(_charts(seen, test, run, samples),),
        page_break=True,
    )
    return statistics, charts


def _statistics(seen: View, test: Group, run: Run) -> list[Block]:
    blocks: list[Block] = []
    if not run.valid:
        short = len(run.why_not) <= _REASON
        blocks.append(
            Callout(
                tone="warning",
                title=f"{run.verdict or 'Not run'}: this run does not count",
                text=run.why_not if short else "What it said at its end follows.",
            )
        )
        if not short:
            blocks.append(Preformatted(caption="Reason", text=run.why_not))
    capacity, use = run.get("capacity"), run.get("utilisation")
    pairs = [
        ("Start at", moment(run.start)),
        ("End at", moment(run.end)),
        *_clocks(run),
        *([("Average capacity", f"{number(capacity.value, decimals=2)} Mbit/s")] if capacity else []),
        *([("Utilisation", f"{number(100 * use.value, decimals=1)} %")] if use else []),
        ("Trial", f"{run.index}, seed {run.record.trial.seed}"),
    ]
    blocks.append(KeyValues(caption="", pairs=tuple(pairs)))
    if run.measurements:
        blocks.append(_table(seen, test, run))
    health = run.record.result.health if run.record.result else {}
    if health:
        words = tuple((name.replace("_", " "), number(value, 3)) for name, value in health.items())
        blocks.append(KeyValues(caption="What the path and the hosts counted", pairs=words, inline=True))
    return blocks


def _clocks(run: Run) -> Iterator[tuple[str, str]]:
    """How far each clock was off, with the bound of its error where that is known; and what the captures lost."""
    health = run.record.result.health if run.record.result else {}
    for side in ("local", "remote", *SIDES):
        if (offset := run.clock_offset_ms(side)) is not None:
            bound = health.get(f"clock_bound.{side}_ms")
            known = f" ± {number(bound, decimals=3)}" if bound is not None else ""
            yield f"{side.title()} clock offset", f"{number(offset, decimals=3)}{known} ms"
    for side in SIDES:
        if (drops := health.get(f"capture_drops.{side}")) is not None:
            yield f"Not captured by the {side}", plural(round(drops), "packet")


def _table(seen: View, test: Group, run: Run) -> Table:
    """Quantities down; the total and each flow across."""
    flows = (ALL,) if len(run.flows) == 1 else (ALL, *run.labels)
    rows: list[tuple[Cell, ...]] = []
    for quantity in QUANTITIES:
        if any(run.get(quantity.name, flow) for flow in flows):
            cells = (value(run.get(quantity.name, flow), quantity) for flow in flows)
            rows.append((Cell(text=quantity.title), Cell(text=quantity.unit, muted=True), *cells))
    packets = [run.get("throughput", flow) for flow in flows]
    rows.append((Cell(text="Packets"), Cell(text=""), *(Cell(text=count(each.n) if each else ABSENT) for each in packets)))
    mixed = len(set(run.flows)) > 1
    names = [
        f"Total of {plural(len(run.flows), 'flow')}"
        if flow == ALL
        else f"Flow {flow}" + (f", {seen.labels[run.flows[int(flow) - 1]]}" if mixed else "")
        for flow in flows
    ]
    return Table(
        caption=f"Statistics of {test.label}, run {run.number}.",
        columns=(Column(title="Quantity"), Column(title="Unit"), *(Column(title=name, numeric=True) for name in names)),
        rows=tuple(rows),
        note="± is half of the 95 % interval within this run, where there is one; packets: those that left the path."
        + (" The total is that of flow 1." if len(flows) == 1 else ""),
        dense=len(flows) > 4,
    )


def _charts(seen: View, test: Group, run: Run, samples: Read) -> Block:
    curves = {short: run.curves(name) for short, name in _CURVES.items()}
    if not any(curves.values()) and run.record.samples is None:
        return Callout(tone="note", title="No figure", text="Nothing was recorded of this run, so that there is nothing to draw.")
    rate, capacity = run.get("capacity"), _points(run.curves("capacity").get(ALL))
    if capacity is None and rate is not None:
        capacity = {"x": (0.0,), "y": (rate.value,)}
    what = (
        "the one-way delay of every packet"
        if run.record.samples
        else "the 95th percentile of the one-way delay of each half second, for the packets are gone"
    )
    shaded = ", capacity shaded" if capacity else ""
    return Figure(
        caption=f"{test.label}, run {run.number}. Above: throughput in bins of half a second (arrivals dashed, departures solid{shaded}). "
        f"Below: {what}.",
        alt=f"Throughput and one-way delay of {test.label} over the time of run {run.number}",
        draw=figures.run,
        data={
            "trial": run.index,
            "samples": samples,
            "flows": [
                {
                    "scheme": scheme,
                    "title": title,
                    "curves": {short: _points(found.get(flow)) for short, found in curves.items() if flow in found},
                }
                for flow, scheme, title in zip(run.labels, run.flows, _titles(seen, run), strict=True)
            ],
            "capacity": capacity,
        },
        height_in=7.8,
        sketched=True,
    )


def _titles(seen: View, run: Run) -> list[str]:
    """The flows in the key: what they are, and as much of their throughput and delay as there is room for."""
    mixed = len(set(run.flows)) > 1
    names = [f"{flow}: {seen.labels[scheme]}" if mixed else f"Flow {flow}" for flow, scheme in zip(run.labels, run.flows, strict=True)]
    rates = [f" {number(each.value, decimals=2)} Mbit/s" if (each := run.get("throughput", flow)) else "" for flow in run.labels]
    delays = [f", p95 {number(each.value, decimals=1)} ms" if (each := run.get("delay.p95", flow)) else "" for flow in run.labels]
    for more in ((rates, delays), (rates,)):
        titles = ["".join(parts) for parts in zip(names, *more, strict=True)]
        if sum(map(len, titles)) <= _KEY_LETTERS:
            return titles
    return names


def _points(curve: Curve | None) -> dict[str, Any] | None:
    return None if curve is None else {"x": curve.x, "y": curve.y}
