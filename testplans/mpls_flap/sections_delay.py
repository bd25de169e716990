"""The paper's Tables IV to VII: the average delay of the stable LSPs prior to and during the flaps, published values beside."""

from collections.abc import Sequence
from dataclasses import replace

from rackproof.model.measurement import Measurement
from rackproof.stats.pooling import pool
from reports.document import Block, Callout, Cell, Column, Paragraph, Section, Table
from reports.text import ABSENT, measured, number
from testplans.mpls_flap.parts import Shape
from testplans.mpls_flap.published import NETWORK, SINGLE, Published, published
from testplans.mpls_flap.view import View
from testplans.mpls_flap.words import compact, confidence_words, family, keys_of, network_words, rate_words, roomy, size_words

#: The paper's table of a family of tests: of three routers, of one.
TABLES = {"1": ("IV", "VI"), "3": ("IV", "VI"), "2": ("V", "VII"), "4": ("V", "VII")}
PHASES = ("prior", "during")


def section(seen: View) -> Section:
    """A table for each network and each of the paper's tables."""
    plan = seen.plan
    scaled = f" {number(100 * plan.rate_scale, 3)} % of each rate was offered." if plan.rate_scale != 1 else ""
    lead = Paragraph(
        text="The average delay as the paper has it: the mean over the stable LSPs of each one's mean delay, before the first flap (prior) "
        f"and from it on (during), over all numbers of flapped LSPs.{scaled} In grey: the paper's, of Juniper M10 routers; its delays at "
        "761.9 Mbit/s are those of a queue that grew to the end of the test. The last column is measured less published, during the flaps: "
        "it says how far the routers differ, and judges nothing."
    )
    blocks: list[Block] = [lead, *(_table(seen, name, tests) for name, tests in _tables(seen).items())]
    if not any(point.valid for point in seen.points.values()):
        blocks = [Callout(tone="note", title="No delay", text="No trial gave a valid measurement.")]
    return Section(id="delay", title="Delay prior to and during the flaps", blocks=tuple(blocks), page_break=roomy(seen))


def _tables(seen: View) -> dict[str, list[tuple[str, str]]]:
    """Networks and tests by the table of the paper that has such; "" for those that none has."""
    found: dict[str, list[tuple[str, str]]] = {}
    for network in seen.networks:
        single = seen.plan.network(network).shape is Shape.ROUTER
        for test in seen.tests(network):
            name = TABLES[family(test)][single] if family(test) in TABLES else ""
            found.setdefault(name, []).append((network, test))
    return found


def _table(seen: View, name: str, tests: Sequence[tuple[str, str]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    titles = {network: network_words(seen, network) for network, _ in tests}
    for network, test in tests:
        if len(titles) > 1 and Cell(text=titles[network], strong=True) not in [row[0] for row in rows]:
            rows.append((Cell(text=titles[network], strong=True),))
        rows.append(_row(seen, network, test))
    which = f", as the paper's Table {name}" if name else ""
    of = "" if len(titles) > 1 else f", {next(iter(titles.values()))}"
    return Table(
        caption=f"Average delay of the stable LSPs{of}{which}.",
        columns=(
            Column(title="Test"),
            Column(title="Prior", unit="µs", numeric=True),
            Column(title="During", unit="µs", numeric=True),
            Column(title="During − prior", unit="µs", numeric=True),
            Column(title="Paper, prior", unit="µs", numeric=True),
            Column(title="Paper, during", unit="µs", numeric=True),
            Column(title="Less paper", unit="µs", numeric=True),
        ),
        rows=tuple(rows),
        note=f"± is half of a {confidence_words(seen.plan)} interval over the trials of a test.{_rates(seen, tests)}",
        dense=True,
    )  # fmt: skip


def _row(seen: View, network: str, test: str) -> tuple[Cell, ...]:
    key = keys_of(seen, network, test)[0]
    label = Cell(text=f"{test}: {size_words(key.frame_bytes)}, {rate_words(key.rate_mbps)}")
    found = {phase: over_points(seen, network, test, "delay.mean", phase=phase) for phase in PHASES}
    if found["prior"] is None and found["during"] is None:
        return label, Cell(text="no valid trial", muted=True)
    change = over_points(seen, network, test, "effect.delay")
    return (
        label,
        *(compact(found[phase]) for phase in PHASES),
        Cell(text=measured(change, digits=3)),
        *_published(found["during"], _theirs(seen, network, test)),
    )


def _theirs(seen: View, network: str, test: str) -> Published | None:
    """The paper's test of that name, where it sends frames of the same size."""
    found = published(SINGLE if seen.plan.network(network).shape is Shape.ROUTER else NETWORK, test)
    return found if found and found.frame_bytes == seen.plan.test(test).frame_bytes else None


def _rates(seen: View, tests: Sequence[tuple[str, str]]) -> str:
    """At which rate the paper sent, where that is not the plan's."""
    theirs = {test: found for network, test in tests if (found := _theirs(seen, network, test))}
    others = [
        f"{test} at {rate_words(found.rate_mbps)}"
        for test, found in theirs.items()
        if found.rate_mbps != seen.plan.rate_mbps(seen.plan.test(test))
    ]
    return f" The paper ran {', '.join(others)}." if others else ""


def _published(ours: Measurement | None, theirs: Published | None) -> tuple[Cell, ...]:
    if theirs is None:
        return (Cell(text=ABSENT, muted=True),) * 3
    difference = f"{ours.value - 1000 * theirs.during_ms:+,.0f}".replace(",", "\u202f").replace("-", "−") if ours else ABSENT
    return (*(Cell(text=number(1000 * value), muted=True) for value in (theirs.prior_ms, theirs.during_ms)), Cell(text=difference))


def over_points(seen: View, network: str, test: str, name: str, **subject: str) -> Measurement | None:
    """A number of a test over all its numbers of flapped LSPs; None where no point has it."""
    found = [each for key in keys_of(seen, network, test) if (each := seen.points[key].get(name, **subject)) is not None]
    if len(found) < 2:
        return found[0] if found else None
    value, interval = pool([each.value for each in found], [each.interval for each in found])
    return replace(found[0], value=value, interval=interval, n=sum(each.n for each in found))
