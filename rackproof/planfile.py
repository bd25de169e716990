"""What a plan file says, and at which line: YAML read as plain data, within bounds, and nothing in it executed."""

import hashlib
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rackproof.errors import PlanError, Problem
from rackproof.planhints import expected_and_found, shown

FILE_BYTES_MAX = 256 * 1024
DEPTH_MAX = 32
#: Counted with every use of an anchor, so that a short file cannot stand for a huge one.
VALUES_MAX = 50_000

Path_ = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)

_PLAIN_TAGS = {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
_WHOLE = "(the whole plan)"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanFile:
    """A plan file as plain data. sha256 (hex) is of the file's bytes; lines[path of a key or item] is the 1-based line where it stands."""

    source: str
    text: str
    sha256: str
    data: Mapping[str, Any]
    lines: Mapping[Path_, int]

    def place(self, loc: tuple[str | int, ...]) -> Path_:
        """The part of a pydantic location that stands in the file; names of union members, which pydantic puts between, are left out."""
        path: Path_ = ()
        for step in loc:
            for candidate in (step, str(step), int(step) if isinstance(step, str) and step.isdecimal() and len(step) < 10 else step):
                if (*path, candidate) in self.lines:
                    path = (*path, candidate)
                    break
        return path

    def line_of(self, loc: tuple[str | int, ...]) -> int | None:
        """The line of a location, or of the nearest thing around it; None for the whole plan."""
        return self.lines.get(self.place(loc))


def read_plan(path: Path) -> PlanFile:
    """Read a plan file. Raises PlanError."""
    source = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise PlanError(source, [Problem(where="file", expected="a file that can be read", found=error.strerror or str(error))]) from error
    return parse_plan(content, source)


def parse_plan(content: bytes, source: str) -> PlanFile:
    """Read a plan from bytes; source is what messages call it. Raises PlanError."""
    if len(content) > FILE_BYTES_MAX:
        found = "a larger one"
        raise PlanError(source, [Problem(where="file", expected=f"a file of at most {FILE_BYTES_MAX // 1024} KiB", found=found)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = Problem(where="file", expected="UTF-8 text", found=f"the byte 0x{content[error.start]:02x}", line=line)
        raise PlanError(source, [problem]) from None
    reader = _Reader(source)
    data = reader.read(text)
    return PlanFile(source=source, text=text, sha256=hashlib.sha256(content).hexdigest(), data=data, lines=reader.lines)


def validate(model: type[Model], file: PlanFile) -> Model:
    """The plan as a model. Raises PlanError with every problem, each with its line, in the order of the file."""
    try:
        return model.model_validate(file.data)
    except ValidationError as error:
        problems = []
        for fault in error.errors(include_url=False):
            loc = fault["loc"]
            place = file.place(loc)
            # What is missing stands nowhere: its name is the last step of the location, its line that of what lacks it.
            where = (*place, loc[-1]) if fault["type"] == "missing" else place
            expected, found = expected_and_found(model, loc, fault)
            problems.append(Problem(where=dotted(where), expected=expected, found=found, line=file.lines.get(place)))
        problems.sort(key=lambda problem: math.inf if problem.line is None else problem.line)
        raise PlanError(file.source, problems) from None


def dotted(path: Path_) -> str:
    """A path as people write it: load.per_sender_mbps[3]."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".") or _WHOLE


class _Reader:
    """Reads one file; lines fills while it does."""

    def __init__(self, source: str) -> None:
        self.lines: dict[Path_, int] = {}
        self._source = source
        self._values = 0
        self._yaml = YAML(typ="safe", pure=True)

    def read(self, text: str) -> dict[str, Any]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # ruamel warns of what it reads as YAML 1.2; what it reads is checked below
                node = self._yaml.compose(text)
                data = None if node is None else self._value(node, (), 0)
        except PlanError:
            raise
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            found = " ".join(part for part in (error.context, error.problem) if part) or "something else"
            raise self._refusal((), "YAML", found, None if mark is None else mark.line + 1) from None
        except RecursionError:
            raise self._refusal((), f"at most {DEPTH_MAX} levels", "far more") from None
        except Exception as error:  # noqa: BLE001  # whatever a YAML library stumbles over, it is the file that is wrong
            raise self._refusal((), "YAML", " ".join(str(error).split())[:200] or type(error).__name__) from None
        if not isinstance(data, dict):
            raise self._refusal((), "keys with values (kind: ..., name: ...)", "an empty file" if data is None else shown(data), 1)
        return data

    def _value(self, node: Node, path: Path_, depth: int) -> Any:
        self._values += 1
        line = node.start_mark.line + 1
        if depth > DEPTH_MAX:
            raise self._refusal(path[:4], f"at most {DEPTH_MAX} levels", "more", line)
        if self._values > VALUES_MAX:
            raise self._refusal(path, f"at most {VALUES_MAX} values", "more, counting every use of an anchor", line)
        match node:
            case ScalarNode():
                return self._scalar(node, path)
            case SequenceNode(tag=tag) if str(tag) in _PLAIN_TAGS:
                return [self._item(item, (*path, index), depth) for index, item in enumerate(node.value)]
            case MappingNode(tag=tag) if str(tag) in _PLAIN_TAGS:
                return self._mapping(node, path, depth)
            case _:
                raise self._refusal(path, "plain data", f"the tag {node.tag}", line)

    def _item(self, node: Node, path: Path_, depth: int) -> Any:
        self.lines[path] = node.start_mark.line + 1
        return self._value(node, path, depth + 1)

    def _mapping(self, node: MappingNode, path: Path_, depth: int) -> dict[str | int, Any]:
        values: dict[str | int, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self._scalar(key_node, path) if isinstance(key_node, ScalarNode) else None
            if isinstance(key, bool) or not isinstance(key, str | int):
                found = shown(key) if isinstance(key_node, ScalarNode) else "a list or mapping"
                raise self._refusal(path, "a name or a whole number as key", found, line)
            if key in values:
                raise self._refusal(
                    (*path, key), "each key once", f"{key} again; it stands at line {self.lines[(*path, key)]} already", line
                )
            self.lines[(*path, key)] = line
            values[key] = self._value(value_node, (*path, key), depth + 1)
        return values

    def _scalar(self, node: ScalarNode, path: Path_) -> Any:
        line = node.start_mark.line + 1
        try:
            value = self._yaml.constructor.construct_object(node, deep=True)
        except MarkedYAMLError:
            raise self._refusal(path, "plain data", f"the tag {node.tag}", line) from None
        except ValueError:
            raise self._refusal(path, "a value that can be read", shown(node.value), line) from None
        match value:
            case date():
                return str(node.value)  # what YAML takes for a date is a text here
            case None | bool() | float() | str():
                return value
            case int() if abs(value) < 1 << 127:
                return int(value)
            case int():
                raise self._refusal(path, "a number of at most 38 digits", "a longer one", line)
            case _:
                raise self._refusal(path, "plain data", f"the tag {node.tag}", line)

    def _refusal(self, path: Path_, expected: str, found: str, line: int | None = None) -> PlanError:
        return PlanError(self._source, [Problem(where=dotted(path), expected=expected, found=found, line=line)])
