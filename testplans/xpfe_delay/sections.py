"""The part of a campaign's report that is about forwarding elements: how many hops each class may take, and where the delay comes from."""

from collections.abc import Callable

from rackproof.model.campaign import CampaignRecord
from rackproof.model.traffic import Samples
from reports.document import Section, Table
from testplans.xpfe_delay import (
    sections_budget,
    sections_delay,
    sections_hops,
    sections_path,
    sections_setup,
    sections_tables,
    sections_trials,
    sections_verdict,
    sections_waterfall,
)
from testplans.xpfe_delay.view import view


def sections(campaign: CampaignRecord, samples: Callable[[int], Samples | None]) -> list[Section]:  # noqa: ARG001 - as every kind
    """All sections, from findings and measurements alone; the campaign need not be complete."""
    seen = view(campaign)
    budget = sections_waterfall.section(seen)
    return [
        sections_setup.section(seen),
        sections_budget.section(seen),
        sections_tables.section(seen),
        sections_delay.section(seen),
        sections_hops.section(seen),
        *([budget] if budget else []),
        sections_path.section(seen),
        *sections_verdict.section(seen),
        sections_trials.section(seen),
    ]


def comparison(campaign: CampaignRecord) -> list[Table]:
    """How many hops each class may take, and the delay that it is judged by; for the terminal."""
    seen = view(campaign)
    several = [sections_budget.beside(seen)] if len(seen.chains) > 1 else []
    return several + [table for chain in seen.chains for table in sections_budget.brief(seen, chain)]
