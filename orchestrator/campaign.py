"""A campaign from its first trial to its verdict: everything finished is stored before the next thing begins."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import structlog

from orchestrator.interruption import Cause, Interruption
from orchestrator.patience import Patience
from orchestrator.provenance import provenance
from orchestrator.standing import Standing, groups
from rackproof.errors import LabError, LeaseLost, Stopped, StoreAway, StoreError, TrialTimeout
from rackproof.model.campaign import CampaignState, SamplesFile
from rackproof.model.event import Event, EventKind, Listener
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.ports import Rig, Testbed
from rackproof.store import Store
from rackproof.store.leases import Lease
from rackproof.store.store import Told
from testplans.kind import Kind
from testplans.verdict import campaign_verdict

#: How often a trial is measured until it is valid; a shared host can disturb one. Every attempt is an event, and the count is reported.
ATTEMPTS = 6

#: The topic of provenance that says how devices were left.
LEFT = "Devices afterwards"

log = structlog.get_logger()


class Abandoned(BaseException):
    """The campaign is left as it is, for whoever comes next: its lease is lost, or this process ends. Nothing on the way may take it."""


class Session:
    """One campaign while this process has its lease. A context manager: at its end traffic is stopped, devices are restored."""

    def __init__(
        self, *, lease: Lease, kind: Kind, store: Store, testbed: Testbed, listener: Listener, interruption: Interruption, worker: str = ""
    ) -> None:
        self._lease = lease
        self._id = lease.campaign
        self._kind = kind
        self._store = store.under(lease)
        self._testbed = testbed
        self._listener = listener
        self._interruption = interruption
        self._patiently = Patience(interruption)
        self._worker = worker
        self._plan: Any = None
        self._trials: dict[int, Trial] = {}
        self._done: set[int] = set()
        self._calibration: Calibration | None = None
        self._facts: dict[str, Mapping[str, str]] = {}
        self._standing: Standing | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop traffic, restore the devices, give the ports back."""
        if self._standing is not None:
            self._standing.take_down()

    # --- the parts of a campaign, in their order ---

    def begin(self) -> None:
        """See that the testbed can do it and is as it should be, and write down what there is. Raises LabError, Stopped."""
        record = self._patiently(lambda: self._store.campaign(self._id))
        self._plan = plan = self._kind.plan_model.model_validate(record.plan)
        self._trials = {each.trial.index: each.trial for each in record.trials}
        self._done = {each.trial.index for each in record.trials if each.result is not None}
        self._facts, self._calibration = dict(record.provenance), record.calibration
        found = groups(list(self._trials.values()), lambda trial: self._kind.setup(plan, trial))
        self._standing = Standing(session=self, testbed=self._testbed, groups=found, configurations=record.configurations)
        self._testbed.begin(self._id, self._heard_of)
        todo = [trial for index, trial in self._trials.items() if index not in self._done]
        refusals = {
            text: None for group in found if group.trials & {trial.index for trial in todo} for text in self._objections(group.setup)
        }
        if refusals:
            raise LabError(f"testbed {self._testbed.name} cannot run this plan: {'; '.join(refusals)}")
        left: dict[str, float | int | str] = {"trials": len(todo), "seconds": sum(trial.duration_s for trial in todo)}
        if record.calibration is None:
            if not self._lease.cancel:
                self._facts |= {**provenance(self._testbed), **self._kind.provenance(plan)}
                self._patiently(lambda: self._store.set_provenance(self._id, self._facts))
            self.tell(EventKind.CAMPAIGN_STARTED, record.name, worker=self._worker, **left)
        else:
            self._patiently(lambda: self._store.mark_resumed(self._id))
            self.tell(EventKind.CAMPAIGN_RESUMED, record.name, why=self._lease.why, worker=self._worker, **left)
            self._standing.check_what_was_left()
        if self._lease.cancel:
            self._interruption.set(Cause.CANCEL, self._lease.cancel)
        self._interruption.check()
        if todo:
            self._calibrate()

    def todo(self) -> list[int]:
        """The trials that have no result, in their order."""
        return [index for index in self._trials if index not in self._done]

    def trial(self, index: int) -> str:
        """Run, analyse and store one trial, whatever comes of it; its verdict, "kept" where it had one. Raises StoreError, Stopped."""
        assert self._standing is not None
        if index in self._done:
            return "kept"
        self._interruption.check()
        trial = self._trials[index]
        with structlog.contextvars.bound_contextvars(trial=index):
            try:
                rig = self._standing.rig_for(trial)
            except StoreError:
                raise
            except LabError as error:
                if self._standing.changed is not None:
                    raise
                return self._keep(trial, _failed(error), None)
            return self._run_trial(trial, rig)

    def conclude(self) -> str:
        """Judge, and store the end; the verdict."""
        self.close()
        record = self._patiently(lambda: self._store.campaign(self._id))
        if record.state is CampaignState.DONE:
            return str(record.verdict)
        findings = self._kind.conclude(record)
        verdict, reason = campaign_verdict(findings, record.trials, self._kind.expectation(self._plan))
        told = self._told(EventKind.CAMPAIGN_ENDED, reason, verdict=verdict.value)
        self._patiently.once(lambda: self._store.finish(self._id, CampaignState.DONE, verdict, reason, findings, told), self._has_ended)
        self._heard(EventKind.CAMPAIGN_ENDED, reason, verdict=verdict.value)
        return verdict.value

    def end(self, state: CampaignState, verdict: Verdict, reason: str) -> None:
        """Store an end before its time."""
        told = self._told(EventKind.CAMPAIGN_ENDED, reason, verdict=verdict.value)
        with self._interruption.shielded():
            self._patiently.once(lambda: self._store.finish(self._id, state, verdict, reason, (), told), self._has_ended)
        self._heard(EventKind.CAMPAIGN_ENDED, reason, verdict=verdict.value)

    # --- what they share ---

    def configured(self, texts: Mapping[str, str | None], facts: Mapping[str, Mapping[str, str]], words: str) -> None:
        """Write down that devices are configured."""
        new = {name: found for name, found in facts.items() if self._facts.get(name) != found}
        self._facts |= new
        told = self._told(EventKind.DEVICE_CONFIGURED, words)
        self._patiently(lambda: self._store.set_configurations(self._id, texts, told))
        if new:
            self._patiently(lambda: self._store.set_provenance(self._id, self._facts))
        self._heard(EventKind.DEVICE_CONFIGURED, words)

    def restored(self, texts: Mapping[str, str | None], left: Mapping[str, str]) -> None:
        """Write down how devices are after they were restored. left: in words, by device."""
        self._patiently(lambda: self._store.set_configurations(self._id, texts))
        before = self._facts.get(LEFT, {})
        if {**before, **left} != before:
            self._facts |= {LEFT: {**before, **left}}
            self._patiently(lambda: self._store.set_provenance(self._id, self._facts))

    def tell(self, kind: EventKind, text: str, **data: float | int | str) -> None:
        """Store an event, and tell whoever listens here."""
        told = self._told(kind, text, **data)
        self._patiently(lambda: self._store.add_event(self._id, told[0].value, told[1]))
        self._heard(kind, text, **data)

    @property
    def interruption(self) -> Interruption:
        """What ends waits."""
        return self._interruption

    def _objections(self, setup: Any) -> tuple[str, ...]:
        return self._testbed.objections(setup)

    def _heard_of(self, text: str) -> None:
        """What the testbed says is done to its devices. Devices come first: nothing waits here for a database that is away."""
        told = self._told(EventKind.TESTBED_TOLD, text)
        try:
            self._store.add_event(self._id, told[0].value, told[1])
        except StoreError as error:
            log.warning("what was done to a device could not be stored", text=text, error=str(error))
        self._heard(EventKind.TESTBED_TOLD, text)

    def _calibrate(self) -> None:
        # A resumed campaign calibrates anew: the host may not be what it was.
        self._calibration = calibration = self._testbed.calibrate(self._id)
        self._patiently(lambda: self._store.set_calibration(self._id, calibration))
        unknown = math.isnan(calibration.delay_floor_us)
        floor = "the delay floor was not measured" if unknown else f"delay floor {calibration.delay_floor_us:.1f} us"
        words = f"{floor}, {calibration.honest_fps / 1e3:.0f} kpps honest" if calibration.honest_fps else floor
        self.tell(EventKind.CALIBRATED, words)

    def _run_trial(self, trial: Trial, rig: Rig) -> str:
        """Measure until it is valid; a failure of the lab is stored as the trial's result, and the testbed is built again."""
        assert self._standing is not None
        assert self._calibration is not None
        started = self._told(EventKind.TRIAL_STARTED, trial.label, trial=trial.index, seconds=trial.duration_s)
        self._patiently(lambda: self._store.start_trial(self._id, trial.index, started))
        self._heard(EventKind.TRIAL_STARTED, trial.label, trial=trial.index, seconds=trial.duration_s)
        begun = time.monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            self._interruption.check()
            try:
                observation = self._kind.run(self._plan, trial, self._id, rig)
                result = self._kind.analyse(self._plan, trial, observation, self._calibration)
            except StoreError:
                raise
            except LabError as error:
                kept = self._keep(trial, _failed(error), None)
                self._standing.take_down()  # it may be half gone
                return kept
            result = replace(result, health={**result.health, "attempts": attempt})
            if result.verdict is not Verdict.INVALID or attempt == ATTEMPTS:
                break
            why = f"trial {trial.index}, attempt {attempt} of {ATTEMPTS} is INVALID: {result.reason}; measuring again"
            self.tell(EventKind.WARNING, why)
        try:
            samples = self._store.write_samples(self._id, trial.index, observation.capture.samples)
        except StoreError as error:
            samples = None
            result = replace(result, verdict=Verdict.ERROR, reason=f"trial {trial.index} was measured, but its samples were lost: {error}")
        return self._keep(trial, result, samples, seconds=time.monotonic() - begun)

    def _keep(self, trial: Trial, result: TrialResult, samples: SamplesFile | None, seconds: float = 0.0) -> str:
        words = result.reason or trial.label
        data: dict[str, float | int | str] = {"trial": trial.index, "verdict": result.verdict.value, "seconds": round(seconds, 3)}
        told = self._told(EventKind.TRIAL_ENDED, words, **data)
        self._patiently.once(
            lambda: self._store.save_result(self._id, trial.index, result, samples, told),
            lambda: self._store.verdict(self._id, trial.index) is not None,
        )
        self._done.add(trial.index)
        self._heard(EventKind.TRIAL_ENDED, words, **data)
        return result.verdict.value

    def _has_ended(self) -> bool:
        return self._store.campaign(self._id).state in (CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED)

    def _told(self, kind: EventKind, text: str, **data: float | int | str) -> Told:
        return kind, {"text": text, "at": datetime.now(UTC).isoformat(), **data}

    def _heard(self, kind: EventKind, text: str, **data: float | int | str) -> None:
        self._listener(Event(kind=kind, text=text, data=data))


