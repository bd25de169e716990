"""A campaign that this process runs, as the command line does."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from rackproof.store import Store
from rackproof.store.workers import LOCAL

_numbers = itertools.count(1)


@contextmanager
def running(store: Store, campaign: int, resource: str = "a device", timeout_s: float = 600.0) -> Iterator[Store]:
    """The store for whoever runs the campaign: RUNNING as long as this lasts, INTERRUPTED where it ends without finish()."""
    incarnation = store.workers.register(f"{LOCAL}test-{os.getpid()}-{next(_numbers)}", (), timeout_s)
    try:
        lease = store.leases.take(campaign, incarnation=incarnation, resources=[resource])
        try:
            yield store.under(lease)
        finally:
            store.leases.release(lease)
    finally:
        store.workers.stop(incarnation)
