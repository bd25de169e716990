"""Which duties does a worker have beside campaigns, and when does each run?"""

import threading
import time
from collections.abc import Sequence

import structlog

from orchestrator.service.duty import About, Duty
from rackproof.errors import StoreError
from rackproof.settings import Settings
from rackproof.store import Store

log = structlog.get_logger()

#: After a failure [s].
AGAIN_S = 5.0


def duties(settings: Settings, store: Store, worker: About) -> list[Duty]:
    """All duties of a worker."""
    from orchestrator.service.cleaning import Cleaning
    from orchestrator.service.desk import Desk
    from orchestrator.service.digests import Digests
    from orchestrator.service.golden import Golden
    from orchestrator.service.nights import Nights

    return [
        Nights(settings, store, worker),
        Digests(settings, store, worker),
        Golden(settings, store, worker),
        Desk(settings, store, worker),
        Cleaning(settings, store, worker),
    ]


class Rounds:
    """A thread that does each duty when it is due, or when a word is told that wakes it. A failure of one does not stop the others."""

    def __init__(self, duties: Sequence[Duty]) -> None:
        self._due = {duty.name: 0.0 for duty in duties}
        self._duties = duties
        self._changed = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="duties", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """End after the duty that is being done; True soon, or the thread is left behind."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._thread.join(timeout_s)

    def tell(self, word: str) -> None:
        """Something happened; "" where something may have been missed."""
        with self._changed:
            for duty in self._duties:
                if not word or word in duty.words:
                    self._due[duty.name] = 0.0
            self._changed.notify_all()

    def _run(self) -> None:
        while (duty := self._next()) is not None:
            try:
                again_s = duty.run()
            except StoreError as error:
                log.warning("a duty could not be done; trying again", duty=duty.name, error=str(error))
                again_s = AGAIN_S
            except Exception:
                log.exception("a duty went wrong; trying again", duty=duty.name)
                again_s = AGAIN_S
            with self._changed:
                # Where it was woken while it ran, it is due at once.
                if self._due[duty.name] > 0.0:
                    self._due[duty.name] = time.monotonic() + again_s

    def _next(self) -> Duty | None:
        with self._changed:
            while not self._over:
                duty = min(self._duties, key=lambda each: self._due[each.name], default=None)
                left = None if duty is None else self._due[duty.name] - time.monotonic()
                if duty is not None and left is not None and left <= 0:
                    self._due[duty.name] = time.monotonic()
                    return duty
                self._changed.wait(left)
            return None
