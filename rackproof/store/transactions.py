"""One transaction at a time: what the parts of the store share, and how several of their writes become one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import Connection, Engine, text

from rackproof.store.database import translated

#: Channels of LISTEN/NOTIFY. EVENTS carries "CAMPAIGN SEQ", sent by the table's trigger; WORK a word and what it is about ("cancel 12").
EVENTS = "rackproof_events"
WORK = "rackproof_work"
JOBS = "rackproof_jobs"


class Transactions:
    """Transactions on one database. Threads may share one."""

    def __init__(self, engine: Engine, why_down: Callable[[], str] | None = None) -> None:
        self.engine = engine
        # A campaign is read by several statements, and all of them see the same moment.
        self._snapshot = engine.execution_options(isolation_level="REPEATABLE READ")
        self._why_down = why_down
        self._open: ContextVar[Connection | None] = ContextVar("open_transaction", default=None)

    @contextmanager
    def step(self, what: str) -> Iterator[Connection]:
        """A transaction of its own, or the one that is open around it. Raises StoreError that begins with `what`."""
        around = self._open.get()
        with translated(what, self._why_down):
            if around is not None:
                yield around
            else:
                with self.engine.begin() as connection:
                    yield connection

    @contextmanager
    def reading(self, what: str) -> Iterator[Connection]:
        """A transaction whose statements all see the same moment, or the one that is open around it. Raises StoreError."""
        around = self._open.get()
        with translated(what, self._why_down):
            if around is not None:
                yield around
            else:
                with self._snapshot.begin() as connection:
                    yield connection

    @contextmanager
    def together(self, what: str) -> Iterator[Connection]:
        """Everything that this thread does with the store within is one transaction: all of it is kept, or nothing. Raises StoreError."""
        if self._open.get() is not None:
            raise RuntimeError("a transaction is open already")
        with translated(what, self._why_down), self.engine.begin() as connection:
            token = self._open.set(connection)
            try:
                yield connection
            finally:
                self._open.reset(token)


def notify(connection: Connection, channel: str, payload: str) -> None:
    """Tell whoever listens, when the transaction is committed."""
    connection.execute(text("SELECT pg_notify(:channel, :payload)"), {"channel": channel, "payload": payload})
