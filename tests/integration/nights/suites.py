"""What the tests of nights share: a clock that is set by hand, schedules of plans that do nothing, and campaigns that end at once."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, insert, update

from orchestrator.service.duty import About
from orchestrator.service.nights import Nights
from rackproof.model.campaign import CampaignState
from rackproof.model.finding import Finding
from rackproof.model.measurement import Interval
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.schedules import Schedule
from rackproof.store.schema import Campaign
from rackproof.store.schema import Finding as FindingRow
from tests.kinds import launch

launch.extend()

ABOUT = About(name="worker-1", incarnation="incarnation-1", testbeds=("nothing",))
START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)  # a Monday


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> None:
        self.now += timedelta(**span)


def a_plan(name: str = "night", trials: int = 2, testbed: str = "nothing", **more: Any) -> str:
    lines = {"kind": "nothing", "name": name, "trials": trials, "testbed": testbed, **more}
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def a_testbed(store: Store, name: str = "nothing") -> None:
    store.testbeds.announce(name, "nothing", [f"device-of-{name}"])


def a_schedule(store: Store, clock: Clock | None = None, **changes: Any) -> Schedule:
    values: dict[str, Any] = {"name": "nightly", "cron": "0 22 * * *", "zone": "UTC", "plans": [a_plan()], "owner": "ada", **changes}
    return store.schedules.create(**values, now=None if clock is None else clock())


def nights(settings: Settings, store: Store, clock: Clock) -> Nights:
    return Nights(settings, store, ABOUT, clock=clock)


def end(
    store: Store,
    campaign: int,
    verdict: Verdict = Verdict.PASS,
    reason: str = "",
    findings: Sequence[Finding] = (),
    state: CampaignState = CampaignState.DONE,
) -> None:
    """A campaign ends as if it had run."""
    with store.transactions.step("the campaign could not be ended") as connection:
        ended = {"state": state, "verdict": verdict, "reason": reason, "started": func.clock_timestamp(), "ended": func.clock_timestamp()}
        connection.execute(update(Campaign).where(Campaign.id == campaign).values(**ended))
        for position, finding in enumerate(findings):
            interval = finding.interval
            connection.execute(
                insert(FindingRow).values(
                    campaign_id=campaign,
                    position=position,
                    criterion=finding.criterion,
                    title=finding.title,
                    subject=finding.subject,
                    verdict=finding.verdict,
                    value=finding.value,
                    unit=finding.unit,
                    n=finding.n,
                    low=None if interval is None else interval.low,
                    high=None if interval is None else interval.high,
                    confidence=None if interval is None else interval.confidence,
                    method=None if interval is None else interval.method,
                    limit=finding.limit,
                    statement=finding.statement,
                    trials=list(finding.trials),
                    detail=finding.detail,
                )
            )


def a_finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "criterion": "delay.p99",
        "title": "Delay of the best queue",
        "subject": {"device": "reference"},
        "verdict": Verdict.PASS,
        "value": 10.0,
        "unit": "us",
        "n": 1000,
        "interval": Interval(low=9.0, high=11.0, method="batch means, 20 batches"),
        "limit": "at most 50 us",
        "statement": "It holds.",
        "trials": (1,),
    }
    return Finding(**{**values, **changes})
