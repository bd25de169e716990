"""Delay and its distribution: every trial's histogram with the fits, and delay over the frame size."""

from collections.abc import Iterator
from typing import Any

from rackproof.model.campaign import TrialRecord
from reports.campaign import trial_anchor
from reports.document import Block, Callout, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import ABSENT, measured
from testplans.xpfe_delay import figures_delay
from testplans.xpfe_delay.figures import distribution_words
from testplans.xpfe_delay.sections_trials import chosen, trial_data
from testplans.xpfe_delay.sections_words import chunks, hops_words, missing, rate_words
from testplans.xpfe_delay.view import Key, Point, View

#: Distributions of the paper; the table of errors has them in this order, then the mixtures.
_SINGLE = ("gaussian", "gamma", "log-normal", "exponential")


def section(seen: View) -> Section:
    """Small multiples by chain and number of hops, and which distribution fits best."""
    lead = Paragraph(
        text="The paper's Figures 4 and 5 for every trial: the histogram of the delay, the single Gaussian, and the distribution that "
        "was chosen, in full. All fits stand with each trial. The few frames beyond the picture count all the same."
    )
    parts = [part for at, chain in enumerate(seen.chains) for part in _chain(seen, chain, at)]
    if not parts:
        nothing = Callout(tone="note", title="Nothing to draw", text="No trial gave a valid measurement.")
        return Section(id="distributions", title="Distributions", blocks=(nothing,), page_break=True)
    return Section(id="distributions", title="Distributions", blocks=(lead,), sections=tuple(parts), page_break=True)


def _chain(seen: View, chain: str, at: int) -> Iterator[Section]:
    for place, hops in enumerate(seen.hops(chain)):
        blocks: list[Block] = []
        for rates in chunks(seen.rates(chain)):
            rows = [
                {"title": f"{size} bytes", "cells": [_cell(seen.points.get(Key(chain, hops, size, rate))) for rate in rates]}
                for size in seen.sizes(chain)
            ]
            rows = [row for row in rows if any(row["cells"])]
            if not rows:
                continue
            blocks.append(
                Figure(
                    caption=f"Delay over {hops_words(hops)} of {chain}: sizes down, rates across.",
                    alt=f"Histograms of the delay with the fitted curves over {hops_words(hops)} of {chain}, by size and rate",
                    draw=figures_delay.multiples,
                    data={"columns": [rate_words(rate) for rate in rates], "rows": rows},
                    height_in=0.9 + 1.03 * len(rows),
                    sketched=True,
                )
            )
        if blocks:
            blocks.append(_errors(seen, chain, hops))
            yield Section(
                id=f"distribution-{at}-{hops}", title=f"{chain}, {hops_words(hops)}", blocks=tuple(blocks), page_break=at + place > 0
            )


def _cell(point: Point | None) -> dict[str, Any] | None:
    """The first valid repetition, with the single Gaussian and the chosen fit alone."""
    result = point.valid[0].result if point and point.valid else None
    data = trial_data(result) if result else None
    if data is None:
        return None
    kept = {name: curve for name, curve in data["fits"].items() if name in {"gaussian", data["chosen"]}}
    return {"histogram": data["histogram"], "fits": kept, "chosen": data["chosen"]}


def _errors(seen: View, chain: str, hops: int) -> Table:
    """Error of every fit, a row for each trial."""
    points = [point for point in seen.of(chain) if point.key.hops == hops]
    names = {name: None for point in points for name in _names(point)}
    singles = [name for name in _SINGLE if name in names]
    mixtures = sorted(name for name in names if name not in _SINGLE)
    rows: list[tuple[Cell, ...]] = []
    for point in points:
        label = Cell(text=f"{point.key.frame_bytes} bytes, {rate_words(point.key.rate_mbps)}", link=trial_anchor(point.indices[0]))
        if not point.valid:
            rows.append((label, missing(point)))
            continue
        best = _best(point.valid[0])
        cells = [_error(point, name, strong=name == best) for name in singles]
        mixed = [found for name in mixtures if (found := point.get("fit.error", distribution=name)) is not None]
        own = min(mixed, key=lambda each: each.value, default=None)
        cells.append(
            Cell(
                text=f"{measured(own, digits=3)} ({own.subject['distribution'].removeprefix('mixture-')})" if own else ABSENT,
                strong="mixture" in best,
            )
        )
        rows.append((label, *cells, Cell(text=distribution_words(best) if best else ABSENT)))
    return Table(
        caption=f"Error of the fits, {chain}, {hops_words(hops)}: between histogram and density (root mean square).",
        columns=(
            Column(title="Trial"),
            *(Column(title=distribution_words(name), unit="1/µs", numeric=True) for name in singles),
            Column(title="Mixture (components)", unit="1/µs", numeric=True),
            Column(title="Chosen"),
        ),
        rows=tuple(rows),
        dense=True,
    )  # fmt: skip


def _names(point: Point) -> Iterator[str]:
    return (subject["distribution"] for subject in point.subjects("fit.error"))


def _best(record: TrialRecord) -> str:
    return chosen(record.result.measurements) if record.result else ""


def _error(point: Point, name: str, *, strong: bool) -> Cell:
    return Cell(text=measured(point.get("fit.error", distribution=name), digits=3), strong=strong)
