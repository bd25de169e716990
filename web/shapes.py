"""What may stand at one place of a JSON Schema? References, unions and nulls resolved, so that a form needs to know only a dozen shapes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

Schema = Mapping[str, Any]

#: Stands for "there is no default", as None is one.
NOTHING: Any = object()

_SCALARS = {"string", "number", "integer", "boolean"}
#: Texts that may be longer than this get room for several lines.
_LONG_CHARACTERS = 500
_REFERENCES_MAX = 50


class Widget(StrEnum):
    """How something is asked for. LIST and PAIRS are lists and mappings of scalars, written in one line; ITEMS and ENTRIES hold fields."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    FIXED = "fixed"
    ANY = "any"
    LIST = "list"
    PAIRS = "pairs"
    GROUP = "group"
    ITEMS = "items"
    ENTRIES = "entries"
    VARIANTS = "variants"
    RAW = "raw"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """What a place may hold. element: the schema of each item or entry; properties: those of a group; variants: alternatives."""

    widget: Widget
    title: str = ""
    help: str = ""
    unit: str = ""
    bounds: str = ""
    default: Any = NOTHING
    nullable: bool = False
    options: tuple[Any, ...] = ()
    element: Schema | None = None
    properties: Mapping[str, Schema] | None = None
    required: frozenset[str] = frozenset()
    variants: tuple[Schema, ...] = ()


def shape(node: Schema | bool, definitions: Mapping[str, Schema]) -> Shape:
    """The shape of a schema's node; what is not understood is RAW: YAML, written by hand."""
    merged = _merged(node, definitions)
    alternatives = [_merged(one, definitions) for one in merged.get("anyOf") or merged.get("oneOf") or ()]
    alternatives = [one for one in alternatives if one]
    nullable = any(_is_null(one) for one in alternatives) or _may_be_null(merged)
    alternatives = [one for one in alternatives if not _is_null(one)]
    if len(alternatives) == 1:
        outer = {key: value for key, value in merged.items() if key not in {"anyOf", "oneOf"}}
        merged = {**alternatives[0], **outer}
        found = _single(merged, definitions)
    elif alternatives:
        found = _several(alternatives, definitions)
    else:
        found = _single(merged, definitions)
    return replace(
        found,
        title=str(merged.get("title", "")),
        help=str(merged.get("description", "")),
        unit=_unit(merged, alternatives),
        bounds=bounds(merged if len(alternatives) < 2 else {}),
        default=merged.get("default", NOTHING),
        nullable=nullable,
    )


def bounds(node: Schema) -> str:
    """The bounds of a number, of a text's or of a list's length, in words."""
    items = node.get("items")
    if isinstance(items, Mapping) and node.get("type") == "array":
        each, count = bounds(items), _range(node.get("minItems"), node.get("maxItems"))
        return ", ".join(part for part in (f"each {each}" if each else "", f"{count} of them" if count else "") if part)
    low, high = node.get("minimum"), node.get("maximum")
    above, below = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    if above is not None and (low is None or low <= above):
        rest = _number(high) if high is not None else ""
        return f"more than {_number(above)}" + (
            f", at most {rest}" if rest else f", less than {_number(below)}" if below is not None else ""
        )
    if below is not None and high is None:
        # A whole number below 8 is at most 7: people count that way.
        if node.get("type") == "integer":
            return _range(low, below - 1)
        return f"{_number(low)} or more, less than {_number(below)}" if low is not None else f"less than {_number(below)}"
    return _range(low, high)


def _range(low: Any, high: Any) -> str:
    match low, high:
        case None, None:
            return ""
        case None, _:
            return f"at most {_number(high)}"
        case _, None:
            return f"at least {_number(low)}"
        case _:
            return f"{_number(low)} to {_number(high)}"


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _merged(node: Schema | bool, definitions: Mapping[str, Schema], depth: int = 0) -> dict[str, Any]:
    """The node with what it refers to; what stands beside a reference wins."""
    if isinstance(node, bool) or depth > _REFERENCES_MAX:
        return {}
    made = dict(node)
    for part in (*([{"$ref": made.pop("$ref")}] if "$ref" in made else ()), *made.pop("allOf", ())):
        inner = definitions.get(str(part["$ref"]).rpartition("/")[2], {}) if "$ref" in part else part
        made = {**_merged(inner, definitions, depth + 1), **made}
    return made


