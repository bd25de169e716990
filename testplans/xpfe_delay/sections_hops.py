"""Where the delay comes from: its parts by how it grows with size and hops, and hop by hop where the links were recorded."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rackproof.model.measurement import Measurement
from reports.document import Block, Callout, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import ABSENT, measured, number
from testplans.xpfe_delay import figures_delay, figures_hops
from testplans.xpfe_delay.decomposition import Decomposition, decompose
from testplans.xpfe_delay.hops import Hop, hops_of, outstanding
from testplans.xpfe_delay.published import published
from testplans.xpfe_delay.sections_words import chunks, confidence_words, hops_words, missing, point_words, rate_words, value
from testplans.xpfe_delay.view import Key, View

#: Sizes side by side in one figure.
SIZES_A_FIGURE = 5


def section(seen: View) -> Section:
    """For each chain: delay over size, the parts that follow from it, and the parts of each hop as recorded."""
    lead = Paragraph(
        text="Taken apart in two ways that know nothing of each other. From end to end: what grows with hops and size is store and "
        "forward, what grows with hops alone is fixed, what comes with the rate is queueing. Hop by hop, where every link is recorded: "
        "the time within the element, the wait for the link, the serialisation that follows from size and rate, and whatever else."
    )
    parts = tuple(
        Section(id=f"parts-{at}", title=chain, blocks=tuple(_chain(seen, chain)), page_break=at > 0) for at, chain in enumerate(seen.chains)
    )
    return Section(id="parts", title="Where the delay comes from", blocks=(lead,), sections=parts, page_break=True)


def _chain(seen: View, chain: str) -> Iterator[Block]:
    found = decompose(seen, chain)
    if found is None:
        yield Callout(tone="note", title="Nothing to take apart", text=f"No trial of {chain} gave a valid measurement.")
        return
    for rates in chunks(seen.rates(chain)) if len(seen.sizes(chain)) > 1 else ():
        yield _over_size(seen, chain, found, rates)
    yield _decomposition(seen, chain, found)
    for each in outstanding(seen, chain):
        text = f"It takes {measured(each.more)} µs more than the others, {each.where} ({each.more.n} points)."
        yield Callout(tone="warning", title=f"Hop {each.hop} stands out", text=text)
    yield from _hop_by_hop(seen, chain)


# ---- from end to end


def _over_size(seen: View, chain: str, found: Decomposition, rates: Sequence[float]) -> Figure:
    groups = [
        {
            "title": rate_words(rate),
            "series": [
                {
                    "hops": hops,
                    "points": list(_points(seen, chain, hops, rate)),
                    "line": _line(seen, found, hops, rate),
                    "published": [{"x": x, "y": each.value} for x, each in _published(seen, chain, hops, rate)],
                }
                for hops in seen.hops(chain)
            ],
        }
        for rate in rates
    ]
    return Figure(
        caption=f"Mean delay of {chain} over the frame size, with the fitted lines; strokes are intervals, a triangle lies above "
        "the picture. Hollow: the paper's.",
        alt=f"Mean delay of {chain} over frame size by number of hops and rate, with fitted lines",
        draw=figures_delay.over_size,
        data={"rates": groups},
        height_in=2.9,
        sketched=True,
    )


def _points(seen: View, chain: str, hops: int, rate: float) -> Iterator[dict[str, float]]:
    for size in seen.sizes(chain):
        point = seen.points.get(Key(chain, hops, size, rate))
        if point and (found := point.get("delay.mean")):
            yield dot(size, found)


def dot(x: float, found: Measurement) -> dict[str, float]:
    """A number over x as figures have it; without an interval its ends are the number."""
    low, high = (found.interval.low, found.interval.high) if found.interval else (found.value, found.value)
    return {"x": x, "y": found.value, "low": low, "high": high}


def _line(seen: View, found: Decomposition, hops: int, rate: float) -> dict[str, float] | None:
    sizes = seen.sizes(found.model.chain)
    if len(sizes) < 2:
        return None
    ends = [found.model.at(hops, size, rate) for size in (sizes[0], sizes[-1])]
    if ends[0] is None or ends[1] is None:
        return None
    slope = (ends[1].value - ends[0].value) / (sizes[-1] - sizes[0])
    return {"slope": slope, "intercept": ends[0].value - slope * sizes[0]}


def _published(seen: View, chain: str, hops: int, rate: float) -> Iterator[tuple[int, Measurement]]:
    for key, point in published().points.items():
        if (key.hops, key.rate_mbps) == (hops, rate) and key.frame_bytes in seen.sizes(chain) and (found := point.get("delay.mean")):
            yield key.frame_bytes, found


def _decomposition(seen: View, chain: str, found: Decomposition) -> Table:
    """Rates across; parts down."""
    rates = found.model.rates
    sizes = found.sizes
    ends = tuple(dict.fromkeys((sizes[0], sizes[-1])))
    rows: list[tuple[str, str, Callable[[Decomposition, float | None], Measurement | None]]] = [
        ("Each further hop: for each byte", "ns/byte", lambda each, rate: each.per_byte(rate)),
        ("of it beyond the link's serialisation", "ns/byte", lambda each, rate: each.element_per_byte(rate)),
        ("Each further hop: fixed", "µs", lambda each, rate: each.fixed(rate)),
    ]
    for size in ends:
        rows.append((f"Each further hop at {size} bytes, in all", "µs", partial(_per_hop, size)))
        if len(rates) > 1:
            rows.append((f"of it more than at {rate_words(rates[0])}: load", "µs", partial(_load, size)))
    rows += [(f"Both ends at {size} bytes", "µs", partial(_ends, size)) for size in ends]
    theirs = decompose(published(), published().chains[0])
    link = number(found.link_ns, 3)
    far = "; ".join(point_words(key) for key in found.model.aside)
    left_out = f" Left out, for far off what all others agree on: {far}." if far else ""
    return Table(
        caption=f"The mean delay of {chain} taken apart, from end to end.",
        columns=(
            Column(title="Part"),
            Column(title="Unit"),
            *(Column(title=rate_words(rate), numeric=True) for rate in rates),
            Column(title="published, all rates", numeric=True),
        ),
        rows=tuple(
            (
                Cell(text=title),
                Cell(text=unit, muted=True),
                *(value(part(found, rate)) for rate in rates),
                Cell(text=measured(part(theirs, None)) if theirs else ABSENT, muted=True),
            )
            for title, unit, part in rows
        ),
        note=f"± is half of a {confidence_words(seen.plan)} interval. The link takes {link} ns for each byte; the paper's takes 8. A dash: "
        "what was measured does not determine it (one size, one number of hops), or there is none. The ends may take less than nothing: a "
        f"chain has one link less than elements.{left_out}",
        dense=True,
    )  # fmt: skip


def _per_hop(size: int, found: Decomposition, rate: float | None) -> Measurement | None:
    return found.per_hop(size, rate)


def _load(size: int, found: Decomposition, rate: float | None) -> Measurement | None:
    return None if rate is None else found.load(size, rate)


def _ends(size: int, found: Decomposition, rate: float | None) -> Measurement | None:
    return found.ends(size, rate)


# ---- hop by hop


def _hop_by_hop(seen: View, chain: str) -> Iterator[Block]:
    longest = [hops for hops in seen.hops(chain) if any(hops_of(point) for point in seen.of(chain) if point.key.hops == hops)]
    if not longest:
        text = "The links of this testbed are not recorded: only what is known from end to end can be taken apart."
        yield Callout(tone="note", title="No record hop by hop", text=text)
        return
    hops, sizes, rates = longest[-1], seen.sizes(chain), seen.rates(chain)
    for start in range(0, len(sizes), SIZES_A_FIGURE):
        some = sizes[start : start + SIZES_A_FIGURE]
        rows = [{"title": rate_words(rate), "cells": [_bars(seen, Key(chain, hops, size, rate)) for size in some]} for rate in rates]
        yield Figure(
            caption=f"The delay of each hop of {chain} taken apart as recorded, over {hops_words(hops)}.",
            alt=f"Stacked bars of element, queueing, serialisation and excess for each hop of {chain}, by size and rate",
            draw=figures_hops.parts,
            data={"columns": [f"{size} bytes" for size in some], "rows": rows},
            height_in=0.9 + 1.25 * len(rows),
            sketched=True,
        )
    yield _table(seen, chain, hops)


def _bars(seen: View, key: Key) -> list[dict[str, Any]]:
    point = seen.points.get(key)
    return [{"hop": hop.number, "parts": shares(hop)} for hop in hops_of(point)] if point and point.valid else []


def shares(hop: Hop) -> dict[str, float]:
    """The parts of a hop's delay that are known [us]."""
    parts = {"serialisation": hop.serialisation, "element": hop.element, "queueing": hop.queueing, "excess": hop.excess}
    return {name: found.value for name, found in parts.items() if found is not None}


