"""Where a report's numbers come from: times, code, host and devices, and the plan."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rackproof.model.campaign import CampaignRecord
from reports.document import KeyValues, Paragraph, Preformatted, Section
from reports.text import clean, moment


def provenance(campaign: CampaignRecord) -> Section:
    """When the campaign ran, and what was written down about code, host, testbed and devices."""
    times = (
        ("Submitted", moment(campaign.created)),
        ("Started", moment(campaign.started)),
        *((f"Resumed ({place})", moment(when)) for place, when in enumerate(campaign.resumed, 1)),
        ("Ended", moment(campaign.ended)),
        ("State", campaign.state.value),
    )
    topics = (KeyValues(caption=_title(topic), pairs=tuple(pairs.items())) for topic, pairs in campaign.provenance.items())
    return Section(
        id="provenance",
        title="Provenance",
        blocks=(
            Paragraph(text="Written down before the first trial; how devices were left, after they were restored."),
            KeyValues(caption="Campaign", pairs=times),
            *topics,
        ),
    )


def _title(words: str) -> str:
    return words[:1].upper() + words[1:].replace("_", " ")


def plan(campaign: CampaignRecord) -> Section:
    """The plan as it was submitted, and as it was carried out."""
    return Section(
        id="plan",
        title="Plan",
        blocks=(
            Preformatted(caption=f"As submitted (SHA-256 {campaign.plan_sha256})", text=campaign.plan_text, language="yaml"),
            KeyValues(caption="As carried out, defaults filled in", pairs=tuple(_flat(campaign.plan))),
        ),
    )


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Leaves of the plan by their path; short lists on one line."""
    match value:
        case Mapping() if value:
            for key, each in value.items():
                yield from _flat(each, f"{path}.{key}" if path else str(key))
        case list() | tuple() if any(isinstance(each, Mapping | list | tuple) for each in value):
            for place, each in enumerate(value):
                yield from _flat(each, f"{path}[{place}]")
        case list() | tuple():
            yield path, _joined(value)
        case Mapping():
            yield path, "none"
        case None:
            yield path, "none"
        case bool():
            yield path, "yes" if value else "no"
        case _:
            yield path, clean(str(value))


def _joined(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values)) or "none"
