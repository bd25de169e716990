"""What happens along the path: delta-Q after each hop, the hops convolved, and loss, duplicates and reordering hop by hop."""

from collections.abc import Iterator

from reports.document import Block, Callout, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import count, measured, number
from testplans.xpfe_delay import figures_delay
from testplans.xpfe_delay.convolution import ASSUMES, CURVE, path
from testplans.xpfe_delay.sections_hops import SIZES_A_FIGURE
from testplans.xpfe_delay.sections_trials import points
from testplans.xpfe_delay.sections_words import hops_words, rate_words
from testplans.xpfe_delay.view import Key, View

_FATES = (("hop.lost", "Lost"), ("hop.duplicates", "Duplicates"), ("hop.reordered", "Reordered"))
_WHOLE = (("loss", "lost"), ("duplicates", "duplicated"), ("reordered", "reordered"))


def section(seen: View) -> Section:
    """For each chain."""
    lead = Paragraph(
        text="ΔQ joins delay and loss in one improper distribution: a curve says which share of the frames that were sent has come past a "
        "hop within a delay. Where it stops short of 1, the rest was lost. It grows from hop to hop."
    )
    made = [tuple(_chain(seen, chain)) for chain in seen.chains]
    parts = tuple(
        Section(
            id=f"path-{at}",
            title=chain,
            blocks=blocks,
            page_break=at > 0 and len(seen.rates(chain)) > 1 and any(isinstance(block, Figure) for block in blocks),
        )
        for at, (chain, blocks) in enumerate(zip(seen.chains, made, strict=True))
    )
    return Section(id="path", title="Along the path", blocks=(lead,), sections=parts, page_break=True)


def _chain(seen: View, chain: str) -> Iterator[Block]:
    yield from _delta_q(seen, chain)
    if (table := _convolved(seen, chain)) is not None:
        yield table
    yield from _fates(seen, chain)


def _delta_q(seen: View, chain: str) -> Iterator[Block]:
    longest = [point.key.hops for point in seen.of(chain) if point.curves("delta-q", hop="1")]
    if not longest:
        return
    hops, sizes, rates = max(longest), seen.sizes(chain), seen.rates(chain)
    for start in range(0, len(sizes), SIZES_A_FIGURE):
        some = sizes[start : start + SIZES_A_FIGURE]
        rows = [{"title": rate_words(rate), "cells": [_curves(seen, Key(chain, hops, size, rate)) for size in some]} for rate in rates]
        yield Figure(
            caption=f"ΔQ from the start to behind each hop of {chain}, over {hops_words(hops)}.",
            alt=f"Cumulative delay after each hop of {chain}, by size and rate",
            draw=figures_delay.along,
            data={
                "columns": [f"{size} bytes" for size in some],
                "rows": rows,
                "key": [(hop, f"after hop {hop}") for hop in range(1, hops + 1)],
            },
            height_in=0.9 + 1.0 * len(rows),
            sketched=True,
        )


def _curves(seen: View, key: Key) -> list[dict[str, object]]:
    point = seen.points.get(key)
    if point is None:
        return []
    found = [(hop, point.curves("delta-q", hop=str(hop))) for hop in range(1, key.hops + 1)]
    return [{"hop": hop, **points(curves[0])} for hop, curves in found if curves]


def _convolved(seen: View, chain: str) -> Table | None:
    """The longest paths, by their own hops; None where no hop was recorded."""
    hops = max((point.key.hops for point in seen.of(chain) if point.curves(CURVE, hop="1")), default=0)
    percentile = f"p{seen.plan.verdict.percentile:g}"
    rows: list[tuple[Cell, ...]] = []
    for point in seen.of(chain):
        made = path(point, hops) if point.key.hops == hops else None
        mean, high = point.get("delay.mean"), point.get(seen.percentile)
        if made is None or mean is None or high is None:
            continue
        predicted = made.percentile(seen.plan.verdict.percentile)
        rows.append(
            (
                Cell(text=f"{point.key.frame_bytes} bytes, {rate_words(point.key.rate_mbps)}"),
                Cell(text=measured(mean)),
                Cell(text=number(made.mean)),
                Cell(text=measured(high)),
                Cell(text=number(predicted)),
                Cell(text=number(predicted - high.value, 3)),
            )
        )
    if not rows:
        return None
    return Table(
        caption=f"ΔQ of each hop of {chain} convolved along {hops_words(hops)}, beside what was measured from end to end.",
        columns=(
            Column(title="Point"),
            Column(title="Mean, measured", unit="µs", numeric=True),
            Column(title="Mean, convolved", unit="µs", numeric=True),
            Column(title=f"{percentile}, measured", unit="µs", numeric=True),
            Column(title=f"{percentile}, convolved", unit="µs", numeric=True),
            Column(title="Difference", unit="µs", numeric=True),
        ),
        rows=tuple(rows),
        note=f"{ASSUMES} Where the percentiles differ, they are not: what slows a frame at one hop slows it, or spares it, at the next.",
        dense=True,
    )


def _fates(seen: View, chain: str) -> Iterator[Block]:
    """What became of the frames: all trials of the chain together, hop by hop where that is known."""
    valid = [point for point in seen.of(chain) if point.valid]
    if not valid:
        yield Callout(tone="note", title="Nothing to follow", text=f"No trial of {chain} gave a valid measurement.")
        return
    sent, received = (sum(point.total(name) for point in valid) for name in ("sent", "received"))
    totals = {words: sum(point.total(name) for point in valid) for name, words in _WHOLE[1:]}
    words = f"{count(sent - received)} of {count(sent)} frames were lost, " + ", ".join(
        f"{count(n) if n else 'none'} {what}" for what, n in totals.items()
    )
    if sent == received and not any(totals.values()):
        words = f"Of {count(sent)} frames none was lost, duplicated or reordered"
    yield Paragraph(text=f"{words}, over all valid trials of {chain}.")
    rows = list(_by_hop(seen, chain))
    if not rows:
        text = "The links of this testbed are not recorded: where on the path a frame was lost is not known."
        yield Callout(tone="note", title="No record hop by hop", text=text)
        return
    yield Table(
        caption=f"Lost, duplicated and reordered frames of {chain}, hop by hop.",
        columns=(
            Column(title="Hop"),
            Column(title="Came", unit="frames", numeric=True),
            *(Column(title=title, unit="frames", numeric=True) for _, title in _FATES),
            Column(title="Most of them at"),
        ),
        rows=tuple(rows),
        note="Of every number of hops that was measured together; the link behind an element belongs to its hop. Reordered: frames that "
        "one which was sent later has overtaken at this hop.",
        dense=True,
    )


def _by_hop(seen: View, chain: str) -> Iterator[tuple[Cell, ...]]:
    for hop in range(1, max(seen.hops(chain)) + 1):
        found = [point for point in seen.of(chain) if point.get("hop.lost", hop=str(hop)) is not None]
        if not found:
            continue
        came = sum(each.n for point in found if (each := point.get("hop.lost", hop=str(hop))))
        worst = max(found, key=lambda point: sum(point.total(name, hop=str(hop)) for name, _ in _FATES))
        trouble = sum(worst.total(name, hop=str(hop)) for name, _ in _FATES)
        where = f"{hops_words(worst.key.hops)}, {worst.key.frame_bytes} bytes, {rate_words(worst.key.rate_mbps)}" if trouble else "none"
        yield (
            Cell(text=str(hop), strong=True),
            Cell(text=count(came)),
            *(Cell(text=count(sum(point.total(name, hop=str(hop)) for point in found))) for name, _ in _FATES),
            Cell(text=where, muted=not trouble),
        )
