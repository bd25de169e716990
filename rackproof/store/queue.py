"""What waits for which testbed, in which order, and when is it expected to start?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from rackproof.errors import Conflict, NotFound
from rackproof.model.campaign import CampaignState
from rackproof.model.event import EventKind
from rackproof.model.trial import Trial
from rackproof.model.verdict import Verdict
from rackproof.store import leases, life, moves
from rackproof.store.line import Waiting, forecast
from rackproof.store.lineup import load
from rackproof.store.schema import Campaign, Curve, Finding, Measurement
from rackproof.store.schema import Trial as TrialRow
from rackproof.store.transactions import WORK, Transactions, notify

_ENDED = frozenset({CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A campaign or a reservation in the line of a testbed.

    position: 0 has the testbed now, 1 is next. expected_start and expected_end: None where nobody can say (the testbed is offline, or what
    it waits for has no known end). waits_for: in words, "" where it runs.
    """

    campaign: int | None
    reservation: int | None
    testbed: str
    owner: str
    name: str
    position: int
    expected_start: datetime | None
    expected_end: datetime | None
    waits_for: str


class Queue:
    """What waits, and what ends, goes on or begins anew."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def submit(
        self,
        *,
        name: str,
        kind: str,
        testbed: str,
        plan: Mapping[str, Any],
        plan_text: str,
        plan_sha256: str,
        trials: Sequence[Trial],
        user_id: int | None = None,
        owner: str = "",
        priority: int = 0,
        parent_id: int | None = None,
        suite_run_id: int | None = None,
    ) -> int:
        """Write down a campaign and put it into the queue; its id. Raises NotFound where there is no such testbed."""
        values: dict[str, Any] = {
            "name": name,
            "kind": kind,
            "testbed": testbed,
            "plan": plan,
            "plan_text": plan_text,
            "plan_sha256": plan_sha256,
        }
        values |= {"user_id": user_id, "owner": owner, "priority": priority, "parent_id": parent_id, "suite_run_id": suite_run_id}
        with self._transactions.step(f"the campaign {name} could not be submitted") as connection:
            leases.resources_of(connection, testbed)
            campaign = write_down(connection, {**values, "queued": func.clock_timestamp()}, trials)
            moves.tell(connection, campaign, EventKind.QUEUED, name, owner=owner)
            notify(connection, WORK, "queue")
        return campaign

    def cancel(self, campaign: int, why: str) -> None:
        """End a campaign wherever it is: what was measured stays. Raises NotFound, Conflict where it has ended already."""
        with self._transactions.step(f"campaign {campaign} could not be cancelled") as connection:
            row = moves.locked(connection, campaign)
            state = CampaignState(row.state)
            if state in _ENDED:
                raise Conflict(f"campaign {campaign} has ended already: it is {state}")
            reason = why or "cancelled"
            if state is CampaignState.RUNNING and (row.incarnation in life.living(connection) or self._will_go_on(connection, row.testbed)):
                connection.execute(update(Campaign).where(Campaign.id == campaign).values(cancel=reason))
                moves.tell(connection, campaign, EventKind.CANCEL_REQUESTED, reason)
                notify(connection, WORK, f"cancel {campaign}")
                return
            # Nobody runs it, and nobody will.
            values = {
                "state": CampaignState.ABORTED,
                "verdict": Verdict.ABORTED,
                "reason": reason,
                "cancel": reason,
                "fence": row.fence + 1,
            }
            connection.execute(update(Campaign).where(Campaign.id == campaign).values(**values, ended=func.clock_timestamp()))
            moves.tell(connection, campaign, EventKind.CAMPAIGN_ENDED, reason, verdict=Verdict.ABORTED.value)
            moves.free(connection, campaign)
            moves.ended(connection, campaign)

    def cancel_of(self, campaign: int) -> str:
        """Why somebody wants a campaign to end; "" where nobody does. Raises NotFound."""
        with self._transactions.step(f"campaign {campaign} could not be read") as connection:
            found = connection.execute(select(Campaign.cancel).where(Campaign.id == campaign)).one_or_none()
        if found is None:
            raise NotFound(f"there is no campaign {campaign}")
        return found.cancel or ""

    def retry(self, campaign: int) -> int:
        """Forget results that are not PASS and queue the campaign again; how many trials run. Raises NotFound, Conflict."""
        table = TrialRow
        with self._transactions.step(f"campaign {campaign} could not be retried") as connection:
            row = moves.locked(connection, campaign)
            if CampaignState(row.state) not in _ENDED:
                raise Conflict(f"campaign {campaign} has not ended: expected DONE, FAILED or ABORTED, found {row.state}")
            wrong = (table.campaign_id == campaign, (table.verdict.is_(None)) | (table.verdict != Verdict.PASS))
            count: int = connection.scalars(select(func.count()).select_from(table).where(*wrong)).one()
            if count == 0:
                raise Conflict(f"campaign {campaign}: every trial has a valid result, there is nothing to retry")
            ids = select(table.id).where(*wrong)
            connection.execute(delete(Measurement).where(Measurement.trial_id.in_(ids)))
            connection.execute(delete(Curve).where(Curve.trial_id.in_(ids)))
            connection.execute(update(table).where(*wrong).values(**blank_trial()))
            self._again(connection, campaign, row.testbed, f"{count} trials again", trials_done=row.trial_count - count)
        return count

    def resume(self, campaign: int) -> None:
        """Queue a campaign again for the trials that have no result. Raises NotFound, Conflict where it is done or goes on by itself."""
        with self._transactions.step(f"campaign {campaign} could not be resumed") as connection:
            row = moves.locked(connection, campaign)
            match CampaignState(row.state):
                case CampaignState.DONE:
                    raise Conflict(f"campaign {campaign} is DONE: there is nothing to resume")
                case CampaignState.PENDING if row.queued is not None:
                    raise Conflict(f"campaign {campaign} waits in the queue already")
                case CampaignState.RUNNING if row.incarnation in life.living(connection):
                    raise Conflict(f"campaign {campaign} is being run by worker {row.worker}")
                case CampaignState.RUNNING if row.queued is not None:
                    raise Conflict(f"campaign {campaign} goes on by itself as soon as a worker serves testbed {row.testbed}")
                case _:
                    self._again(connection, campaign, row.testbed, f"{row.trial_count - row.trials_done} trials left")

    def set_priority(self, campaign: int, priority: int) -> None:
        """Change a campaign's priority; higher ones start first. Raises NotFound, Conflict where it does not wait."""
        with self._transactions.step(f"the priority of campaign {campaign} could not be changed") as connection:
            row = moves.locked(connection, campaign)
            if row.state != CampaignState.PENDING:
                raise Conflict(f"campaign {campaign} does not wait: it is {row.state}")
            connection.execute(update(Campaign).where(Campaign.id == campaign).values(priority=priority))
            notify(connection, WORK, "queue")

    def forecast(self, testbed: str | None = None) -> list[Place]:
        """Everything that has a testbed or waits for one, in the order in which it is expected to start."""
        with self._transactions.reading("the queue could not be read") as connection:
            line = load(connection)
        places = [
            Place(
                campaign=holding.campaign,
                reservation=holding.reservation,
                testbed=holding.testbed,
                owner=holding.owner,
                name=holding.name,
                position=0,
                expected_start=holding.since,
                expected_end=holding.ends,
                waits_for="",
            )
            for holding in line.holdings
        ]
        positions: dict[str, int] = {}
        for expected in forecast(line):
            who = expected.who
            positions[who.testbed] = position = positions.get(who.testbed, 0) + 1
            waiting = isinstance(who, Waiting)
            places.append(
                Place(
                    campaign=who.campaign if isinstance(who, Waiting) else None,
                    reservation=None if isinstance(who, Waiting) else who.reservation,
                    testbed=who.testbed,
                    owner=who.owner,
                    name=who.name if isinstance(who, Waiting) else who.reason,
                    position=position,
                    expected_start=expected.start,
                    expected_end=expected.end,
                    waits_for=expected.waits_for or ("a worker, which is about to start it" if waiting else "its grant"),
                )
            )
        return [place for place in places if testbed is None or place.testbed == testbed]

    def place(self, campaign: int) -> Place | None:
        """Where a campaign stands; None where it neither runs nor waits."""
        return next((place for place in self.forecast() if place.campaign == campaign), None)

    @staticmethod
    def _again(connection: Connection, campaign: int, testbed: str, words: str, **values: int) -> None:
        leases.resources_of(connection, testbed)
        blank: dict[str, Any] = {"ended": None, "verdict": None, "reason": "", "cancel": None}
        again = {"state": CampaignState.PENDING, "queued": func.clock_timestamp(), "run": Campaign.run + 1, "fence": Campaign.fence + 1}
        connection.execute(update(Campaign).where(Campaign.id == campaign).values(**blank, **again, **values))
        connection.execute(delete(Finding).where(Finding.campaign_id == campaign))
        moves.tell(connection, campaign, EventKind.QUEUED, words)
        moves.free(connection, campaign)

    @staticmethod
    def _will_go_on(connection: Connection, testbed: str) -> bool:
        """True where a living worker serves the testbed: it adopts the campaign, restores the devices and ends it."""
        bed = load(connection).beds.get(testbed)
        return bed is not None and not bed.closed.startswith("a worker")


def write_down(connection: Connection, values: Mapping[str, Any], trials: Sequence[Trial]) -> int:
    """A campaign with everything that it will do, as rows; its id."""
    counted = {"trial_count": len(trials), "duration_s": sum(trial.duration_s for trial in trials)}
    campaign = connection.scalars(insert(Campaign).values(**values, **counted, state=CampaignState.PENDING).returning(Campaign.id)).one()
    if trials:
        names = [field.name for field in fields(Trial)]
        connection.execute(
            insert(TrialRow), [{**{name: getattr(trial, name) for name in names}, "campaign_id": campaign} for trial in trials]
        )
    return campaign


def blank_trial() -> dict[str, Any]:
    """The columns of a trial that has not run."""
    blank: dict[str, Any] = {"reason": "", "health": {}, "counters": {}}
    return blank | dict.fromkeys(("started", "ended", "verdict", "samples_path", "samples_sha256", "samples_rows"))
