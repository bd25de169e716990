"""What was measured, and with what: chains, links, traffic, classes."""

import math
from collections.abc import Iterator

from rackproof.model.traffic import Arrivals
from rackproof.model.xcf import ENCAPSULATION_BYTES
from reports.document import Block, Callout, Cell, Column, KeyValues, Paragraph, Section, Table
from reports.text import duration, number, plural
from testplans.xpfe_delay.parts import Chain
from testplans.xpfe_delay.plan import XpfeDelayPlan
from testplans.xpfe_delay.sections_words import confidence_words, facts_of, forwarding_words, percentile_words, rates_words
from testplans.xpfe_delay.view import View


def section(seen: View) -> Section:
    """The set-up in one page."""
    plan = seen.plan
    blocks: list[Block] = [
        *([Paragraph(text=plan.description.strip())] if plan.description else []),
        Paragraph(
            text="A generator sends frames of one size at one rate into the first element of a chain, and takes them back behind the last "
            "one. Their delay is measured frame by frame, from end to end and, where the links are recorded, hop by hop. A hop is an "
            "element with the link behind it."
        ),
    ]
    if plan.rate_scale != 1:
        text = f"{rates_words(plan)} Queueing and losses are those of the lower load; what a frame takes on a link is not changed by it."
        blocks.append(Callout(tone="warning", title="Rates are scaled", text=text))
    blocks += [
        KeyValues(caption="Set-up", pairs=tuple(_pairs(seen, plan))),
        _chains(seen, plan),
        _classes(plan),
    ]
    if late := _lateness(seen):
        blocks.append(late)
    return Section(id="setup", title="What was measured", blocks=tuple(blocks))


def _pairs(seen: View, plan: XpfeDelayPlan) -> Iterator[tuple[str, str]]:
    yield "Hops", ", ".join(map(str, plan.hops))
    yield "Frames", ", ".join(map(str, plan.frame_bytes)) + " bytes, FCS and VLAN tag included"
    layer = "layer 2 (without preamble and gap)" if plan.link.layer == "L2" else "layer 1 (preamble and gap included)"
    yield "Rates", ", ".join(f"{rate:g}" for rate in plan.rates_mbps) + f" Mbit/s, {layer}. {rates_words(plan)}"
    yield "Arrivals", "Poisson (exponential gaps)" if plan.arrivals is Arrivals.POISSON else "constant gaps"
    if plan.background is not None:
        each = plan.background
        rate = number(plan.offered_mbps(each.per_hop_mbps))
        yield "Background", f"{rate} Mbit/s of another tenant on each link, {each.frame_bytes} bytes, {each.arrivals}"
    else:
        yield "Background", "none"
    room = f", {plan.link.queue_frames} frames wait at most in front of each" if seen.campaign.testbed == "bench" else ""
    yield "Links", f"{plan.link.rate_mbps:g} Mbit/s between the elements{room}"
    yield (
        "Each trial",
        f"{duration(plan.trial.duration_s)} measured after {duration(plan.trial.warmup_s)} of warm-up; "
        f"{plural(plan.repetitions, 'repetition')} of each point",
    )
    if plan.planted:
        words = ", ".join(f"{number(each.delay_us)} µs behind hop {each.hop}" for each in plan.planted)
        yield "Planted delays", f"{words}; the analysis is not told"
    yield (
        "Judged by",
        f"the {percentile_words(plan.verdict.percentile)} of the delay, at a confidence of {confidence_words(plan)}",
    )


def _chains(seen: View, plan: XpfeDelayPlan) -> Table:
    rows = []
    for chain in plan.chains:
        options = ", ".join(f"{name} = {value}" for name, value in chain.options.items())
        rows.append(
            (
                Cell(text=chain.name, strong=True),
                Cell(text=", ".join(chain.devices) or chain.model or chain.name),
                Cell(text=options or "none", muted=not options),
                Cell(text=forwarding_words(chain)),
                Cell(text=_known(seen, plan, chain)),
            )
        )
    columns = ("Chain", "Elements", "Options", "Forwards", "Known of its elements")
    return Table(
        caption="Chains, and how their elements forward.",
        columns=tuple(Column(title=title) for title in columns),
        rows=tuple(rows),
        note=f"MAC-in-MAC (IEEE 802.1ah) makes frames {ENCAPSULATION_BYTES} bytes larger on the links between elements.",
    )


def _known(seen: View, plan: XpfeDelayPlan, chain: Chain) -> str:
    """The facts of the elements: once where all have the same."""
    facts = {
        element: "; ".join(
            f"{name} {text}" for name, text in facts_of(seen, chain.device(element)).items() if name not in {"name", "model"}
        )
        for element in range(1, plan.hops_max + 1)
    }
    known = {element: words for element, words in facts.items() if words}
    if not known:
        return "nothing written down"
    if len(set(known.values())) == 1:
        return next(iter(known.values()))
    return " | ".join(f"{element}: {words}" for element, words in known.items())


def _classes(plan: XpfeDelayPlan) -> Table:
    rows = tuple(
        (
            Cell(text=each.title, strong=True),
            Cell(text=number(each.budget_us)),
            Cell(text=each.source or "the plan", muted=not each.source),
        )
        for each in plan.traffic_classes
    )
    return Table(
        caption="Traffic classes and the largest one-way delay that each bears.",
        columns=(Column(title="Class"), Column(title="Budget", unit="µs", numeric=True), Column(title="Source")),
        rows=rows,
    )


def _lateness(seen: View) -> Table | None:
    """How late the emulated links handed frames on; None where none were recorded."""
    rows = []
    for chain in seen.chains:
        for hop in range(1, max(seen.hops(chain)) + 1):
            late = [found.value for point in seen.of(chain) if (found := point.get("hop.lateness.p50", hop=str(hop))) is not None]
            if late:
                rows.append((Cell(text=chain), Cell(text=str(hop)), *(Cell(text=number(each, 3)) for each in (min(late), max(late)))))
    if not rows:
        return None
    raw = [_taken_out(seen, chain) for chain in seen.chains]
    most = max((each for each in raw if math.isfinite(each)), default=math.nan)
    taken = f" In the mean of a trial that is {number(most, 3)} µs at most." if math.isfinite(most) else ""
    return Table(
        caption="How late the emulated links handed frames on: the median of a trial.",
        columns=(
            Column(title="Chain"),
            Column(title="Link behind hop"),
            Column(title="Least", unit="µs", numeric=True),
            Column(title="Most", unit="µs", numeric=True),
        ),
        rows=tuple(rows),
        note="A link knows when a frame should have left it, and when it did. What it was late by is no part of the network, and is taken "
        f"out of every delay.{taken} Where nothing else is said, delays are without it.",
        dense=True,
    )


def _taken_out(seen: View, chain: str) -> float:
    differences = [
        raw.value - mean.value
        for point in seen.of(chain)
        if (raw := point.get("delay.raw.mean")) is not None and (mean := point.get("delay.mean")) is not None
    ]
    return max(differences, default=math.nan)
