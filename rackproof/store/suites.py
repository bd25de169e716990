"""Which suite runs have ended, and what came of their campaigns?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, func, or_, select, update

from rackproof.model.finding import Finding
from rackproof.model.measurement import Interval
from rackproof.model.service import JobState, SuiteRunState
from rackproof.model.verdict import Verdict
from rackproof.store import schema
from rackproof.store import schema_service as tables
from rackproof.store.schedules import ENDED, SuiteRun, suite_run
from rackproof.store.transactions import Transactions

_campaigns = schema.Campaign
_runs = tables.SuiteRun
REPORT = "report"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of a campaign of a suite. report: "ready", "failed", or "late" where nobody has written it yet."""

    id: int
    name: str
    testbed: str
    verdict: Verdict
    reason: str
    started: datetime | None
    ended: datetime | None
    plan_sha256: str
    trials: int
    report: str
    findings: tuple[Finding, ...]


class Suites:
    """Suite runs from their last campaign's end to their digest."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def take_ended(self, patience_s: float) -> SuiteRun | None:
        """The oldest run without a digest whose campaigns and reports are done, now this transaction's own; None where there is none.

        Reports are waited for so long, from the end of their campaign.
        """
        wanted = select(_runs).where(_runs.state == SuiteRunState.RUNNING, ~_open(), ~_undrawn(patience_s))
        with self._transactions.step("the suite runs could not be read") as connection:
            row = connection.execute(wanted.order_by(_runs.id).limit(1).with_for_update(skip_locked=True)).one_or_none()
        return None if row is None else suite_run(row, ())

    def waiting(self) -> bool:
        """True where a run waits for nothing but reports."""
        with self._transactions.step("the suite runs could not be read") as connection:
            return bool(connection.scalar(select(exists().where(_runs.state == SuiteRunState.RUNNING, ~_open()))))

    def outcomes(self, run: int) -> list[Outcome]:
        """The campaigns of a run, in the order in which they were submitted."""
        with self._transactions.reading(f"the campaigns of run {run} could not be read") as connection:
            rows = connection.execute(
                select(_campaigns, _drawn().label("drawn"), _given_up().label("given_up"))
                .where(_campaigns.suite_run_id == run)
                .order_by(_campaigns.id)
            ).all()
            findings = _findings(connection, [row.id for row in rows])
        return [
            Outcome(
                id=row.id,
                name=row.name,
                testbed=row.testbed,
                verdict=Verdict(row.verdict) if row.verdict is not None else Verdict.ERROR,
                reason=row.reason,
                started=row.started,
                ended=row.ended,
                plan_sha256=row.plan_sha256,
                trials=row.trial_count,
                report="ready" if row.drawn else "failed" if row.given_up else "late",
                findings=tuple(findings.get(row.id, ())),
            )
            for row in rows
        ]

    def previous(self, run: SuiteRun) -> SuiteRun | None:
        """The run of the same schedule before this one that has a digest and campaigns; None where there is none."""
        wanted = (
            select(_runs)
            .where(
                _runs.schedule_id == run.schedule_id,
                _runs.state == SuiteRunState.DONE,
                _runs.due < run.due,
                exists().where(_campaigns.suite_run_id == _runs.id),
            )
            .order_by(_runs.due.desc())
            .limit(1)
        )
        with self._transactions.step(f"the run before run {run.id} could not be read") as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else suite_run(row, ())

    def finish(self, run: int, digest: Mapping[str, Any]) -> None:
        """Write down the digest; the run is DONE."""
        values = {"state": SuiteRunState.DONE, "digest": dict(digest), "ended": func.clock_timestamp()}
        with self._transactions.step(f"the digest of run {run} could not be stored") as connection:
            connection.execute(update(_runs).where(_runs.id == run).values(**values))


def _open() -> ColumnElement[bool]:
    return exists().where(_campaigns.suite_run_id == _runs.id, _campaigns.state.not_in(ENDED))


def _undrawn(patience_s: float) -> ColumnElement[bool]:
    recent = _campaigns.ended > func.clock_timestamp() - timedelta(seconds=patience_s)
    return exists().where(_campaigns.suite_run_id == _runs.id, recent, ~_drawn(), ~_given_up())


def _drawn() -> ColumnElement[bool]:
    # A campaign that was run again has a report of before, too.
    since = or_(_campaigns.ended.is_(None), tables.Report.created >= _campaigns.ended)
    return exists().where(tables.Report.campaign_id == _campaigns.id, since)


def _given_up() -> ColumnElement[bool]:
    job = tables.Job
    since = or_(_campaigns.ended.is_(None), job.ended >= _campaigns.ended)
    return exists().where(and_(job.campaign_id == _campaigns.id, job.kind == REPORT, job.state == JobState.FAILED, since))


def _findings(connection: Connection, campaigns: Sequence[int]) -> dict[int, list[Finding]]:
    table = schema.Finding
    found: dict[int, list[Finding]] = {}
    rows = connection.execute(select(table).where(table.campaign_id.in_(campaigns)).order_by(table.campaign_id, table.position))
    for row in rows:
        found.setdefault(row.campaign_id, []).append(_finding(row))
    return found


def _finding(row: Row[Any]) -> Finding:
    names = ("criterion", "title", "subject", "value", "unit", "n", "limit", "statement", "detail")
    interval = None if row.low is None else Interval(low=row.low, high=row.high, confidence=row.confidence, method=row.method)
    values = {name: getattr(row, name) for name in names}
    return Finding(verdict=Verdict(row.verdict), interval=interval, trials=tuple(row.trials), **values)
