"""How do people write a list or a mapping in one line, and what does it mean? As in YAML: 10, 20, 60 and leak: 0.05, unfair: 0.5."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rackproof.errors import PlanError
from rackproof.planfile import parse_plan

#: Texts that stand in a line as they are, and mean themselves.
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_ .+/-]*[A-Za-z0-9_.+/-]|[A-Za-z_]")
_KEY = "value"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def flow(value: Any) -> str:
    """A value in one line of YAML."""
    match value:
        case Mapping():
            return f"{{{flow_pairs(value)}}}"
        case list() | tuple():
            return f"[{flow_items(value)}]"
        case _:
            return line(value)


def flow_items(values: Sequence[Any]) -> str:
    """The items of a list, without its brackets."""
    return ", ".join(flow(one) for one in values)


def flow_pairs(values: Mapping[Any, Any]) -> str:
    """The pairs of a mapping, without its braces."""
    return ", ".join(f"{line(key)}: {flow(one)}" for key, one in values.items())


def line(value: Any) -> str:
    """A scalar as YAML reads it back."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float() if math.isinf(value):
            return ".inf" if value > 0 else "-.inf"
        case float() if math.isnan(value):
            return ".nan"
        case float() if value == int(value) and abs(value) < 1e15:
            return f"{value:.1f}"
        case int() | float():
            return repr(value)
        case _:
            text = str(value)
            return text if _stands_bare(text) else _quoted(text)


@lru_cache(maxsize=4096)
def _stands_bare(text: str) -> bool:
    """True where YAML takes the text, without quotes, for itself: true and null are no texts."""
    return _BARE.fullmatch(text) is not None and meaning(text) == text


def _quoted(text: str) -> str:
    """In double quotes; what cannot be seen is written as its number."""
    return '"' + "".join(one if one.isprintable() and one not in '"\\' else _ESCAPES.get(one) or f"\\U{ord(one):08x}" for one in text) + '"'


def meaning(text: str) -> Any:
    """What a line of YAML means; a text that YAML cannot read means itself."""
    return _read(text, text)


def items(text: str) -> list[Any]:
    """What the items of a list mean; where YAML cannot read them, each text between two commas means itself."""
    inner = text.strip().removeprefix("[").removesuffix("]") if text.strip().startswith("[") and text.strip().endswith("]") else text
    found = _read(f"[{inner}]", None)
    return found if isinstance(found, list) else [part.strip() for part in inner.split(",") if part.strip()]


def pairs(text: str) -> Any:
    """What the pairs of a mapping mean; a text where they are none, for whoever checks the plan to refuse."""
    bare = text.strip()
    found = _read(bare if bare.startswith("{") else f"{{{bare}}}", bare)
    # `{leak}` is YAML for a key without a value, which nobody means.
    return found if isinstance(found, dict) and (":" in bare or not bare.strip("{} ")) else bare


def _read(text: str, otherwise: Any) -> Any:
    inner = "\n".join(f"  {part}" for part in text.splitlines()) if "\n" in text else f" {text}"
    try:
        return parse_plan(f"{_KEY}:{chr(10) if chr(10) in text else ''}{inner}\n".encode("utf-8", "replace"), "a field").data.get(_KEY)
    except PlanError:
        return otherwise
