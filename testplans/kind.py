"""What a kind of plan is to the rest of the house."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rackproof.model.campaign import CampaignRecord
from rackproof.model.finding import Finding
from rackproof.model.topology import Setup
from rackproof.model.traffic import Calibration, Samples
from rackproof.model.trial import Observation, Trial, TrialResult
from rackproof.planfile import PlanFile
from rackproof.ports import Limits, Rig
from reports.document import Section, Table
from testplans.strict import check_keys

#: A plan stands for at most so many trials: a campaign of a week at half a minute each.
TRIALS_MAX = 20_000


class Plan(BaseModel):
    """What every plan has; a kind adds its own keys. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str = Field(description="The kind of plan, as `rackproof kinds` lists them.")
    name: str = Field(min_length=1, max_length=120, description="What people will call it.")
    description: str = Field(default="", max_length=4000)
    testbed: str = Field(default="bench", description="The testbed to run on; the bench is the one in the box.")

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        return check_keys(cls, value)


class Envelope(BaseModel):
    """What is read of a plan before its kind is known."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: str = Field(description="The kind of plan, as `rackproof kinds` lists them.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsal:
    """What a plan would do, found without touching anything.

    notes[trial index]: what will happen in it ("q0 and q1 saturate"). refusals: why the plan cannot run on this testbed (empty: it can).
    """

    trials: tuple[Trial, ...]
    notes: Mapping[int, str]
    refusals: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def duration_s(self) -> float:
        """Expected wall time of all trials [s]."""
        return sum(trial.duration_s for trial in self.trials)


class Kind(Protocol):
    """A kind of plan. Every method but run is pure."""

    name: str
    title: str
    summary: str
    folder: Path
    plan_model: type[Plan]

    def translated(self, file: PlanFile) -> PlanFile:
        """A plan of this kind that is written in the form of another tool, in ours; any other file as it is. Raises PlanError."""

    def expand(self, plan: Any) -> tuple[Trial, ...]:
        """All trials of the plan, in the order in which they run; the same plan gives the same trials."""

    def rehearse(self, plan: Any, limits: Limits) -> Rehearsal:
        """What would happen on a testbed with these limits."""

    def provenance(self, plan: Any) -> Mapping[str, Mapping[str, str]]:
        """What trials of the plan use of this machine besides the testbed (programs, their versions), by topic, then name."""

    def setup(self, plan: Any, trial: Trial) -> Setup:
        """The topology and configuration that the trial needs."""

    def run(self, plan: Any, trial: Trial, campaign: int, rig: Rig) -> Observation:
        """The procedure of one trial on a rig that stands and is configured. Raises LabError."""

    def analyse(self, plan: Any, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:
        """Measurements of one trial; INVALID where it did not do what was intended."""

    def conclude(self, campaign: CampaignRecord) -> tuple[Finding, ...]:
        """Criteria judged over all trials that ended."""

    def expectation(self, plan: Any) -> Mapping[str, Sequence[str]]:
        """Devices that the plan expects to fail, with the criteria that they must fail."""

    def comparison(self, campaign: CampaignRecord) -> list[Table]:
        """The tables that say in one look what came out; the terminal shows them, and the report begins with them."""

    def sections(self, campaign: CampaignRecord, samples: Callable[[int], Samples | None]) -> list[Section]:
        """The kind's part of the report, from findings and measurements.

        samples: index of a trial -> its raw samples, None where there are none any more. Figures call it in other processes: it must be
        possible to pickle it.
        """
