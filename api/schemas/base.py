"""What do all bodies have in common?"""

import math
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema, model_validator

from api.sse import finite

Item = TypeVar("Item")

_NUMBER_SCHEMA = {"anyOf": [{"type": "number"}, {"type": "string", "enum": ["Infinity", "-Infinity", "NaN"]}]}

#: A number that may be infinite; see Given.
Real = Annotated[float, WithJsonSchema(_NUMBER_SCHEMA, mode="serialization")]
#: Plain data that may have such numbers in it.
Plain = Annotated[Any, PlainSerializer(finite)]


class Given(BaseModel):
    """A body that the API gives. JSON has no infinity: it becomes the text "Infinity"."""

    model_config = ConfigDict(ser_json_inf_nan="strings", frozen=True, from_attributes=True)


class Asked(BaseModel):
    """A body that a client sends: unknown keys are refused, and so is NUL, which no text in the database can hold."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        _check(value)
        return value


class Page(Given, Generic[Item]):
    """Part of a list."""

    items: list[Item]
    next: str | None = Field(description="The cursor of the next page; null at the end.", examples=["WzEyXQ"])


def _check(value: Any, depth: int = 0) -> None:
    match value:
        case str() if "\0" in value:
            raise ValueError("expected text, found NUL in it")
        case dict() | list() if depth > 32:
            raise ValueError("expected at most 32 levels, found more")
        case dict():
            for key, item in value.items():
                _check(key, depth + 1)
                _check(item, depth + 1)
        case list():
            for item in value:
                _check(item, depth + 1)
        case float() if not math.isfinite(value):
            raise ValueError("expected a number, found none")
        case _:
            pass


def _representable(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("expected a moment between the years 1 and 9999 in UTC") from None


#: A moment with its time zone, as the database can keep it.
Moment = Annotated[AwareDatetime, AfterValidator(_representable)]
