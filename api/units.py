"""Which unit has a number of a plan? The one that its name ends in, for forms to print beside it."""

from typing import Any

_UNITS = {
    "s": "s",
    "ms": "ms",
    "us": "µs",
    "bps": "bit/s",
    "kbps": "kbit/s",
    "mbps": "Mbit/s",
    "gbps": "Gbit/s",
    "fps": "frames/s",
    "bytes": "byte",
    "frames": "frames",
    "percent": "%",
    "ppm": "ppm",
    "days": "d",
}


def with_units(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema with x-unit at every property whose name ends in a unit, and a title at those that have none."""
    return {key: _within(value, key) for key, value in schema.items()}


def _within(value: Any, key: str) -> Any:
    match value:
        case dict() if key == "properties":
            return {name: _property(name, part) for name, part in value.items()}
        case dict():
            return {name: _within(part, name) for name, part in value.items()}
        case list():
            return [_within(part, "") for part in value]
        case _:
            return value


def _property(name: str, part: Any) -> Any:
    found = _within(part, "")
    if isinstance(found, dict):
        unit = _UNITS.get(name.rpartition("_")[2]) if "_" in name else None
        if unit is not None:
            found.setdefault("x-unit", unit)
        found.setdefault("title", name.replace("_", " ").capitalize())
    return found
