"""What takes how much of a budget along the path: the waterfall of each class, over the longest chain that was measured."""

from collections.abc import Iterator, Sequence
from typing import Any

from reports.document import Block, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import number
from testplans.xpfe_delay import figures_hops
from testplans.xpfe_delay.classes import TrafficClass
from testplans.xpfe_delay.decomposition import decompose
from testplans.xpfe_delay.sections_words import budget_words, hops_words, percentile_words, rate_words
from testplans.xpfe_delay.view import Point, View
from testplans.xpfe_delay.waterfall import Part, Step, Waterfall, waterfall

#: A budget is drawn where the delay takes at least this share of it: of a larger one nothing could be seen.
SHARE_MIN = 0.25
#: Waterfalls of chains so long stand side by side.
HOPS_BESIDE = 4
#: Budgets whose remainders have columns in one table.
BUDGETS_A_TABLE = 4

_KEYS = {
    Part.ELEMENT: "element",
    Part.QUEUEING: "queueing",
    Part.SERIALISATION: "serialisation",
    Part.EXCESS: "excess",
    Part.ENDS: "ends",
    Part.SPREAD: "spread",
}
_COLUMNS = (
    (Part.ELEMENT, "Elements"),
    (Part.QUEUEING, "Queueing"),
    (Part.SERIALISATION, "Serialisation"),
    (Part.EXCESS, "Excess"),
    (Part.ENDS, "Ends"),
    (Part.SPREAD, "Spread"),
)


def section(seen: View) -> Section | None:
    """For each chain; None where nothing was measured."""
    parts = []
    for at, chain in enumerate(seen.chains):
        blocks = tuple(_chain(seen, chain))
        if blocks:
            parts.append(Section(id=f"budget-{at}", title=chain, blocks=blocks))
    if not parts:
        return None
    lead = Paragraph(
        text="The mean of each part of each hop, what of the mean no hop accounts for (ends), from there to the "
        f"{percentile_words(seen.plan.verdict.percentile)} (spread), and what is left of the budget. Means add up along the path, "
        "percentiles do not."
    )
    return Section(id="budget", title="The budget over the hops", blocks=(lead,), sections=tuple(parts), page_break=True)


def _chain(seen: View, chain: str) -> Iterator[Block]:
    measured = [point for point in seen.of(chain) if point.get("delay.mean") and point.get(seen.percentile)]
    if not measured:
        return
    longest = max(point.key.hops for point in measured)
    points = [point for point in measured if point.key.hops == longest]
    classes = list({each.budget_us: each for each in reversed(seen.plan.traffic_classes)}.values())[::-1]
    for each in classes:
        highest = max(found.value for point in points if (found := point.get(seen.percentile)))
        if highest >= SHARE_MIN * each.budget_us:
            yield _figure(seen, chain, each, points)
    for start in range(0, len(classes), BUDGETS_A_TABLE):
        yield _table(seen, chain, longest, points, classes[start : start + BUDGETS_A_TABLE])


def _figure(seen: View, chain: str, of: TrafficClass, points: Sequence[Point]) -> Figure:
    """The smallest and the largest size at the highest rate that was measured."""
    rate = max(point.key.rate_mbps for point in points)
    here = sorted((point for point in points if point.key.rate_mbps == rate), key=lambda point: point.key.frame_bytes)
    ends = list({point.key: point for point in (here[0], here[-1])}.values())
    parts = decompose(seen, chain)
    found = [(point, made) for point in ends if (made := waterfall(seen, point, of, parts))]
    columns = min(len(found), 2) if here[0].key.hops <= HOPS_BESIDE else 1
    return Figure(
        caption=f"What takes how much of the {budget_words(of)} of {of.title} over {hops_words(here[0].key.hops)} of {chain} [µs].",
        alt=f"Waterfall of the budget of {of.title} over the hops of {chain}",
        draw=figures_hops.waterfall,
        data={
            "panels": [
                {
                    "title": f"{point.key.frame_bytes} bytes, {rate_words(rate)}; dashed: {budget_words(of)}",
                    "budget": of.budget_us,
                    "bars": list(_bars(made)),
                }
                for point, made in found
            ],
            "columns": columns,
        },
        height_in=0.7 + 2.0 * -(-len(found) // columns),
        sketched=True,
    )


def _bars(made: Waterfall) -> Iterator[dict[str, Any]]:
    """A bar for each hop, for the ends, for the spread, and for what is left."""
    hops: dict[int, list[Step]] = {}
    for step in made.steps:
        if step.hop is not None:
            hops.setdefault(step.hop, []).append(step)
    for hop, steps in hops.items():
        blocks = [(_KEYS[step.part], step.before_us, step.before_us + step.us) for step in steps]
        yield {"name": f"hop {hop}", "blocks": blocks, "words": _us(sum(step.us for step in steps))}
    for step in made.steps:
        if step.hop is not None:
            continue
        begin, end = step.before_us, step.before_us + step.us
        if step.part is Part.LEFT:
            key, name = ("left", "left") if step.us >= 0 else ("overdrawn", "beyond")
        else:
            key, name = _KEYS[step.part], {Part.ENDS: "ends", Part.SPREAD: "spread"}[step.part]
        yield {"name": name, "blocks": [(key, begin, end)], "words": _us(step.us)}


def _us(value: float) -> str:
    """A time [us] to the nanosecond: what is less comes of adding up."""
    return number(round(value, 3), 3)


def _table(seen: View, chain: str, hops: int, points: Sequence[Point], classes: Sequence[TrafficClass]) -> Table:
    parts = decompose(seen, chain)
    rows = []
    recorded = False
    for point in points:
        made = [found for each in classes if (found := waterfall(seen, point, each, parts))]
        recorded = recorded or made[0].measured
        taken = (Cell(text=_us(made[0].total(part))) for part, _ in _COLUMNS)
        left = (Cell(text=_us(each.left_us), strong=each.left_us >= 0) for each in made)
        rows.append((Cell(text=f"{point.key.frame_bytes} bytes, {rate_words(point.key.rate_mbps)}"), *taken, *left))
    how = "as recorded hop by hop" if recorded else "as they follow from the sweep over sizes and hops, every hop alike"
    return Table(
        caption=f"What takes how much of the budgets over {hops_words(hops)} of {chain}.",
        columns=(
            Column(title="Point"),
            *(Column(title=title, unit="µs", numeric=True) for _, title in _COLUMNS),
            *(Column(title=f"Left of {budget_words(each)}", unit="µs", numeric=True) for each in classes),
        ),
        rows=tuple(rows),
        note=f"All hops together, {how}. Below 0: beyond the budget. Whether a budget holds is judged by the percentile's interval.",
        dense=True,
    )
