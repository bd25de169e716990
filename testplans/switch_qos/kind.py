"""The kind switch-qos as the rest of the house sees it."""

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
from testplans.switch_qos import expansion, procedure, rehearsal
from testplans.switch_qos.plan import SwitchQosPlan


class SwitchQos:
    """Implements testplans.kind.Kind; each method is the function of that name in this folder."""

    name: str = "switch-qos"
    title: str = "Switch QoS"
    summary: str = (
        "How switches schedule traffic of different priorities at and beyond saturation, against strict priority and weighted round robin."
    )
    folder: Path = Path(__file__).parent
    plan_model: type[Plan] = SwitchQosPlan

    def translated(self, file: PlanFile) -> PlanFile:
        return file

    def expand(self, plan: SwitchQosPlan) -> tuple[Trial, ...]:
        return expansion.expand(plan)

    def rehearse(self, plan: SwitchQosPlan, limits: Limits) -> Rehearsal:
        return rehearsal.rehearse(plan, limits)

    def provenance(self, plan: SwitchQosPlan) -> Mapping[str, Mapping[str, str]]:  # noqa: ARG002 - nothing beyond the testbed
        return {}

    def setup(self, plan: SwitchQosPlan, trial: Trial) -> Setup:
        return procedure.setup(plan, trial)

    def run(self, plan: SwitchQosPlan, trial: Trial, campaign: int, rig: Rig) -> Observation:
        return procedure.run(plan, trial, campaign, rig)

    # Analysis and sections are imported where they are used: numpy, scipy and matplotlib would slow down every start of the command line.
    def analyse(self, plan: SwitchQosPlan, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:
        from testplans.switch_qos.analysis import analyse

        return analyse(plan, trial, observation, calibration)

    def conclude(self, campaign: CampaignRecord) -> tuple[Finding, ...]:
        from testplans.switch_qos.criteria import conclude

        return conclude(campaign)

    def expectation(self, plan: SwitchQosPlan) -> Mapping[str, Sequence[str]]:
        return {expected.device: expected.criteria for expected in plan.expect}

    def comparison(self, campaign: CampaignRecord) -> list[Table]:
        from testplans.switch_qos import sections_compare
        from testplans.switch_qos.sections_view import view

        return sections_compare.brief(view(campaign))

    def sections(self, campaign: CampaignRecord, samples: Callable[[int], Samples | None]) -> list[Section]:  # noqa: ARG002 - measurements do
        from testplans.switch_qos.sections import sections

        return sections(campaign)
