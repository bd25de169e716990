"""Which fields ask for a plan of a kind? From the JSON Schema of the kind and the plan as it is written; no kind is known here by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rackproof.planfile import Path_, dotted
from web.flow import flow, flow_items, flow_pairs, line
from web.shapes import NOTHING, Schema, Shape, Widget, shape

#: Deeper than this a plan is written as YAML.
_DEPTH_MAX = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One thing that is asked for, with what the plan says.

    value: what its input shows. present: it stands in the plan. null: it stands there as null. default: what holds where it does not stand
    there ("" where nothing does). raw: what stands there does not fit its shape, or is too deep, and is shown as YAML. chosen: which of the
    variants it is, -1 where it is none of them.
    """

    path: Path_
    widget: Widget
    label: str
    help: str = ""
    unit: str = ""
    bounds: str = ""
    value: str = ""
    present: bool = False
    required: bool = False
    nullable: bool = False
    null: bool = False
    raw: bool = False
    default: str = ""
    options: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    chosen: int = -1
    children: tuple["Field", ...] = ()
    shape: Shape

    @property
    def where(self) -> str:
        """The path as faults name it: load.per_sender_mbps[3]."""
        return dotted(self.path)

    @property
    def pointer(self) -> str:
        """The path as a JSON pointer (RFC 6901)."""
        return pointer(self.path)

    @property
    def key(self) -> str:
        """The last step of the path."""
        return str(self.path[-1]) if self.path else ""

    @property
    def is_set(self) -> bool:
        """True where something of it, or in it, stands in the plan."""
        return self.present or any(child.is_set for child in self.children)

    @property
    def summary(self) -> str:
        """What tells it from its neighbours: its first texts and choices."""
        if not self.children:
            return self.value
        texts = (child.value for child in self.children if child.widget in {Widget.TEXT, Widget.CHOICE})
        return ", ".join(dict.fromkeys(text for text in texts if text))[:80]

    def walk(self) -> Iterator["Field"]:
        """The field and all fields in it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """All fields of a plan; suggestions[path]: values that are known to be good there."""

    definitions: Mapping[str, Schema]
    suggestions: Mapping[Path_, Sequence[str]]

    def field(self, node: Schema, path: Path_, value: Any, label: str, *, required: bool = False, inherited: Any = NOTHING) -> Field:
        """The field of a schema's node; value is NOTHING where the plan says nothing, inherited the default of what is around it."""
        of = shape(node, self.definitions)
        default = inherited if inherited is not NOTHING else of.default
        said = Field(
            path=path,
            widget=of.widget,
            # The title of what a list holds is that of all its items: each has its number.
            label=label if path and isinstance(path[-1], int) else of.title or label,
            help=of.help,
            unit=of.unit,
            bounds=of.bounds,
            present=value is not NOTHING,
            required=required and default is NOTHING,
            nullable=of.nullable,
            null=value is None,
            default=_default(default),
            shape=of,
        )
        if value is not NOTHING and value is not None and (len(path) > _DEPTH_MAX or not fits(of, value, self.definitions)):
            return replace(said, raw=True, value=flow(value))
        match of.widget:
            case Widget.GROUP:
                return replace(said, children=self._group(of, path, value, default))
            case Widget.ITEMS:
                return replace(said, children=self._items(of, path, value))
            case Widget.ENTRIES:
                return replace(said, children=self._entries(of, path, value))
            case Widget.VARIANTS:
                return self._variants(said, value)
            case _:
                return self._input(said, value)

    def _input(self, said: Field, value: Any) -> Field:
        of = said.shape
        options = tuple(line(option) for option in of.options) or tuple(self.suggestions.get(said.path, ()))
        shown = _shown(of, value)
        # A suggestion is no rule: what stands in the plan stays a choice.
        widget = Widget.CHOICE if options and of.widget is Widget.TEXT else of.widget
        if widget is Widget.CHOICE and shown and shown not in options:
            options = (*options, shown)
        return replace(said, widget=widget, value=shown, options=options)

    def _group(self, of: Shape, path: Path_, value: Any, default: Any) -> tuple[Field, ...]:
        # What may be left out and is, is asked for only when somebody wants it; a schema may go on for ever there.
        if value is None or (value is NOTHING and (of.nullable or len(path) > _DEPTH_MAX)):
            return ()
        known = value if isinstance(value, Mapping) else {}
        defaults = default if isinstance(default, Mapping) else {}
        return tuple(
            self.field(
                node,
                (*path, name),
                known.get(name, NOTHING),
                words(name),
                required=name in of.required,
                inherited=defaults.get(name, NOTHING),
            )
            for name, node in (of.properties or {}).items()
        )

    def _items(self, of: Shape, path: Path_, value: Any) -> tuple[Field, ...]:
        label = shape(of.element or {}, self.definitions).title or "Item"
        items = value if isinstance(value, list) else ()
        return tuple(
            self.field(of.element or {}, (*path, at), item, f"{words(label)} {at + 1}", required=True) for at, item in enumerate(items)
        )

    def _entries(self, of: Shape, path: Path_, value: Any) -> tuple[Field, ...]:
        entries = value if isinstance(value, Mapping) else {}
        return tuple(
            self.field({**(of.element or {}), "title": str(key)}, (*path, key), item, str(key), required=True)
            for key, item in entries.items()
        )

    def _variants(self, said: Field, value: Any) -> Field:
        of = said.shape
        shapes = [shape(one, self.definitions) for one in of.variants]
        names = tuple(_variant_name(one, at) for at, one in enumerate(shapes))
        if value is NOTHING or value is None:
            return replace(said, variants=names)
        chosen = next((at for at, one in enumerate(shapes) if fits(one, value, self.definitions, closely=True)), -1)
        if chosen < 0:
            chosen = next((at for at, one in enumerate(shapes) if fits(one, value, self.definitions)), -1)
        node = {**of.variants[chosen], "title": names[chosen]}
        inner = self.field(node, said.path, value, names[chosen], required=True)
        return replace(said, variants=names, chosen=chosen, children=(inner,))


