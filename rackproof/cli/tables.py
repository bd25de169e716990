"""Campaigns, findings and report tables as the terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from rackproof.model.verdict import Verdict

if TYPE_CHECKING:
    from orchestrator.bench.probes import Probe
    from rackproof.model.campaign import CampaignRecord
    from rackproof.model.finding import Finding
    from rackproof.store import CampaignSummary
    from reports import document
    from testplans.kind import Kind, Rehearsal

_STYLE = {
    Verdict.PASS: "bold green",
    Verdict.FAIL: "bold red",
    Verdict.INVALID: "bold magenta",
    Verdict.ABORTED: "bold yellow",
    Verdict.TIMEOUT: "bold yellow",
    Verdict.ERROR: "bold yellow",
}


def verdict_text(verdict: Verdict) -> Text:
    """The verdict's word in its colour."""
    return Text(verdict.value, style=_STYLE[verdict])


def findings_table(findings: Sequence[Finding], expected: Iterable[tuple[str, str]] = ()) -> Table:
    """What did not pass, each with its numbers, and how many did; expected: (device, criterion) pairs that the plan wants to fail."""
    from reports.campaign import finding_value

    wanted = set(expected)
    table = Table(box=box.SIMPLE_HEAD, title="Verdicts", title_justify="left", title_style="bold", pad_edge=False)
    table.add_column("criterion")
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("limit", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        named = (finding.subject.get(label, "") for label in ("device", "discipline"))
        groups.setdefault(", ".join(filter(None, named)) or "campaign", []).append(finding)
    for subject, judged in groups.items():
        table.add_row(Text(subject, style="bold"))
        for finding in judged:
            if finding.verdict is Verdict.PASS:
                continue
            verdict = verdict_text(finding.verdict)
            if finding.verdict is Verdict.FAIL and (finding.subject.get("device", ""), finding.criterion) in wanted:
                verdict.append(" as expected", style="dim")
            table.add_row(f"  {finding.title}", finding_value(finding), finding.limit, verdict)
        passed = sum(finding.verdict is Verdict.PASS for finding in judged)
        if passed:
            what = f"all {passed} criteria" if passed == len(judged) else f"{passed} of {len(judged)} criteria"
            table.add_row(Text(f"  {what}", style="dim"), "", "", verdict_text(Verdict.PASS))
    return table


def report_table(source: document.Table) -> Table:
    """A table of the report."""
    table = Table(box=box.SIMPLE_HEAD, title=source.caption, title_justify="left", title_style="bold", pad_edge=False)
    table.caption, table.caption_justify = source.note or None, "left"
    for at, column in enumerate(source.columns):
        heading = f"{column.title}\n[dim]{column.unit}[/]" if column.unit else column.title
        table.add_column(heading, justify="right" if column.numeric else "left", no_wrap=at == 0)
    for row in source.rows:
        # Where a cell must wrap, the sign stays with its number.
        table.add_row(
            *(Text(cell.text.replace("± ", "±\u00a0"), style="dim" if cell.muted else "bold" if cell.strong else "") for cell in row)
        )
    return table


def rehearsal_table(rehearsal: Rehearsal) -> Table:
    """Every trial that would run."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("trial", justify="right")
    table.add_column("what")
    table.add_column("takes\n[dim]s[/]", justify="right")
    table.add_column("what will happen", overflow="fold")
    for trial in rehearsal.trials:
        table.add_row(str(trial.index), trial.label, f"{trial.duration_s:.1f}", rehearsal.notes.get(trial.index, ""))
    return table


def campaigns_table(summaries: Sequence[CampaignSummary]) -> Table:
    """One row a campaign, newest first."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("id", "name", "kind", "testbed", "state", "verdict", "trials", "created"):
        table.add_column(title, justify="right" if title in ("id", "trials") else "left")
    for record in summaries:
        table.add_row(
            str(record.id),
            record.name,
            record.kind,
            record.testbed,
            record.state.value,
            verdict_text(record.verdict) if record.verdict is not None else "",
            f"{record.trials_done}/{record.trials}",
            f"{record.created:%Y-%m-%d %H:%M:%S %Z}",
        )
    return table


def campaign_heading(record: CampaignRecord) -> Text:
    """One line that says which campaign this is and how it stands."""
    heading = Text.assemble(
        (f"campaign {record.id}", "bold"), f"  {record.name}  ({record.kind} on {record.testbed})  {record.state.value}  "
    )
    return heading.append_text(verdict_text(record.verdict)) if record.verdict is not None else heading


def trials_table(record: CampaignRecord) -> Table:
    """One row a trial."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("trial", "what", "verdict", "frames kept", "reason"):
        table.add_column(title, justify="right" if title in ("trial", "frames kept") else "left", overflow="fold")
    for trial in record.trials:
        verdict = verdict_text(trial.result.verdict) if trial.result is not None else Text("not run", style="dim")
        table.add_row(
            str(trial.trial.index),
            trial.trial.label,
            verdict,
            f"{trial.samples.rows:,}" if trial.samples is not None else "",
            trial.result.reason if trial.result is not None else "",
        )
    return table


def kinds_table(kinds: Iterable[Kind]) -> Table:
    """One row a kind."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("kind", "what it tests", "plans ready to run"):
        table.add_column(title, overflow="fold")
    for kind in kinds:
        table.add_row(
            kind.name,
            kind.summary,
            "\n".join(sorted(f"{kind.folder.parent.name}/{kind.folder.name}/{path.name}" for path in kind.folder.glob("*.yaml"))),
        )
    return table


def probes_table(probes: Sequence[Probe]) -> Table:
    """One row for each thing tried."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("what", "for", "here", "why not"):
        table.add_column(title, overflow="fold")
    for probe in probes:
        style, word = ("green", "yes") if probe.available else ("red", "no") if probe.needed else ("yellow", "no")
        table.add_row(probe.name, probe.purpose, Text(word, style=f"bold {style}"), probe.why)
    return table
