"""How are the trials of a campaign laid out, so that one look says how it stands? A row for each setup, a column for each load."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rackproof.store.browse_rows import TrialRow
from rackproof.store.pages_campaigns import Seam
from web.points import axes, named, title
from web.words import number

#: So many trials are shown one by one; more become blocks.
CELLS_MAX = 400
BLOCK_TRIALS = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A row: what its trials have in common, and its cells, column by column; a cell has a trial for each repetition."""

    title: str
    cells: tuple[tuple[TrialRow, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """across: name and unit of what the columns stand for, "" where they have no heads. seams: trials before which the campaign went on."""

    across: str
    unit: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    seams: frozenset[int]


def grid(trials: Sequence[TrialRow], seams: Sequence[Seam]) -> Grid:
    """The trials, laid out."""
    found = axes([trial.point for trial in trials])
    lines: dict[str, dict[Any, list[TrialRow]]] = {}
    heads: dict[Any, None] = {}
    for trial in trials:
        line = lines.setdefault(title(trial.point, found.down), {})
        column = trial.point.get(found.across) if found.across is not None else trial.index
        heads[column] = None
        line.setdefault(column, []).append(trial)
    columns = sorted(heads) if found.across is not None else None
    across, unit = named(found.across) if found.across is not None else ("", "")
    return Grid(
        across=across,
        unit=unit,
        heads=tuple(number(column) for column in columns) if columns is not None else (),
        lines=tuple(
            Line(title=name, cells=tuple(tuple(line.get(column, ())) for column in (columns if columns is not None else line)))
            for name, line in lines.items()
        ),
        seams=frozenset(seam.trial for seam in seams if seam.trial is not None),
    )
