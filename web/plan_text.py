"""How is one thing changed in a plan as somebody wrote it? Its comments, its order and its style stay; only what was asked for changes."""

import copy
from itertools import pairwise
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rackproof.errors import PlanError
from rackproof.planfile import Path_, PlanFile, parse_plan
from web.flow import flow, line

#: Mappings of scalars that are shorter stand in one line.
_ONE_LINE = 100


def put(file: PlanFile, path: Path_, value: Any) -> str:
    """The text with the value at the path; what is around it is made where it is missing."""
    wanted = copy.deepcopy(dict(file.data))
    at: Any = wanted
    for step, following in pairwise(path):
        child = _child(at, step)
        if not isinstance(child, dict | list):
            child = [] if isinstance(following, int) else {}
            _set(at, step, child)
        at = child
    _set(at, path[-1], value)
    root = _compose(file.text)
    # Where what is around it was missing, the outermost new thing is what is put.
    known = next(depth for depth in range(len(path), -1, -1) if isinstance(_node(root, path[:depth]), MappingNode | SequenceNode))
    top = path[: min(known + 1, len(path))]
    return _chosen(_put_in_line(file.text, root, top, wanted) or _put(file.text, root, top, _at(wanted, top)), wanted)


def cut(file: PlanFile, path: Path_) -> str:
    """The text without what stands at the path, and without the mappings that are empty then; a list stays, empty."""
    wanted = copy.deepcopy(dict(file.data))
    if _missing(wanted, path):
        return file.text
    while True:
        around = _at(wanted, path[:-1])
        del around[path[-1]]
        if around or len(path) == 1 or isinstance(around, list) or isinstance(path[-2], int):
            break
        path = path[:-1]
    root = _compose(file.text)
    if isinstance(around, list) and not around:
        return _chosen(_put(file.text, root, path[:-1], []), wanted)
    return _chosen(_put_in_line(file.text, root, path, wanted) or _cut(file.text, root, path), wanted)


def move(file: PlanFile, path: Path_, by: int) -> str:
    """The text with an item of a list moved up (-1) or down (1)."""
    wanted = copy.deepcopy(dict(file.data))
    *way, last = path
    items, at = _at(wanted, tuple(way)), int(last)
    first, second = sorted((at, at + by))
    if not isinstance(items, list) or first < 0 or second >= len(items):
        return file.text
    items[first], items[second] = items[second], items[first]
    text, node = file.text, _node(_compose(file.text), tuple(way))
    if isinstance(node, SequenceNode):
        one, other = (_span(node.value[place]) for place in (first, second))
        text = text[: one[0]] + text[slice(*other)] + text[one[1] : other[0]] + text[slice(*one)] + text[other[1] :]
    return _chosen(text, wanted)


def block(data: Any) -> str:
    """Data as a plan that people write: one key a line, lists of scalars in one line."""
    return "".join(f"{row}\n" for row in _rows(data))


def _chosen(text: str | None, wanted: Any) -> str:
    """The text, if it says what is wanted; else the data alone: without comments, but right."""
    return text if text is not None and means(text, wanted) else block(wanted)


def means(text: str, data: Any) -> bool:
    """True where the text says exactly the data: the same numbers, the same order."""
    try:
        return repr(parse_plan(text.encode("utf-8", "replace"), "plan").data) == repr(data)
    except PlanError:
        return False


# --- by places in the text ---


def _put_in_line(text: str, root: Node | None, path: Path_, wanted: Any) -> str | None:
    """Where what is around the path stands in one line ({a: 1} or [1, 2]), that whole line anew; None where it does not."""
    for depth in range(len(path)):
        node = _node(root, path[:depth])
        if isinstance(node, MappingNode | SequenceNode) and node.flow_style:
            return _replaced(text, _span(node), flow(_at(wanted, path[:depth])))
    return None


def _put(text: str, root: Node | None, path: Path_, value: Any) -> str | None:
    around, node = _node(root, path[:-1]), _node(root, path)
    if not isinstance(around, MappingNode | SequenceNode) or not around.value:
        return None
    if node is not None and _is_one_line(node) and not isinstance(value, dict) and not _is_long(value):
        return _replaced(text, _span(node), flow(value))
    if node is None:
        end = _span(around)[1]
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        if isinstance(around, MappingNode):
            column = around.value[0][0].start_mark.column
            new = _pair(path[-1], value, None)
        else:
            first = around.value[0].start_mark.index
            column = text.rfind("-", 0, first) - (text.rfind("\n", 0, first) + 1)
            new = _item(value)
        return f"{text[:stop]}\n{_indented(new, column, first=True)}{text[stop:]}"
    if isinstance(around, MappingNode):
        key = _key(around, path[-1])
        assert key is not None
        span = (key.start_mark.index, max(_span(node)[1], key.end_mark.index + 1))
        return _replaced(text, span, _indented(_pair(path[-1], value, node), key.start_mark.column))
    item = _item(value)
    return _replaced(text, _span(node), _indented(item, node.start_mark.column - 2)[2:])


def _cut(text: str, root: Node | None, path: Path_) -> str | None:
    around, node = _node(root, path[:-1]), _node(root, path)
    if node is None or not isinstance(around, MappingNode | SequenceNode):
        return None
    key = _key(around, path[-1]) if isinstance(around, MappingNode) else None
    begin = node.start_mark.index if key is None else key.start_mark.index
    line_begin = text.rfind("\n", 0, begin) + 1
    before = text[line_begin:begin].strip()
    if before != ("" if key is not None else "-"):
        # The first key of a list's item: the next one takes its place beside the dash.
        following = around.value[1][0].start_mark.index if isinstance(around, MappingNode) and len(around.value) > 1 else None
        return None if following is None else text[:begin] + text[following:]
    stop = text.find("\n", max(_span(node)[1], begin if key is None else key.end_mark.index))
    head, tail = text[:line_begin], "" if stop < 0 else text[stop + 1 :]
    # Of the blank lines before and after, one is enough.
    return head + (tail[1:] if tail.startswith("\n") and (not head or head.endswith("\n\n")) else tail)


