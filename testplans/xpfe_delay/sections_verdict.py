"""The verdict: every finding with the number that it rests on, chain by chain."""

from collections.abc import Iterator

from rackproof.model.finding import Finding
from rackproof.model.verdict import worst
from reports.campaign import finding_value, trial_anchor
from reports.document import Block, Bullets, Cell, Column, Paragraph, Section, Table, VerdictPanel
from reports.text import count
from testplans.xpfe_delay.view import View

#: So many trials are named by a finding's line.
_TRIALS = 4


def section(seen: View) -> Iterator[Section]:
    """One section; none where nothing was judged."""
    findings = seen.campaign.findings
    if not findings:
        return
    lead = Paragraph(
        text="What the plan requires is met (PASS) where the whole interval keeps the budget, failed (FAIL) where the whole interval lies "
        "above it, and INVALID where neither is settled. What it does not require says how far each class gets, and cannot fail."
        if seen.plan.require
        else "The plan requires nothing: the campaign says how far each class gets, and nothing of that can fail."
    )
    blocks: list[Block] = [lead]
    for chain in dict.fromkeys(finding.subject.get("device", "") for finding in findings):
        mine = [finding for finding in findings if finding.subject.get("device", "") == chain]
        blocks.append(
            VerdictPanel(
                title=chain or "The campaign",
                verdict=worst(finding.verdict for finding in mine),
                statement="",
                criteria=tuple((each.verdict, each.title, finding_value(each), each.limit) for each in mine),
            )
        )
        blocks.append(Bullets(items=tuple(f"{finding.verdict}: {finding.statement}" for finding in mine)))
    blocks.append(_rests_on(findings))
    yield Section(id="verdict", title="Verdict", blocks=tuple(blocks), page_break=True)


def _rests_on(findings: tuple[Finding, ...]) -> Table:
    rows = tuple(
        (
            Cell(text=finding.subject.get("device", "")),
            Cell(text=finding.title),
            Cell(text=finding_value(finding)),
            Cell(text=count(finding.n)),
            Cell(
                text=", ".join(map(str, finding.trials[:_TRIALS]))
                + (f" and {len(finding.trials) - _TRIALS} more" if len(finding.trials) > _TRIALS else ""),
                link=trial_anchor(finding.trials[0]) if finding.trials else None,
            ),
        )
        for finding in findings
    )
    return Table(
        caption="What each finding rests on.",
        columns=(
            Column(title="Chain"),
            Column(title="Finding"),
            Column(title="Value", numeric=True),
            Column(title="n", numeric=True),
            Column(title="Trials"),
        ),
        rows=rows,
        dense=True,
    )  # fmt: skip
