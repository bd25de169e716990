"""How values that PostgreSQL would refuse or bend are kept: text from devices, and plain data with inf in it."""

import math
from typing import Any

from sqlalchemy import Text, TypeDecorator
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect

_FLOAT = "$float"


def clean(text: str) -> str:
    """Text as PostgreSQL takes it: a device may print NUL or broken UTF-8, and what it said is kept all the same."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def encode(value: Any) -> Any:
    """Plain data as JSON: JSON has no inf and nan, and jsonb turns 1e300 into an integer of 301 digits."""
    match value:
        case bool() | int() | None:
            return value
        case float():
            text = repr(float(value))
            return {_FLOAT: text} if not math.isfinite(value) or "e" in text else value
        case str():
            return clean(str(value))
        case dict():
            return {clean(str(key)): encode(item) for key, item in value.items()}
        case list() | tuple():
            return [encode(item) for item in value]
        case _ if hasattr(value, "item"):  # a numpy scalar
            return encode(value.item())
        case _ if hasattr(value, "keys"):  # any other mapping
            return {clean(str(key)): encode(value[key]) for key in value.keys()}  # noqa: SIM118
        case _:
            raise TypeError(f"expected plain data, found {type(value).__name__}: {value!r}")


def decode(value: Any) -> Any:
    """What encode() was given; tuples come back as lists."""
    match value:
        case dict() if len(value) == 1 and isinstance(value.get(_FLOAT), str):
            return float(value[_FLOAT])
        case dict():
            return {key: decode(item) for key, item in value.items()}
        case list():
            return [decode(item) for item in value]
        case _:
            return value


class Plain(TypeDecorator[Any]):
    """jsonb of plain data."""

    impl = JSONB
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        return encode(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002
        return decode(value)


class Words(TypeDecorator[str]):
    """text that people or devices wrote."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else clean(value)