def run(session: Session, step: Callable[..., Any]) -> None:
    """Run a campaign to its end. step(name, function, *arguments) calls the function, and makes what it returns outlive the process.

    Raises Stopped after the campaign was stored as ABORTED, LabError where it was stored as FAILED, Abandoned where it is left to others.
    """
    try:
        with session:
            session.begin()
            for index in step("begin", session.todo):
                step(f"trial {index}", session.trial, index)
            session.close()
            step("conclude", session.conclude)
    except (Stopped, KeyboardInterrupt) as stop:
        if session.interruption.cause in (Cause.STOP, Cause.LOST):
            raise Abandoned(session.interruption.reason) from stop
        _leave(session, CampaignState.ABORTED, Verdict.ABORTED, str(stop) or "stopped by the user")
        raise
    except (StoreAway, LeaseLost) as error:
        raise Abandoned(str(error)) from error
    except LabError as error:
        _leave(session, CampaignState.FAILED, Verdict.ERROR, str(error))
        raise


def _leave(session: Session, state: CampaignState, verdict: Verdict, reason: str) -> None:
    try:
        session.end(state, verdict, reason)
    except (StoreAway, LeaseLost) as error:
        raise Abandoned(f"{reason}, but that could not be stored: {error}") from error


def _failed(error: LabError) -> TrialResult:
    return TrialResult(verdict=Verdict.TIMEOUT if isinstance(error, TrialTimeout) else Verdict.ERROR, reason=str(error))