def _table(seen: View, chain: str, hops: int) -> Table:
    """The smallest and the largest size and rate, hop by hop."""
    sizes, rates = seen.sizes(chain), seen.rates(chain)
    rows: list[tuple[Cell, ...]] = []
    for size in dict.fromkeys((sizes[0], sizes[-1])):
        for rate in dict.fromkeys((rates[0], rates[-1])):
            rows.append((Cell(text=f"{size} bytes, {rate_words(rate)}", strong=True),))
            point = seen.points.get(Key(chain, hops, size, rate))
            if point is None or not point.valid:
                rows.append((missing(point),))
                continue
            rows += [
                (
                    Cell(text=f"hop {hop.number}"),
                    value(hop.element),
                    value(hop.queueing, 3),
                    value(hop.serialisation),
                    value(hop.excess, 3),
                    value(point.get("hop.delay.mean", hop=str(hop.number))),
                )
                for hop in hops_of(point)
            ]
    return Table(
        caption=f"The delay of each hop of {chain} over {hops_words(hops)}, as recorded.",
        columns=(
            Column(title="Hop"),
            Column(title="Element, mean", unit="µs", numeric=True),
            Column(title="Queueing, mean", unit="µs", numeric=True),
            Column(title="Serialisation", unit="µs", numeric=True),
            Column(title="Excess, p50", unit="µs", numeric=True),
            Column(title="All, mean", unit="µs", numeric=True),
        ),
        rows=tuple(rows),
        note="Excess: what a link took beyond all that is expected of it, its lateness left out. The first element holds the generator's "
        "way out, the last one its way in, and no link behind it.",
        dense=True,
    )
