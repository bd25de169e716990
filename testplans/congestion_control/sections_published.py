"""The published report of January 2018, beside a campaign that compares the same schemes."""

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from reports.document import Cell, Column, Table
from testplans.congestion_control.quantities import BY_NAME
from testplans.congestion_control.sections_words import value
from testplans.congestion_control.view import View

_SUMMARY = Path(__file__).parent / "published" / "pantheon_summary.csv"
#: Column of the published table -> our number.
_COLUMNS = {"throughput_mbps": "throughput", "delay_p95_ms": "delay.p95", "loss_percent": "loss.pantheon"}


def beside(seen: View) -> Iterator[Table]:
    """One table where every published scheme is tested alone, by one flow each, as it was then; none otherwise."""
    published = _published()
    tests = {group.label: group for group in seen.tests if len(group.flows) == 1}
    if not published.keys() <= tests.keys():
        return
    quantities = {column: BY_NAME[name] for column, name in _COLUMNS.items()}
    rows = []
    for label, row in published.items():
        pairs = ((value(tests[label].mean(each.name), each, 3), Cell(text=row[name], muted=True)) for name, each in quantities.items())
        rows.append((Cell(text=label), *(cell for pair in pairs for cell in pair)))
    columns = (
        column
        for each in quantities.values()
        for column in (
            Column(title=each.title, unit=each.unit, numeric=True),
            Column(title="published", unit=each.unit, numeric=True),
        )
    )
    yield Table(
        caption="Beside the published run of 18 January 2018, AWS California to Stanford over a cellular link.",
        columns=(Column(title="Scheme"), *columns),
        rows=tuple(rows),
        note="Another path, other programs and other hosts: what may be compared is the order of the schemes, not the numbers.",
        dense=True,
    )


@cache
def _published() -> Mapping[str, Mapping[str, str]]:
    """Rows of the published table by the scheme's label."""
    with _SUMMARY.open() as file:
        return {row["scheme"]: row for row in csv.DictReader(file)}
