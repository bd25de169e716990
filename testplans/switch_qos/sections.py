"""The part of a campaign's report that is about switches, in the order in which the paper tells it, and more than it says."""

from rackproof.model.campaign import CampaignRecord
from reports.document import Section
from testplans.switch_qos import (
    sections_compare,
    sections_delay,
    sections_fairness,
    sections_setup,
    sections_throughput,
    sections_trials,
    sections_verdict,
)
from testplans.switch_qos.sections_view import view


def sections(campaign: CampaignRecord) -> list[Section]:
    """All sections, from findings and measurements alone; the campaign need not be complete."""
    seen = view(campaign)
    return [
        sections_setup.section(seen),
        sections_compare.section(seen),
        sections_throughput.section(seen),
        sections_delay.delay_and_loss(seen),
        sections_delay.distribution(seen),
        sections_fairness.section(seen),
        sections_verdict.section(seen),
        sections_trials.section(seen),
    ]
