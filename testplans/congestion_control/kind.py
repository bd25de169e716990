"""The kind congestion-control as the rest of the house sees it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rackproof.model.campaign import CampaignRecord
from rackproof.model.finding import Finding
from rackproof.model.topology import Setup
from rackproof.model.traffic import Calibration, Samples
from rackproof.model.trial import Observation, Trial, TrialResult
from rackproof.planfile import PlanFile
from rackproof.ports import Limits, Rig
from reports.document import Section, Table
from testplans.congestion_control import expansion
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.kind import Plan, Rehearsal


class CongestionControl:
    """Implements testplans.kind.Kind; each method is the function of that name in this folder."""

    name: str = "congestion-control"
    title: str = "Congestion control"
    summary: str = (
        "How congestion-control schemes share, fill and delay a path: throughput, one-way delay and loss, as Pantheon reports them."
    )
    folder: Path = Path(__file__).parent
    plan_model: type[Plan] = CongestionControlPlan

    def translated(self, file: PlanFile) -> PlanFile:
        from testplans.congestion_control.pantheon import testyaml

        return testyaml.as_plan(file) if testyaml.is_test(file) else file

    def expand(self, plan: CongestionControlPlan) -> tuple[Trial, ...]:
        return expansion.expand(plan)

    def rehearse(self, plan: CongestionControlPlan, limits: Limits) -> Rehearsal:
        from testplans.congestion_control import rehearsal

        return rehearsal.rehearse(plan, limits)

    def provenance(self, plan: CongestionControlPlan) -> Mapping[str, Mapping[str, str]]:
        from testplans.congestion_control import provenance

        return provenance.provenance(plan)

    def setup(self, plan: CongestionControlPlan, trial: Trial) -> Setup:
        from testplans.congestion_control import procedure

        return procedure.setup(plan, trial)

    def run(self, plan: CongestionControlPlan, trial: Trial, campaign: int, rig: Rig) -> Observation:  # noqa: ARG002 - as every kind
        from testplans.congestion_control import procedure

        return procedure.run(plan, trial, rig)

    def analyse(self, plan: CongestionControlPlan, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:
        from testplans.congestion_control.analysis import analyse

        return analyse(plan, trial, observation, calibration)

    def conclude(self, campaign: CampaignRecord) -> tuple[Finding, ...]:
        from testplans.congestion_control.criteria import conclude

        return conclude(campaign)

    def expectation(self, plan: CongestionControlPlan) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 - no scheme has a planted defect
        return {}

    def comparison(self, campaign: CampaignRecord) -> list[Table]:
        from testplans.congestion_control.sections import comparison

        return comparison(campaign)

    def sections(self, campaign: CampaignRecord, samples: Callable[[int], Samples | None]) -> list[Section]:
        from testplans.congestion_control.sections import sections

        return sections(campaign, samples)
