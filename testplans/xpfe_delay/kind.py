"""The kind xpfe-delay as the rest of the house sees it."""

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
from testplans.xpfe_delay import expansion
from testplans.xpfe_delay.plan import XpfeDelayPlan


class XpfeDelay:
    """Implements testplans.kind.Kind; each method is the function of that name in this folder."""

    name: str = "xpfe-delay"
    title: str = "Multi-hop delay"
    summary: str = "How many forwarding elements fronthaul traffic can pass within its delay budget, hop by hop, after 5G-Crosshaul's XPFE."
    folder: Path = Path(__file__).parent
    plan_model: type[Plan] = XpfeDelayPlan

    def translated(self, file: PlanFile) -> PlanFile:
        return file

    def expand(self, plan: XpfeDelayPlan) -> tuple[Trial, ...]:
        return expansion.expand(plan)

    # The rest is imported where it is used: numpy, scipy and matplotlib would slow down every start of the command line.
    def rehearse(self, plan: XpfeDelayPlan, limits: Limits) -> Rehearsal:
        from testplans.xpfe_delay import rehearsal

        return rehearsal.rehearse(plan, limits)

    def provenance(self, plan: XpfeDelayPlan) -> Mapping[str, Mapping[str, str]]:  # noqa: ARG002 - nothing beyond the testbed
        return {}

    def setup(self, plan: XpfeDelayPlan, trial: Trial) -> Setup:
        from testplans.xpfe_delay import procedure

        return procedure.setup(plan, trial)

    def run(self, plan: XpfeDelayPlan, trial: Trial, campaign: int, rig: Rig) -> Observation:
        from testplans.xpfe_delay import procedure

        return procedure.run(plan, trial, campaign, rig)

    def analyse(self, plan: XpfeDelayPlan, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:
        from testplans.xpfe_delay.analysis import analyse

        return analyse(plan, trial, observation, calibration)

    def conclude(self, campaign: CampaignRecord) -> tuple[Finding, ...]:
        from testplans.xpfe_delay.criteria import conclude

        return conclude(campaign)

    def expectation(self, plan: XpfeDelayPlan) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 - a planted delay fails no criterion
        return {}

    def comparison(self, campaign: CampaignRecord) -> list[Table]:
        from testplans.xpfe_delay.sections import comparison

        return comparison(campaign)

    def sections(self, campaign: CampaignRecord, samples: Callable[[int], Samples | None]) -> list[Section]:
        from testplans.xpfe_delay.sections import sections

        return sections(campaign, samples)
