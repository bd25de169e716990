"""Which samples may go, and what else has been kept long enough?

Samples go in two steps, so that a process may die between them: a campaign is marked (`samples_gone`), and from then on nobody expects its
files; then they are deleted, and whoever finds files of a marked campaign deletes them, too.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, func, inspect, or_, select, text, tuple_, update

from rackproof.store import schema
from rackproof.store import schema_service as tables
from rackproof.store.schedules import ENDED
from rackproof.store.transactions import Transactions

#: Held, shared, by whoever makes a backup: no file is deleted meanwhile.
BACKUP_LOCK = 0x5250_0000_0000_0001
_KEEP = timedelta(days=30)
_ROWS_AT_ONCE = 10_000
_campaigns = schema.Campaign
_reports = tables.Report


class Retention:
    """What is no longer kept. Measurements, findings and reports always are."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def mark(self, older_than: timedelta, limit: int = 100) -> list[int]:
        """Mark campaigns that ended so long ago: their samples are gone from now on. One with a pinned report is left alone."""
        trial = schema.Trial
        sampled = select(trial.id).where(trial.campaign_id == _campaigns.id, trial.samples_path.is_not(None)).exists()
        wanted = (
            select(_campaigns.id)
            .where(
                _campaigns.state.in_(ENDED),
                _campaigns.ended < func.now() - older_than,
                or_(_campaigns.samples_gone.is_(None), _campaigns.samples_gone < _campaigns.ended),
                sampled,
                ~_pinned(),
            )
            .order_by(_campaigns.id)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        with self._transactions.step("no samples could be marked as gone") as connection:
            found = connection.scalars(wanted).all()
            # Who pins a report at this moment was first, or waits and learns that the samples are gone.
            locked = select(_reports.campaign_id, _reports.pinned).where(_reports.campaign_id.in_(found)).with_for_update()
            pinned = {row.campaign_id for row in connection.execute(locked) if row.pinned is not None}
            marked = [campaign for campaign in found if campaign not in pinned]
            connection.execute(update(_campaigns).where(_campaigns.id.in_(marked)).values(samples_gone=func.clock_timestamp()))
        return marked

    def gone(self, campaigns: Collection[int]) -> list[int]:
        """Those of the campaigns whose files are to be deleted."""
        with self._transactions.step("the campaigns could not be read") as connection:
            return list(
                connection.scalars(select(_campaigns.id).where(_campaigns.id.in_(campaigns), *_deletable()).order_by(_campaigns.id))
            )

    @contextmanager
    def deleting(self, campaign: int) -> Iterator[list[str] | None]:
        """The paths of a campaign's samples, to be deleted within; None where they are not to be, or not now.

        It cannot be put into the queue again meanwhile, and no backup begins to read.
        """
        trial = schema.Trial
        with self._transactions.step(f"the samples of campaign {campaign} could not be deleted") as connection:
            free = connection.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": BACKUP_LOCK})
            locked = select(_campaigns.id).where(_campaigns.id == campaign, *_deletable()).with_for_update()
            if not free or connection.scalar(locked) is None:
                yield None
                return
            paths = select(trial.samples_path).where(trial.campaign_id == campaign, trial.samples_path.is_not(None))
            yield [path for path in connection.scalars(paths.order_by(trial.index)) if path is not None]

    def tidy(self) -> dict[str, int]:
        """Delete what the service itself keeps for a while; how many rows of what."""
        with self._transactions.step("old entries could not be deleted") as connection:
            now: datetime = connection.scalars(select(func.clock_timestamp())).one()
            old = now - _KEEP
            return {
                "sign_ins": _delete(connection, tables.SignIn, tables.SignIn.at < old),
                "sessions": _delete(connection, tables.Session, tables.Session.expires < now),
                "one_time_codes": _delete(connection, tables.OneTimeCode, tables.OneTimeCode.expires < now),
                "jobs": _delete(connection, tables.Job, tables.Job.ended < old),
                "idempotency_keys": _delete(connection, tables.IdempotencyKey, tables.IdempotencyKey.created < old),
            }


def _pinned() -> ColumnElement[bool]:
    return select(_reports.id).where(_reports.campaign_id == _campaigns.id, _reports.pinned.is_not(None)).exists()


def _deletable() -> tuple[ColumnElement[bool], ...]:
    # One that was run again after it was marked has new samples.
    return _campaigns.state.in_(ENDED), _campaigns.samples_gone > _campaigns.ended, ~_pinned()


def _delete(connection: Connection, table: type[schema.Base], which: ColumnElement[bool]) -> int:
    """At most so many at once: a table that nobody has tidied for years does not hold the others up."""
    key = inspect(table).primary_key
    some = select(*key).where(which).limit(_ROWS_AT_ONCE)
    done = connection.execute(delete(table).where(tuple_(*key).in_(some)))
    return int(done.rowcount)
