"""The frame that every campaign's report has, whatever its kind: cover, calibration, health, provenance, configurations, plan."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rackproof.model.campaign import CampaignRecord, CampaignState, TrialRecord
from rackproof.model.finding import Finding
from rackproof.model.verdict import Verdict, worst
from reports.configurations import configurations
from reports.document import Block, Callout, Cell, Column, Cover, Document, KeyValues, Paragraph, Section, Table, VerdictPanel
from reports.provenance import plan, provenance
from reports.text import ABSENT, count, duration, moment, number, plural, with_interval

#: Lines of failed criteria that a device gets on the cover; the others are counted.
COVER_LINES = 5
#: Health counters that the table of all trials has room for; every trial's own section has all of them.
HEALTH_COLUMNS = 8
#: Labels of findings that name what was tested.
_OWNERS = ("device", "scheme")


def document(
    campaign: CampaignRecord,
    kind_title: str,
    kind_sections: Sequence[Section],
    generated: datetime,
    expected: Mapping[str, Sequence[str]] | None = None,
) -> Document:
    """The whole report. expected: the criteria that the plan expects each device to fail, by device, as Kind.expectation gives them."""
    frame = (_measurement(campaign), provenance(campaign), *configurations(campaign.configurations), plan(campaign))
    return Document(
        cover=_cover(campaign, kind_title, generated, expected or {}),
        sections=(*kind_sections, *frame),
        meta={
            "running": f"{campaign.name} · campaign {campaign.id}",
            "foot": f"Rackproof · {kind_title} · plan {campaign.plan_sha256[:12]}",
            "date": generated.isoformat(),
        },
    )


def finding_value(finding: Finding) -> str:
    """The number that a finding rests on, with its unit: ratios in percent."""
    scale, sign = (100.0, "%") if finding.unit == "1" else (1.0, finding.unit.replace("us", "µs"))
    return f"{with_interval(finding.value, finding.interval, scale=scale, digits=3)} {sign}".strip()


def subject_of(finding: Finding) -> str:
    """Of what a finding is, in words: the values of its labels."""
    return ", ".join(finding.subject.values()) or "the campaign"


def trial_anchor(index: int) -> str:
    """The id of the section of a trial, which the kind's sections must have for links to work."""
    return f"trial-{index}"


def trial_opening(record: TrialRecord, facts: Iterable[tuple[str, str]]) -> list[Block]:
    """What a trial's section begins with: why it gave no result, or none that counts; its facts; where its samples are."""
    result, blocks = record.result, list[Block]()
    if result is None:
        blocks.append(Callout(tone="warning", title="Not run", text="The campaign ended before this trial."))
    elif result.verdict is not Verdict.PASS:
        blocks.append(Callout(tone="warning", title=result.verdict.value, text=result.reason or "No reason was given."))
    blocks.append(KeyValues(caption="", pairs=tuple(facts), inline=True))
    if record.samples:
        pairs = (("Samples", record.samples.path), ("rows", count(record.samples.rows)), ("SHA-256", record.samples.sha256))
        blocks.append(KeyValues(caption="", pairs=pairs, mono=True, inline=True))
    return blocks


def trial_facts(record: TrialRecord) -> Iterator[tuple[str, str]]:
    """What is said of every trial, by name: verdict, when it began, how long it took, seed, repetition."""
    result = record.result
    yield "verdict", result.verdict.value if result else "not run"
    yield "began", moment(record.started)
    if record.started and record.ended:
        yield "took", duration((record.ended - record.started).total_seconds())
    yield "seed", str(record.trial.seed)
    yield "repetition", str(record.trial.repetition)


def verdict_of(record: TrialRecord) -> Verdict | None:
    """The verdict of a trial; None where it has not run."""
    return record.result.verdict if record.result else None


# ---- cover


def _cover(campaign: CampaignRecord, kind_title: str, generated: datetime, expected: Mapping[str, Sequence[str]]) -> Cover:
    return Cover(
        title=campaign.name,
        subtitle=kind_title,
        verdict=campaign.verdict,
        verdict_statement=_statement(campaign, expected),
        panels=tuple(_panels(campaign.findings, expected)),
        facts=tuple(_facts(campaign)),
        generated=f"Report made {moment(generated)}",
    )


