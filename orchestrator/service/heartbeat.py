"""Does this process still have what it runs? It says that it lives, again and again, and notices by its own clock when it is too late."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import structlog

from rackproof.errors import LeaseLost, StoreError
from rackproof.store import Store

log = structlog.get_logger()

#: The clock goes on while the machine sleeps.
_CLOCK = time.CLOCK_BOOTTIME
#: A process of the command line asks this often whether somebody wants its end [s].
_LOCAL_S = 2.0
#: What is being asked of the database at the end may take so long [s].
_END_S = 10.0


class Heartbeat:
    """A context manager that is registered as a worker within.

    on_lost(why): what runs must stop, for others may have it soon. on_cancel(campaign, why): somebody wants a campaign to end. Both come
    from threads of their own. After on_lost nothing is renewed until begin_again() registers anew.
    """

    def __init__(
        self,
        *,
        store: Store,
        name: str,
        testbeds: tuple[str, ...],
        timeout_s: float,
        on_lost: Callable[[str], None],
        on_cancel: Callable[[int, str], None],
        local: bool = False,
    ) -> None:
        self._store = store
        self.name = name
        self._testbeds = testbeds
        self._timeout_s = timeout_s
        self._period_s = min(_LOCAL_S, timeout_s / 5) if local else timeout_s / 5
        self._on_lost = on_lost
        self._on_cancel = on_cancel
        self._renewed = 0.0
        self._over = threading.Event()
        self._lost = threading.Event()
        self.incarnation = ""
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._register()
        for name, work in (("renew", self._renew), ("watch", self._watch)):
            thread = threading.Thread(target=work, name=f"heartbeat-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(_END_S)
        try:
            self._store.workers.stop(self.incarnation)
        except StoreError as failure:
            log.warning("the worker could not say that it ends; others will notice", error=str(failure))

    @property
    def lost(self) -> bool:
        """True from on_lost until begin_again."""
        return self._lost.is_set()

    def begin_again(self) -> None:
        """Register anew after everything that ran has stopped. Raises StoreError, Conflict where another process took the name."""
        self._register()
        self._lost.clear()

    def _register(self) -> None:
        begun = time.clock_gettime(_CLOCK)
        self.incarnation = self._store.workers.register(self.name, self._testbeds, self._timeout_s)
        self._renewed = begun

    def _renew(self) -> None:
        while not self._over.wait(self._period_s):
            if self._lost.is_set():
                continue
            begun = time.clock_gettime(_CLOCK)
            try:
                wanted = self._store.workers.renew(self.incarnation, self._timeout_s)
            except LeaseLost as error:
                self._lose(str(error))
                continue
            except StoreError as error:
                log.warning("the worker could not say that it lives", error=str(error))
                continue
            self._renewed = begun
            for campaign, why in wanted.items():
                self._on_cancel(campaign, why)

    def _watch(self) -> None:
        patience_s = self._timeout_s * 2 / 3
        while not self._over.wait(max(0.02, self._renewed + patience_s - time.clock_gettime(_CLOCK))):
            if self._lost.is_set():
                self._over.wait(self._period_s)
            elif time.clock_gettime(_CLOCK) - self._renewed >= patience_s:
                self._lose(f"the database did not answer for {patience_s:.0f} s")

    def _lose(self, why: str) -> None:
        if not self._lost.is_set():
            self._lost.set()
            log.error("this worker stops what it runs", why=why)
            self._on_lost(why)
