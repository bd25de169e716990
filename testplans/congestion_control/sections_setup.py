"""What was compared, and over which path: what Pantheon prints on its cover."""

from reports.document import Block, Callout, Cell, Column, KeyValues, Paragraph, Section, Table
from reports.text import duration, plural
from testplans.congestion_control.path import PathPart
from testplans.congestion_control.sections_words import test_anchor
from testplans.congestion_control.view import View, scheme_topic


def section(seen: View) -> Section:
    """The path, the tests, and the version of every scheme."""
    blocks: list[Block] = [
        *([Paragraph(text=seen.plan.description)] if seen.plan.description else []),
        KeyValues(caption="", pairs=tuple(_pairs(seen))),
    ]
    absent = [test.label for test in seen.tests if not test.valid]
    if absent:
        blocks.append(
            Callout(
                tone="warning",
                title="Without a valid run",
                text=f"{', '.join(absent)}: each keeps its place in the tables, and its pages say why.",
            )
        )
    blocks.append(_schemes(seen))
    system = [pair for topic in ("Pantheon", "Testbed", "Host") for pair in seen.campaign.provenance.get(topic, {}).items()]
    if system:
        blocks.append(KeyValues(caption="System", pairs=tuple(system)))
    return Section(id="setup", title="What was compared", blocks=tuple(blocks))


def _pairs(seen: View) -> list[tuple[str, str]]:
    plan = seen.plan
    most = seen.flows
    flows = plural(most, "flow") if not plan.mixes else f"up to {plural(most, 'flow')}"
    if most > 1:
        flows += f", {duration(plan.flow_interval_s)} apart" if plan.flow_interval_s else ", started together"
    return [
        ("Path", plan.path.words),
        ("Way back", PathPart(forward=plan.path.backward).words if plan.path.backward else "as the way there"),
        ("Schemes", f"{plural(len(seen.labels), 'scheme')} in {plural(len(seen.tests), 'test')}"),
        ("Repetitions", plural(plan.repetitions, "run") + " of each test"),
        ("Each run", f"{duration(plan.runtime_s)}, {flows}"),
        ("Order", "shuffled within each round, by the seed" if plan.order == "shuffled" else "as the plan has it"),
        ("Queueing disciplines", ", ".join(f"{seen.labels[scheme]}: {qdisc}" for scheme, qdisc in plan.qdiscs.items()) or "the hosts' own"),
        ("Clock offsets", _offsets(seen)),
    ]


def _offsets(seen: View) -> str:
    if any(run.clock_offset_ms("local") is not None for test in seen.tests for run in test.runs):
        return "measured before each run, applied to the time stamps, and shown with each run"
    return "none applied"


def _schemes(seen: View) -> Table:
    rows = []
    tests = {flows[0]: test for test in seen.tests if len(set(flows := test.flows)) == 1}
    for scheme, label in seen.labels.items():
        known = seen.campaign.provenance.get(scheme_topic(scheme), {})
        facts = "; ".join(f"{name} {text}" for name, text in known.items() if name != "label")
        link = test_anchor(tests[scheme]) if scheme in tests else None
        rows.append(
            (Cell(text=label, strong=True, link=link), Cell(text=scheme), Cell(text=facts or "nothing written down", muted=not facts))
        )
    return Table(
        caption="Schemes and what is known of their versions.",
        columns=(Column(title="Scheme"), Column(title="Id"), Column(title="Version and source")),
        rows=tuple(rows),
        dense=True,
    )
