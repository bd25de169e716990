"""Documents to test with: one with every block and hostile text in it, one as long as a real report."""

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rackproof.model.verdict import Verdict
from reports import panels, style
from reports.document import (
    Block,
    Bullets,
    Callout,
    Cell,
    Column,
    Cover,
    Document,
    Figure,
    KeyValues,
    Paragraph,
    Preformatted,
    Section,
    Table,
    VerdictPanel,
)

if TYPE_CHECKING:
    import matplotlib.figure

HOSTILE = (
    '#import "@preview/evil:1.0.0": *',
    '#panic("out") #read("/etc/passwd")',
    "<script>alert('x')</script>",
    "</style></svg><img src=x onerror=alert(1)>",
    "$x^2$ \\alpha %s {0} {{ 7*7 }} {% raw %}",
    "quotes \" ' ` « » and \\ backslash // comment /* more */",
    "*bold* _emphasis_ `code` @label = heading - item",
    "&amp; &lt;b&gt; &#x41;",
)
LONG_NAME = "switch-with-a-name-that-nobody-shortened-" + "0123456789" * 16


def lines(figure: "matplotlib.figure.Figure", data: Mapping[str, Any]) -> None:
    """A plain line chart with the title that it is given."""
    axes = figure.subplots()
    for number, series in enumerate(data["series"]):
        mark = style.queue(number)
        axes.plot(data["x"], series, color=mark.colour, marker=mark.marker, label=f"q{number}")
    axes.set_title(data["title"][:80])
    axes.set_xlabel("Offered load [Mbit/s]")


def failing(figure: "matplotlib.figure.Figure", data: Mapping[str, Any]) -> None:
    """A figure that cannot be drawn."""
    raise RuntimeError("<no> data")


def figure(title: str = "A figure", **more: Any) -> Figure:
    """A small figure."""
    data = {"x": [1.0, 2.0, 3.0], "series": [[1.0, 2.0, math.nan], [3.0, math.inf, 1.0]], "title": title}
    return Figure(caption=title, alt=f"Lines: {title}", draw=lines, data=data, **more)


def cover(title: str = "A campaign", verdict: Verdict | None = Verdict.PASS) -> Cover:
    """A cover with a panel and facts."""
    panel = VerdictPanel(
        title="device-1", verdict=Verdict.FAIL, statement="1 of 2.", criteria=((Verdict.FAIL, "Leak", "5 %", "at most 1 %"),)
    )
    return Cover(
        title=title,
        subtitle="A kind of test",
        verdict=verdict,
        verdict_statement="What it comes to.",
        panels=(panel,),
        facts=(("Plan", "abc"), ("Host", "here")),
        generated="2026-01-02 03:04:05 UTC",
    )


def document(*blocks: Block, title: str = "A campaign", sections: tuple[Section, ...] = ()) -> Document:
    """A document with one section of these blocks, and others."""
    first = Section(id="first", title="First", blocks=blocks)
    return Document(
        cover=cover(title), sections=(first, *sections), meta={"running": title, "foot": "Rackproof", "date": "2026-01-02T03:04:05+00:00"}
    )


def hostile(*texts: str) -> Document:
    """Every place that text can reach, filled with each of the texts."""
    blocks: list[Block] = []
    for words in texts:
        blocks += [
            Paragraph(text=words),
            Bullets(items=(words, "plain")),
            Callout(tone="warning", title=words, text=words),
            Table(
                caption=words,
                columns=(Column(title=words), Column(title="n", unit="µs", numeric=True)),
                rows=((Cell(text=words, strong=True),), (Cell(text=words, link="first"), Cell(text="∞", verdict=Verdict.FAIL))),
                note=words,
            ),
            KeyValues(caption=words, pairs=((words, words),)),
            Preformatted(caption=words, text=f"a: {words}\nb: |\n  {words}", language="yaml"),
            VerdictPanel(title=words, verdict=Verdict.INVALID, statement=words, criteria=((Verdict.ERROR, words, words, words),)),
            figure(words),
        ]
    inner = tuple(Section(id=words, title=words, blocks=(Paragraph(text=words),)) for words in texts)
    return Document(
        cover=Cover(
            title=texts[0],
            subtitle=" ".join(texts),
            verdict=Verdict.FAIL,
            verdict_statement=" ".join(texts),
            panels=tuple(
                VerdictPanel(title=words, verdict=Verdict.FAIL, statement=words, criteria=((Verdict.FAIL, words, words, words),))
                for words in texts[:2]
            ),
            facts=tuple((words, words) for words in texts),
            generated=texts[0],
        ),
        sections=(Section(id="first", title=texts[0], blocks=tuple(blocks), sections=inner),),
        meta={"running": texts[0], "foot": texts[0]},
    )


def six(figure: "matplotlib.figure.Figure", data: Mapping[str, Any]) -> None:
    """Six panels, as a comparison of three devices has."""
    for row in panels.panels(figure, 2, 3):
        for axes in row:
            for number in range(4):
                mark = style.queue(number)
                y = [number * x for x in data["x"]]
                panels.line(axes, data["x"], y, mark)
                panels.intervals(axes, data["x"], [value - 5 for value in y], [value + 5 for value in y], mark)
            axes.set_xlim(0, 60)
            axes.set_ylim(0, 200)
            panels.frame(axes, title="Panel", x_label="Offered load [Mbit/s]", y_label="Delay [µs]")


def long(figures: int = 25, trials: int = 60) -> Document:
    """As long as a report of some sixty pages."""
    columns = (Column(title="Flow"), *(Column(title=name, unit="µs", numeric=True) for name in ("mean", "p50", "p95", "p99", "max", "n")))
    rows = tuple((Cell(text=f"q{row}"), *(Cell(text=f"{row * 3.7 + at:.2f} ± 0.01") for at in range(6))) for row in range(13))
    x = [10.0, 15.0, 22.0, 40.0, 60.0]
    charts = tuple(
        Section(
            id=f"chart-{number}",
            title=f"Chart {number}",
            blocks=(
                Paragraph(text="What it shows. " * 12),
                Figure(caption=f"Figure {number}.", alt="Six panels.", draw=six, data={"x": x}, height_in=4.2),
            ),
        )
        for number in range(figures)
    )
    details = tuple(
        Section(
            id=f"trial-{number}",
            title=f"Trial {number}",
            blocks=(
                Table(caption=f"Measurements of trial {number}.", columns=columns, rows=rows, note="95 % intervals by batch means."),
                KeyValues(caption="Health", pairs=tuple((f"counter {at}", str(at)) for at in range(10))),
            ),
        )
        for number in range(trials)
    )
    plan = Preformatted(caption="Plan", text="\n".join(f"key_{line}: value {line}" for line in range(400)), language="yaml")
    return Document(
        cover=cover(),
        sections=(
            Section(id="charts", title="Charts", sections=charts),
            Section(id="trials", title="Trials", sections=details),
            Section(id="plan", title="Plan", blocks=(plan,)),
        ),
    )


def dying(figure: "matplotlib.figure.Figure", data: Mapping[str, Any]) -> None:
    """A figure whose drawing ends the process."""
    os._exit(3)
