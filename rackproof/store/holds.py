"""Whether a living process runs a campaign: a lock in the database that ends with its holder.

A campaign is RUNNING only while its lock is held. A process that was killed, or whose machine went away, cannot say so any more: its
campaign still has RUNNING in the table, but its lock is free, and that is what INTERRUPTED means.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from rackproof.errors import StoreError
from rackproof.store.database import translated

# Advisory locks are numbers that everybody who uses the database shares: ours begin with "RP" and one more letter for what they lock.
_CAMPAIGN_LOCKS = 0x5250_4300_0000_0000

_HOLDERS = """
    SELECT (l.classid::bigint << 32) | l.objid::bigint AS key, a.application_name AS holder
    FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Hold:
    """A campaign's lock, held."""

    def __init__(self, campaign: int, connection: Connection) -> None:
        self._campaign = campaign
        self._connection = connection

    def check(self) -> None:
        """Raise StoreError where the connection, and the lock with it, was lost."""
        with translated(f"campaign {self._campaign} is no longer held by this process"):
            self._connection.execute(text("SELECT 1"))


@contextmanager
def hold(engine: Engine, campaign: int) -> Iterator[Hold]:
    """Hold a campaign's lock, on a connection of its own. Raises StoreError where another process has it."""
    what = f"campaign {campaign} could not be held"
    with translated(what):
        connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()
    try:
        with translated(what):
            if not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": _CAMPAIGN_LOCKS + campaign}):
                holder = connection.scalar(text(f"SELECT holder FROM ({_HOLDERS}) h WHERE key = :key"), {"key": _CAMPAIGN_LOCKS + campaign})  # noqa: S608
                raise StoreError(f"campaign {campaign} is being run by another process ({holder or 'which just ended'})")
        yield Hold(campaign, connection)
    finally:
        try:
            connection.close()
        except SQLAlchemyError:
            connection.invalidate()


def held(connection: Connection) -> frozenset[int]:
    """The campaigns that a living process holds at this moment."""
    keys = connection.scalars(text(f"SELECT key FROM ({_HOLDERS}) h"))  # noqa: S608
    return frozenset(key - _CAMPAIGN_LOCKS for key in keys if 0 < key - _CAMPAIGN_LOCKS < 1 << 40)
