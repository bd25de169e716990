"""Does forwarding change while LSPs flap? Effects with their intervals against the plan's margins: the same is shown, not assumed."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rackproof.model.measurement import Measurement
from reports.document import Block, Callout, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import count, measured, number
from testplans.mpls_flap import figures_separation
from testplans.mpls_flap.figures import OPEN, OUTSIDE, WITHIN
from testplans.mpls_flap.separation import BUSY, DELAY, LOSS
from testplans.mpls_flap.view import Point, View
from testplans.mpls_flap.words import confidence_words, flapped_words, keys_of, network_words, roomy

#: Rows of strokes that a figure has room for.
_LINES = 130
_LINE_IN = 0.047
#: A forest reaches so many margins to either side at least, and at most.
_REACH, _FAR = 1.6, 6.0
#: An effect, what it is of, its scale for figures and tables, and its unit there.
EFFECTS = (
    (DELAY, "Delay", 1.0, "µs"),
    (BUSY, "Delay, while messages are under way", 1.0, "µs"),
    (LOSS, "Loss", 100.0, "%"),
)
_WORDS = ((WITHIN, "within the margin"), (OPEN, "not settled"), (OUTSIDE, "outside of it"))


def section(seen: View) -> Section:
    """The forest of all points, and the farthest of each network and test."""
    margins = seen.plan.margins
    lead = Paragraph(
        text="For each point: how much the mean delay of the stable LSPs, and the share of their frames that is lost, change from "
        "before the flaps to during them, and the delay while messages are under way, which a mean over the whole window hides. "
        f"Forwarding is the same where the whole interval lies within the margin, ±{number(margins.delay_us)} µs and "
        f"±{number(100 * margins.loss)} %: two one-sided tests. An interval that reaches out of it settles nothing; a change that is "
        "only not significant is not called equal."
    )
    rows = list(_rows(seen))
    if not any(row["strokes"] for row in rows):
        nothing = Callout(tone="note", title="Nothing to compare", text="No trial gave a valid measurement.")
        return Section(id="separation", title="Is forwarding the same?", blocks=(nothing,), page_break=roomy(seen))
    blocks: list[Block] = [lead, *_growing(seen), *(_forest(seen, part) for part in _parted(rows)), table(seen)]
    return Section(id="separation", title="Is forwarding the same?", blocks=tuple(blocks), page_break=roomy(seen))


def _growing(seen: View) -> Iterator[Callout]:
    """Networks whose delay is compared with itself while it grows."""
    growing = [finding.subject["device"] for finding in seen.campaign.findings if finding.detail.get("growing")]
    if growing:
        text = f"The delay of {', '.join(growing)} grows before anything flaps: how much of its change below is the flaps' cannot be told."
        yield Callout(tone="warning", title="A queue that grows", text=text)


def side(found: Measurement, margin: float) -> str:
    """The colour of an effect: within its margin, outside of it, or not settled."""
    if found.interval is None:
        return OPEN
    low, high = found.interval.low, found.interval.high
    if -margin <= low and high <= margin:
        return WITHIN
    return OUTSIDE if low > margin or high < -margin else OPEN


def margin_of(seen: View, name: str) -> float:
    """The plan's margin of an effect, in the effect's own unit."""
    return seen.plan.margins.loss if name == LOSS else seen.plan.margins.delay_us


def _rows(seen: View) -> Iterator[dict[str, Any]]:
    several = len(seen.networks) > 1
    for network in seen.networks:
        for test in seen.tests(network):
            points = [seen.points[key] for key in keys_of(seen, network, test)]
            strokes = [{name: _stroke(seen, point, name, scale) for name, _, scale, _ in EFFECTS} for point in points if point.valid]
            first = test == seen.tests(network)[0]
            yield {"title": f"{network}, {test}" if several else f"Test {test}", "strokes": strokes, "first": first}


def _stroke(seen: View, point: Point, name: str, scale: float) -> dict[str, Any] | None:
    found = point.get(name)
    if found is None or not math.isfinite(found.value):
        return None
    low, high = (found.interval.low, found.interval.high) if found.interval else (found.value, found.value)
    return {
        "value": found.value * scale,
        "low": low * scale,
        "high": high * scale,
        "colour": side(found, margin_of(seen, name)),
        "words": number(found.value * scale, 3),
    }


def _parted(rows: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Rows in figures that fit a page; a network begins a new one where the page is half full."""
    part: list[dict[str, Any]] = []
    lines = 0
    for row in rows:
        more = len(row["strokes"]) + 1
        if part and (lines + more > _LINES or (row["first"] and lines > _LINES / 2)):
            yield part
            part, lines = [], 0
        part.append(row)
        lines += more
    if part:
        yield part


