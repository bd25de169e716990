"""How are times, durations and numbers said on a page?"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

#: A moment that is no farther away is said without its day; the browser does the same (app.js), whatever day it is in its time zone.
NEAR = timedelta(hours=12)
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def moment(at: datetime | None) -> str:
    """A moment in UTC, to the second."""
    return "–" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(at: datetime | None) -> str:
    """A moment in UTC, in as many characters as the browser puts there for its own time zone: nothing moves when it does."""
    if at is None:
        return "–"
    there = at.astimezone(UTC)
    return f"{there:%H:%M:%S}" if abs(datetime.now(UTC) - there) < NEAR else f"{there:%Y-%m-%d %H:%M}"


def iso(at: datetime) -> str:
    """A moment for programs; the browser shows it in its own time zone."""
    return at.astimezone(UTC).isoformat()


def duration(seconds: float | None) -> str:
    """A duration in at most two units: 1 h 5 min, 42 s, 0.3 s."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    for place, (size, unit) in enumerate(_UNITS):
        if whole >= size:
            rest_unit, smaller = _UNITS[place + 1][::-1] if place + 1 < len(_UNITS) else ("s", 1)
            rest = whole % size // int(smaller)
            return f"{whole // size} {unit} {rest} {rest_unit}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many significant digits; a starved queue's delay is infinite and says so. nan: there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e15:
        return _whole(int(value))
    if 10**digits <= abs(value) < 1e9:
        return _whole(int(float(f"{value:.{digits}g}")))
    return f"{value:.{digits}g}"


def _whole(value: int) -> str:
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def share(value: float) -> str:
    """A share as a percentage."""
    return f"{100 * value:.3g} %"


def plural(count: int, word: str) -> str:
    """3 trials, 1 trial."""
    return f"{number(count)} {word}" if count == 1 else f"{number(count)} {word}s"


def subject(labels: Mapping[str, str]) -> str:
    """What a number is of: "queue 3", "device linux-htb, queue 3"; "" for all of it."""
    return ", ".join(f"{key} {value}" for key, value in sorted(labels.items()))


def unit(name: str) -> str:
    """A unit as it stands behind a number; a ratio has none."""
    return {"1": "", "us": "µs", "1/us": "1/µs"}.get(name, name)


def quantity(value: float | None, name: str = "1", digits: int = 4) -> str:
    """A number with its unit."""
    said = unit(name)
    return f"{number(value, digits)}\N{NO-BREAK SPACE}{said}" if said and value is not None else number(value, digits)


FILTERS: Mapping[str, Callable[..., Any]] = {
    "moment": moment,
    "iso": iso,
    "clock": clock,
    "duration": duration,
    "number": number,
    "share": share,
    "plural": plural,
    "subject": subject,
    "unit": unit,
    "quantity": quantity,
}
