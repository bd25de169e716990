"""The kind mpls-flap as the rest of the house sees it."""

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
from testplans.kind import Plan, Rehearsal
from testplans.mpls_flap import expansion
from testplans.mpls_flap.plan import MplsFlapPlan


class MplsFlap:
    """Implements testplans.kind.Kind; each method is the function of that name in this folder."""

    name: str = "mpls-flap"
    title: str = "MPLS while LSPs flap"
    summary: str = (
        "Whether label switching routers forward as before while other LSPs are torn down and set up again, and how many are back in time."
    )
    folder: Path = Path(__file__).parent
    plan_model: type[Plan] = MplsFlapPlan

    def translated(self, file: PlanFile) -> PlanFile:
        return file

    def expand(self, plan: MplsFlapPlan) -> tuple[Trial, ...]:
        return expansion.expand(plan)

    # The rest is imported where it is used: numpy, scipy and matplotlib would slow down every start of the command line.
    def rehearse(self, plan: MplsFlapPlan, limits: Limits) -> Rehearsal:
        from testplans.mpls_flap import rehearsal

        return rehearsal.rehearse(plan, limits)

    def provenance(self, plan: MplsFlapPlan) -> Mapping[str, Mapping[str, str]]:  # noqa: ARG002 - nothing beyond the testbed
        return {}

    def setup(self, plan: MplsFlapPlan, trial: Trial) -> Setup:
        from testplans.mpls_flap import procedure

        return procedure.setup(plan, trial)

    def run(self, plan: MplsFlapPlan, trial: Trial, campaign: int, rig: Rig) -> Observation:
        from testplans.mpls_flap import procedure

        return procedure.run(plan, trial, campaign, rig)

    def analyse(self, plan: MplsFlapPlan, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:
        from testplans.mpls_flap.analysis import analyse

        return analyse(plan, trial, observation, calibration)

    def conclude(self, campaign: CampaignRecord) -> tuple[Finding, ...]:
        from testplans.mpls_flap.criteria import conclude

        return conclude(campaign)

    def expectation(self, plan: MplsFlapPlan) -> Mapping[str, Sequence[str]]:
        return {expected.device: expected.criteria for expected in plan.expect}

    def comparison(self, campaign: CampaignRecord) -> list[Table]:
        from testplans.mpls_flap.sections import comparison

        return comparison(campaign)

    def sections(self, campaign: CampaignRecord, samples: Callable[[int], Samples | None]) -> list[Section]:
        from testplans.mpls_flap.sections import sections

        return sections(campaign, samples)
