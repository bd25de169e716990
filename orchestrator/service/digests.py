"""What came of a night, and who is told? One digest a run, in the transaction that ends the run; then it is delivered."""

from collections import Counter
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

from orchestrator.service.changes import changes, pairs
from orchestrator.service.courier import Courier
from orchestrator.service.duty import About
from rackproof.errors import NotFound
from rackproof.model.verdict import Verdict, worst
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.deliveries import EMAIL, WEBHOOK
from rackproof.store.schedules import Schedule, SuiteRun
from rackproof.store.suites import Outcome, Suites

#: So long a digest waits for the reports of campaigns that have ended.
PATIENCE_S = 600.0
_WAIT_S, _WAIT_FOR_REPORTS_S = 30.0, 2.0


class Digests:
    """The duty that makes digests and sends them."""

    name = "digests"
    words = frozenset({"ended", "delivery"})

    def __init__(self, settings: Settings, store: Store, worker: About, patience_s: float = PATIENCE_S) -> None:
        del worker
        self._store = store
        self._suites = Suites(store.transactions)
        self._public_url = (settings.public_url or "").rstrip("/")
        self._patience_s = patience_s
        self.courier = Courier(settings, store)

    def run(self) -> float:
        """Make the digests that are due, and see to it that they are on their way. Raises StoreError."""
        while self._make_one():
            pass
        delivery_s = self.courier.wake()
        return min(delivery_s, _WAIT_FOR_REPORTS_S if self._suites.waiting() else _WAIT_S)

    def _make_one(self) -> bool:
        with self._store.transactions.together("no digest could be made"):
            run = self._suites.take_ended(self._patience_s)
            if run is None:
                return False
            schedule = self._schedule(run)
            previous = self._suites.previous(run) if schedule is not None else None
            before = self._suites.outcomes(previous.id) if previous is not None else []
            self._suites.finish(run.id, compose(run, schedule, self._suites.outcomes(run.id), previous, before, self._public_url))
            for email in schedule.emails if schedule is not None else ():
                self._store.deliveries.add(run.id, EMAIL, email)
            for webhook in schedule.webhooks if schedule is not None else ():
                self._store.deliveries.add(run.id, WEBHOOK, webhook)
        return True

    def _schedule(self, run: SuiteRun) -> Schedule | None:
        try:
            return None if run.schedule_id is None else self._store.schedules.get(run.schedule_id)
        except NotFound:
            return None


def compose(
    run: SuiteRun,
    schedule: Schedule | None,
    outcomes: list[Outcome],
    previous: SuiteRun | None,
    before: list[Outcome],
    public_url: str,
) -> dict[str, Any]:
    """The digest as it is stored, and as mails and messages are made from it. public_url: "" for no links."""
    zone = "UTC" if schedule is None else schedule.zone
    campaigns, changed = [], []
    for outcome, was in pairs(outcomes, before):
        duration_s = (outcome.ended - outcome.started).total_seconds() if outcome.started and outcome.ended else None
        campaigns.append(
            {
                "id": outcome.id,
                "name": outcome.name,
                "testbed": outcome.testbed,
                "verdict": outcome.verdict.value,
                "reason": outcome.reason,
                "trials": outcome.trials,
                "duration_s": duration_s,
                "report": outcome.report,
                "was": None if was is None else was.verdict.value,
                "previous": None if was is None else was.id,
                "link": _link(public_url, f"campaigns/{outcome.id}"),
                "report_link": _link(public_url, f"api/v1/campaigns/{outcome.id}/report.pdf"),
            }
        )
        changed += [{"campaign": outcome.name, **change.plain()} for change in (changes(outcome, was) if was is not None else ())]
    verdicts = [outcome.verdict for outcome in outcomes] + [Verdict.ERROR] * len(run.refused)
    counts = Counter(verdict.value for verdict in verdicts)
    return {
        "schedule": run.name,
        "schedule_id": run.schedule_id,
        "run": run.id,
        "due": run.due.astimezone(UTC).isoformat(),
        "due_there": f"{run.due.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}",
        "zone": zone,
        "why": run.why,
        "verdict": worst(verdicts).value if verdicts else Verdict.ERROR.value,
        "counts": {verdict.value: counts[verdict.value] for verdict in Verdict if counts[verdict.value]},
        "campaigns": campaigns,
        "refused": [dict(plan) for plan in run.refused],
        "previous_run": None if previous is None else previous.id,
        "changes": changed,
        "link": _link(public_url, f"schedules/runs/{run.id}"),
    }


def _link(public_url: str, path: str) -> str | None:
    return f"{public_url}/{path}" if public_url else None
