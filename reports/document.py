"""What a report is made of, before it is PDF or HTML: plain values, no markup, no kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rackproof.model.verdict import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Paragraph:
    """Running text; no markup inside."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Bullets:
    """A list of short sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Callout:
    """A remark set apart; tone: "note", "warning" or "good"."""

    tone: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A table cell. verdict draws a badge; muted greys it (a published or expected value); link names the id of a section."""

    text: str
    verdict: Verdict | None = None
    muted: bool = False
    strong: bool = False
    link: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of a table; unit is printed below the title; numbers align right."""

    title: str
    unit: str = ""
    numeric: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of cells; group rows (a single strong cell spanning all columns) are rows of one cell.

    The last cell of a row that is too short spans what is left of it: the reason why there are no numbers.

    wide asks for a landscape page, dense for small type and little room between the rows.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    wide: bool = False
    dense: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyValues:
    """Pairs in two columns: provenance, settings, health counters.

    mono keeps the second in a fixed width; inline runs all pairs on as small text.
    """

    caption: str
    pairs: tuple[tuple[str, str], ...]
    mono: bool = False
    inline: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Preformatted:
    """Text kept as it is, in a fixed width: a plan, a configuration, a diff. language ("yaml", "diff") colours it."""

    caption: str
    text: str
    language: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A figure: draw(figure, data) is a function at module level that fills an empty matplotlib figure (it may run in another process).

    Where sketched is set it is given an empty reports.sketch.Sketch instead. A function among the data, which can be pickled, reads what is
    too long to be handed over; no export has what it reads.
    alt says what it shows, for those who cannot see it.
    """

    caption: str
    alt: str
    draw: Callable[..., None]
    data: Mapping[str, Any]
    width_in: float = 6.7
    height_in: float = 3.4
    sketched: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictPanel:
    """A verdict with what it rests on: one line a criterion (verdict, title, value with interval, limit)."""

    title: str
    verdict: Verdict
    statement: str
    criteria: tuple[tuple[Verdict, str, str, str], ...]


Block = Paragraph | Bullets | Callout | Table | KeyValues | Preformatted | Figure | VerdictPanel


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading with blocks and sections below it; id is unique in the document and links go to it."""

    id: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple["Section", ...] = ()
    page_break: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Cover:
    """The first page: title, what it is of, the verdict, and what an engineer looks for first."""

    title: str
    subtitle: str
    verdict: Verdict | None
    verdict_statement: str
    panels: tuple[VerdictPanel, ...]
    facts: tuple[tuple[str, str], ...]
    generated: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A whole report. meta: "running" is printed at the head of every page, "foot" at its foot; "date" (ISO 8601) dates the file."""

    cover: Cover
    sections: tuple[Section, ...]
    meta: Mapping[str, str] = field(default_factory=dict)
