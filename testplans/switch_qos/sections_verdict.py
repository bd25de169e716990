"""The verdict: every criterion with the number that it rests on, device by device."""

from collections.abc import Sequence

from rackproof.model.finding import Finding
from rackproof.model.verdict import Verdict, worst
from reports.campaign import finding_value
from reports.document import Block, Bullets, Callout, Cell, Column, Paragraph, Section, Table, VerdictPanel
from reports.text import count, plural
from testplans.switch_qos.sections_view import View


def section(seen: View) -> Section:
    """The matrix of all criteria, then each device with its statements."""
    blocks: list[Block] = [
        Paragraph(
            text="A criterion is met (PASS) where the whole 95 % interval keeps its limit, failed (FAIL) where the whole interval "
            "breaks it, and "
            "INVALID where the interval straddles the limit: then the measurement settles nothing. It is judged at each load where it "
            "means "
            "something, and the worst of these decides."
        )
    ]
    findings = seen.campaign.findings
    if not findings:
        blocks.append(
            Callout(
                tone="warning",
                title="Not judged",
                text="No criterion was judged: the campaign has not ended, or the plan has none that applies.",
            )
        )
        return Section(id="verdict", title="Verdict", blocks=tuple(blocks), page_break=True)
    blocks.append(_matrix(findings))
    devices = dict.fromkeys(finding.subject.get("device", "") for finding in findings)
    parts = tuple(_device(seen, name, [each for each in findings if each.subject.get("device", "") == name]) for name in devices)
    return Section(id="verdict", title="Verdict", blocks=tuple(blocks), sections=parts, page_break=True)


def _matrix(findings: Sequence[Finding]) -> Table:
    """Criteria down, devices across."""
    devices = list(dict.fromkeys(finding.subject.get("device", "") for finding in findings))
    rows: list[tuple[Cell, ...]] = []
    for scheduler in dict.fromkeys(finding.subject.get("scheduler", "") for finding in findings):
        here = [finding for finding in findings if finding.subject.get("scheduler", "") == scheduler]
        rows.append((Cell(text=scheduler, strong=True),))
        for title in dict.fromkeys(finding.title for finding in here):
            mine = {finding.subject.get("device", ""): finding for finding in here if finding.title == title}
            limit = next(iter(mine.values())).limit
            cells = (
                Cell(text=_short(mine[name]), verdict=mine[name].verdict) if name in mine else Cell(text="not judged", muted=True)
                for name in devices
            )
            rows.append((Cell(text=title), Cell(text=limit, muted=True), *cells))
    columns = (Column(title="Criterion"), Column(title="Limit"), *(Column(title=name) for name in devices))
    return Table(
        caption="All criteria at a glance; the value is the one that decided.",
        columns=columns,
        rows=tuple(rows),
        note="n and the intervals stand with each device below.",
        wide=len(devices) > 4,
    )


def _short(finding: Finding) -> str:
    """The value alone, with the digits that its interval warrants."""
    words = finding_value(finding).split(" ")
    return f"{words[0]} {words[-1]}"


def _device(seen: View, name: str, findings: Sequence[Finding]) -> Section:
    verdict = worst(finding.verdict for finding in findings)
    met = sum(1 for finding in findings if finding.verdict is Verdict.PASS)
    expected = next((each.criteria for each in seen.plan.expect if each.device == name), ())
    blocks: list[Block] = [
        VerdictPanel(
            title=name,
            verdict=verdict,
            statement=f"{met} of {plural(len(findings), 'criterion', 'criteria')} met.",
            criteria=tuple(
                (
                    each.verdict,
                    f"{each.title}, {each.subject.get('scheduler', '')}",
                    f"{finding_value(each)} (n {count(each.n)})",
                    each.limit,
                )
                for each in findings
            ),
        )
    ]
    if expected:
        failed = {finding.criterion for finding in findings if finding.verdict is Verdict.FAIL}
        as_told = failed == set(expected)
        text = f"The plan expects this device to fail {', '.join(expected)}; it failed {', '.join(sorted(failed)) or 'nothing'}."
        blocks.append(Callout(tone="good" if as_told else "warning", title="As expected" if as_told else "Not as expected", text=text))
    blocks.append(Bullets(items=tuple(_statement(finding) for finding in findings)))
    return Section(id=f"verdict-{name}", title=name, blocks=tuple(blocks))


def _statement(finding: Finding) -> str:
    trials = ", ".join(map(str, finding.trials))
    return f"{finding.verdict}: {finding.statement}" + (f" (Trials {trials}.)" if trials else "")
