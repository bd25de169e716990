"""What was expected at a key of a plan and what was found, in words for who wrote it."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

_EXPECTED_FOUND = re.compile(r"expected (?P<expected>.+), found (?P<found>.+)", re.DOTALL)

#: Unit at the end of a key -> what it measures, how many of the smallest it is, how it is written.
UNITS: Mapping[str, tuple[str, float, str]] = {
    "bps": ("rate", 1, "bit/s"),
    "kbps": ("rate", 1e3, "kbit/s"),
    "mbps": ("rate", 1e6, "Mbit/s"),
    "gbps": ("rate", 1e9, "Gbit/s"),
    "fps": ("frame rate", 1, "frames/s"),
    "pps": ("frame rate", 1, "frames/s"),
    "kpps": ("frame rate", 1e3, "1000 frames/s"),
    "mpps": ("frame rate", 1e6, "1000000 frames/s"),
    "ns": ("time", 1, "ns"),
    "us": ("time", 1e3, "us"),
    "ms": ("time", 1e6, "ms"),
    "s": ("time", 1e9, "s"),
    "sec": ("time", 1e9, "s"),
    "seconds": ("time", 1e9, "s"),
    "min": ("time", 60e9, "min"),
    "minutes": ("time", 60e9, "min"),
    "h": ("time", 3600e9, "h"),
    "bits": ("size", 1, "bit"),
    "bytes": ("size", 8, "byte"),
    "kb": ("size", 8e3, "kB"),
    "frames": ("frames", 1, "frames"),
    "packets": ("frames", 1, "frames"),
    "percent": ("share", 0.01, "%"),
    "share": ("share", 1, "a share of 1"),
}


def expected_and_found(model: type[BaseModel], loc: tuple[str | int, ...], fault: ErrorDetails) -> tuple[str, str]:
    """Both halves of a problem, from a fault that pydantic found at loc below model."""
    message = fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    match fault["type"]:
        case "missing":
            return "this key", "nothing"
        case "extra_forbidden":
            key = str(loc[-1])
            return hint(key, fault["input"], known_keys(model, loc[:-1])), f"the unknown key {key}"
        case _ if said := _EXPECTED_FOUND.fullmatch(message):
            return said["expected"], said["found"]
        case _:
            expected = message.removeprefix("Input should be ").removeprefix("a valid ")
            return expected[:1].lower() + expected[1:], shown(fault["input"])


def hint(key: str, value: object, known: list[str]) -> str:
    """What somebody who wrote an unknown key may have meant."""
    stem, unit = _stem(key)
    same = [candidate for candidate in known if candidate != key and _stem(candidate)[0] == stem and _stem(candidate)[1]]
    if same:
        right = _stem(same[0])[1]
        return f"{same[0]} (in {UNITS[right][2]}){_converted(value, unit, right)}"
    near = difflib.get_close_matches(re.sub(r"[\s-]+", "_", key.strip().lower()), known, n=1, cutoff=0.6)
    if near:
        return f"{near[0]}? Known here: {', '.join(known)}" if len(known) > 1 else near[0]
    return f"one of {', '.join(known)}" if known else "no key here"


def known_keys(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[str]:
    """The keys that a plan may have at loc."""
    models: list[type[BaseModel]] = [model]
    for step in loc:
        inner = [found for candidate in models if (field := _field(candidate, step)) is not None for found in _models(field.annotation)]
        # An index or a union member's name leads to the same models.
        models = inner or [candidate for candidate in models if candidate.__name__ == step] or models
    return list(dict.fromkeys(field.alias or name for candidate in models for name, field in candidate.model_fields.items()))


def shown(value: object) -> str:
    """A value as it would stand in a plan, shortened."""
    match value:
        case None:
            text = "nothing"
        case bool():
            text = str(value).lower()
        case int() | float():
            text = f"{value}"
        case str():
            text = repr(value)
        case dict():
            text = f"a mapping with {', '.join(map(str, value))}" if value else "an empty mapping"
        case list() | tuple():
            text = f"[{', '.join(shown(item) for item in value[:8])}{', ...' if len(value) > 8 else ''}]"
        case _:
            text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _stem(key: str) -> tuple[str, str]:
    """A key without its unit, and the unit ("" where it has none)."""
    stem, _, last = key.strip().lower().replace("-", "_").rpartition("_")
    return (stem, last) if stem and last in UNITS else (key.strip().lower(), "")


def _converted(value: object, unit: str, right: str) -> str:
    """The value in the right unit, where it can be told."""
    if isinstance(value, bool) or not isinstance(value, int | float) or unit not in UNITS or UNITS[unit][0] != UNITS[right][0]:
        return ""
    return f": {value * (UNITS[unit][1] / UNITS[right][1]):.12g}"


def _field(model: type[BaseModel], step: str | int) -> Any:
    return model.model_fields.get(str(step)) or next((field for field in model.model_fields.values() if field.alias == step), None)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that an annotation names, through unions, lists, mappings and Annotated."""
    if get_origin(annotation) is not None:
        for argument in get_args(annotation):
            yield from _models(argument)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
