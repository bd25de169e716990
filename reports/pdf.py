"""The document as PDF, by Typst from one static template. What a user typed reaches it as data and is never markup."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import typst

from reports import style, typeface
from reports.figures import Drawing
from reports.plain import Plain, headings
from reports.text import breakable

_TEMPLATE = Path(__file__).parent / "templates" / "report.typ"
#: Above this, the shipped fonts may lack a character: emoji, Chinese, Japanese, Korean.
_BEYOND_FONTS = 0x2BFF


def pdf(document: Plain, drawings: Mapping[str, Drawing]) -> bytes:
    """The file. The same document gives the same bytes, as long as its text keeps to the fonts that ship with Rackproof."""
    date = _date(document["meta"].get("date", ""))
    data: dict[str, Any] = {
        **_breakable(document),
        "figures": {key: {"svg": drawing.svg, "error": drawing.error} for key, drawing in drawings.items()},
        "style": {
            "font": typeface.FAMILY,
            "ink": style.INK,
            "soft": style.INK_SOFT,
            "faint": style.INK_FAINT,
            "grid": style.GRID,
            "rule": style.RULE,
            "verdicts": {verdict.value: colour for verdict, colour in style.VERDICTS.items()} | {"": style.NO_VERDICT},
            "tones": style.TONES,
        },
        "flow-titles": {item["anchor"]: item["title"] for item in headings(document["flow"]) if item["level"] == 1},
        "date": [date.year, date.month, date.day, date.hour, date.minute, date.second] if date else None,
    }
    foreign = any(ord(character) > _BEYOND_FONTS for character in "".join(_strings(document)))
    return typst.compile(
        _TEMPLATE.read_bytes(),
        font_paths=_fonts(foreign),
        sys_inputs={"document": json.dumps(data, ensure_ascii=False, allow_nan=False)},
        format="pdf",
        timestamp=date or datetime(1970, 1, 1, tzinfo=UTC),
    )


@cache
def _fonts(system: bool) -> typst.Fonts:
    # The host's fonts only where they are needed, and then only for the characters that are missing: pages look alike on every host.
    return typst.Fonts(include_system_fonts=system, font_paths=[str(typeface.folder())])


def _date(iso: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(iso)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _breakable(document: Plain) -> Plain:
    """The document with places to break in long words. The text of plans and configurations gets them only where a line would overflow."""
    return {key: _break(value) for key, value in document.items()}


def _break(value: Any) -> Any:
    match value:
        case {"type": "preformatted"}:
            return {**value, "text": "\n".join(breakable(line, 60) if len(line) > 100 else line for line in value["text"].split("\n"))}
        case {"type": "figure"}:
            return value | {"caption": breakable(value["caption"])}
        case dict():
            return {key: _break(each) for key, each in value.items()}
        case list():
            return [_break(each) for each in value]
        case str():
            return breakable(value)
    return value


def _strings(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [found for each in value.values() for found in _strings(each)]
        case list():
            return [found for each in value for found in _strings(each)]
    return []
