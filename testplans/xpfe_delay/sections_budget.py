"""Over how many hops does each class keep its budget? Measured, predicted beyond, and how far the prediction may be believed."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from reports.document import Block, Callout, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import ABSENT, measured, number
from testplans.xpfe_delay import figures_hops
from testplans.xpfe_delay.budget import HOPS_MAX, Holding, Reach, reaches
from testplans.xpfe_delay.decomposition import Model
from testplans.xpfe_delay.prediction import Check, assumes, check, model
from testplans.xpfe_delay.sections_hops import SIZES_A_FIGURE, dot
from testplans.xpfe_delay.sections_words import (
    budget_words,
    compact,
    confidence_words,
    hops_words,
    percentile_words,
    rate_words,
    rates_words,
    value,
)
from testplans.xpfe_delay.view import Key, View

#: Predictions are drawn so many hops beyond what was measured, at least up to MOST.
BEYOND, MOST = 3, 8


def section(seen: View) -> Section:
    """For each chain: the largest number of hops by class, size and rate; delay over hops; the check of the prediction."""
    verdict = seen.plan.verdict
    lead = Paragraph(
        text=f"A class keeps its budget where the upper end of the {confidence_words(seen.plan)} interval of the "
        f"{percentile_words(verdict.percentile)} is at most the budget, and does not where the lower end is above it; between the two "
        f"nothing is settled. Frames that were lost count as late. {rates_words(seen.plan)}"
    )
    parts = tuple(
        Section(id=f"hops-{at}", title=chain, blocks=tuple(_chain(seen, chain)), page_break=at > 0) for at, chain in enumerate(seen.chains)
    )
    blocks = (lead, beside(seen)) if len(seen.chains) > 1 else (lead,)
    return Section(id="hops", title="How many hops", blocks=blocks, sections=parts, page_break=True)


def beside(seen: View) -> Table:
    """The chains side by side: the smallest and the largest size at the highest rate."""
    plan, rate = seen.plan, seen.plan.rates_mbps[-1]
    rows: list[tuple[Cell, ...]] = []
    for size in dict.fromkeys((plan.frame_bytes[0], plan.frame_bytes[-1])):
        rows.append((Cell(text=f"{size} bytes", strong=True),))
        for hops in plan.hops:
            points = [seen.points.get(Key(chain, hops, size, rate)) for chain in seen.chains]
            rows.append((Cell(text=hops_words(hops)), *(value(point.get(seen.percentile) if point else None) for point in points)))
    return Table(
        caption=f"The {percentile_words(plan.verdict.percentile)} of the delay of each chain at {rate_words(rate)}.",
        columns=(Column(title="Hops"), *(Column(title=chain, unit="µs", numeric=True) for chain in seen.chains)),
        rows=tuple(rows),
        note=f"± is half of a {confidence_words(plan)} interval. {rates_words(plan)}",
    )


def _chain(seen: View, chain: str) -> Iterator[Block]:
    if not any(point.get(seen.percentile) for point in seen.of(chain)):
        yield Callout(tone="note", title="Nothing to judge", text=f"No trial of {chain} gave a valid measurement.")
        return
    yield matrix(seen, chain, numbers=True)
    predictor = model(seen, chain, seen.percentile)
    sizes = seen.sizes(chain)
    for start in range(0, len(sizes), SIZES_A_FIGURE):
        yield _over_hops(seen, chain, predictor, sizes[start : start + SIZES_A_FIGURE])
    if predictor is None:
        text = "The delay over other numbers of hops follows from how it grows from one to the next: two are needed."
        yield Callout(tone="note", title="No prediction", text=text)
        return
    found = check(seen, chain, seen.percentile)
    yield Paragraph(text=f"{assumes(predictor)} {found.text}")
    if found.points:
        yield _checked(chain, found)


def matrix(seen: View, chain: str, *, numbers: bool) -> Table:
    """Class by rate down, sizes across. numbers: with the delay that each count rests on."""
    sizes = seen.sizes(chain)
    rows: list[tuple[Cell, ...]] = []
    said: dict[float, tuple[str, ...]] = {}
    titles: dict[float, list[str]] = {}
    for each in seen.plan.traffic_classes:
        titles.setdefault(each.budget_us, []).append(each.title)
    for each in {each.budget_us: each for each in seen.plan.traffic_classes}.values():
        # A terminal has no room for the others, which get equally far.
        who = ", ".join(titles[each.budget_us][: None if numbers else 1])
        rows.append((Cell(text=f"{who}: {budget_words(each)}", strong=True),))
        found = {(reach.frame_bytes, reach.rate_mbps): reach for reach in reaches(seen, chain, each)}
        for rate in seen.rates(chain):
            here = [found.get((size, rate)) for size in sizes]
            rows.append(
                (Cell(text=rate_words(rate)), *(Cell(text=reach_words(reach), strong=bool(reach and reach.hops)) for reach in here))
            )
            rests_on = tuple(_rests_on(seen, reach) for reach in here)
            # Classes that get equally far rest on the same numbers.
            if numbers and said.get(rate) != rests_on:
                said[rate] = rests_on
                rows.append((Cell(text=f"p{seen.plan.verdict.percentile:g} there [µs]"), *(Cell(text=each) for each in rests_on)))
    several = f" (measured: {', '.join(map(str, seen.hops(chain)))})"
    return Table(
        caption=f"Largest number of hops of {chain} by class, rate and frame size{several}.",
        columns=(Column(title="Class, rate"), *(Column(title=str(size), unit="bytes", numeric=True) for size in sizes)),
        rows=tuple(rows),
        note=f"In brackets: predicted, not measured, up to {HOPS_MAX}. ?: at so many hops it is undecided, or no trial is valid. <: not "
        "even at the fewest that were measured."
        + (" Below: the delay there, or at the fewest where it holds at none; left out where it is as before." if numbers else ""),
        dense=numbers,
    )  # fmt: skip


def brief(seen: View, chain: str) -> Iterator[Table]:
    """What came out for a chain in one look: the largest number of hops, and the delay at the highest rate."""
    yield matrix(seen, chain, numbers=False)
    sizes, rate = seen.sizes(chain), seen.rates(chain)[-1]
    rows = []
    for hops in seen.hops(chain):
        found = [seen.points.get(Key(chain, hops, size, rate)) for size in sizes]
        cells = (compact(point.get(seen.percentile) if point else None) for point in found)
        rows.append((Cell(text=hops_words(hops)), *cells))
    offered = seen.plan.offered_mbps(rate)
    scaled = f" ({number(offered)} offered)" if offered != rate else ""
    yield Table(
        caption=f"The {percentile_words(seen.plan.verdict.percentile)} of the delay of {chain} at {rate_words(rate)}{scaled}, by frame "
        "size in bytes.",
        columns=(Column(title="Hops"), *(Column(title=str(size), unit="µs", numeric=True) for size in sizes)),
        rows=tuple(rows),
        note=f"± is half of a {confidence_words(seen.plan)} interval. {rates_words(seen.plan)}",
    )


def reach_words(reach: Reach | None) -> str:
    """How far a class gets: "4", "4 (6)", "3, 4?", "< 2"."""
    if reach is None or not reach.measured:
        return ABSENT
    following = next((hops for hops, holding in reach.measured.items() if holding is not Holding.HOLDS), None)
    undecided = following is not None and reach.measured[following] is Holding.UNDECIDED
    if reach.hops == 0:
        return f"{following}?" if undecided else f"< {following}"
    if undecided:
        return f"{reach.hops}, {following}?"
    beyond = reach.predicted_hops
    return f"{reach.hops} ({'≥' if beyond >= HOPS_MAX else ''}{beyond})" if beyond > reach.hops else str(reach.hops)


def _rests_on(seen: View, reach: Reach | None) -> str:
    if reach is None or not reach.measured:
        return ABSENT
    hops = reach.hops or min(reach.measured)
    point = seen.points.get(Key(reach.chain, hops, reach.frame_bytes, reach.rate_mbps))
    return measured(point.get(seen.percentile)) if point else ABSENT


# ---- over hops


def _over_hops(seen: View, chain: str, predictor: Model | None, sizes: Sequence[int]) -> Figure:
    rates = seen.rates(chain)
    last = max(max(seen.hops(chain)) + BEYOND, MOST)
    groups = [
        {
            "title": f"{size} bytes",
            "series": [
                {
                    "place": place,
                    "measured": list(_measured(seen, chain, size, rate)),
                    "predicted": list(_predicted(predictor, last, size, rate)),
                }
                for place, rate in enumerate(rates)
            ],
        }
        for size in sizes
    ]
    budgets = {each.budget_us: each.title for each in reversed(seen.plan.traffic_classes)}
    return Figure(
        caption=f"The {percentile_words(seen.plan.verdict.percentile)} of the delay of {chain} over the number of hops: dots are measured, "
        "dashed lines predicted with the band of their interval; dashed across: budgets. A triangle lies above the picture.",
        alt=f"Delay of {chain} over the number of hops by frame size and rate, measured and predicted, with budgets",
        draw=figures_hops.over_hops,
        data={
            "sizes": groups,
            "y_label": f"Delay, p{seen.plan.verdict.percentile:g} [µs]",
            "budgets": sorted(((name, limit) for limit, name in budgets.items()), key=lambda each: each[1]),
            "key": [rate_words(rate) for rate in rates],
        },
        height_in=2.9,
        sketched=True,
    )


def _measured(seen: View, chain: str, size: int, rate: float) -> Iterator[dict[str, float]]:
    for hops in seen.hops(chain):
        point = seen.points.get(Key(chain, hops, size, rate))
        if point and (found := point.get(seen.percentile)):
            yield dot(hops, found)


def _predicted(predictor: Model | None, last: int, size: int, rate: float) -> Iterator[dict[str, Any]]:
    for hops in range(1, last + 1):
        found = predictor.at(hops, size, rate) if predictor else None
        if found is not None:
            yield dot(hops, found)


def _checked(chain: str, found: Check) -> Table:
    """Each hop count left out, all its points together."""
    rows = []
    for hops in sorted({point.key.hops for point in found.points}):
        mine = [point for point in found.points if point.key.hops == hops]
        worst = max(mine, key=lambda point: abs(point.error))
        rows.append(
            (
                Cell(text=hops_words(hops)),
                Cell(text=f"{sum(point.within for point in mine)} of {len(mine)}"),
                Cell(text=number(median(abs(point.error) for point in mine), 3)),
                Cell(text=number(worst.error, 3)),
                Cell(text=f"{worst.key.frame_bytes} bytes, {rate_words(worst.key.rate_mbps)}"),
            )
        )
    return Table(
        caption=f"The prediction of {chain} checked: each number of hops left out, and predicted from the others.",
        columns=(
            Column(title="Left out"),
            Column(title="Within the interval", numeric=True),
            Column(title="Median error", unit="µs", numeric=True),
            Column(title="Largest error", unit="µs", numeric=True),
            Column(title="at"),
        ),
        rows=tuple(rows),
        note="Error: predicted minus measured; the median is of its amount.",
        dense=True,
    )
