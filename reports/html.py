"""The document as one HTML file that needs nothing but itself."""

import json
import re
import string
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from reports import figures, style, typeface
from reports.figures import Drawing
from reports.plain import Plain, headings

_COLOURS = re.compile("|".join(map(re.escape, style.DARK)))


def html(document: Plain, drawings: Mapping[str, Drawing]) -> str:
    """The page. Everything that comes from the document is escaped; the figures, which this program drew, are not."""
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            document=document,
            contents=_contents(document["flow"]),
            figures={key: _inline(key, drawing) for key, drawing in drawings.items()},
            light=_variables(style.DARK, dark=False),
            dark=_variables(style.DARK, dark=True),
            verdicts={verdict.value: colour for verdict, colour in style.VERDICTS.items()},
            no_verdict=style.NO_VERDICT,
            tones=style.TONES,
            fonts=typeface.embedded(_text(document, drawings)),
        )
    )


def _text(document: Plain, drawings: Mapping[str, Drawing]) -> str:
    """Every character that the page may show, and some more."""
    return "".join([string.printable, json.dumps(document, ensure_ascii=False), *(drawing.svg for drawing in drawings.values())])


def _inline(key: str, drawing: Drawing) -> Markup | None:
    if drawing.error:
        return None
    svg = figures.scoped(drawing.svg, key)
    # The size is the stylesheet's business; the text alternative stands on the figure around it.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1)
    return Markup(_COLOURS.sub(lambda match: f"var({_variable(match[0])})", svg).replace("<svg ", '<svg aria-hidden="true" ', 1))  # noqa: S704


def _contents(flow: list[Plain]) -> list[dict[str, Any]]:
    """Headings of the first two levels, nested."""
    entries: list[dict[str, Any]] = []
    for item in headings(flow):
        if item["level"] == 1:
            entries.append({**item, "below": []})
        elif item["level"] == 2 and entries:
            entries[-1]["below"].append(item)
    return entries


def _variable(colour: str) -> str:
    return f"--c-{colour[1:]}"


def _variables(colours: Mapping[str, str], *, dark: bool) -> str:
    return "; ".join(f"{_variable(light)}: {other if dark else light}" for light, other in colours.items())


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
