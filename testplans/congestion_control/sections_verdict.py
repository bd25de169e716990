"""The verdict: every criterion of the plan with the number that it rests on, scheme by scheme."""

from collections.abc import Iterator

from rackproof.model.finding import Finding
from rackproof.model.verdict import worst
from reports.campaign import finding_value
from reports.document import Block, Bullets, Paragraph, Section, VerdictPanel
from reports.text import plural
from testplans.congestion_control.view import View


def section(seen: View) -> Iterator[Section]:
    """One section; none where the plan asks for nothing."""
    findings = seen.campaign.findings
    if not findings:
        return
    blocks: list[Block] = [
        Paragraph(
            text="A criterion is met (PASS) where the whole 95 % interval keeps its limit, failed (FAIL) where the whole interval "
            "breaks it, and INVALID where the interval straddles the limit: then more runs are needed. From four runs on the interval "
            "is Student's over the runs; with fewer, the intervals within the runs are pooled, or where one has none, Student's is taken."
        )
    ]
    for scheme in dict.fromkeys(finding.subject["scheme"] for finding in findings):
        mine = [finding for finding in findings if finding.subject["scheme"] == scheme]
        blocks.append(
            VerdictPanel(
                title=next((test.label for test in seen.tests if test.id == scheme), scheme),
                verdict=worst(finding.verdict for finding in mine),
                statement="",
                criteria=tuple((each.verdict, _title(each), _value(each), each.limit) for each in mine),
            )
        )
    blocks.append(Bullets(items=tuple(f"{finding.verdict}: {finding.statement}" for finding in findings)))
    yield Section(id="verdict", title="Verdict", blocks=tuple(blocks), page_break=True)


def _title(finding: Finding) -> str:
    against = finding.subject.get("against")
    return f"{finding.title} ({against})" if against else finding.title


def _value(finding: Finding) -> str:
    return f"{finding_value(finding)} ({plural(finding.n, 'run')})"
