"""May somebody try to sign in now? Failures make the next attempt wait, for the name and for the address, but never for ever.

An address from which the name has signed in before is judged by its own failures with that name alone: whoever guesses elsewhere cannot
keep the owner out. The longest wait is a minute for a name and a quarter of an hour for an address; a refused attempt does not prolong it.
"""

import math
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, text, update

from rackproof.model.account import TooManyAttempts
from rackproof.store.schema_service import SignIn

REMEMBERED = timedelta(hours=1)
KNOWN_FOR = timedelta(days=30)
#: Failures that cost nothing, and the longest wait [s].
OF_NAME = (5, 60)
OF_ADDRESS = (20, 900)


def begin(connection: Connection, name: str, address: str) -> int:
    """Write down an attempt, as one that failed until succeed() says otherwise; its id. Raises TooManyAttempts.

    It is written before the password is looked at, so that a thousand attempts at once are a thousand attempts.
    """
    name = name.lower()
    for key in (f"sign-in name {name}", f"sign-in address {address}"):
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"), {"key": key})
    now = connection.scalars(select(func.clock_timestamp())).one()
    of_name, of_address = SignIn.name == name, SignIn.address == address
    connection.execute(delete(SignIn).where(or_(of_name, of_address), SignIn.at < now - KNOWN_FOR))
    welcome = connection.scalar(select(func.max(SignIn.at)).where(of_name, of_address, SignIn.succeeded))
    since = now - REMEMBERED
    if welcome is not None:
        until = _free_at(connection, and_(of_name, of_address), max(since, welcome), OF_NAME)
    else:
        until = max(_free_at(connection, of_name, since, OF_NAME), _free_at(connection, of_address, since, OF_ADDRESS))
    if until > now:
        raise TooManyAttempts(math.ceil((until - now).total_seconds()))
    return connection.scalars(insert(SignIn).values(name=name, address=address, succeeded=False).returning(SignIn.id)).one()


def succeed(connection: Connection, attempt: int) -> None:
    """The attempt was right."""
    connection.execute(update(SignIn).where(SignIn.id == attempt).values(succeeded=True))


def forget(connection: Connection, name: str) -> None:
    """Nothing is held against the name any more."""
    connection.execute(delete(SignIn).where(SignIn.name == name.lower(), SignIn.succeeded.is_(False)))


def _free_at(connection: Connection, whose: ColumnElement[bool], since: datetime, bounds: tuple[int, int]) -> datetime:
    failures, last = connection.execute(
        select(func.count(), func.max(SignIn.at)).where(whose, SignIn.succeeded.is_(False), SignIn.at > since)
    ).one()
    wait = wait_s(failures, bounds)
    return last + timedelta(seconds=wait) if wait else since


def wait_s(failures: int, bounds: tuple[int, int]) -> int:
    """How long after the last of so many failures the next attempt may come [s]."""
    free, longest = bounds
    # 2**10 s is beyond every bound already.
    return min(longest, 2 ** min(failures - free, 10)) if failures >= free else 0
