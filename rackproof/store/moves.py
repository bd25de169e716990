"""How is a campaign locked, what happened told, and what it had given back? Small steps within the transactions of others."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, literal_column, select

from rackproof.errors import NotFound
from rackproof.model.event import EventKind
from rackproof.store.schema import Campaign, Event
from rackproof.store.schema_service import Lease
from rackproof.store.transactions import WORK, notify

#: Conditions in which the planner of the database recognises the index over what has not ended, among a hundred thousand that have.
IS_RUNNING = Campaign.state == literal_column("'RUNNING'")
IS_PENDING = Campaign.state == literal_column("'PENDING'")

_STANDING = (
    Campaign.id,
    Campaign.name,
    Campaign.testbed,
    Campaign.state,
    Campaign.started,
    Campaign.queued,
    Campaign.fence,
    Campaign.run,
    Campaign.worker,
    Campaign.incarnation,
    Campaign.cancel,
    Campaign.trial_count,
    Campaign.trials_done,
)


def locked(connection: Connection, campaign: int) -> Row[Any]:
    """How a campaign stands; nobody else changes it until the transaction ends. Raises NotFound."""
    row: Any = connection.execute(select(*_STANDING).where(Campaign.id == campaign).with_for_update(key_share=True)).one_or_none()
    if row is None:
        raise NotFound(f"there is no campaign {campaign}")
    found: Row[Any] = row
    return found


def tell(connection: Connection, campaign: int, kind: EventKind, words: str, **data: float | int | str) -> None:
    """Write down an event. The campaign's row must be locked: events get their numbers in the order in which others can see them."""
    # What the data of every event has: see orchestrator/campaign.py.
    values = {"text": words, "at": datetime.now(UTC).isoformat(), **data}
    connection.execute(insert(Event).values(campaign_id=campaign, kind=kind.value, data=values, at=func.clock_timestamp()))


def free(connection: Connection, campaign: int) -> None:
    """Give back all that a campaign had, and say so."""
    connection.execute(delete(Lease).where(Lease.campaign_id == campaign))
    notify(connection, WORK, "queue")


def ended(connection: Connection, campaign: int) -> None:
    """Say that a campaign ended."""
    notify(connection, WORK, f"ended {campaign}")
