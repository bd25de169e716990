"""Which codes are good for once, and not used yet? Only SHA-256 of each is kept."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, insert

from rackproof.store.keys import sha256
from rackproof.store.schema_service import OneTimeCode


def keep(connection: Connection, purpose: str, code: str, data: Mapping[str, Any], lasts: timedelta) -> None:
    """A code that use() accepts once, until its time is over; those whose time is over go."""
    tidy(connection)
    expires = func.clock_timestamp() + lasts
    connection.execute(insert(OneTimeCode).values(id=sha256(f"{purpose} {code}"), purpose=purpose, data=data, expires=expires))


def use(connection: Connection, purpose: str, code: str) -> Mapping[str, Any] | None:
    """What was kept with the code, which is used up now; None where it is none."""
    this = (OneTimeCode.id == sha256(f"{purpose} {code}"), OneTimeCode.expires > func.clock_timestamp())
    found: Mapping[str, Any] | None = connection.scalar(delete(OneTimeCode).where(*this).returning(OneTimeCode.data))
    return found


def void(connection: Connection, purpose: str) -> None:
    """No code of the purpose is good any more."""
    connection.execute(delete(OneTimeCode).where(OneTimeCode.purpose == purpose))


def tidy(connection: Connection) -> int:
    """Remove codes whose time is over; how many."""
    return connection.execute(delete(OneTimeCode).where(OneTimeCode.expires < func.clock_timestamp())).rowcount