def form(schema: Schema, data: Mapping[str, Any], suggestions: Mapping[Path_, Sequence[str]] | None = None) -> tuple[Field, ...]:
    """The fields of a plan, in the order of its schema."""
    made = Form(definitions=schema.get("$defs", {}), suggestions=suggestions or {})
    return made.field({key: value for key, value in schema.items() if key != "$defs"}, (), data, "Plan").children


def find(fields: Sequence[Field], path: Path_) -> Field | None:
    """The field at a path; of a union, the one that is chosen."""
    found = None
    for one in fields:
        for inner in one.walk():
            if inner.path == path:
                found = inner
    return found


def fits(of: Shape, value: Any, definitions: Mapping[str, Schema], *, closely: bool = False) -> bool:
    """True where a value has the shape, so that the shape's field can show it; closely: and where its keys and choices are known there."""
    match of.widget:
        case Widget.GROUP:
            return isinstance(value, Mapping) and (not closely or _keys_fit(of, value, definitions))
        case Widget.ENTRIES:
            return isinstance(value, Mapping)
        case Widget.PAIRS:
            return isinstance(value, Mapping) and all(not isinstance(one, Mapping | list) for one in value.values())
        case Widget.ITEMS:
            return isinstance(value, list) and (not closely or all(fits(_element(of, definitions), one, definitions) for one in value))
        case Widget.LIST:
            return isinstance(value, list) and all(not isinstance(one, Mapping | list) for one in value)
        case Widget.VARIANTS:
            return any(fits(shape(one, definitions), value, definitions) for one in of.variants)
        case Widget.RAW:
            return True
        case Widget.FIXED | Widget.CHOICE if closely:
            return value in of.options
        case Widget.NUMBER if closely:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Widget.SWITCH:
            return isinstance(value, bool)
        case Widget.TEXT | Widget.LONG_TEXT if closely:
            return isinstance(value, str)
        case _:
            return not isinstance(value, Mapping | list)


def pointer(path: Path_) -> str:
    """A path as a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def words(name: str) -> str:
    """A key, or the name of a class, in words."""
    spaced = "".join(f" {one.lower()}" if one.isupper() and at and name[at - 1].islower() else one for at, one in enumerate(name))
    return spaced.replace("_", " ").strip().capitalize() if spaced.lower() != spaced or "_" in spaced else spaced[:1].upper() + spaced[1:]


def _keys_fit(of: Shape, value: Mapping[str, Any], definitions: Mapping[str, Schema]) -> bool:
    known = of.properties or {}
    fixed = {name: one.options[0] for name, node in known.items() if (one := shape(node, definitions)).widget is Widget.FIXED}
    return set(value) <= set(known) and of.required <= set(value) and all(value.get(name, fixed[name]) == fixed[name] for name in fixed)


def _element(of: Shape, definitions: Mapping[str, Schema]) -> Shape:
    return shape(of.element or {}, definitions)


def _variant_name(of: Shape, at: int) -> str:
    match of.widget:
        case Widget.GROUP:
            fixed = [str(node["const"]) for node in (of.properties or {}).values() if "const" in node]
            return fixed[0] if fixed else words(of.title) if of.title else f"Form {at + 1}"
        case Widget.ITEMS | Widget.LIST:
            return "A list"
        case Widget.ENTRIES | Widget.PAIRS:
            return "A mapping"
        case Widget.NUMBER:
            return "A number"
        case Widget.SWITCH:
            return "Yes or no"
        case Widget.CHOICE | Widget.FIXED:
            return " or ".join(line(option) for option in of.options[:4])
        case Widget.RAW:
            return "Anything"
        case _:
            return "A text"


def _shown(of: Shape, value: Any) -> str:
    if value is NOTHING or value is None:
        return ""
    match of.widget:
        case Widget.LIST:
            return flow_items(value)
        case Widget.PAIRS:
            return flow_pairs(value)
        case Widget.RAW:
            return flow(value)
        case Widget.TEXT | Widget.LONG_TEXT:
            return value if isinstance(value, str) else line(value)
        case _:
            return line(value)


def _default(value: Any) -> str:
    match value:
        case _ if value is NOTHING:
            return ""
        case None | "" | [] | {}:
            return "none"
        case list():
            return flow_items(value) if not any(isinstance(one, Mapping | list) for one in value) else flow(value)
        case Mapping():
            return flow(value)
        case str():
            return value
        case float():
            return f"{value:g}"
        case _:
            return line(value)
