"""How a plan is refused: at the key that is wrong, with what was expected and what was found."""

import difflib
import re
from collections.abc import Mapping
from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

Whole = Annotated[int, Field(strict=True)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False, json_schema_extra={"unit": "1"})]
Mbps = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False, json_schema_extra={"unit": "Mbit/s"})]
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False, json_schema_extra={"unit": "s"})]

#: Endings of keys that are units, and how each is printed.
UNITS = {
    "bps": "bit/s",
    "kbps": "kbit/s",
    "mbps": "Mbit/s",
    "gbps": "Gbit/s",
    "s": "s",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
    "min": "min",
    "bytes": "byte",
    "bits": "bit",
    "frames": "frame",
    "packets": "packet",
}


def fault(where: tuple[str | int, ...], expected: str, found: object) -> InitErrorDetails:
    """One fault of a plan, at a key below the part that is validated."""
    return InitErrorDetails(type="value_error", loc=where, input=found, ctx={"error": ValueError(f"expected {expected}, found {found}")})


def refuse(part: type[BaseModel], *faults: InitErrorDetails) -> NoReturn:
    """Refuse a part of a plan; pydantic puts the part's own place in front of each fault's."""
    raise ValidationError.from_exception_data(part.__name__, list(faults))


def check_keys(part: type[BaseModel], value: Any) -> Any:
    """The value, where each of its keys is known to the part; a key that is not is refused with the nearest that is."""
    if isinstance(value, Mapping):
        known = [field.alias or name for name, field in part.model_fields.items()]
        unknown = [fault((str(key),), _hint(str(key), known), f"the unknown key {key}") for key in value if key not in known]
        if unknown:
            refuse(part, *unknown)
    return value


def _stem(key: str) -> tuple[str, str]:
    """A key without its unit, and the unit ("" where it has none)."""
    stem, _, last = key.rpartition("_")
    return (stem, last) if stem and last in UNITS else (key, "")


def _hint(key: str, known: list[str]) -> str:
    stem, unit = _stem(key)
    for candidate in known:
        same, right = _stem(candidate)
        if same == stem and right and right != unit:
            return f"{candidate} (in {UNITS[right]})"
    near = difflib.get_close_matches(re.sub(r"[\s-]", "_", key.lower()), known, n=1, cutoff=0.6)
    return f"{near[0]}" if near else f"one of {', '.join(known)}"


class Part(BaseModel):
    """A part of a plan: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        return check_keys(cls, value)
