"""The verdict in plain words, network by network; then every criterion with the number that it rests on."""

from collections.abc import Iterator, Sequence

from rackproof.model.finding import Finding
from reports.campaign import finding_value, trial_anchor
from reports.document import Block, Bullets, Callout, Cell, Column, Paragraph, Section, Table
from reports.text import count
from testplans.mpls_flap.remarks import meaning
from testplans.mpls_flap.view import View
from testplans.mpls_flap.words import network_words, rates_words

#: Networks side by side in one table.
_COLUMNS = 4
#: So many trials are named by a finding's line.
_TRIALS = 4


def section(seen: View) -> Section:
    """What it means, the matrix of criteria, and what each finding rests on."""
    findings = seen.campaign.findings
    if not findings:
        nothing = Callout(tone="warning", title="Not judged", text="No criterion was judged: the campaign has not ended.")
        return Section(id="verdict", title="What it means", blocks=(nothing,))
    lead = Paragraph(
        text="Forwarding stays true where the stable LSPs lose nothing, and where their delay is the same to within the margin, while "
        "others are torn down and set up. A criterion is met (PASS) where the whole interval keeps its limit, failed (FAIL) where the "
        "whole interval breaks it, and INVALID where that is not settled."
        + (f" {rates_words(seen.plan)}" if seen.plan.rate_scale != 1 else "")
    )
    blocks: list[Block] = [lead]
    for network in seen.networks:
        blocks += _network(seen, network)
    for start in range(0, len(seen.networks), _COLUMNS):
        blocks.append(_matrix(findings, seen.networks[start : start + _COLUMNS]))
    blocks.append(_rests_on(findings))
    return Section(id="verdict", title="What it means", blocks=tuple(blocks))


def _network(seen: View, network: str) -> Iterator[Block]:
    found = meaning(seen, network)
    if found is None:
        yield Callout(tone="note", title=network_words(seen, network), text="It was not judged.")
        return
    said = found.headline + (" (the plan expects what it fails)" if found.expected else "")
    yield Callout(tone=found.tone, title=network_words(seen, network), text=f"{said}.")
    yield Bullets(items=(*found.defects, *found.told))


def _matrix(findings: Sequence[Finding], networks: Sequence[str]) -> Table:
    """Criteria down, networks across."""
    rows: list[tuple[Cell, ...]] = []
    for title in dict.fromkeys(finding.title for finding in findings):
        mine = {finding.subject.get("device", ""): finding for finding in findings if finding.title == title}
        limit = next(iter(mine.values())).limit
        cells = (
            Cell(text=_short(mine[name]), verdict=mine[name].verdict) if name in mine else Cell(text="not judged", muted=True)
            for name in networks
        )
        rows.append((Cell(text=title), Cell(text=limit, muted=True), *cells))
    return Table(
        caption="All criteria at a glance; the value is the one that decided.",
        columns=(Column(title="Criterion"), Column(title="Limit"), *(Column(title=name) for name in networks)),
        rows=tuple(rows),
        dense=True,
    )


def _short(finding: Finding) -> str:
    """The value alone, with the digits that its interval warrants."""
    words = finding_value(finding).split(" ")
    return words[0] if len(words) == 1 else f"{words[0]} {words[-1]}"


def _rests_on(findings: Sequence[Finding]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for finding in findings:
        network = Cell(text=finding.subject.get("device", ""), strong=True)
        if network not in [row[0] for row in rows if len(row) == 1]:
            rows.append((network,))
        named = ", ".join(map(str, finding.trials[:_TRIALS]))
        more = f" and {len(finding.trials) - _TRIALS} more" if len(finding.trials) > _TRIALS else ""
        rows.append(
            (
                Cell(text=finding.title),
                Cell(text=finding_value(finding)),
                Cell(text=count(finding.n)),
                Cell(text=f"{named}{more}", link=trial_anchor(finding.trials[0]) if finding.trials else None),
            )
        )
    return Table(
        caption="What each finding rests on.",
        columns=(
            Column(title="Criterion"),
            Column(title="Value", numeric=True),
            Column(title="n", numeric=True),
            Column(title="Trials"),
        ),
        rows=tuple(rows),
        dense=True,
    )  # fmt: skip