def _forest(seen: View, rows: Sequence[dict[str, Any]]) -> Figure:
    lines = sum(max(len(row["strokes"]), 1) + 1 for row in rows)
    line = min(0.2, max(_LINE_IN, 1.6 / lines))
    quantities = []
    for name, words, scale, unit in EFFECTS:
        if not any(stroke[name] for row in rows for stroke in row["strokes"]):
            continue
        margin = margin_of(seen, name) * scale
        ends = [abs(stroke[name][end]) for row in rows for stroke in row["strokes"] if stroke[name] for end in ("low", "high")]
        reach = min(max([margin * _REACH, *(end * 1.05 for end in ends)]), margin * _FAR)
        quantities.append({"name": name, "title": words, "label": f"Change [{unit}]", "margin": margin, "reach": reach})
    used = {stroke[name]["colour"] for row in rows for stroke in row["strokes"] for name, *_ in EFFECTS if stroke[name]}
    letters = max(len(row["title"]) for row in rows)
    return Figure(
        caption=f"What flaps change of delay and loss of the stable LSPs: a stroke for each number of flapped LSPs, the fewest on top, "
        f"with its {confidence_words(seen.plan)} interval; the margin in grey. Arrows: beyond the picture.",
        alt="Changes of delay and loss from before the flaps to during them, with intervals, against the margins, by network and test",
        draw=figures_separation.forest,
        data={
            "rows": list(rows),
            "quantities": quantities,
            "left_in": min(1.9, 0.25 + 0.055 * letters),
            "key": [(words, colour) for colour, words in _WORDS if colour in used],
        },
        height_in=0.95 + lines * line,
        sketched=True,
    )


def table(seen: View) -> Table:
    """How many points of each network are within the margins."""
    rows: list[tuple[Cell, ...]] = []
    for network in seen.networks:
        points = [point for point in seen.of(network) if point.valid]
        rows.append((Cell(text=network_words(seen, network), strong=True),))
        if not any(point.get(name) for point in points for name, *_ in EFFECTS):
            rows.append((Cell(text="nothing to compare" if points else "no valid trial", muted=True), Cell(text="")))
        for name, words, scale, unit in EFFECTS if points else ():
            found = [(point, effect) for point in points if (effect := point.get(name)) is not None]
            if not found:
                continue
            within = sum(1 for _, effect in found if side(effect, margin_of(seen, name)) == WITHIN)
            point, most = max(found, key=lambda each: abs(each[1].value))
            where = f"test {point.key.test}, {flapped_words(point.key)}"
            counted = Cell(text=f"{count(within)} of {count(len(found))}", strong=within < len(found))
            rows.append((Cell(text=words), counted, Cell(text=f"{measured(most, scale=scale, digits=3)} {unit}"), Cell(text=where)))
    return Table(
        caption="How many points lie within the margin, and the one that is farthest from no change.",
        columns=(
            Column(title="Change of"),
            Column(title="Points within", numeric=True),
            Column(title="Farthest", numeric=True),
            Column(title="There"),
        ),
        rows=tuple(rows),
        dense=True,
    )
