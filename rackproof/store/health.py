"""Which testbed is due for its health check, and what did the last one show?

Like firing.py, a part of the transaction that the caller opened with `store.transactions.together`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, func, or_, select, update

from rackproof.errors import NotFound
from rackproof.model.service import TestbedState
from rackproof.model.verdict import Verdict
from rackproof.store import schema_service as tables
from rackproof.store.schedules import ENDED
from rackproof.store.schema import Campaign
from rackproof.store.transactions import WORK, Transactions, notify

_testbeds = tables.Testbed


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A testbed with its health check, locked. offline_by: "" where it is online, "check" or "person"."""

    testbed: str
    offline_by: str
    plan: str | None
    cron: str | None
    zone: str
    next_at: datetime | None
    campaign: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """A health check that ended. cancelled: somebody stopped it, which says nothing about the testbed."""

    check: Check
    campaign: int
    verdict: Verdict
    reason: str
    cancelled: bool


class Health:
    """Health checks of testbeds."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def take_due(self, now: datetime, but: set[str]) -> Check | None:
        """A testbed whose check is due, or has no time yet, except those named; None where there is none that nobody else has."""
        return self._take(
            _testbeds.golden_plan.is_not(None),
            _testbeds.golden_cron.is_not(None),
            or_(_testbeds.golden_next.is_(None), _testbeds.golden_next <= now),
            _testbeds.name.not_in(but),
        )

    def take_ended(self) -> Judged | None:
        """A check that ended and was not judged yet; None where there is none that nobody else has."""
        ended = select(Campaign.id).where(Campaign.id == _testbeds.golden_campaign_id, Campaign.state.in_(ENDED)).exists()
        new = _testbeds.golden_judged.is_distinct_from(_testbeds.golden_campaign_id)
        check = self._take(ended, new)
        if check is None or check.campaign is None:
            return None
        columns = select(Campaign.verdict, Campaign.reason, Campaign.cancel).where(Campaign.id == check.campaign)
        with self._transactions.step(f"the health check of testbed {check.testbed} could not be read") as connection:
            row = connection.execute(columns).one()
        verdict = Verdict.ERROR if row.verdict is None else Verdict(row.verdict)
        cancelled = verdict is Verdict.ABORTED and row.cancel is not None
        return Judged(check=check, campaign=check.campaign, verdict=verdict, reason=row.reason, cancelled=cancelled)

    def running(self, check: Check) -> bool:
        """True while the latest check of the testbed has not ended."""
        open_ = select(Campaign.id).where(Campaign.id == check.campaign, Campaign.state.not_in(ENDED)).exists()
        with self._transactions.step(f"the health check of testbed {check.testbed} could not be read") as connection:
            return bool(connection.scalar(select(open_)))

    def began(self, testbed: str, campaign: int) -> None:
        """This campaign is the testbed's health check now; it may run while the testbed is offline."""
        self._update(testbed, golden_campaign_id=campaign)

    def move_on(self, testbed: str, next_at: datetime | None) -> None:
        """Say when the check is due next."""
        self._update(testbed, golden_next=next_at)

    def judged(self, testbed: str, campaign: int) -> None:
        """The check has been taken into account."""
        self._update(testbed, golden_judged=campaign)

    def take_offline(self, testbed: str, reason: str) -> None:
        """Nothing starts on the testbed until a check passes, or a person says so."""
        self._update(testbed, state=TestbedState.OFFLINE, reason=reason, golden_reason=reason)

    def bring_back(self, testbed: str) -> None:
        """The testbed is online again."""
        self._update(testbed, state=TestbedState.ONLINE, reason="", golden_reason="")

    def check_now(self, testbed: str) -> None:
        """Let the check be due at once; without one, or while a person keeps the testbed offline, nothing happens. Raises NotFound."""
        with self._transactions.step(f"the health check of testbed {testbed} could not be asked for") as connection:
            asking = update(_testbeds).where(_testbeds.name == testbed).values(golden_next=func.clock_timestamp())
            if connection.scalar(asking.returning(_testbeds.name)) is None:
                raise NotFound(f"there is no testbed {testbed}")
            notify(connection, WORK, "schedule")

    def next_due(self) -> datetime | None:
        """When the next check is due; None where none is."""
        wanted = select(func.min(_testbeds.golden_next)).where(_testbeds.golden_plan.is_not(None), _testbeds.golden_cron.is_not(None))
        with self._transactions.step("the testbeds could not be read") as connection:
            found: datetime | None = connection.scalar(wanted)
        return found

    def _take(self, *conditions: ColumnElement[bool]) -> Check | None:
        wanted = select(_testbeds).where(*conditions).order_by(_testbeds.name).limit(1).with_for_update(skip_locked=True)
        with self._transactions.step("the testbeds could not be read") as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else _check(row)

    def _update(self, testbed: str, **values: Any) -> None:
        with self._transactions.step(f"testbed {testbed} could not be changed") as connection:
            connection.execute(update(_testbeds).where(_testbeds.name == testbed).values(**values))
            if values.keys() & {"state", "golden_judged"}:
                notify(connection, WORK, "queue")


def _check(row: Row[Any]) -> Check:
    by_check = bool(row.golden_reason) and row.reason == row.golden_reason
    return Check(
        testbed=row.name,
        offline_by="" if row.state == TestbedState.ONLINE else "check" if by_check else "person",
        plan=row.golden_plan,
        cron=row.golden_cron,
        zone=row.golden_zone,
        next_at=row.golden_next,
        campaign=row.golden_campaign_id,
    )
