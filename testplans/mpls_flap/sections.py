"""The part of a campaign's report that is about label switching routers: does forwarding stay true while LSPs flap?"""

from collections.abc import Callable

from rackproof.model.campaign import CampaignRecord
from rackproof.model.traffic import Samples
from reports.document import Section, Table
from testplans.mpls_flap import (
    sections_control,
    sections_counts,
    sections_delay,
    sections_separation,
    sections_setup,
    sections_times,
    sections_trials,
    sections_verdict,
)
from testplans.mpls_flap.view import view
from testplans.mpls_flap.words import families, names_of


def sections(campaign: CampaignRecord, samples: Callable[[int], Samples | None]) -> list[Section]:  # noqa: ARG001 - as every kind
    """All sections, from findings, measurements and curves alone; the campaign need not be complete."""
    seen = view(campaign)
    return [
        sections_verdict.section(seen),
        sections_setup.section(seen),
        sections_control.section(seen),
        sections_delay.section(seen),
        sections_separation.section(seen),
        sections_times.section(seen),
        sections_counts.section(seen),
        sections_trials.section(seen),
    ]


def comparison(campaign: CampaignRecord) -> list[Table]:
    """K over N, and how far forwarding changes; for the terminal."""
    seen = view(campaign)
    counted = [sections_control.table(seen, tests, seen.networks) for tests in families(names_of(seen)).values()]
    return [*counted, sections_separation.table(seen)]
