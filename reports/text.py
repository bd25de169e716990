"""Numbers and strings as a report prints them: an interval beside every value, nothing invisible in any text."""

import math
import re
from datetime import datetime

from rackproof.model.measurement import Interval, Measurement

#: What stands where there is no number.
ABSENT = "–"
INFINITE = "∞"
MINUS = "−"
#: Where a long word may be broken: U+200B.
BREAK = "\u200b"

_UNITS = {"1": "", "us": "µs"}
# Control characters, lone surrogates, and the marks that turn the direction of text: their codes are shown, they are not obeyed.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
# A digest is there to be copied: it stays in one piece.
_DIGEST = re.compile(r"[0-9a-f]{40,64}\)?")
_LONG_WORD = re.compile(r"\S{25,}")


def unit(name: str) -> str:
    """A unit as printed: "us" with its micro sign, nothing for a ratio."""
    return _UNITS.get(name, name)


def clean(text: str) -> str:
    """The text with control and direction characters shown by their codes, as Python writes them; newlines and tabs stay."""
    return _UNPRINTABLE.sub(_code, text.replace("\r\n", "\n"))


def _code(match: re.Match[str]) -> str:
    point = ord(match[0])
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"


def breakable(text: str, every: int = 18) -> str:
    """The text with places to break in words that are too long for a line: after punctuation, else every few characters."""

    def split(match: re.Match[str]) -> str:
        if _DIGEST.fullmatch(match[0]):
            return match[0]
        pieces = re.findall(rf"[^-_./:,;=@]{{0,{every}}}[-_./:,;=@]?", match[0])
        return BREAK.join(piece for piece in pieces if piece)

    return _LONG_WORD.sub(split, text)


def decimals_for(half_width: float) -> int:
    """How many decimals a number deserves whose interval is that wide: the interval shows one digit, two where it begins with 1."""
    if not math.isfinite(half_width) or half_width <= 0:
        return 0
    exponent = math.floor(math.log10(half_width))
    leading = half_width / 10**exponent
    return max(0, -exponent + (1 if leading < 1.95 else 0))


def number(value: float, digits: int = 4, *, decimals: int | None = None) -> str:
    """The value in plain notation with so many significant digits, or so many decimals where that is given."""
    if math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return INFINITE if value > 0 else MINUS + INFINITE
    if decimals is None:
        # From the rounded value, so that 9.9999 counts as 10.
        rounded = float(f"{value:.{digits - 1}e}")
        magnitude = math.floor(math.log10(abs(rounded))) if rounded else 0
        decimals = max(0, digits - 1 - magnitude) if rounded else 0
        if decimals > 9:
            mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
            return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
        text = f"{value:,.{decimals}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
    else:
        text = f"{value:,.{decimals}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return text.replace(",", "\u202f").replace("-", MINUS)


def with_interval(value: float, interval: Interval | None, *, scale: float = 1.0, digits: int = 4, finest: int = 6) -> str:
    """The value and its interval, both to the digits that the interval warrants: "53.2 ± 0.1", "0.1 (0.0 to 0.4)" where it is lopsided.

    scale multiplies both (1e-3 for us printed as ms); finest bounds the decimals.
    """
    if interval is None or not math.isfinite(value) or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return number(value * scale, digits)
    below, above = (value - interval.low) * scale, (interval.high - value) * scale
    wide = max(below, above)
    if wide <= 0:
        return f"{number(value * scale, digits)} ± 0"
    decimals = min(decimals_for(wide), finest)
    shown = number(value * scale, decimals=decimals)
    narrow = min(below, above)
    if narrow >= 0.67 * wide:
        half = number((below + above) / 2, decimals=decimals)
        return f"{shown} ± {half if float(half.replace(chr(0x202F), '')) else '<' + number(10.0**-decimals, decimals=decimals)}"
    return f"{shown} ({number(interval.low * scale, decimals=decimals)} to {number(interval.high * scale, decimals=decimals)})"


def measured(measurement: Measurement | None, *, scale: float = 1.0, digits: int = 4) -> str:
    """A measurement as a cell shows it; a dash where there is none."""
    if measurement is None:
        return ABSENT
    return with_interval(measurement.value, measurement.interval, scale=scale, digits=digits)


def percent(value: float, digits: int = 3) -> str:
    """A ratio in percent."""
    return ABSENT if math.isnan(value) else f"{number(value * 100, digits)} %"


def count(value: float) -> str:
    """A whole number with thin spaces between thousands."""
    return f"{value:,.0f}".replace(",", "\u202f").replace("-", MINUS) if math.isfinite(value) else number(value)


def moment(when: datetime | None) -> str:
    """An instant to the second, with its zone."""
    return ABSENT if when is None else f"{when:%Y-%m-%d %H:%M:%S} {when.tzname() or ''}".strip()


def duration(seconds: float) -> str:
    """A span of time as people say it: "850 ms", "12.3 s", "4 min 05 s", "2 h 03 min"."""
    if not math.isfinite(seconds):
        return ABSENT
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
    return f"{int(seconds) // 3600} h {int(seconds) % 3600 // 60:02d} min"


def plural(many: int, one: str, several: str = "") -> str:
    """How many of what: "1 trial", "30 trials"."""
    return f"{many} {one if many == 1 else several or one + 's'}"
