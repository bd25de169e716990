"""Documents become PDF, HTML and JSON; what a user typed stays text in all of them."""

import html.parser
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pypdf
import pytest

from rackproof.model.verdict import Verdict
from reports import figures
from reports.document import Cell, Column, Document, Figure, KeyValues, Paragraph, Preformatted, Section, Table
from reports.figures import Drawing
from reports.html import html as to_html
from reports.pdf import pdf
from reports.plain import export, plain
from reports.plain import figures as figures_of
from reports.write import write_report
from tests.unit.reports import documents


def pages_of(document: Document) -> pypdf.PdfReader:
    return pypdf.PdfReader(BytesIO(pdf(plain(document), figures.render(figures_of(document), workers=0))))


def words_of(reader: pypdf.PdfReader) -> str:
    return squeeze("".join(page.extract_text() for page in reader.pages))


def squeeze(words: str) -> str:
    """Without space and places to break: lines are broken where the page ends, not where the text says."""
    return re.sub(r"[\s\u200b\u00a0\u202f]+", "", words)


class Page(html.parser.HTMLParser):
    """The tags, ids, links and text of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words = ""
        self.headers_without_scope = 0
        self.attributes: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.attributes += given
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag == "a":
            self.links.append(given.get("href") or "")
        if tag == "th" and "scope" not in given:
            self.headers_without_scope += 1

    def handle_data(self, data: str) -> None:
        self.words += data


def page_of(document: Document) -> Page:
    return Page(to_html(plain(document), figures.render(figures_of(document), workers=0)))


@pytest.mark.parametrize("words", documents.HOSTILE)
def test_what_a_user_typed_is_text_on_every_page(words: str) -> None:
    document = documents.hostile(words)
    found = words_of(pages_of(document))
    # Cover (title, subtitle, statement, panel, facts ...), contents, heads, heading, every block, and the figure itself.
    assert found.count(squeeze(words)) >= 25
    page = page_of(document)
    assert squeeze(page.words).count(squeeze(words)) >= 25
    assert not {"script", "img", "iframe", "object"} & set(page.tags)
    assert not [name for name in page.attributes if name.startswith("on")]


def test_a_name_that_is_far_too_long_stays_on_the_page() -> None:
    reader = pages_of(documents.hostile(documents.LONG_NAME))
    assert words_of(reader).count(documents.LONG_NAME) >= 10
    widest = max(float(page.mediabox.width) for page in reader.pages)
    right: list[float] = []

    def visit(_text: str, matrix: list[float], _line: list[float], _font: object, _size: float) -> None:
        right.append(matrix[4])

    for page in reader.pages:
        page.extract_text(visitor_text=visit)
    assert max(right) < widest


def test_control_characters_reach_no_format() -> None:
    document = documents.document(Paragraph(text="a\x00b\x08c\x1b[31m\u202egnp"), documents.figure("zero\x00one"), title="t\x07")
    assert "a\\x00b\\x08c\\x1b[31m\\u202egnp" in words_of(pages_of(document))
    drawings = figures.render(figures_of(document), workers=0)
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", to_html(plain(document), drawings))


def test_metadata_bookmarks_and_page_numbers() -> None:
    inner = Section(id="inner", title="Inner", blocks=(Paragraph(text="words"),))
    reader = pages_of(documents.document(Paragraph(text="words"), sections=(Section(id="two", title="Two", sections=(inner,)),)))
    assert reader.metadata is not None
    assert reader.metadata.title == "A campaign"
    assert reader.metadata.creation_date == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    titles = [
        [inside.title for inside in each if not isinstance(inside, list)] if isinstance(each, list) else each.title
        for each in reader.outline
    ]
    assert titles == ["1 First", "2 Two", ["2.1 Inner"]]
    assert f"Page3of{len(reader.pages)}" in squeeze(reader.pages[2].extract_text())
    assert "Page" not in reader.pages[0].extract_text()


def test_verdict_is_a_word_and_not_a_colour_alone() -> None:
    table = Table(caption="c", columns=(Column(title="a"),), rows=((Cell(text="", verdict=Verdict.TIMEOUT),),))
    document = documents.document(table)
    first = pages_of(document)
    assert "PASS" in first.pages[0].extract_text()
    assert "TIMEOUT" in words_of(first)
    assert "TIMEOUT" in page_of(document).words


def test_links_lead_to_their_section_and_dangling_ones_are_plain_text() -> None:
    cells = ((Cell(text="here", link="first"), Cell(text="nowhere", link="no such section")),)
    document = documents.document(Table(caption="c", columns=(Column(title="a"), Column(title="b")), rows=cells))
    page = page_of(document)
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert inside
    assert set(inside) <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    reader = pages_of(document)
    named = reader.named_destinations
    aims = [
        annotation.get_object()["/Dest"]
        for page_ in reader.pages
        for annotation in page_.get("/Annots") or ()
        if "/Dest" in annotation.get_object()
    ]
    assert len(aims) == 2  # the contents, and the cell
    assert all(aim in named for aim in aims if isinstance(aim, str))
    assert "nowhere" in words_of(reader)


def test_html_is_accessible_and_needs_nothing_but_itself() -> None:
    document = documents.document(
        Table(caption="c", columns=(Column(title="a"), Column(title="b")), rows=((Cell(text="group"),), (Cell(text="1"), Cell(text="2")))),
        documents.figure("One"),
        documents.figure("Two"),
    )
    source = to_html(plain(document), figures.render(figures_of(document), workers=0))
    page = Page(source)
    assert page.headers_without_scope == 0
    assert {"main", "nav", "header", "footer", "h1", "figcaption"} <= set(page.tags)
    assert page.tags.count("h1") == 1
    assert source.count('role="img" aria-label="Lines: ') == 2
    assert len(page.ids) == len(set(page.ids))
    assert not re.findall(r'(?:src|href)="(?!#)', source)
    assert not re.findall(r"url\((?!data:|#)", source)
    assert "prefers-color-scheme: dark" in source


def test_figures_follow_the_colour_scheme() -> None:
    document = documents.document(documents.figure())
    source = to_html(plain(document), figures.render(figures_of(document), workers=0))
    drawing = source[source.index("<svg") : source.index("</svg>")]
    assert "var(--c-c4500a)" in drawing
    assert "#c4500a" not in drawing


def test_headers_repeat_on_every_page_of_a_table() -> None:
    rows = tuple((Cell(text=f"row {number}"),) * 2 for number in range(150))
    reader = pages_of(documents.document(Table(caption="long", columns=(Column(title="Beginning"), Column(title="b")), rows=rows)))
    with_rows = [page.extract_text() for page in reader.pages if "row " in page.extract_text()]
    assert len(with_rows) >= 3
    assert all("Beginning" in page for page in with_rows)


def test_wide_tables_stand_on_landscape_pages_with_their_heading() -> None:
    wide = Table(caption="wide", columns=tuple(Column(title=f"c{at}") for at in range(20)), rows=((Cell(text="x"),) * 20,), wide=True)
    reader = pages_of(
        documents.document(Paragraph(text="leads"), wide, sections=(Section(id="n", title="Next", blocks=(Paragraph(text="p"),)),))
    )
    sizes = [(float(page.mediabox.width) > float(page.mediabox.height), page.extract_text()) for page in reader.pages]
    (landscape,) = [words for wide_page, words in sizes if wide_page]
    assert "First" in landscape
    assert "leads" in landscape
    assert len(reader.pages) == 4  # cover, contents, the table, what follows: none empty


def test_long_lines_of_a_plan_are_wrapped_and_short_ones_untouched() -> None:
    long = "key: " + "x" * 400
    reader = pages_of(documents.document(Preformatted(caption="Plan", text=f"a: 1\n{long}\n    indented: yes", language="yaml")))
    assert squeeze(long) in words_of(reader)
    assert "a: 1" in "".join(page.extract_text() for page in reader.pages)


@pytest.mark.parametrize(
    "blocks",
    [
        (),
        (Table(caption="", columns=(), rows=()),),
        (Table(caption="empty", columns=(Column(title="a"),), rows=()),),
        (KeyValues(caption="none", pairs=()), Preformatted(caption="empty", text=""), Paragraph(text="")),
    ],
)
def test_empty_things_are_shown_as_empty(blocks: tuple[Paragraph, ...]) -> None:
    document = documents.document(*blocks)
    assert len(pages_of(document).pages) == 3
    assert "First" in page_of(document).words


def test_rows_that_are_too_long_and_ids_that_are_taken_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 1 to 1 cells"):
        plain(documents.document(Table(caption="c", columns=(Column(title="a"),), rows=((Cell(text="1"), Cell(text="2")),))))
    with pytest.raises(ValueError, match="share an id"):
        plain(documents.document(sections=(Section(id="first", title="again"),)))


def test_json_is_strict_and_holds_what_figures_are_drawn_from() -> None:
    data = export(documents.document(documents.figure()))
    again = json.loads(json.dumps(data, allow_nan=False))
    (figure,) = [block for block in again["flow"] if block["type"] == "figure"]
    assert figure["data"]["series"] == [[1.0, 2.0, "nan"], [3.0, "inf", 1.0]]


def test_the_same_document_gives_the_same_files(tmp_path: Path) -> None:
    document = documents.document(documents.figure("One"), Paragraph(text="words"))
    first, second = (write_report(document, tmp_path / name, workers=0) for name in ("a", "b"))
    for one, other in ((first.pdf, second.pdf), (first.html, second.html), (first.json, second.json)):
        assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in first.pdf.parent.iterdir()) == ["report.html", "report.json", "report.pdf"]


def test_a_figure_that_cannot_be_drawn_does_not_take_the_report_with_it(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    broken = documents.figure("Broken")
    broken = type(broken)(caption=broken.caption, alt=broken.alt, draw=documents.failing, data={})
    paths = write_report(documents.document(broken, documents.figure("Sound")), tmp_path, workers=0)
    words = words_of(pypdf.PdfReader(paths.pdf))
    assert "Thisfigurecouldnotbedrawn:RuntimeError:<no>data" in words
    assert "Sound" in words
    assert "could not be drawn" in paths.html.read_text()
    assert "RuntimeError: <no> data" in caplog.text


def test_workers_draw_what_this_process_draws() -> None:
    wanted = {f"figure-{number}": documents.figure(f"Figure {number}") for number in range(5)}
    assert figures.render(wanted, workers=2) == figures.render(wanted, workers=0)


def test_a_worker_that_dies_costs_its_figure_only() -> None:
    wanted = {"dies": _with(documents.dying), "sound": documents.figure()}
    drawings = figures.render(wanted, workers=2)
    assert drawings["dies"] == Drawing(error="the process that drew it ended")
    assert drawings["sound"].svg.startswith("<svg")


def _with(draw: Callable[..., None]) -> Figure:
    return Figure(caption="c", alt="a", draw=draw, data={}, width_in=9.0)


def test_every_queue_and_verdict_has_a_look_of_its_own() -> None:
    from reports import style

    for each in (
        [mark.colour for mark in style.QUEUES],
        [mark.dark for mark in style.QUEUES],
        [mark.marker for mark in style.QUEUES],
        list(style.VERDICTS.values()),
    ):
        assert len(set(each)) == len(each)
    assert len(style.QUEUES) == 8
    assert set(style.VERDICTS) == set(Verdict)
    for colour in style.VERDICTS.values():
        assert _contrast(colour, "#ffffff") >= 4.5


def _contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
