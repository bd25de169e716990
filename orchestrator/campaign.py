"""A campaign from its first trial to its verdict: everything finished is stored before the next thing begins."""

import contextlib
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from orchestrator.calibration import calibrate
from orchestrator.events import Event, EventKind, Listener
from orchestrator.provenance import provenance
from rackproof.errors import LabError, Stopped, StoreError, TrialTimeout
from rackproof.model.campaign import CampaignRecord, CampaignState, SamplesFile
from rackproof.model.topology import Setup
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.ports import Rig, Testbed
from rackproof.store import Store
from testplans.kind import Kind
from testplans.verdict import campaign_verdict

#: How often a trial is measured until it is valid; a shared host can disturb one. Every attempt is an event, and the count is reported.
ATTEMPTS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Campaign:
    """One campaign about to run: where its trials come from and where everything goes."""

    id: int
    kind: Kind
    store: Store
    testbed: Testbed
    listener: Listener

    def run(self) -> CampaignRecord:
        """Run every trial that has no result yet, conclude, and store the end.

        Raises Stopped after the campaign was stored as ABORTED, StoreError where results cannot be kept.
        """
        with self.store.hold(self.id):
            record = self.store.campaign(self.id)
            try:
                self._run(record)
            except (Stopped, KeyboardInterrupt) as stop:
                reason = str(stop) or "stopped by the user"
                self.store.finish(self.id, CampaignState.ABORTED, Verdict.ABORTED, reason, ())
                self._tell(EventKind.CAMPAIGN_ENDED, reason, verdict=Verdict.ABORTED.value)
                raise
            except StoreError:
                raise  # nothing can be stored now; the campaign shows as INTERRUPTED and can be resumed
            except LabError as error:
                self.store.finish(self.id, CampaignState.FAILED, Verdict.ERROR, str(error), ())
                self._tell(EventKind.CAMPAIGN_ENDED, str(error), verdict=Verdict.ERROR.value)
            return self.store.campaign(self.id)

    def _run(self, record: CampaignRecord) -> None:
        plan = self.kind.plan_model.model_validate(record.plan)
        todo = [trial.trial for trial in record.trials if trial.result is None]
        facts = dict(record.provenance)
        if record.calibration is None:
            facts |= provenance(self.testbed)
            self.store.set_provenance(self.id, facts)
            self._tell(EventKind.CAMPAIGN_STARTED, record.name, trials=len(todo), seconds=sum(trial.duration_s for trial in todo))
        else:
            self.store.mark_resumed(self.id)
            self._tell(EventKind.CAMPAIGN_RESUMED, record.name, trials=len(todo), seconds=sum(trial.duration_s for trial in todo))
        # A resumed campaign calibrates anew: the host may not be what it was.
        calibration = calibrate(self.testbed, campaign=self.id)
        self.store.set_calibration(self.id, calibration)
        self._tell(EventKind.CALIBRATED, f"delay floor {calibration.delay_floor_us:.1f} us, {calibration.honest_fps / 1e3:.0f} kpps honest")
        for setup, group in itertools.groupby(todo, key=lambda trial: self.kind.setup(plan, trial)):
            self._run_group(plan, setup, list(group), calibration, facts)
        self._conclude(plan)

    def _run_group(
        self, plan: Any, setup: Setup, trials: Sequence[Trial], calibration: Calibration, facts: dict[str, Mapping[str, str]]
    ) -> None:
        """All trials of one setup; where it cannot be built or configured, each gets ERROR with the reason."""
        left = list(trials)
        while left:
            try:
                with self.testbed.assemble(setup.topology) as rig, self._configured(rig, setup, left[0], facts):
                    while left:
                        trial = left[0]
                        lost = self._run_trial(plan, trial, rig, calibration)
                        left.pop(0)
                        if lost is not None:
                            break  # the testbed may be half gone: take it down and build it again for the rest
            except LabError as error:
                if isinstance(error, StoreError):
                    raise
                # Building or configuring failed: nothing of this group can run.
                for trial in left:
                    self._keep(trial, _failed(error), None)
                return

    @contextlib.contextmanager
    def _configured(self, rig: Rig, setup: Setup, first: Trial, facts: dict[str, Mapping[str, str]]) -> Iterator[None]:
        """Devices configured and read back; on exit restored, and every difference to how they were found told."""
        before = {}
        what = ", ".join(f"{value}" for key, value in first.point.items() if key == "discipline") or f"trial {first.index}"
        for name, functions in setup.functions.items():
            device = rig.device(name)
            facts[f"Device {name}"] = device.facts()
            before[name] = device.configuration()
            for function in functions:
                device.apply(function)
                device.check(function)
            self.store.add_configuration(self.id, f"{name}, before {what}", before[name])
            self.store.add_configuration(self.id, f"{name}, as tested with {what}", device.configuration())
            self._tell(EventKind.DEVICE_CONFIGURED, f"{name}: {what}")
        self.store.set_provenance(self.id, facts)
        try:
            yield
        finally:
            for name, was in before.items():
                try:
                    device = rig.device(name)
                    device.restore()
                    now = device.configuration()
                    self.store.add_configuration(self.id, f"{name}, after {what}", now)
                    if now != was:
                        self._tell(EventKind.WARNING, f"{name} is not configured as it was found; see its configurations")
                except LabError as error:
                    self._tell(EventKind.WARNING, f"{name} could not be restored: {error}")

    def _run_trial(self, plan: Any, trial: Trial, rig: Rig, calibration: Calibration) -> LabError | None:
        """Run, analyse and store one trial; a failure of the lab is stored as the trial's result and returned."""
        self.store.start_trial(self.id, trial.index)
        self._tell(EventKind.TRIAL_STARTED, trial.label, trial=trial.index, seconds=trial.duration_s)
        begun = time.monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                observation = self.kind.run(plan, trial, self.id, rig)
                result = self.kind.analyse(plan, trial, observation, calibration)
            except StoreError:
                raise
            except LabError as error:
                self._keep(trial, _failed(error), None)
                return error
            result = replace(result, health={**result.health, "attempts": attempt})
            if result.verdict is not Verdict.INVALID or attempt == ATTEMPTS:
                break
            self._tell(
                EventKind.WARNING, f"trial {trial.index}, attempt {attempt} of {ATTEMPTS} is INVALID: {result.reason}; measuring again"
            )
        try:
            samples = self.store.write_samples(self.id, trial.index, observation.capture.samples)
        except StoreError as error:
            samples = None
            result = replace(result, verdict=Verdict.ERROR, reason=f"trial {trial.index} was measured, but its samples were lost: {error}")
        self._keep(trial, result, samples, seconds=time.monotonic() - begun)
        return None

    def _keep(self, trial: Trial, result: TrialResult, samples: SamplesFile | None, seconds: float = 0.0) -> None:
        self.store.save_result(self.id, trial.index, result, samples)
        self._tell(
            EventKind.TRIAL_ENDED, result.reason or trial.label, trial=trial.index, verdict=result.verdict.value, seconds=round(seconds, 3)
        )

    def _conclude(self, plan: Any) -> None:
        record = self.store.campaign(self.id)
        findings = self.kind.conclude(record)
        verdict, reason = campaign_verdict(findings, record.trials, self.kind.expectation(plan))
        self.store.finish(self.id, CampaignState.DONE, verdict, reason, findings)
        self._tell(EventKind.CAMPAIGN_ENDED, reason, verdict=verdict.value)

    def _tell(self, kind: EventKind, text: str, **data: float | int | str) -> None:
        event = Event(kind=kind, text=text, data=data)
        self.store.add_event(self.id, kind.value, {"text": text, "at": datetime.now(UTC).isoformat(), **data})
        self.listener(event)


def _failed(error: LabError) -> TrialResult:
    return TrialResult(verdict=Verdict.TIMEOUT if isinstance(error, TrialTimeout) else Verdict.ERROR, reason=str(error))
