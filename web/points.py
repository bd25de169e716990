"""What does a sweep look like? Which of the swept values vary, which one goes across, and what each is called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from web.words import number

_UNITS = {
    "mbps": "Mbit/s",
    "gbps": "Gbit/s",
    "bps": "bit/s",
    "fps": "frames/s",
    "bytes": "byte",
    "frames": "frames",
    "us": "µs",
    "ms": "ms",
    "s": "s",
    "percent": "%",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Axes:
    """across: the value that the columns stand for, None where only the place of a trial tells them apart; down: those of the rows."""

    across: str | None
    down: tuple[str, ...]


def axes(points: Sequence[Mapping[str, Any]]) -> Axes:
    """Which swept values tell trials apart. One that follows from another (a discipline from its scheduler) is left out, and a number that
    goes along with the one that goes across (as many stable LSPs as are flapped).
    """
    first = points[0] if points else {}
    columns = {key: [point.get(key) for point in points] for key in first}
    varying = {key: values for key, values in columns.items() if len(set(map(str, values))) > 1}
    numeric = [key for key, values in varying.items() if all(isinstance(value, int | float) for value in values)]
    # Of two that are always the same, the last one.
    numeric = [key for place, key in enumerate(numeric) if varying[key] not in [varying[other] for other in numeric[place + 1 :]]]
    across = max(numeric, key=lambda key: len(set(varying[key])), default=None)
    kept: list[str] = []
    # Of two that say the same, the one that says it in more words: "WRR 0.1 0.2 0.3 0.4 by bytes" rather than "wrr-bytes".
    for key in sorted(varying.keys() - {across}, key=lambda key: (-len(set(varying[key])), -max(len(str(one)) for one in varying[key]))):
        if not any(_follows(varying[key], varying[other]) for other in kept):
            kept.append(key)
    along = [key for key in kept if across is not None and _goes_along(varying, key, across, kept)]
    return Axes(across=across, down=tuple(key for key in varying if key in kept and key not in along))


def title(point: Mapping[str, Any], keys: Sequence[str]) -> str:
    """What tells a row from the others: "linux-htb, SP"."""
    return ", ".join(said(key, point.get(key)) for key in keys)


def said(key: str, value: Any) -> str:
    """A swept value with its unit: "60 Mbit/s", "linux-htb", "senders 8"."""
    if not isinstance(value, int | float):
        return str(value)
    name, unit = named(key)
    return f"{number(value)} {unit}" if unit else f"{name} {number(value)}"


def named(key: str) -> tuple[str, str]:
    """A swept value's name and unit: load_mbps is the load in Mbit/s."""
    name, _, last = key.rpartition("_")
    unit = _UNITS.get(last, "")
    return (name.replace("_", " "), unit) if name and unit else (key.replace("_", " "), "")


def _goes_along(varying: Mapping[str, Sequence[Any]], key: str, across: str, kept: Sequence[str]) -> bool:
    """Whether a number follows from the one that goes across, alone or with another value."""
    values, places = varying[key], varying[across]
    if not all(isinstance(value, int | float) for value in values):
        return False
    others = [varying[other] for other in kept if other != key and not all(isinstance(value, int | float) for value in varying[other])]
    return any(_follows(values, list(zip(places, other, strict=True))) for other in (*others, places))


def _follows(values: Sequence[Any], other: Sequence[Any]) -> bool:
    known: dict[str, str] = {}
    return all(known.setdefault(str(key), str(value)) == str(value) for key, value in zip(other, values, strict=True))
