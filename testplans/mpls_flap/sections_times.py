"""How long does a flap take an LSP? Tear-down, set-up, from RESV to forwarding, outage: as distributions."""

from collections.abc import Iterator, Mapping, Sequence

from rackproof.model.measurement import Measurement
from reports.document import Block, Callout, Cell, Column, Figure, Paragraph, Section, Table
from reports.text import ABSENT, count, number
from testplans.mpls_flap import figures_control
from testplans.mpls_flap.parts import By
from testplans.mpls_flap.view import Key, View
from testplans.mpls_flap.words import flaps_of, keys_of, missing, network_words, roomy, sweep_words

#: Quantity, what it is called, in a table, what to say where it was not measured.
TIMES = (
    ("teardown", "Tear-down", "Tear-down", "no PATH_TEAR arrived"),
    ("establish", "Set-up", "Set-up", "no LSP came up again"),
    ("gap", "RESV to forwarding", "Gap", "no probe tells"),
    ("outage", "Outage", "Outage", "no probe tells"),
)
#: Numbers of flapped LSPs, and networks, in one panel.
_SERIES, _NETWORKS = 4, 8
_FLAP = "1"


def section(seen: View) -> Section:
    """The distributions at some numbers of flapped LSPs, and their percentiles at all; networks together where none was swept."""
    lead = Paragraph(
        text="The LSPs are flapped by configuration. Outage: from the last frame that came through an LSP before some were lost until "
        "the next one that came."
        if seen.plan.signalling.by is By.CONFIGURATION
        else "Tear-down: from sending PATH_TEAR at the ingress until it is at the egress. Set-up: from the first PATH of the new instance "
        "until its RESV is back. RESV to forwarding: from then until the first probe comes through. Outage: from the last probe that came "
        "through the old instance until the first through the new one. Probes bound the last two to within their spacing."
    )
    valid = {network: keys for network in seen.networks if (keys := _best(seen, network))}
    blocks: list[Block] = [lead]
    parts: list[Section] = []
    if not valid:
        blocks = [Callout(tone="note", title="No flap was measured", text="No trial gave a valid measurement.")]
    elif len(valid) == 1:
        blocks += _network(seen, *next(iter(valid.items())))
    elif all(len(keys) == 1 for keys in valid.values()):
        blocks += _together(seen, valid)
    else:
        parts = [
            Section(id=f"times-{at}", title=network_words(seen, network), blocks=tuple(_network(seen, network, keys)))
            for at, (network, keys) in enumerate(valid.items())
        ]
    return Section(id="times", title="How long a flap takes", blocks=tuple(blocks), sections=tuple(parts), page_break=roomy(seen))


def _times(seen: View) -> tuple[tuple[str, str, str, str], ...]:
    """Those that can be known: without messages, outages alone."""
    return TIMES[-1:] if seen.plan.signalling.by is By.CONFIGURATION else TIMES


def _best(seen: View, network: str) -> list[Key]:
    """The valid points of the test with the most of them: what is sent over the stable LSPs hardly matters to messages."""
    of_tests = [[key for key in keys_of(seen, network, test) if seen.points[key].valid] for test in seen.tests(network)]
    return max(of_tests, key=len, default=[])


def _network(seen: View, network: str, keys: Sequence[Key]) -> Iterator[Block]:
    some = list(keys)
    if len(keys) > _SERIES:
        some = [keys[round(at * (len(keys) - 1) / (_SERIES - 1))] for at in range(_SERIES)]
    test = keys[0].test
    yield _figure(seen, f"{network}, test {sweep_words(seen, test)}", {f"N = {key.flapped}": key for key in some})
    rows: list[tuple[Cell, ...]] = []
    for flap in flaps_of(seen):
        rows.append((Cell(text=f"Flap {flap}, window of {seen.plan.phases.windows_s[flap - 1]:g} s", strong=True),))
        rows += [_row(seen, str(key.flapped), key, flap) for key in keys_of(seen, network, test)]
    yield _table(seen, f"{network}, test {test}", "N", rows)


def _together(seen: View, valid: Mapping[str, Sequence[Key]]) -> Iterator[Block]:
    names = list(valid)
    for start in range(0, len(names), _NETWORKS):
        part = names[start : start + _NETWORKS]
        yield _figure(seen, "all networks" if len(part) == len(names) else ", ".join(part), {name: valid[name][0] for name in part})
    rows: list[tuple[Cell, ...]] = []
    for flap in flaps_of(seen):
        rows.append((Cell(text=f"Flap {flap}, window of {seen.plan.phases.windows_s[flap - 1]:g} s", strong=True),))
        rows += [_row(seen, name, keys[0], flap) for name, keys in valid.items()]
    many = ", ".join(map(str, dict.fromkeys(keys[0].flapped for keys in valid.values())))
    yield _table(seen, f"all networks, N = {many}", "Network", rows)


def _figure(seen: View, of: str, keys: Mapping[str, Key]) -> Figure:
    quantities = []
    for name, title, _, none in _times(seen):
        series = [{"place": place, "points": points} for place, key in enumerate(keys.values()) if (points := _points(seen, key, name))]
        quantities.append({"title": title, "none": none, "series": series})
    return Figure(
        caption=f"Times of the first flap, {of}: the share of the LSPs that took at most so long. A line ends below 1 where not all came "
        "in time.",
        alt=f"Cumulative distributions of tear-down, set-up, RESV to forwarding and outage, {of}",
        draw=figures_control.times,
        data={"quantities": quantities, "key": list(keys)},
        height_in=0.9 + 1.5 * -(-len(quantities) // 2),
        sketched=True,
    )


def _points(seen: View, key: Key, name: str) -> list[tuple[float, float]]:
    """The curve of the first valid repetition."""
    found = seen.points[key].curves(name, flap=_FLAP)
    return list(zip(found[0].x, found[0].y, strict=True)) if found else []


def _row(seen: View, label: str, key: Key, flap: int) -> tuple[Cell, ...]:
    point, of = seen.points[key], {"flap": str(flap)}
    if not point.valid:
        return Cell(text=label), missing(point)
    again = point.get("establish.mean", **of) or point.get("outage.mean", **of)
    return (
        Cell(text=label),
        *(Cell(text=_short(point.get(f"{name}.{share}", **of))) for name, *_ in _times(seen) for share in ("p50", "p99")),
        Cell(text=_short(point.get("outage.max", **of))),
        Cell(text=count(again.n) if again else "0"),
    )


def _table(seen: View, of: str, first: str, rows: Sequence[tuple[Cell, ...]]) -> Table:
    return Table(
        caption=f"Times in ms, {of}: median and 99th percentile over the LSPs.",
        columns=(
            Column(title=first),
            *(Column(title=f"{title}, {share}", numeric=True) for _, _, title, _ in _times(seen) for share in ("p50", "p99")),
            Column(title="Outage, max", numeric=True),
            Column(title="n", numeric=True),
        ),
        rows=tuple(rows),
        note="Gap: from RESV to forwarding. n: LSPs that came up again.",
        dense=True,
    )  # fmt: skip


def _short(found: Measurement | None) -> str:
    """The number alone: the curves say more of its spread than an interval could."""
    return number(found.value, 3) if found else ABSENT
