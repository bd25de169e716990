"""What can a testbed carry? Asked once, in the background, while nobody else uses it; the API rehearses plans against the answer."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

import rackproof
from orchestrator.interruption import Cause, Interruption
from orchestrator.testbeds import opened
from rackproof.errors import Conflict, RackproofError, Stopped, StoreError
from rackproof.ports import Limits, Testbed
from rackproof.store import Store, life

log = structlog.get_logger()

#: How long asking may take [s].
BOUND_S = 60.0
#: Where the testbed is in use, or cannot be asked: how long until it is tried again [s].
AGAIN_S = 30.0
#: What the answer depends on beside the testbed: kept with its facts.
ASKED_BY = "asked by"


def check(store: Store, testbeds: Mapping[str, str]) -> None:
    """Raise NotFound where a driver is not there."""
    for name, driver in testbeds.items():
        with _opened(store, name, driver):
            pass


def announce(store: Store, name: str, driver: str) -> None:
    """Write down the testbed; nothing of it is opened."""
    with _opened(store, name, driver) as testbed:
        store.testbeds.announce(name, driver, testbed.resources)


class Prober:
    """A thread that asks each testbed for its limits where they are not known, and again when its inventory has changed."""

    def __init__(self, store: Store, worker: str, testbeds: Mapping[str, str]) -> None:
        self._store = store
        self._worker = worker
        self._testbeds = dict(testbeds)
        self._asked: dict[str, int] = {}
        self._interruption = Interruption()
        self._thread = threading.Thread(target=self._run, name="prober", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End soon."""
        self._interruption.set(Cause.STOP, "the worker ends")
        self._thread.join(5.0)

    def _run(self) -> None:
        with contextlib.suppress(Stopped):
            while True:
                for name, driver in self._testbeds.items():
                    with contextlib.suppress(Conflict, StoreError):  # somebody uses it, or the database is away: later
                        self._ask_once(name, driver)
                self._interruption.wait(AGAIN_S)

    def _ask_once(self, name: str, driver: str) -> None:
        inventory = self._store.inventories.find(name)
        revision = inventory.revision if inventory is not None else 0
        if self._asked.get(name) == revision:
            return
        try:
            self._ask(name, driver)
        except (Conflict, StoreError):
            raise
        except RackproofError as error:
            log.error("a testbed could not be asked for its limits", testbed=name, error=str(error))
        self._asked[name] = revision

    def _ask(self, name: str, driver: str) -> None:
        asked_by = f"{rackproof.__version__} on {life.this_host()}"
        known = self._store.testbeds.get(name)
        if known.limits is not None and known.facts.get(ASKED_BY) == asked_by:
            return
        until = datetime.now(UTC) + timedelta(seconds=BOUND_S)
        what = "finding out what it can carry"
        kept = self._store.reservations.reserve(testbed=name, user_id=None, owner=f"worker {self._worker}", reason=what, ends=until)
        try:
            if self._store.reservations.get(kept).granted is None:
                raise Conflict(f"testbed {name} is in use")
            with opened(name, driver, self._interruption, self._store) as testbed:
                limits, facts = testbed.limits(), testbed.facts()
            self._store.testbeds.announce(name, driver, testbed.resources, plain(limits), {**facts, ASKED_BY: asked_by})
        finally:
            with contextlib.suppress(Conflict):
                self._store.reservations.release(kept)


def plain(limits: Limits) -> dict[str, Any]:
    """Limits as plain data."""
    options = {model: sorted(options) for model, options in limits.options.items()}
    return {**asdict(limits), "options": options, "schemes": dict(limits.schemes)}


@contextlib.contextmanager
def _opened(store: Store, name: str, driver: str) -> Iterator[Testbed]:
    interruption = Interruption()
    try:
        with opened(name, driver, interruption, store) as testbed:
            yield testbed
    finally:
        interruption.close()
