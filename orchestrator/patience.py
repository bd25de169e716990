"""How is something written into a database that may be away for a while? Again and again, and never twice."""

from collections.abc import Callable
from typing import TypeVar

import structlog

from orchestrator.interruption import Cause, Interruption
from rackproof.errors import StoreAway, StoreError

#: Between two attempts to reach a database that is away [s].
AGAIN_S = 0.25

T = TypeVar("T")
log = structlog.get_logger()


class Patience:
    """Of whoever has a campaign's lease: it ends where the lease may be lost, or the process must end."""

    def __init__(self, interruption: Interruption) -> None:
        self._interruption = interruption

    def __call__(self, do: Callable[[], T]) -> T:
        """Do something with the store, again and again while the database is away, as long as the lease can still be ours."""
        away = False
        while True:
            try:
                done = do()
            except StoreAway as error:
                if self._interruption.cause in (Cause.STOP, Cause.LOST):
                    raise
                if not away:
                    log.warning("the database is away; trying again", error=str(error))
                away = True
                self._interruption.wait(AGAIN_S)
            else:
                if away:
                    log.info("the database is back")
                return done

    def once(self, write: Callable[[], None], was_written: Callable[[], bool]) -> None:
        """Write what may be written once only: where the database went away in the middle, it may have kept it all the same."""
        tries = 0

        def attempt() -> None:
            nonlocal tries
            tries += 1
            try:
                write()
            except StoreAway:
                raise
            except StoreError:
                # Only this process may write as long as the fence is ours; an end takes the lease with it.
                if tries == 1 or not was_written():
                    raise

        self(attempt)
