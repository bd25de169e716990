"""What do the trials of one device under one discipline say, load by load, with repetitions pooled?"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rackproof.model.campaign import CampaignRecord, TrialRecord
from rackproof.model.measurement import Interval, Measurement
from rackproof.model.verdict import Verdict
from rackproof.stats.pooling import pool
from testplans.switch_qos import of_plan
from testplans.switch_qos.of_plan import IdealPoint
from testplans.switch_qos.parts import Scheduler
from testplans.switch_qos.plan import SwitchQosPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A number that criteria rest on; n counts frames."""

    value: float
    interval: Interval | None
    n: int

    def scaled(self, divisor: float) -> "Number":
        """The number by a divisor."""
        interval = self.interval
        if interval is not None:
            interval = Interval(low=interval.low / divisor, high=interval.high / divisor, method=interval.method)
        return Number(value=self.value / divisor, interval=interval, n=self.n)

    def magnitude(self) -> "Number":
        """Its absolute value; the interval is of the absolute value, too."""
        interval = self.interval
        if interval is not None:
            low, high = sorted((abs(interval.low), abs(interval.high)))
            interval = Interval(low=0.0 if interval.contains(0.0) else low, high=high, method=interval.method)
        return Number(value=abs(self.value), interval=interval, n=self.n)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """All repetitions of one load. valid: trials that can be trusted; missing: the verdicts of those that cannot, or did not run."""

    load_mbps: float
    ideal: IdealPoint
    near: str
    valid: tuple[TrialRecord, ...]
    missing: tuple[Verdict, ...]
    reasons: tuple[str, ...] = ()

    @property
    def trials(self) -> tuple[int, ...]:
        """Indices of the valid trials."""
        return tuple(record.trial.index for record in self.valid)

    def number(self, name: str, **subject: str) -> Number | None:
        """A measurement pooled over the repetitions; None where no valid trial has it."""
        found = [measurement for record in self.valid if (measurement := measured(record, name, **subject)) is not None]
        return combine([(m.value, m.interval, m.n) for m in found])

    def derived(self, of: Callable[[TrialRecord], tuple[float, Interval | None, int] | None]) -> Number | None:
        """A quantity made from several measurements of a trial, pooled over the repetitions."""
        return combine([parts for record in self.valid if (parts := of(record)) is not None])


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """All trials of one device under one discipline."""

    plan: SwitchQosPlan
    device: str
    scheduler: Scheduler
    cells: tuple[Cell, ...] = field(default=())


def combine(parts: Sequence[tuple[float, Interval | None, int]]) -> Number | None:
    """Values with intervals and counts from several repetitions, as one."""
    if not parts:
        return None
    if not all(math.isfinite(value) for value, _, _ in parts):
        return Number(value=math.inf, interval=None, n=sum(n for _, _, n in parts))
    value, interval = pool([value for value, _, _ in parts], [interval for _, interval, _ in parts])
    return Number(value=value, interval=interval, n=sum(n for _, _, n in parts))


def measured(record: TrialRecord, name: str, **subject: str) -> Measurement | None:
    """The measurement of that name and exactly that subject."""
    if record.result is None:
        return None
    for measurement in record.result.measurements:
        if measurement.name == name and dict(measurement.subject) == subject:
            return measurement
    return None


def gather(campaign: CampaignRecord, plan: SwitchQosPlan) -> Iterator[Evidence]:
    """Evidence for each device and discipline, in the plan's order."""
    for device in plan.devices:
        for scheduler in plan.disciplines:
            mine = [
                record
                for record in campaign.trials
                if record.trial.point.get("device") == device.name and record.trial.point.get("scheduler") == scheduler.label
            ]
            points = of_plan.saturation_points(plan, scheduler)
            cells = tuple(_cell(plan, scheduler, points, load, mine) for load in plan.load.per_sender_mbps)
            yield Evidence(plan=plan, device=device.name, scheduler=scheduler, cells=cells)


def _cell(plan: SwitchQosPlan, scheduler: Scheduler, points: dict[str, float], load: float, mine: Sequence[TrialRecord]) -> Cell:
    here = [record for record in mine if record.trial.point.get("load_mbps") == load]
    valid = tuple(record for record in here if record.result is not None and record.result.verdict is Verdict.PASS)
    others = [record for record in here if record not in valid]
    missing = [Verdict.ABORTED if record.result is None else record.result.verdict for record in others]
    reasons = [f"trial {record.trial.index}: {record.result.reason if record.result else 'it did not run'}" for record in others]
    if not here:
        missing, reasons = [Verdict.ABORTED], [f"{load:g} Mbit/s: it did not run"]
    return Cell(
        load_mbps=load,
        ideal=of_plan.point(plan, scheduler, load),
        near=of_plan.nearby(points, load),
        valid=valid,
        missing=tuple(missing),
        reasons=tuple(reasons),
    )
