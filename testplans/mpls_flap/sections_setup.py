"""What was measured, and with what: networks, tests, phases, signalling, margins."""

from collections.abc import Iterator

from reports.document import Block, Callout, Cell, Column, KeyValues, Paragraph, Section, Table
from reports.text import duration, number, plural
from testplans.mpls_flap.parts import By, Network
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.mpls_flap.view import View
from testplans.mpls_flap.words import confidence_words, facts_of, names_of, ranges, rates_words, roomy, windows_words


def section(seen: View) -> Section:
    """The set-up in one page."""
    plan = seen.plan
    blocks: list[Block] = [
        *([Paragraph(text=plan.description.strip())] if plan.description else []),
        Paragraph(
            text="An emulated ingress and an emulated egress stand at the two ends of a network of label switching routers. They set up "
            "two kinds of LSPs through it. The stable ones carry labelled traffic all the time. The others are torn down at the beginning "
            "of each window, each is set up again as soon as its tear has arrived, and small probes show whether they forward. Delay and "
            "loss of the stable LSPs before the first flap (prior) and from it on (during) say whether the control plane's work disturbs "
            "forwarding."
        ),
    ]
    if plan.rate_scale != 1:
        text = f"{rates_words(plan)} Queueing and losses are those of the lower load."
        blocks.append(Callout(tone="warning", title="Rates are scaled", text=text))
    blocks += [KeyValues(caption="Set-up", pairs=tuple(_pairs(plan))), _networks(seen), _tests(seen)]
    return Section(id="setup", title="What was measured", blocks=tuple(blocks), page_break=roomy(seen))


def _pairs(plan: MplsFlapPlan) -> Iterator[tuple[str, str]]:
    each = plan.signalling
    yield "Phases", f"{plan.phases.prior_s:g} s prior; windows of {windows_words(plan)}; {plan.phases.drain_s:g} s for what is under way"
    if each.by is By.CONFIGURATION:
        yield "Signalling", "none: static labels, flapped by configuration"
    else:
        reduction = "with refresh reduction where the router has it" if each.refresh_reduction else "without refresh reduction"
        yield (
            "Signalling",
            f"RSVP-TE, reservation style {each.style.value}, labels {each.labels.value}, refresh {each.refresh_s:g} s, {reduction}",
        )
        yield (
            "Pace",
            f"{number(each.setups_per_s)} set-ups and {number(each.teardowns_per_s)} tear-downs a second at most; a message without an "
            f"answer is sent again after {duration(each.retry_s)}, {plural(each.retries, 'time')} at most",
        )
    probes = f"{number(plan.probes.fps)} a second over all LSPs; after RESV one each {number(plan.probes.gap_us)} µs until the first comes"
    yield "Probes", probes if plan.probes.fps else "none"
    yield "Links", f"{plan.link.rate_mbps:g} Mbit/s. {rates_words(plan)}"
    yield (
        "Margins",
        (
            f"delay {number(plan.margins.delay_us)} µs, loss {number(100 * plan.margins.loss)} %, RESV to forwarding "
            f"{number(plan.margins.gap_ms)} ms, growth of the delay {number(plan.margins.slope_us_per_s)} µs/s"
        ),
    )
    yield "Required", f"K = N up to {plan.require.linear_up_to}" if plan.require.linear_up_to else "no number of LSPs"
    yield "Repetitions", f"{plural(plan.repetitions, 'measurement')} of each point; intervals at {confidence_words(plan)}"


def _networks(seen: View) -> Table:
    rows = []
    for network in seen.plan.networks:
        options = ", ".join(f"{name} = {value}" for name, value in network.options.items())
        rows.append(
            (
                Cell(text=network.name, strong=True),
                Cell(text="one router" if network.routers == 1 else f"{network.shape.value} of {network.routers}"),
                Cell(text=", ".join(network.devices) or network.model or network.name),
                Cell(text=options or "none", muted=not options),
                Cell(text=_known(seen, network)),
            )
        )
    columns = ("Network", "Shape", "Routers", "Options", "Known of its routers")
    return Table(caption="Networks.", columns=tuple(Column(title=title) for title in columns), rows=tuple(rows))


def _known(seen: View, network: Network) -> str:
    """The facts of the routers: once where all have the same."""
    facts = {}
    for router in network.numbers:
        known = facts_of(seen, network.device(router))
        facts[router] = "; ".join(f"{name} {text}" for name, text in known.items() if name not in {"name", "model"})
    told = {router: words for router, words in facts.items() if words}
    if not told:
        return "nothing written down"
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return " | ".join(f"{router}: {words}" for router, words in told.items())


def _tests(seen: View) -> Table:
    rows = []
    for name in names_of(seen):
        test, keys = seen.plan.test(name), [key for key in seen.points if key.test == name]
        rows.append(
            (
                Cell(text=name, strong=True),
                Cell(text="as many as are flapped" if test.stable == "same" else str(test.stable)),
                Cell(text=ranges(sorted({key.flapped for key in keys}))),
                Cell(text=str(test.frame_bytes)),
                Cell(text=f"{keys[0].rate_mbps:g}"),
                Cell(text=number(seen.plan.offered_mbps(test))),
            )
        )
    return Table(
        caption="Tests: the traffic is split evenly over the stable LSPs.",
        columns=(
            Column(title="Test"),
            Column(title="Stable LSPs, M"),
            Column(title="Flapped LSPs, N"),
            Column(title="Frames", unit="bytes", numeric=True),
            Column(title="Rate", unit="Mbit/s", numeric=True),
            Column(title="Offered", unit="Mbit/s", numeric=True),
        ),
        rows=tuple(rows),
        note="Sizes count from the destination address to the FCS, label included. A rate is at most what preamble and gap leave of the "
        "link.",
        dense=True,
    )  # fmt: skip
