"""What was compared, and over which path: what Pantheon prints on its cover."""

from reports.document import Block, Callout, Cell, Column, KeyValues, Paragraph, Section, Table
from reports.text import duration, number, plural
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
        *_ways(seen),
        ("Schemes", f"{plural(len(seen.labels), 'scheme')} in {plural(len(seen.tests), 'test')}"),
        ("Repetitions", plural(plan.repetitions, "run") + " of each test"),
        ("Each run", f"{duration(plan.runtime_s)}, {flows}"),
        ("Order", "shuffled within each round, by the seed" if plan.order == "shuffled" else "as the plan has it"),
        ("Queueing disciplines", ", ".join(f"{seen.labels[scheme]}: {qdisc}" for scheme, qdisc in plan.qdiscs.items()) or "the hosts' own"),
        ("Clock offsets", _offsets(seen)),
    ]


def _ways(seen: View) -> list[tuple[str, str]]:
    """What is known of the path, and what numbers are measured against where nothing is."""
    path = seen.plan.path
    if path.forward is not None:
        return [("Way back", PathPart(forward=path.backward).words if path.backward else "as the way there")]
    speeds = sorted({each.value for test in seen.tests for run in test.runs if (each := run.get("capacity")) is not None})
    links = " or ".join(f"{number(speed, 4)} Mbit/s" for speed in speeds) or "the link speed"
    return [
        ("Hosts", f"{path.hosts[0]} sends, {path.hosts[1]} receives; what is between them is not emulated and not known"),
        ("Utilisation is of", f"{links}: the slower cable of the two hosts in the inventory, with all that Ethernet adds to IP packets"),
        ("Queueing delay is above", "the least one-way delay that the run saw"),
        ("Packets are seen", "by captures on both hosts, in time stamps of their kernels, and paired by content"),
    ]


def _offsets(seen: View) -> str:
    if seen.plan.path.hosts:
        return "read on both hosts before and after each run, applied to the time stamps, and shown with each run and its error bound"
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
