"""How is a list in the address: its filters, its order, its place? Every view is a link that somebody else can open."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode

from api.problems import Refusal

Word = TypeVar("Word", bound=StrEnum)
#: How many rows a page of a list has.
ROWS = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Pages:
    """Where the pages before and after this one are; None where there is none."""

    previous: str | None
    following: str | None


def one_of(kinds: type[Word], value: str, name: str) -> Word | None:
    """The word that an address names; None where it names none. Raises Refusal."""
    if not value:
        return None
    try:
        return kinds(value)
    except ValueError:
        raise Refusal(422, f"{name}: expected one of {', '.join(kinds)}, found {value[:80]}") from None


def day(value: str, name: str, *, end: bool = False) -> datetime | None:
    """The beginning of a day (UTC), or its end; None where the address names none. Raises Refusal."""
    if not value:
        return None
    try:
        found = date.fromisoformat(value)
    except ValueError:
        raise Refusal(422, f"{name}: expected a day like 2026-03-14, found {value[:80]}") from None
    return datetime.combine(found, time(), UTC) + timedelta(days=1 if end else 0)


def address(path: str, **query: object) -> str:
    """An address with what its query has that is not empty."""
    kept = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path


def given(query: Mapping[str, str]) -> dict[str, str]:
    """What was filtered by, without what is empty."""
    return {name: value for name, value in query.items() if value}
