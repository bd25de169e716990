"""A campaign that the command line runs itself, beside the queue: it leases the testbed like a worker, so that nobody else uses it."""

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from orchestrator.campaign import Abandoned, Session, run
from orchestrator.interruption import Cause, Interruption
from orchestrator.service.heartbeat import Heartbeat
from orchestrator.testbeds import driver_of, opened
from rackproof.errors import StoreError
from rackproof.model.campaign import CampaignRecord, CampaignState
from rackproof.model.event import Listener
from rackproof.ports import Testbed
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.workers import LOCAL
from testplans.kind import Kind


@dataclass(frozen=True, kw_only=True, slots=True)
class Local:
    """This process as a worker of one testbed."""

    store: Store
    testbed: Testbed
    interruption: Interruption
    heartbeat: Heartbeat

    def run(self, campaign: int, kind: Kind, listener: Listener, prepared: Callable[[], None] = lambda: None) -> CampaignRecord:
        """Run every trial of a campaign that has no result yet, conclude, and store the end.

        Raises Stopped after the campaign was stored as ABORTED, Conflict where somebody has the testbed or the campaign, StoreError where
        results cannot be kept. A failure of the lab is an end like others.
        """
        lease = self.store.leases.take(campaign, incarnation=self.heartbeat.incarnation, resources=self.testbed.resources)
        prepared()
        session = Session(
            lease=lease,
            kind=kind,
            store=self.store,
            testbed=self.testbed,
            listener=listener,
            interruption=self.interruption,
            worker=self.heartbeat.name,
        )
        try:
            run(session, _now)
        except Abandoned as end:
            raise StoreError(f"campaign {campaign} was left as it is ({end}); `rackproof resume {campaign}` goes on with it") from end
        except Exception:
            # Stored as FAILED where the lab failed; anything else is a mistake of ours, and must be seen.
            if self.store.campaign(campaign).state is not CampaignState.FAILED:
                raise
        finally:
            with contextlib.suppress(StoreError):
                self.store.leases.release(lease)
        return self.store.campaign(campaign)


@contextlib.contextmanager
def local(settings: Settings, store: Store, name: str, driver: str) -> Iterator[Local]:
    """Be a worker of a testbed for as long as this lasts. Raises NotFound for a driver that is not there, StoreError."""
    interruption = Interruption()
    driver = driver_of(name, driver, store)
    heartbeat = Heartbeat(
        store=store,
        name=f"{LOCAL}{socket.gethostname()}-{os.getpid()}",
        testbeds=(),
        timeout_s=settings.worker_timeout_s,
        on_lost=lambda why: interruption.set(Cause.LOST, why),
        on_cancel=lambda _campaign, why: interruption.set(Cause.CANCEL, why),
        local=True,
    )
    try:
        with opened(name, driver, interruption, store) as testbed, heartbeat:
            store.testbeds.announce(name, driver, testbed.resources)
            yield Local(store=store, testbed=testbed, interruption=interruption, heartbeat=heartbeat)
    finally:
        interruption.close()


def _now(_name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)
