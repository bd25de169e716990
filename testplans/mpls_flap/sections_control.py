"""The control plane: how many of the flapped LSPs come up again before the next flap, over how many are flapped."""

from collections.abc import Iterator, Sequence
from typing import Any

from rackproof.model.measurement import Measurement
from reports.document import Block, Callout, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import ABSENT, count, number, with_interval
from testplans.mpls_flap import figures_control
from testplans.mpls_flap.linearity import Knee, knee, linearity
from testplans.mpls_flap.parts import By, Shape
from testplans.mpls_flap.view import Key, Point, View
from testplans.mpls_flap.words import (
    confidence_words,
    families,
    flaps_of,
    keys_of,
    missing,
    names_of,
    network_words,
    rate_words,
    roomy,
    size_words,
    sweep_words,
    whole,
)

#: The paper's figures of a family of tests: of three routers, of one.
FIGURES = {"1": (3, 8), "3": (4, 9), "2": (5, 10), "4": (6, 11)}
#: Panels of one figure.
_PANELS = 4
#: Networks by sizes side by side in one table.
_COLUMNS = 9
_TITLE = "How many LSPs come back in time"


def section(seen: View) -> Section:
    """For each family of tests: K over N as figure and table; where K leaves the line K = N."""
    first = seen.plan.phases.windows_s[0]
    lead = Paragraph(
        text=f"K counts the flapped LSPs that forward again when the first window of {first:g} s ends: they are flapped by configuration."
        if seen.plan.signalling.by is By.CONFIGURATION
        else f"K counts the flapped LSPs that were torn down and are up again when the first window of {first:g} s ends: those whose "
        "PATH_TEAR was sent, and whose new RESV came. The paper had only the number P of PATH_TEARs that reached the egress, and took "
        "K = P − N. Where a tear is lost or comes late the two differ, and both are shown."
    )
    if not any(point.valid for point in seen.points.values()):
        nothing = Callout(tone="note", title="Nothing to count", text="No trial gave a valid measurement.")
        return Section(id="control", title=_TITLE, blocks=(nothing,), page_break=roomy(seen))
    grouped = families(names_of(seen))
    summary, numbers = (*_knees(seen), *_second(seen)), tuple(each for tests in grouped.values() for each in _tables(seen, tests))
    if len(grouped) == 1:
        ((name, tests),) = grouped.items()
        blocks: tuple[Block, ...] = (lead, *_figures(seen, name, tests), *numbers, *summary)
        return Section(id="control", title=_TITLE, blocks=blocks, page_break=roomy(seen))
    drawn = {name: tuple(_figures(seen, name, tests)) for name, tests in grouped.items()}
    parts = [Section(id=f"control-{name}", title=_title(seen, grouped[name]), blocks=found) for name, found in drawn.items() if found]
    parts.append(Section(id="control-numbers", title="K in numbers", blocks=numbers))
    return Section(id="control", title=_TITLE, blocks=(lead, *summary), sections=tuple(parts), page_break=roomy(seen))


def _title(seen: View, tests: Sequence[str]) -> str:
    rates = dict.fromkeys(rate_words(key.rate_mbps) for test in tests for key in seen.points if key.test == test)
    return f"Test{'s' if len(tests) > 1 else ''} {', '.join(tests)}: {', '.join(rates)}"


# ---- the figure


def _figures(seen: View, name: str, tests: Sequence[str]) -> Iterator[Figure]:
    """None where no number of flapped LSPs was swept: one point makes no line."""
    networks = _with(seen, tests)
    if any(len(keys_of(seen, network, test)) > 1 for network in networks for test in tests):
        for start in range(0, len(networks), _PANELS):
            yield _figure(seen, name, tests, networks[start : start + _PANELS])


def _with(seen: View, tests: Sequence[str]) -> list[str]:
    """The networks that a test was run on."""
    return [network for network in seen.networks if any(keys_of(seen, network, test) for test in tests)]


