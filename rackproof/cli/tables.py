"""Campaigns, findings and report tables as the terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from rackproof.model.service import TestbedState
from rackproof.model.verdict import Verdict

if TYPE_CHECKING:
    from datetime import datetime

    from orchestrator.bench.probes import Probe
    from rackproof.client import values
    from rackproof.model.campaign import CampaignRecord
    from rackproof.model.finding import Finding
    from rackproof.store import CampaignSummary
    from reports import document
    from testplans.kind import Kind

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
    # A limit of many words must leave room for what it is the limit of.
    table.add_column("criterion", min_width=20)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("limit")
    table.add_column("verdict", no_wrap=True)
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        named = (finding.subject.get(label, "") for label in ("device", "scheme", "discipline"))
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


def campaigns_table(summaries: Sequence[CampaignSummary | values.CampaignSummary]) -> Table:
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


def campaign_heading(record: CampaignRecord | values.Campaign) -> Text:
    """One line that says which campaign this is and how it stands."""
    heading = Text.assemble(
        (f"campaign {record.id}", "bold"), f"  {record.name}  ({record.kind} on {record.testbed})  {record.state.value}  "
    )
    return heading.append_text(verdict_text(record.verdict)) if record.verdict is not None else heading


def trials_table(record: CampaignRecord) -> Table:
    """One row a trial."""
    return trial_lines_table(
        (
            trial.trial.index,
            trial.trial.label,
            trial.result.verdict if trial.result is not None else None,
            trial.samples.rows if trial.samples is not None else None,
            trial.result.reason if trial.result is not None else "",
        )
        for trial in record.trials
    )


def trial_lines_table(lines: Iterable[tuple[int, str, Verdict | None, int | None, str]]) -> Table:
    """One row a trial: index, label, verdict, frames kept, reason."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("trial", "what", "verdict", "frames kept", "reason"):
        table.add_column(title, justify="right" if title in ("trial", "frames kept") else "left", overflow="fold")
    for index, label, verdict, rows, reason in lines:
        said = verdict_text(verdict) if verdict is not None else Text("not run", style="dim")
        table.add_row(str(index), Text(label), said, f"{rows:,}" if rows is not None else "", Text(reason))
    return table


def rehearsed_table(lines: Iterable[tuple[int, str, float, str]]) -> Table:
    """Every trial that would run: index, label, seconds, what will happen."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("trial", justify="right")
    table.add_column("what")
    table.add_column("takes\n[dim]s[/]", justify="right")
    table.add_column("what will happen", overflow="fold")
    for index, label, duration_s, note in lines:
        table.add_row(str(index), Text(label), f"{duration_s:.1f}", Text(note))
    return table


def queue_table(places: Iterable[values.Place]) -> Table:
    """One row for each campaign or reservation that has a testbed or waits for one."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("testbed", "place", "what", "name", "owner", "starts", "ends", "waits for"):
        table.add_column(title, justify="right" if title == "place" else "left", overflow="fold")
    for place in places:
        what = f"campaign {place.campaign}" if place.campaign is not None else f"reservation {place.reservation}"
        times = (_moment(place.expected_start), _moment(place.expected_end))
        at = "has it" if place.position == 0 else str(place.position)
        table.add_row(Text(place.testbed), at, what, Text(place.name), Text(place.owner), *times, Text(place.waits_for))
    return table


def testbeds_table(testbeds: Iterable[values.Testbed]) -> Table:
    """One row a testbed."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("testbed", "driver", "state", "workers", "in use by", "why offline"):
        table.add_column(title, overflow="fold")
    for each in testbeds:
        state = Text(each.state.value, style="green" if each.state is TestbedState.ONLINE else "bold red")
        table.add_row(Text(each.name), each.driver, state, ", ".join(each.workers) or "none", Text(each.in_use_by), Text(each.reason))
    return table


def _moment(moment: datetime | None) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment is not None else ""


def kinds_table(kinds: Iterable[Kind]) -> Table:
    """One row a kind."""
    from testplans.registry import ready_plans

    return kind_lines_table(
        (kind.name, kind.summary, [f"{kind.folder.parent.name}/{kind.folder.name}/{path.name}" for path in ready_plans(kind)])
        for kind in kinds
    )


def kind_lines_table(lines: Iterable[tuple[str, str, Iterable[str]]]) -> Table:
    """One row a kind: name, summary, plans that are ready to run."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("kind", "what it tests", "plans ready to run"):
        table.add_column(title, overflow="fold")
    for name, summary, plans in lines:
        table.add_row(name, Text(summary), "\n".join(sorted(plans)))
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
