"""What does somebody do to a plan in its form, and which text comes of it?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rackproof.planfile import Path_, PlanFile, parse_plan
from web import plan_text
from web.flow import items, meaning, pairs
from web.forms import Field, find
from web.shapes import NOTHING, Schema, Shape, Widget, shape

Op = Literal["set", "unset", "null", "add", "remove", "up", "down", "choose"]

#: After these the form has other fields than before.
STRUCTURAL = frozenset({"null", "add", "remove", "up", "down", "choose", "unset"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One change. path: a JSON pointer of the form; value: what the input says, the key of a new entry, or the number of a variant."""

    op: Op
    path: str
    value: str = ""


def edited(file: PlanFile, whole: Mapping[str, Any], fields: Sequence[Field], definitions: Mapping[str, Schema], edit: Edit) -> str:
    """The text after the change; the text as it is where there is no such field.

    whole: the plan's data with short forms written out, which `fields` were made from.
    """
    field = next((one for top in fields for one in top.walk() if one.pointer == edit.path), None)
    if field is None:
        return file.text
    field = find(fields, field.path) if edit.op == "set" else field
    assert field is not None
    path = field.path
    match edit.op:
        case "set":
            value = read(field, edit.value)
            if value is not NOTHING:
                return plan_text.put(_spelt(file, whole, path[:-1]), path, value)
            return plan_text.cut(_spelt(file, whole, path[:-1]), path)
        case "unset" | "remove":
            return plan_text.cut(_spelt(file, whole, path[:-1]), path)
        case "null":
            return plan_text.put(_spelt(file, whole, path[:-1]), path, None)
        case "up" | "down":
            return plan_text.move(_spelt(file, whole, path[:-1]), path, -1 if edit.op == "up" else 1)
        case "choose":
            variants = field.shape.variants
            at = int(edit.value) if edit.value.isdecimal() else len(variants)
            return (
                plan_text.put(_spelt(file, whole, path[:-1]), path, _blank(variants[at], definitions)) if at < len(variants) else file.text
            )
        case "add":
            return _added(_spelt(file, whole, path), field, definitions, edit.value)


def read(field: Field, text: str) -> Any:
    """What the text of a field's input stands for; NOTHING where it says nothing. Nonsense stays text: the plan's check refuses it."""
    if field.widget is not Widget.LONG_TEXT:
        text = text.strip()
    if not text and field.widget is not Widget.SWITCH:
        return NOTHING
    if field.raw:
        return meaning(text)
    match field.widget:
        case Widget.LIST:
            return items(text)
        case Widget.PAIRS:
            return pairs(text)
        case Widget.NUMBER | Widget.ANY | Widget.RAW | Widget.SWITCH | Widget.FIXED:
            return meaning(text)
        case Widget.CHOICE if field.shape.options:
            return next((option for option in field.shape.options if meaning(text) == option), text)
        case Widget.LONG_TEXT:
            text = "\n".join(text.splitlines())
            return text + "\n" if field.value.endswith("\n") and not text.endswith("\n") else text
        case _:
            return text


def _added(file: PlanFile, field: Field, definitions: Mapping[str, Schema], key: str) -> str:
    match field.widget:
        case Widget.ITEMS:
            new = _blank(field.shape.element or {}, definitions)
            if field.children:
                return plan_text.put(file, (*field.path, len(field.children)), new)
            return plan_text.put(file, field.path, [new])
        case Widget.ENTRIES if key.strip() and key.strip() not in [child.key for child in field.children]:
            return plan_text.put(file, (*field.path, meaning_of_key(key)), _blank(field.shape.element or {}, definitions))
        case Widget.GROUP:
            return plan_text.put(file, field.path, _blank_of(field.shape, definitions))
        case _:
            return file.text


def meaning_of_key(text: str) -> str | int:
    """A key as YAML reads it: a number, or a text."""
    found = meaning(text.strip())
    return found if isinstance(found, int) and not isinstance(found, bool) else text.strip()


def _blank(node: Schema, definitions: Mapping[str, Schema]) -> Any:
    return _blank_of(shape(node, definitions), definitions)


def _blank_of(of: Shape, definitions: Mapping[str, Schema]) -> Any:
    """Something of a shape to begin with; what somebody must decide is missing, and asked for."""
    if of.default is not NOTHING and of.default is not None:
        return of.default
    match of.widget:
        case Widget.GROUP:
            known = {name: shape(node, definitions) for name, node in (of.properties or {}).items()}
            return {name: one.options[0] for name, one in known.items() if one.widget is Widget.FIXED and name in of.required}
        case Widget.LIST | Widget.ITEMS:
            return []
        case Widget.PAIRS | Widget.ENTRIES:
            return {}
        case Widget.SWITCH:
            return False
        case Widget.NUMBER:
            return 0
        case Widget.FIXED | Widget.CHOICE:
            return of.options[0]
        case Widget.VARIANTS:
            return _blank(of.variants[0], definitions)
        case _:
            return ""


def _spelt(file: PlanFile, whole: Mapping[str, Any], path: Path_) -> PlanFile:
    """The file with what stands at the path, or around it, written out where it is a short form: it is about to get more than that says."""
    for depth in range(1, len(path) + 1):
        short, full = _at(file.data, path[:depth]), _at(whole, path[:depth])
        if short is not NOTHING and not isinstance(short, Mapping | list) and isinstance(full, Mapping | list):
            return parse_plan(plan_text.put(file, path[:depth], full).encode(), file.source)
    return file


def _at(data: Any, path: Path_) -> Any:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return NOTHING
    return data
