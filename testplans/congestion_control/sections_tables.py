"""The tables: Pantheon's as it prints it, every number with its interval, and every run."""

from collections.abc import Sequence

from reports.campaign import trial_anchor
from reports.document import Block, Cell, Column, Section, Table
from reports.text import ABSENT, number
from testplans.congestion_control import sections_published
from testplans.congestion_control.quantities import BY_NAME
from testplans.congestion_control.sections_words import NOT_AVAILABLE, column, flow_name, interval_note, runs_of, test_anchor, value
from testplans.congestion_control.view import ALL, Group, Run, View

#: The three groups of Pantheon's table: quantity, its words, shorter ones for several flows, unit.
_PANTHEON = (
    ("throughput", "mean avg tput", "tput", "Mbit/s"),
    ("delay.p95", "mean 95th-%ile delay", "95th-%ile delay", "ms"),
    ("loss.pantheon", "mean loss rate", "loss", "%"),
)
_RATES = ("throughput", "utilisation", "loss", "loss.pantheon", "power", "jain", "convergence", "cpu.sender", "cpu.receiver")
_DELAYS = ("delay.floor", "delay.mean", "delay.p50", "delay.p95", "delay.p99", "delay.spread", "queueing.p50", "queueing.p95")
_FLOWS = ("throughput", "loss", "loss.pantheon", "delay.p50", "delay.p95", "delay.p99", "delay.spread")
_RUNS = ("throughput", "delay.p95", "loss.pantheon", "loss")


def section(seen: View) -> Section:
    """The tables of averages."""
    blocks: list[Block] = [
        summary(seen),
        _table(seen, "Throughput, use of the path, loss and cost, all flows together.", _RATES),
        _table(seen, "One-way delay, packets of all flows together.", _DELAYS),
    ]
    if seen.flows > 1:
        blocks.append(_flows(seen))
    blocks += sections_published.beside(seen)
    return Section(id="tables", title="Summary of the schemes", blocks=tuple(blocks))


def summary(seen: View) -> Table:
    """Pantheon's table, to its two decimals: a row for each test in the plan's order, N/A where no run is valid."""
    flows = [str(flow) for flow in range(1, seen.flows + 1)]
    rows = []
    for test in seen.tests:
        cells = [_rounded(test, name, flow) for name, *_ in _PANTHEON for flow in flows]
        rows.append((Cell(text=test.label, link=test_anchor(test)), Cell(text=str(len(test.valid))), *cells))
    several = len(flows) > 1
    columns = [
        Column(title=f"{short}, flow {flow}" if several else title, unit=unit, numeric=True)
        for _, title, short, unit in _PANTHEON
        for flow in flows
    ]
    plan = seen.plan
    return Table(
        caption=f"Pantheon's table: {plan.path.words}, {plan.repetitions} runs of {plan.runtime_s:g} s each per scheme "
        "(mean of all runs by scheme).",
        columns=(Column(title="scheme"), Column(title="# runs", numeric=True), *columns),
        rows=tuple(rows),
        note="Loss as Pantheon counts it: packets in flight at the end are lost. Runs without valid statistics do not count.",
        wide=True,
        dense=len(columns) > 6,
    )


def together(seen: View) -> Table:
    """What tells tests of several flows apart in one look."""
    return _table(seen, f"All flows of a test together: {seen.plan.path.words}.", ("throughput", "delay.p95", "loss", "jain"))


def _rounded(test: Group, name: str, flow: str) -> Cell:
    mean = test.mean(name, flow)
    if mean is None:
        return Cell(text=NOT_AVAILABLE, muted=True)
    return Cell(text=number(mean.value * BY_NAME[name].scale, decimals=2))


def _table(seen: View, caption: str, names: Sequence[str]) -> Table:
    """A column for each quantity that any test has."""
    shown = [BY_NAME[name] for name in names if seen.has(name)]
    rows = []
    for test in seen.tests:
        name = Cell(text=test.label, link=test_anchor(test))
        if test.valid:
            rows.append((name, Cell(text=runs_of(test)), *(value(test.mean(each.name), each, 3) for each in shown)))
        else:
            rows.append((name, _nothing(test.runs)))
    return Table(
        caption=caption,
        columns=(Column(title="Scheme"), Column(title="Runs", numeric=True), *map(column, shown)),
        rows=tuple(rows),
        note=interval_note(seen),
        wide=True,
        dense=True,
    )


def _flows(seen: View) -> Table:
    """A group for each test, a row for each of its flows."""
    shown = [BY_NAME[name] for name in _FLOWS if seen.has(name, "1")]
    rows: list[tuple[Cell, ...]] = []
    for test in (test for test in seen.tests if test.valid):
        rows.append((Cell(text=f"{test.label} ({runs_of(test)} runs)", strong=True),))
        for flow in (*map(str, range(1, len(test.flows) + 1)), ALL):
            name = flow_name(flow) if flow == ALL else f"{flow_name(flow)}, {seen.labels[test.flows[int(flow) - 1]]}"
            rows.append((Cell(text=name), *(value(test.mean(each.name, flow), each, 3) for each in shown)))
    return Table(
        caption="Each flow.",
        columns=(Column(title="Flow"), *map(column, shown)),
        rows=tuple(rows),
        note=interval_note(seen),
        wide=True,
        dense=True,
    )


def runs(seen: View) -> Table:
    """A row for each run, with a link to its pages."""
    shown = [BY_NAME[name] for name in _RUNS]
    rows: list[tuple[Cell, ...]] = []
    for test in seen.tests:
        for run in test.runs:
            began = Cell(text=f"{run.start:%Y-%m-%d %H:%M:%S}" if run.start else ABSENT)
            link = Cell(text=f"run {run.number}", link=trial_anchor(run.index))
            first = (Cell(text=test.label), link, began)
            if run.valid:
                rows.append((*first, *(value(run.get(each.name), each) for each in shown)))
            else:
                rows.append((*first, _nothing((run,))))
    return Table(
        caption="Every run; its pages are behind the link.",
        columns=(Column(title="Scheme"), Column(title="Run"), Column(title="Start"), *map(column, shown)),
        rows=tuple(rows),
        note="± is half of the 95 % interval within the run, where there is one.",
        dense=True,
    )


def _nothing(runs: Sequence[Run]) -> Cell:
    """Why there are no numbers: the verdict of the first run, and its first line of reason."""
    first = next((run for run in runs if run.why_not), None)
    if first is None:
        return Cell(text=NOT_AVAILABLE, muted=True)
    line = (first.why_not.splitlines() or [""])[0]
    return Cell(text=line if len(line) <= 160 else f"{line[:159]}…", verdict=first.verdict)