def _single(node: Schema, definitions: Mapping[str, Schema]) -> Shape:
    if "const" in node:
        return Shape(widget=Widget.FIXED, options=(node["const"],))
    if "enum" in node:
        return Shape(widget=Widget.CHOICE, options=tuple(option for option in node["enum"] if option is not None))
    match _type(node):
        case "boolean":
            return Shape(widget=Widget.SWITCH)
        case "integer" | "number":
            return Shape(widget=Widget.NUMBER)
        case "string":
            return Shape(widget=Widget.LONG_TEXT if node.get("maxLength", 0) >= _LONG_CHARACTERS else Widget.TEXT)
        case "array":
            return _array(node, definitions)
        case "object":
            return _object(node, definitions)
        case "any":
            return Shape(widget=Widget.ANY)
        case _:
            return Shape(widget=Widget.RAW)


def _several(alternatives: Sequence[Schema], definitions: Mapping[str, Schema]) -> Shape:
    found = [_single(one, definitions) for one in alternatives]
    if all(one.widget in {Widget.FIXED, Widget.CHOICE} for one in found):
        return Shape(widget=Widget.CHOICE, options=tuple(option for one in found for option in one.options))
    if all(_type(one) in _SCALARS or "const" in one or "enum" in one for one in alternatives):
        return Shape(widget=Widget.ANY)
    return Shape(widget=Widget.VARIANTS, variants=tuple(alternatives))


def _array(node: Schema, definitions: Mapping[str, Schema]) -> Shape:
    placed = node.get("prefixItems")
    if placed:
        return Shape(widget=Widget.LIST if all(_is_scalar(one, definitions) for one in placed) else Widget.RAW)
    element = node.get("items")
    if not isinstance(element, Mapping) or not element:
        return Shape(widget=Widget.RAW)
    if _is_scalar(element, definitions):
        inner = shape(element, definitions)
        return Shape(widget=Widget.LIST, options=inner.options)
    return Shape(widget=Widget.ITEMS, element=element)


def _object(node: Schema, definitions: Mapping[str, Schema]) -> Shape:
    if node.get("properties"):
        return Shape(widget=Widget.GROUP, properties=node["properties"], required=frozenset(node.get("required", ())))
    element = node.get("additionalProperties") or next(iter(node.get("patternProperties", {}).values()), None)
    if not isinstance(element, Mapping):
        # Without any key of its own and nothing else allowed, a mapping can only be empty.
        empty = node.get("additionalProperties") is False
        return Shape(widget=Widget.GROUP, properties={}) if empty else Shape(widget=Widget.RAW)
    return Shape(widget=Widget.PAIRS if _is_scalar(element, definitions) else Widget.ENTRIES, element=element)


def _is_scalar(node: Schema | bool, definitions: Mapping[str, Schema]) -> bool:
    found = shape(node, definitions).widget
    return found in {Widget.TEXT, Widget.LONG_TEXT, Widget.NUMBER, Widget.SWITCH, Widget.CHOICE, Widget.FIXED, Widget.ANY}


def _type(node: Schema) -> str:
    found = node.get("type")
    if isinstance(found, list):
        real = [one for one in found if one != "null"]
        return real[0] if len(real) == 1 else "any" if real and set(real) <= _SCALARS else ""
    if isinstance(found, str):
        return found
    return "object" if "properties" in node else "array" if "items" in node else ""


def _is_null(node: Schema) -> bool:
    return node.get("type") == "null" or ("const" in node and node["const"] is None)


def _may_be_null(node: Schema) -> bool:
    return (isinstance(node.get("type"), list) and "null" in node["type"]) or None in node.get("enum", ())


def _unit(node: Schema, alternatives: Sequence[Schema]) -> str:
    """The unit, which may stand with what a list holds or with an alternative. "1" is a plain number."""
    for one in (node, *alternatives):
        for place in _with_elements(one):
            found = place.get("unit", place.get("x-unit"))
            if isinstance(found, str):
                return "" if found == "1" else "µs" if found == "us" else found
    return ""


def _with_elements(node: Schema) -> Iterator[Schema]:
    yield node
    for inner in (node.get("items"), node.get("additionalProperties")):
        if isinstance(inner, Mapping) and "$ref" not in inner:
            yield inner
