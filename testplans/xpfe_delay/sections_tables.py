"""The paper's Tables I and II for the chains of the campaign, the published ones beside them."""

from collections.abc import Callable, Iterator, Sequence

from rackproof.model.measurement import Measurement
from reports.document import Cell, Column, Paragraph, Section, Table
from reports.text import ABSENT, number
from testplans.xpfe_delay.published import published
from testplans.xpfe_delay.sections_words import chunks, compact, confidence_words, hops_words, interval_words, methods, missing
from testplans.xpfe_delay.view import Key, Point, View

#: What rows of published numbers are called.
PUBLISHED = "paper"
_QUANTITIES = (("delay.mean", "Mean"), ("delay.p1", "p1"), ("delay.p99", "p99"))

Row = tuple[Cell, ...]
#: What a row shows of a point: a cell for each quantity.
Show = Callable[[Point | None, str], Cell]


def section(seen: View) -> Section:
    """Both tables for each chain."""
    plan = seen.plan
    share = number(100 * plan.rate_scale, 3)
    scaled = (
        f" Points are called by the rates of the plan, of which {share} % was offered: they stand beside the paper's by name, not by load."
        if plan.rate_scale != 1
        else ""
    )
    lead = Paragraph(
        text="In grey: the paper's own (5G-Crosshaul packet forwarding element, Tables I and II), measured with hardware time stamps over "
        f"chains of Lagopus software switches and links of 1 Gbit/s. A dash: illegible there, or not measured.{scaled}"
    )
    parts = tuple(
        Section(id=f"tables-{at}", title=chain, blocks=(*_values(seen, chain), *_intervals(seen, chain)))
        for at, chain in enumerate(seen.chains)
    )
    if len(parts) == 1:
        return Section(id="tables", title="Delay of every point", blocks=(lead, *parts[0].blocks), page_break=True)
    return Section(id="tables", title="Delay of every point", blocks=(lead,), sections=parts, page_break=True)


def _values(seen: View, chain: str) -> Iterator[Table]:
    for rates in chunks(seen.rates(chain)):
        yield Table(
            caption=f"Delay, {chain}: mean, 1st and 99th percentile (the paper's Table I).",
            columns=_columns(rates),
            rows=tuple(_rows(seen, chain, rates, [("", _measured)], _published_value)),
            note=f"± is half of a {confidence_words(seen.plan)} interval ({methods(seen, 'delay.')}); n stands with each trial.",
            dense=True,
        )


def _intervals(seen: View, chain: str) -> Iterator[Table]:
    for rates in chunks(seen.rates(chain)):
        yield Table(
            caption=f"{confidence_words(seen.plan)} intervals of mean, 1st and 99th percentile, {chain} (the paper's Table II).",
            columns=_columns(rates),
            rows=tuple(_rows(seen, chain, rates, [("", _free), ("fit", _fit)], _published_interval)),
            note="First row of each size: distribution-free "
            f"({methods(seen, 'delay.')}). fit: from the chosen fit ({methods(seen, 'delay.fit.')}), "
            "left out where it says the same.",
            dense=True,
        )  # fmt: skip


def _columns(rates: Sequence[float]) -> tuple[Column, ...]:
    columns = (Column(title=f"{title}, {rate:g}", unit="µs", numeric=True) for rate in rates for _, title in _QUANTITIES)
    return (Column(title="Bytes"), *columns)


def _rows(seen: View, chain: str, rates: Sequence[float], shows: Sequence[tuple[str, Show]], theirs: Show) -> Iterator[Row]:
    """For each number of hops a heading; for each size our rows, then the published one where there is one."""
    for hops in seen.hops(chain):
        yield (Cell(text=hops_words(hops), strong=True),)
        for size in seen.sizes(chain):
            found = [seen.points.get(Key(chain, hops, size, rate)) for rate in rates]
            if not any(point and point.valid for point in found):
                yield (Cell(text=str(size)), missing(next(filter(None, found), None)))
                continue
            first: Row | None = None
            for label, show in shows:
                cells = tuple(show(point, name) for point in found for name, _ in _QUANTITIES)
                if first is None:
                    first = cells
                    yield (Cell(text=str(size)), *cells)
                elif [cell.text for cell in cells] != [cell.text for cell in first] and any(cell.text != ABSENT for cell in cells):
                    yield (Cell(text=label), *cells)
            beside = [_beside(hops, size, rate) for rate in rates]
            if any(beside):
                yield (Cell(text=PUBLISHED, muted=True), *(theirs(point, name) for point in beside for name, _ in _QUANTITIES))


def _beside(hops: int, size: int, rate: float) -> Point | None:
    """The published point of that name."""
    return next(
        (point for key, point in published().points.items() if (key.hops, key.frame_bytes, key.rate_mbps) == (hops, size, rate)), None
    )


def _get(point: Point | None, name: str) -> Measurement | None:
    return point.get(name) if point else None


def _measured(point: Point | None, name: str) -> Cell:
    return compact(_get(point, name))


def _free(point: Point | None, name: str) -> Cell:
    found = _get(point, name)
    return Cell(text=interval_words(found.interval) if found else ABSENT, muted=found is None)


def _fit(point: Point | None, name: str) -> Cell:
    return _free(point, name.replace("delay.", "delay.fit."))


def _published_value(point: Point | None, name: str) -> Cell:
    found = _get(point, name)
    return Cell(text=number(found.value, decimals=2) if found else ABSENT, muted=True)


def _published_interval(point: Point | None, name: str) -> Cell:
    return Cell(text=_free(point, name).text, muted=True)