def _figure(seen: View, name: str, tests: Sequence[str], networks: Sequence[str]) -> Figure:
    sizes = sorted({key.frame_bytes for key in seen.points})
    panels: list[dict[str, Any]] = [
        {"title": network_words(seen, network), "series": [_series(seen, network, test, sizes) for test in tests]} for network in networks
    ]
    shown = {series["place"]: series["words"] for panel in panels for series in panel["series"]}
    rows = -(-len(networks) // 2)
    return Figure(
        caption=f"Test {name}.x{_as_published(seen, name, networks)}: LSPs that are up again when the first window ends, over how many are "
        f"flapped. Diamonds: the knee of the fitted line; strokes: {confidence_words(seen.plan)} intervals"
        + (", those of K over repetitions." if seen.plan.repetitions > 1 else ".")
        + (" Sizes stand a little apart so that none hides another." if len(shown) > 1 else ""),
        alt=f"K over N for the tests {', '.join(tests)} of {', '.join(networks)}, with the line K = N and the fitted knee",
        draw=figures_control.over_flapped,
        data={"panels": panels, "columns": 2, "key": sorted(shown.items())},
        height_in=0.95 + (2.4 if rows == 1 else 2.2 * rows),
        sketched=True,
    )  # fmt: skip


def _as_published(seen: View, name: str, networks: Sequence[str]) -> str:
    """Which figures of the paper this one is as."""
    if name not in FIGURES:
        return ""
    single = {seen.plan.network(network).shape is Shape.ROUTER for network in networks}
    which = [figure for alone, figure in zip((False, True), FIGURES[name], strict=True) if alone in single]
    return f", as the paper's Figure{'s' if len(which) > 1 else ''} {' and '.join(map(str, which))}"


def _series(seen: View, network: str, test: str, sizes: Sequence[int]) -> dict[str, Any]:
    keys = keys_of(seen, network, test)
    points, paper = [], []
    for key in keys:
        point = seen.points[key]
        direct, theirs = point.get("flap.k", flap="1"), point.get("k.paper")
        if direct is not None:
            points.append(_place(key, direct))
        if theirs is not None and _differ(direct, theirs):
            paper.append(_place(key, theirs))
    size = keys[0].frame_bytes if keys else sizes[0]
    words = size_words(size) if len(set(sizes)) > 1 or len(keys) == 0 else f"K, {size_words(size)}"
    found = knee(seen, network, test) if points else None
    most = max([point["x"] for point in points], default=0.0)
    return {
        "words": words,
        "place": sizes.index(size),
        "points": points,
        "paper": paper,
        "fit": _fit(found, most) if found else [],
        "knee": _diamond(found) if found else None,
    }


def _place(key: Key, found: Measurement) -> dict[str, float]:
    low, high = (found.interval.low, found.interval.high) if found.interval else (found.value, found.value)
    return {"x": float(key.flapped), "y": found.value, "low": low, "high": high, "n": float(found.n)}


def _differ(direct: Measurement | None, theirs: Measurement) -> bool:
    return direct is None or abs(direct.value - theirs.value) >= 0.5


def _fit(found: Knee, most: float) -> list[tuple[float, float]]:
    """The fitted line: through the origin to the knee, and on to the most LSPs that were flapped."""
    k = _at_knee(found)
    return [(0.0, 0.0), (found.value, k), (most, k + found.slope_after * (most - found.value))]


def _at_knee(found: Knee) -> float:
    return found.slope_before * found.value


def _diamond(found: Knee) -> dict[str, float]:
    low, high = (found.interval.low, found.interval.high) if found.interval else (found.value, found.value)
    return {"value": found.value, "k": _at_knee(found), "low": low, "high": high}


# ---- tables


def _tables(seen: View, tests: Sequence[str]) -> Iterator[Table]:
    networks, most = _with(seen, tests), max(1, _COLUMNS // len(tests))
    for start in range(0, len(networks), most):
        yield table(seen, tests, networks[start : start + most])


def table(seen: View, tests: Sequence[str], networks: Sequence[str]) -> Table:
    """N down; K of the first window of each network and size across."""
    columns = [(network, test) for network in networks for test in tests if keys_of(seen, network, test)]
    flapped = sorted({key.flapped for network, test in columns for key in keys_of(seen, network, test)})
    rows = []
    for many in flapped:
        cells = [_cell(seen, network, test, many) for network, test in columns]
        rows.append((Cell(text=str(many), strong=True), *cells))
    several = len(networks) > 1
    titles = [f"{network}, {test}" if several else f"Test {test}" for network, test in columns]
    sizes = [keys_of(seen, network, test)[0].frame_bytes for network, test in columns]
    of = "" if several else f" of {network_words(seen, networks[0])}"
    return Table(
        caption=f"K by the number N of flapped LSPs{of}.",
        columns=(
            Column(title="N", numeric=True),
            *(Column(title=title, unit=size_words(size), numeric=True) for title, size in zip(titles, sizes, strict=True)),
        ),
        rows=tuple(rows),
        note="In brackets: P − N, where it differs. Bold: K = N.",
        dense=True,
    )  # fmt: skip


def _cell(seen: View, network: str, test: str, flapped: int) -> Cell:
    point = next((seen.points[key] for key in keys_of(seen, network, test) if key.flapped == flapped), None)
    if point is None:
        return Cell(text="", muted=True)
    found, theirs = point.get("flap.k", flap="1"), point.get("k.paper")
    if found is None:
        return _invalid(point)
    text = whole(found).text
    if theirs is not None and _differ(found, theirs):
        text += f" ({number(theirs.value, decimals=0)})"
    return Cell(text=text, strong=found.value >= flapped - 0.5)


def _invalid(point: Point) -> Cell:
    """The verdict alone: the reason stands in the list of trials."""
    found = missing(point)
    return Cell(text="" if found.verdict else found.text, verdict=found.verdict, muted=found.verdict is None)


def _knees(seen: View) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = []
    for network in seen.networks:
        swept = [test for test in seen.tests(network) if len(keys_of(seen, network, test)) > 1]
        if swept:
            rows.append((Cell(text=network_words(seen, network), strong=True),))
        rows += [(Cell(text=sweep_words(seen, test)), *_knee_cells(seen, network, test)) for test in swept]
    if not rows:
        return
    yield Table(
        caption="Up to where K = N, and how K goes on.",
        columns=(
            Column(title="Test"),
            Column(title="K = N up to", numeric=True),
            Column(title="Knee", unit="LSPs", numeric=True),
            Column(title="Slope before", numeric=True),
            Column(title="Slope after", numeric=True),
            Column(title="n", numeric=True),
        ),
        rows=tuple(rows),
        note=f"Two straight lines that meet at the knee, fitted to K over N; with {confidence_words(seen.plan)} intervals. "
        "The paper gives no numbers for K; its text says K = N up to 300 (tests 1 and 3), and up to 250 or 300 (tests 2 and 4).",
        dense=True,
    )  # fmt: skip


def _knee_cells(seen: View, network: str, test: str) -> Iterator[Cell]:
    found = linearity(seen, network, test)
    if found is None:
        yield Cell(text="no valid trial", muted=True)
        return
    yield Cell(text=str(found.up_to) if found.up_to else f"< {found.below}")
    if found.knee is None:
        yield Cell(text="none: K = N throughout" if found.throughout else "none found", muted=True)
        return
    yield Cell(text=with_interval(found.knee.value, found.knee.interval))
    yield from (Cell(text=number(slope, 3)) for slope in (found.knee.slope_before, found.knee.slope_after))
    yield Cell(text=count(found.knee.n))


def _second(seen: View) -> Iterator[Table]:
    """The windows after the first, where there are any."""
    later = [flap for flap in flaps_of(seen) if flap > 1]
    rows = []
    for network in seen.networks:
        for test in seen.tests(network):
            points = [seen.points[key] for key in keys_of(seen, network, test) if seen.points[key].valid]
            if points:
                rows.append((Cell(text=f"{network}, {test}"), *(_window(points, flap) for flap in later)))
    if not later or not rows:
        return
    windows = seen.plan.phases.windows_s
    yield Table(
        caption="The windows after the first: how many of the flapped LSPs were not up when a window ended.",
        columns=(Column(title="Network, test"), *(Column(title=f"Window {flap}, {windows[flap - 1]:g} s", numeric=True) for flap in later)),
        rows=tuple(rows),
        note="The range over the numbers of flapped LSPs; in brackets: how many were up when it began, and were torn down. The paper "
        "saw all of them come up again in its second window of 2 s.",
        dense=True,
    )  # fmt: skip


def _window(points: Sequence[Point], flap: int) -> Cell:
    failed = [found.value for point in points if (found := point.get("flap.failed", flap=str(flap))) is not None]
    began = [found.value for point in points if (found := point.get("flap.up", flap=str(flap))) is not None]
    if not failed:
        return Cell(text=ABSENT, muted=True)
    of = f" ({_range(began)})" if began else ""
    return Cell(text=f"{_range(failed)}{of}")


def _range(values: Sequence[float]) -> str:
    low, high = number(min(values), decimals=0), number(max(values), decimals=0)
    return low if low == high else f"{low} to {high}"
