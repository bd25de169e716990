"""What did each schedule's newest run come to? In one question for a list of schedules."""

from sqlalchemy import select

from rackproof.store import schema_service as tables
from rackproof.store.schedules import SuiteRun, suite_run
from rackproof.store.transactions import Transactions


def latest_runs(transactions: Transactions) -> dict[int, SuiteRun]:
    """The newest run of every schedule that has one, by the schedule's number; without their campaigns."""
    run, schedule = tables.SuiteRun, tables.Schedule
    newest = select(run).where(run.schedule_id == schedule.id).order_by(run.due.desc()).limit(1).lateral()
    query = select(newest).select_from(schedule).join(newest, newest.c.schedule_id == schedule.id)
    with transactions.step("the newest runs could not be read") as connection:
        return {row.schedule_id: suite_run(row, ()) for row in connection.execute(query)}