def _statement(campaign: CampaignRecord, expected: Mapping[str, Sequence[str]]) -> str:
    parts = []
    failed = [finding for finding in campaign.findings if finding.verdict is Verdict.FAIL]
    if campaign.findings:
        judged = plural(len(campaign.findings), "criterion", "criteria")
        undecided = sum(1 for finding in campaign.findings if finding.verdict not in (Verdict.PASS, Verdict.FAIL))
        met = len(campaign.findings) - len(failed) - undecided
        parts.append(f"{met} of {judged} met, {len(failed)} failed" + (f", {undecided} could not be decided." if undecided else "."))
    elif campaign.state is CampaignState.DONE:
        parts.append("No criterion was judged.")
    if campaign.state is not CampaignState.DONE:
        parts.append(f"The campaign is {campaign.state}: what follows is what there is so far.")
    troubled = [record for record in campaign.trials if verdict_of(record) is not Verdict.PASS]
    if troubled:
        parts.append(f"{len(troubled)} of {plural(len(campaign.trials), 'trial')} gave no valid measurement.")
    if failed and expected:
        found: dict[str, set[str]] = {}
        for finding in failed:
            found.setdefault(finding.subject.get("device", ""), set()).add(finding.criterion)
        if found == {device: set(criteria) for device, criteria in expected.items()}:
            parts.append(
                f"These failures, and no others, were expected by the plan: {', '.join(expected)} has defects that were put there."
            )
        else:
            parts.append("They are not those that the plan expects.")
    if campaign.reason:
        parts.append(campaign.reason)
    if campaign.resumed:
        parts.append(f"Interrupted and resumed {plural(len(campaign.resumed), 'time')}: {', '.join(map(moment, campaign.resumed))}.")
    return " ".join(parts)


def _panels(findings: Sequence[Finding], expected: Mapping[str, Sequence[str]]) -> Iterator[VerdictPanel]:
    groups: dict[str, list[Finding]] = {}
    labels = _telling(findings)
    for finding in findings:
        groups.setdefault(_whose(finding), []).append(finding)
    for name, mine in groups.items():
        wrong = [finding for finding in mine if finding.verdict is not Verdict.PASS]
        met = f"{len(mine) - len(wrong)} of {plural(len(mine), 'criterion', 'criteria')} met"
        note = f"; the plan expects it to fail {', '.join(expected[name])}" if name in expected else ""
        lines = [(each.verdict, _titled(each, labels), finding_value(each), each.limit) for each in wrong if not each.is_answer]
        hidden = f"; {len(lines) - COVER_LINES} more did not pass" if len(lines) > COVER_LINES else ""
        # What is wrong comes first.
        told = sorted((each for each in mine if each.is_answer), key=lambda each: each.verdict is Verdict.PASS)
        answers = [(each.verdict, *_answer(each, name), "") for each in told]
        hidden += f"; {len(answers) - COVER_LINES} more answers stand within" if len(answers) > COVER_LINES else ""
        yield VerdictPanel(
            title=name,
            verdict=worst(each.verdict for each in mine),
            statement=f"{met}{note}{hidden}.",
            criteria=tuple(lines[:COVER_LINES] + answers[:COVER_LINES]),
        )


def _answer(finding: Finding, name: str) -> tuple[str, str]:
    """The statement, cut where it begins to say what was found: "CPRI (100 µs)", "at most 4 hops at 500 bytes"."""
    head, _, rest = finding.statement.removeprefix(f"{name}: ").partition(": ")
    return (head, rest) if rest else (finding.title, head)


def _titled(finding: Finding, labels: Sequence[str]) -> str:
    rest = ", ".join(finding.subject[label] for label in labels if label in finding.subject)
    return f"{finding.title} ({rest})" if rest else finding.title


def _whose(finding: Finding) -> str:
    """Whose verdict a finding is part of: what was tested, else all that its labels say."""
    return next((finding.subject[label] for label in _OWNERS if label in finding.subject), "") or subject_of(finding)


def _telling(findings: Sequence[Finding]) -> list[str]:
    """Labels besides that of what was tested that tell findings apart; one that follows from another is left out."""
    labels = sorted({label for finding in findings for label in finding.subject} - set(_OWNERS))
    for label in list(labels):
        for other in labels:
            pairs = {(finding.subject.get(other), finding.subject.get(label)) for finding in findings}
            if other != label and len(pairs) == len({first for first, _ in pairs}):
                labels.remove(label)
                break
    return labels


