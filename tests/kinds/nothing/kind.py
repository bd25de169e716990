"""The kind `nothing` as the rest of the house sees it."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rackproof.errors import GeneratorError, TrialTimeout
from rackproof.model.campaign import CampaignRecord
from rackproof.model.finding import Finding
from rackproof.model.functions import DeviceFunction
from rackproof.model.measurement import Interval, Measurement
from rackproof.model.topology import DeviceSpec, Setup, Topology
from rackproof.model.traffic import RECORD_DTYPE, Calibration, Capture, Samples, Traffic
from rackproof.model.trial import Observation, Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.planfile import PlanFile
from rackproof.ports import Limits, Rig
from reports.campaign import trial_anchor
from reports.document import Callout, Cell, Column, KeyValues, Paragraph, Section, Table
from testplans.kind import Plan, Rehearsal

from .plan import NothingPlan

DEVICE = "a device"


@dataclass(frozen=True, kw_only=True, slots=True)
class Level(DeviceFunction):
    """What the device of nothing can be set to."""

    level: int


class Nothing:
    """Implements testplans.kind.Kind."""

    name: str = "nothing"
    title: str = "Nothing"
    summary: str = "Does nothing, as often and for as long as asked."
    folder: Path = Path(__file__).parent
    plan_model: type[Plan] = NothingPlan

    def translated(self, file: PlanFile) -> PlanFile:
        return file

    def expand(self, plan: NothingPlan) -> tuple[Trial, ...]:
        return tuple(
            Trial(
                index=index,
                label=f"nothing {index}",
                point={"level": 1 + (index - 1) * plan.setups // plan.trials},
                repetition=1,
                seed=index,
                duration_s=plan.sleep_s,
            )
            for index in range(1, plan.trials + 1)
        )

    def rehearse(self, plan: NothingPlan, limits: Limits) -> Rehearsal:
        refusals = () if "nothing" in limits.device_models else ("this testbed has no device of the model nothing",)
        return Rehearsal(trials=self.expand(plan), notes={1: "nothing happens"}, refusals=refusals, warnings=())

    def provenance(self, plan: NothingPlan) -> Mapping[str, Mapping[str, str]]:
        return {}

    def setup(self, plan: NothingPlan, trial: Trial) -> Setup:
        options = {} if plan.device_file is None else {"file": plan.device_file}
        device = DeviceSpec(name=DEVICE, model="nothing", options=options)
        return Setup(topology=Topology(devices=(device,), links=()), functions={DEVICE: (Level(level=int(trial.point["level"])),)})

    def run(self, plan: NothingPlan, trial: Trial, campaign: int, rig: Rig) -> Observation:
        done = executions(Path(plan.marker), campaign).get(trial.index, 0) if plan.marker is not None and plan.plant else 0
        if plan.marker is not None:
            mark(Path(plan.marker), campaign, trial.index)
        capture = _no_capture(plan.rows)
        sleep_s = plan.sleep_s
        while sleep_s > 0 or _held(plan, trial.index):
            traffic = Traffic(
                streams=(), campaign=campaign, trial=trial.index, seed=trial.seed, warmup_s=0.0, duration_s=sleep_s or 0.02, drain_s=0.0
            )
            run = rig.generator.start(traffic)
            try:
                run.wait()
            finally:
                run.stop()
            sleep_s = 0.0
        match _planted(plan, trial.index, done):
            case Verdict.ERROR:
                raise GeneratorError(f"trial {trial.index} was planted to go wrong")
            case Verdict.TIMEOUT:
                raise TrialTimeout(f"trial {trial.index} was planted to take too long")
            case Verdict.INVALID:
                return Observation(capture=capture, counters={"planted.invalid": 1})
            case Verdict.FAIL:
                return Observation(capture=capture, counters={"planted.fail": 1})
            case _:
                return Observation(capture=capture, counters={"executions": done + 1})

    def analyse(self, plan: NothingPlan, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:
        counters = observation.counters
        if "planted.invalid" in counters:
            return TrialResult(verdict=Verdict.INVALID, reason=f"trial {trial.index} was planted to be INVALID", counters=counters)
        interval = Interval(low=plan.value - 0.1, high=plan.value + 0.1, method="invented")
        measurements = tuple(
            Measurement(name="nothing.value", unit="1", value=plan.value, n=100, interval=interval, subject={"number": str(number)})
            for number in range(1, plan.measurements + 1)
        )
        return TrialResult(verdict=Verdict.PASS, measurements=measurements, counters=counters)

    def conclude(self, campaign: CampaignRecord) -> tuple[Finding, ...]:
        plan = NothingPlan.model_validate(campaign.plan)
        done = [record for record in campaign.trials if record.result is not None and record.result.verdict is Verdict.PASS]
        failed = [record.trial.index for record in done if record.result is not None and "planted.fail" in record.result.counters]
        if plan.limit is not None and plan.value > plan.limit:
            failed = [record.trial.index for record in done]
        return (
            Finding(
                criterion="nothing.value",
                title="Nothing happened",
                subject={"device": DEVICE},
                verdict=Verdict.FAIL if failed else Verdict.PASS,
                value=float(len(failed)),
                unit="trials",
                n=len(done),
                interval=None,
                limit="at most 0 trials",
                statement=f"{DEVICE} did something in {len(failed)} of {len(done)} trials",
                trials=tuple(failed or [record.trial.index for record in done]),
            ),
        )

    def expectation(self, plan: NothingPlan) -> Mapping[str, Sequence[str]]:
        return {}

    def comparison(self, campaign: CampaignRecord) -> list[Table]:
        return [_table(campaign)]

    def sections(self, campaign: CampaignRecord, samples: Callable[[int], Samples | None]) -> list[Section]:
        trials = tuple(
            Section(
                id=trial_anchor(record.trial.index),
                title=record.trial.label,
                blocks=(
                    KeyValues(caption="", pairs=(("verdict", record.result.verdict.value),))
                    if record.result is not None
                    else Callout(tone="warning", title="Not run", text="The campaign ended before this trial."),
                ),
            )
            for record in campaign.trials
        )
        return [
            Section(id="nothing", title="What happened", blocks=(Paragraph(text="Nothing."), _table(campaign))),
            Section(id="trials", title="The trials", sections=trials),
        ]


def mark(marker: Path, campaign: int, trial: int) -> None:
    """Write down that a trial is executed: one line, whole or not there, whoever else writes at that moment."""
    descriptor = os.open(marker, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{campaign} {trial} {os.getpid()}\n".encode())
    finally:
        os.close(descriptor)


def executions(marker: Path, campaign: int) -> dict[int, int]:
    """How often each trial of the campaign was begun, by its index."""
    counts: dict[int, int] = {}
    for line in marker.read_text().splitlines() if marker.exists() else ():
        found, trial, _ = map(int, line.split())
        if found == campaign:
            counts[trial] = counts.get(trial, 0) + 1
    return counts


def _held(plan: NothingPlan, index: int) -> bool:
    try:
        return plan.hold_file is not None and Path(plan.hold_file).read_text() == str(index)
    except FileNotFoundError:
        return False


def _planted(plan: NothingPlan, index: int, done: int) -> Verdict | None:
    for plant in plan.plant:
        if index in plant.trials and (plant.times is None or done < plant.times):
            return Verdict(plant.verdict)
    return None


def _no_capture(rows: int) -> Capture:
    records = np.zeros(rows, dtype=RECORD_DTYPE)
    records["sequence"] = np.arange(rows)
    return Capture(samples=Samples.of(records), sent={}, batch_starts_ns=np.zeros(1, dtype=np.int64))


def _table(campaign: CampaignRecord) -> Table:
    rows = []
    for record in campaign.trials:
        verdict = record.result.verdict if record.result is not None else None
        measured = record.result.measurements if record.result is not None else ()
        value = f"{measured[0].value:g}" if measured else "–"
        rows.append(
            (Cell(text=str(record.trial.index)), Cell(text=value), Cell(text=verdict.value if verdict else "not run", verdict=verdict))
        )
    columns = (Column(title="Trial", numeric=True), Column(title="Value", numeric=True), Column(title="Verdict"))
    return Table(caption="Trials", columns=columns, rows=tuple(rows))
