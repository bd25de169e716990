"""A document as plain data, the same for every format: text made safe, links that resolve, figures numbered, landscape pages gathered."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from reports import text
from reports.document import (
    Block,
    Bullets,
    Callout,
    Cell,
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

Plain = dict[str, Any]

#: So many pairs may stand on a landscape page before its table.
_SHORT = 16


def figures(document: Document) -> dict[str, Figure]:
    """All figures in order of appearance, by the key that their place has in the plain document."""
    found = [block for section in _walk(document.sections) for block in section.blocks if isinstance(block, Figure)]
    return {f"figure-{number}": figure for number, figure in enumerate(found, 1)}


def plain(document: Document) -> Plain:
    """The document as nested dicts, lists and strings: what the templates read.

    sections become one flow of headings and blocks. Raises ValueError where two sections have the same id, or a row has more cells than
    its table has columns.
    """
    ids = [section.id for section in _walk(document.sections)]
    if len(set(ids)) != len(ids):
        raise ValueError(f"sections share an id: {sorted({each for each in ids if ids.count(each) > 1})}")
    writer = _Writer({each: f"s{number}" for number, each in enumerate(ids, 1)})
    return {
        "cover": writer.cover(document.cover),
        "flow": _landscape(list(writer.flow(document.sections))),
        "meta": {key: text.clean(value) for key, value in document.meta.items()},
    }


def export(document: Document) -> Plain:
    """The document for other programs: what plain() gives, with the data behind every figure. Infinities and NaN are strings."""
    data = plain(document)
    sources = figures(document)
    for block in _blocks(data["flow"]):
        if block["type"] == "figure":
            source = sources[block["key"]]
            block["drawn_by"] = f"{source.draw.__module__}.{source.draw.__qualname__}"
            block["data"] = _values(source.data)
    return data


def headings(flow: list[Plain]) -> Iterator[Plain]:
    """All headings of a flow, in order."""
    yield from (block for block in _blocks(flow) if block["type"] == "heading")


def _blocks(flow: list[Plain]) -> Iterator[Plain]:
    for item in flow:
        if item["type"] == "landscape":
            yield from item["blocks"]
        else:
            yield item


def _walk(sections: tuple[Section, ...]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _walk(section.sections)


class _Writer:
    """Numbers figures and tables as it goes."""

    def __init__(self, anchors: Mapping[str, str]) -> None:
        # A section's id may hold what a person typed: in the files it is a plain anchor.
        self.anchors = anchors
        self.figure = 0
        self.table = 0

    def cover(self, cover: Cover) -> Plain:
        return {
            "title": text.clean(cover.title),
            "subtitle": text.clean(cover.subtitle),
            "verdict": cover.verdict.value if cover.verdict else "",
            "statement": text.clean(cover.verdict_statement),
            "panels": [self.block(panel) for panel in cover.panels],
            "facts": [[text.clean(name), text.clean(value)] for name, value in cover.facts],
            "generated": text.clean(cover.generated),
        }

    def flow(self, sections: tuple[Section, ...], level: int = 1, above: str = "") -> Iterator[Plain]:
        for place, section in enumerate(sections, 1):
            number = f"{above}{place}"
            yield {
                "type": "heading",
                "level": level,
                "number": number,
                "title": text.clean(section.title),
                "anchor": self.anchors[section.id],
                "id": text.clean(section.id),
                "page_break": section.page_break,
            }
            for block, following in itertools.zip_longest(section.blocks, section.blocks[1:]):
                # A paragraph that leads to a figure or table stays with it.
                leads = isinstance(block, Paragraph | Callout) and isinstance(following, Figure | Table | VerdictPanel)
                yield self.block(block) | {"sticky": leads}
            yield from self.flow(section.sections, level + 1, f"{number}.")

    def block(self, block: Block) -> Plain:
        match block:
            case Paragraph():
                return {"type": "paragraph", "text": text.clean(block.text)}
            case Bullets():
                return {"type": "bullets", "items": [text.clean(item) for item in block.items]}
            case Callout():
                return {"type": "callout", "tone": block.tone, "title": text.clean(block.title), "text": text.clean(block.text)}
            case Table():
                self.table += 1
                return self.rows(block)
            case KeyValues():
                pairs = [[text.clean(name), text.clean(value)] for name, value in block.pairs]
                return {
                    "type": "keyvalues",
                    "caption": text.clean(block.caption),
                    "pairs": pairs,
                    "mono": block.mono,
                    "inline": block.inline,
                }
            case Preformatted():
                content = text.clean(block.text).expandtabs(4).rstrip("\n")
                return {"type": "preformatted", "caption": text.clean(block.caption), "text": content, "language": block.language}
            case Figure():
                self.figure += 1
                return {
                    "type": "figure",
                    "key": f"figure-{self.figure}",
                    "number": self.figure,
                    "caption": text.clean(block.caption),
                    "alt": text.clean(block.alt),
                    "width_in": block.width_in,
                    "height_in": block.height_in,
                }
            case VerdictPanel():
                return {
                    "type": "panel",
                    "title": text.clean(block.title),
                    "verdict": block.verdict.value,
                    "statement": text.clean(block.statement),
                    "criteria": [[verdict.value, *map(text.clean, rest)] for verdict, *rest in block.criteria],
                }
        assert_never(block)

    def rows(self, table: Table) -> Plain:
        if any(not 0 < len(row) <= len(table.columns) for row in table.rows):
            raise ValueError(f"table {table.caption!r}: expected 1 to {len(table.columns)} cells in every row")
        return {
            "type": "table",
            "number": self.table,
            "caption": text.clean(table.caption),
            "columns": [{"title": text.clean(each.title), "unit": each.unit, "numeric": each.numeric} for each in table.columns],
            "rows": [[self.cell(cell) for cell in row] for row in table.rows],
            "note": text.clean(table.note),
            "wide": table.wide,
            "dense": table.dense,
        }

    def cell(self, cell: Cell) -> Plain:
        """Its text, and whatever else it has: most cells are text alone."""
        more = {
            "verdict": cell.verdict.value if cell.verdict else "",
            "muted": cell.muted,
            "strong": cell.strong,
            "link": self.anchors.get(cell.link or "", ""),
        }
        return {"text": text.clean(cell.text), **{name: value for name, value in more.items() if value}}


def _landscape(flow: list[Plain]) -> list[Plain]:
    """Wide tables gathered into landscape pages, each with the headings and the short text that lead to it."""
    pages: list[Plain] = []
    for item in flow:
        if not item.get("wide"):
            pages.append(item)
            continue
        lead: list[Plain] = []
        while pages and (pages[-1]["type"] in {"paragraph", "callout"} or len(pages[-1].get("pairs", range(99))) <= _SHORT):
            lead.insert(0, pages.pop())
        if not (pages and pages[-1]["type"] == "heading"):
            pages.extend(lead)
            lead = []
        while pages and pages[-1]["type"] == "heading":
            lead.insert(0, pages.pop())
        if pages and pages[-1]["type"] == "landscape":
            pages[-1]["blocks"].extend([*lead, item])
        else:
            pages.append({"type": "landscape", "blocks": [*lead, item]})
    return pages


def _values(value: Any) -> Any:
    """Whatever a figure is drawn from, as JSON can hold it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        # What a figure reads itself, by a function, stays where it is.
        return {str(key): _values(each) for key, each in value.items() if not callable(each)}
    if dataclasses.is_dataclass(value):
        return {each.name: _values(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if hasattr(value, "tolist"):
        return _values(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [_values(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
