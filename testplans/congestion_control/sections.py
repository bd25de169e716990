"""The part of a campaign's report that is about congestion control, in the order of Pantheon's report, and more than it says."""

from collections.abc import Callable

from rackproof.model.campaign import CampaignRecord
from rackproof.model.traffic import Samples
from reports.document import Section, Table
from testplans.congestion_control import sections_method, sections_runs, sections_setup, sections_summary, sections_tables, sections_verdict
from testplans.congestion_control.view import view


def sections(campaign: CampaignRecord, samples: Callable[[int], Samples | None]) -> list[Section]:
    """All sections; the campaign need not be complete. samples: as testplans.kind.Kind says."""
    seen = view(campaign)
    return [
        sections_setup.section(seen),
        sections_summary.section(seen),
        sections_tables.section(seen),
        *sections_verdict.section(seen),
        sections_runs.section(seen, samples),
        sections_method.section(seen),
    ]


def comparison(campaign: CampaignRecord) -> list[Table]:
    """Pantheon's table; with several flows all of them together, for a terminal has no room for a column for each."""
    seen = view(campaign)
    return [sections_tables.summary(seen) if seen.flows == 1 else sections_tables.together(seen)]