def _facts(campaign: CampaignRecord) -> Iterator[tuple[str, str]]:
    yield "Campaign", f"{campaign.id} on {campaign.testbed}"
    yield "Plan", f"{campaign.kind}, SHA-256 {campaign.plan_sha256[:12]}…"
    valid = sum(1 for record in campaign.trials if verdict_of(record) is Verdict.PASS)
    yield "Trials", f"{len(campaign.trials)}, of which {valid} valid"
    yield "Started", moment(campaign.started)
    if campaign.started and campaign.ended:
        yield "Took", duration((campaign.ended - campaign.started).total_seconds())
    if campaign.calibration:
        each = campaign.calibration
        if math.isnan(each.delay_floor_us):
            yield "Delay floor", "not measured"
        else:
            yield "Delay floor", f"{number(each.delay_floor_us, 3)} µs"
            yield "Time stamps", f"error p99 {number(each.timestamp_error_us_p99, 3)} µs"
        if each.honest_fps:
            yield "Generator", f"{'honest up to' if each.frames else 'said to be good for'} {count(each.honest_fps)} frames/s"
    code, host = campaign.provenance.get("Rackproof", {}), campaign.provenance.get("Host", {})
    if code:
        yield (
            "Rackproof",
            " ".join(part for part in (code.get("version", ""), f"({code['commit'][:12]})" if code.get("commit") else "") if part),
        )
    if host:
        yield "Host", ", ".join(host[name] for name in ("name", "system") if host.get(name))


# ---- how far the measurement can be trusted


def _measurement(campaign: CampaignRecord) -> Section:
    blocks: list[Block] = []
    if campaign.calibration is None:
        blocks.append(
            Callout(
                tone="warning", title="Not calibrated", text="This campaign has no calibration: what the generator is worth is not known."
            )
        )
    else:
        each = campaign.calibration
        if math.isnan(each.delay_floor_us):
            text = f"{each.detail.get('delay_floor', '')}."
            blocks.append(Callout(tone="warning", title="Delay floor", text=text[:1].upper() + text[1:]))
        else:
            text = (
                "Before the first trial the generator was measured on a loopback. Every delay in this report contains the delay floor; "
                "none of them is known better than the error of the time stamps."
            )
            blocks.append(Paragraph(text=text))
        blocks += [
            KeyValues(
                caption="Calibration",
                pairs=(
                    ("Delay floor (median)", f"{number(each.delay_floor_us, 3)} µs"),
                    ("Time stamp error, p50", f"{number(each.timestamp_error_us_p50, 3)} µs"),
                    ("Time stamp error, p99", f"{number(each.timestamp_error_us_p99, 3)} µs"),
                    ("Honest frame rate", f"{count(each.honest_fps)} frames/s"),
                    ("Frames", count(each.frames)),
                    *((name.replace("_", " "), _plain(value)) for name, value in each.detail.items()),
                ),
            ),
        ]
    blocks.append(_health(campaign))
    return Section(id="measurement", title="How far the measurement can be trusted", blocks=tuple(blocks))


def _health(campaign: CampaignRecord) -> Table:
    names = list(dict.fromkeys(name for record in campaign.trials if record.result for name in record.result.health))
    shown, more = names[:HEALTH_COLUMNS], names[HEALTH_COLUMNS:]
    rows: list[tuple[Cell, ...]] = []
    seams = list(campaign.resumed)
    for record in campaign.trials:
        while seams and record.started and record.started >= seams[0]:
            rows.append((Cell(text=f"Interrupted; resumed {moment(seams.pop(0))}", strong=True),))
        health = record.result.health if record.result else {}
        took = duration((record.ended - record.started).total_seconds()) if record.started and record.ended else ABSENT
        verdict = verdict_of(record)
        rows.append(
            (
                Cell(text=str(record.trial.index), link=trial_anchor(record.trial.index)),
                Cell(text=record.trial.label),
                Cell(text="" if verdict else "not run", verdict=verdict, muted=verdict is None),
                Cell(text=f"{record.started:%H:%M:%S}" if record.started else ABSENT),
                Cell(text=took),
                *(Cell(text=number(health[name], 3) if name in health else ABSENT) for name in shown),
            )
        )
    note = "Counters of the generator; 'us' and 'ns' in a name are its unit."
    if more:
        note += f" Further counters stand in the trials' own sections: {', '.join(map(_words, more))}."
    return Table(
        caption="Every trial, and how the generator fared in it.",
        columns=(
            Column(title="Trial", numeric=True),
            Column(title="Point"),
            Column(title="Verdict"),
            Column(title="Began"),
            Column(title="Took", numeric=True),
            *(Column(title=_words(name), numeric=True) for name in shown),
        ),
        rows=tuple(rows),
        note=note,
        wide=len(shown) > 2,
        dense=True,
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def _plain(value: Any) -> str:
    return (
        number(value, 4)
        if isinstance(value, float)
        else count(value)
        if isinstance(value, int) and not isinstance(value, bool)
        else str(value)
    )