def _span(node: Node) -> tuple[int, int]:
    """Where a node begins and ends in the text; blank lines and comments after it are not its own."""
    begin: int = node.start_mark.index
    match node:
        case SequenceNode() if node.value and not node.flow_style:
            return begin, _span(node.value[-1])[1]
        case MappingNode() if node.value and not node.flow_style:
            key, value = node.value[-1]
            return begin, max(_span(value)[1], key.end_mark.index)
        case ScalarNode() if node.style in {"|", ">"}:
            buffer: str = node.start_mark.buffer or ""
            return begin, begin + len(buffer[begin : node.end_mark.index].rstrip())
        case _:
            return begin, node.end_mark.index


def _replaced(text: str, span: tuple[int, int], by: str) -> str:
    return text[: span[0]] + by + text[span[1] :]


def _is_one_line(node: Node) -> bool:
    if isinstance(node, ScalarNode):
        return node.style not in {"|", ">"} and node.end_mark.index > node.start_mark.index
    return isinstance(node, MappingNode | SequenceNode) and bool(node.flow_style)


def _is_long(value: Any) -> bool:
    return (isinstance(value, str) and "\n" in value) or (isinstance(value, list) and any(isinstance(one, dict | list) for one in value))


def _pair(key: Any, value: Any, before: Node | None) -> str:
    folded = isinstance(before, ScalarNode) and before.style == ">"
    if isinstance(value, str) and folded and value.strip() and value.strip().isprintable():
        sign = ">" if value.endswith("\n") else ">-"
        return f"{line(key)}: {sign}\n  {value.strip()}"
    return "\n".join(_pair_rows(key, value))


def _indented(text: str, column: int, *, first: bool = False) -> str:
    margin = " " * column
    lines = text.splitlines()
    return "\n".join((margin + part if part and (at or first) else part) for at, part in enumerate(lines))


def _compose(text: str) -> Node | None:
    found: Node | None = YAML(typ="safe", pure=True).compose(text)
    return found


def _node(node: Node | None, path: Path_) -> Node | None:
    for step in path:
        match node:
            case SequenceNode() if isinstance(step, int) and step < len(node.value):
                node = node.value[step]
            case MappingNode():
                node = next((value for key, value in node.value if _is_key(key, step)), None)
            case _:
                return None
    return node


def _key(node: MappingNode, step: str | int) -> Node | None:
    return next((key for key, _ in node.value if _is_key(key, step)), None)


def _is_key(node: Node, step: str | int) -> bool:
    return isinstance(node, ScalarNode) and node.value == str(step)


# --- by values ---


def _at(data: Any, path: Path_) -> Any:
    for step in path:
        data = data[step]
    return data


def _child(at: Any, step: str | int) -> Any:
    if isinstance(at, list):
        return at[step] if isinstance(step, int) and step < len(at) else None
    return at.get(step)


def _missing(data: Any, path: Path_) -> bool:
    try:
        _at(data, path)
    except (KeyError, IndexError, TypeError):
        return True
    return False


def _set(at: Any, step: str | int, value: Any) -> None:
    if isinstance(at, list) and isinstance(step, int) and step >= len(at):
        at.append(value)
    else:
        at[step] = value


# --- anew ---


def _rows(value: Any) -> list[str]:
    """A mapping or a list, one row for each key or item; whatever fits into one row is in one."""
    match value:
        case dict() if value:
            return [row for key, one in value.items() for row in _pair_rows(key, one)]
        case list() if not all(_is_scalar(one) for one in value):
            return [row for one in value for row in _item(one).splitlines()]
        case _:
            return [flow(value)]


def _pair_rows(key: Any, value: Any) -> list[str]:
    name = line(key)
    if isinstance(value, str) and _is_prose(value):
        return [f"{name}: {'|' if value.endswith(chr(10)) else '|-'}", *(f"  {row}" if row else "" for row in value.splitlines())]
    if _is_short(value):
        return [f"{name}: {flow(value)}"]
    if isinstance(value, list):
        return [f"{name}:", *(f"  {row}" for row in _rows(value))]
    return [f"{name}:", *(f"  {row}" if row else "" for row in _rows(value))]


def _item(value: Any) -> str:
    if _is_scalar(value) or not value or (isinstance(value, list) and _is_short(value)):
        return f"- {flow(value)}"
    first, *rest = _rows(value)
    return "\n".join([f"- {first}", *(f"  {row}" if row else "" for row in rest)])


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _is_short(value: Any) -> bool:
    """True where it stands in one line: scalars, lists of them, and small mappings of them."""
    match value:
        case dict():
            return all(_is_scalar(one) for one in value.values()) and len(flow(value)) < _ONE_LINE
        case list():
            return all(_is_scalar(one) for one in value)
        case _:
            return True


def _is_prose(text: str) -> bool:
    """True for several lines that can stand as they are."""
    rows = text.removesuffix("\n").split("\n")
    return len(rows) > 1 and all(row.isprintable() and row == row.rstrip() for row in rows) and rows[0][:1].strip() != "" and rows[-1] != ""
