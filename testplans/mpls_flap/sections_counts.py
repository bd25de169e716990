"""What went wrong with messages, labels and probes, counted by network and test."""

from collections.abc import Callable, Iterator, Sequence

from reports.document import Callout, Cell, Column, Paragraph, Section, Table
from reports.text import ABSENT, count
from testplans.mpls_flap.parts import By
from testplans.mpls_flap.view import Point, View
from testplans.mpls_flap.words import flaps_of, network_words, roomy

#: Of each flap, summed over them: name, title.
_OF_FLAPS = (("flap.tears_sent", "Sent"), ("flap.tears_received", "Received"), ("flap.tears_lost", "Lost"), ("flap.retries", "Sent again"))
#: Of the trial.
_OF_LSPS = (("established", "Set up"), ("unanswered", "Left out"), ("failed", "Not up at the end"), ("phantoms", "Phantoms"))
_OF_PROBES = (
    ("probes.wrong_label", "Wrong label"),
    ("probes.stale", "After the tear"),
    ("probes.lost_up", "Lost while up"),
    ("probes.misclassed", "Class or TTL wrong"),
)
_OF_FRAMES = ("reordered", "duplicates")
PHASES = ("prior", "during")
#: What is no fault.
_GOOD = {"flap.tears_sent", "flap.tears_received", "established", "sent"}


def section(seen: View) -> Section:
    """Two tables over all valid trials: of LSPs and messages, of probes and frames."""
    if not any(point.valid for point in seen.points.values()):
        nothing = Callout(tone="note", title="Nothing was counted", text="No trial gave a valid measurement.")
        return Section(id="counts", title="Errors, retries, phantoms", blocks=(nothing,), page_break=roomy(seen))
    lead = Paragraph(
        text="Sums over the valid trials. A PATH_TEAR is lost that the egress never saw, however often it was sent. A phantom is an LSP "
        "that came up though no router answers for it. Probes go through the flapped and the stable LSPs: after the tear they must not "
        "come any more; while an LSP is up they must, with the label that was asked for, with their traffic class, and with a TTL that "
        "is one less for each router."
    )
    signalled = seen.plan.signalling.by is not By.CONFIGURATION
    blocks = (lead, _messages(seen), _frames(seen)) if signalled else (Paragraph(text="Sums over the valid trials."), _frames(seen))
    return Section(id="counts", title="Errors, retries, phantoms", blocks=blocks, page_break=roomy(seen))


def _messages(seen: View) -> Table:
    columns = [Column(title=f"PATH_TEAR, {title.lower()}" if at == 0 else title, numeric=True) for at, (_, title) in enumerate(_OF_FLAPS)]
    columns += [Column(title=f"LSPs, {title.lower()}" if at == 0 else title, numeric=True) for at, (_, title) in enumerate(_OF_LSPS)]
    return Table(
        caption="PATH_TEARs and LSPs.",
        columns=(Column(title="Test"), *columns),
        rows=tuple(_rows(seen, _of_messages)),
        dense=True,
    )


def _frames(seen: View) -> Table:
    columns = [Column(title=f"Probes: {title.lower()}" if at == 0 else title, numeric=True) for at, (_, title) in enumerate(_OF_PROBES)]
    titles = ("Frames sent", "Lost", "Out of order", "Twice")
    return Table(
        caption="Probes that came as they must not, or did not come; frames of the stable LSPs, before and during the flaps.",
        columns=(Column(title="Test"), *columns, *(Column(title=title, numeric=True) for title in titles)),
        rows=tuple(_rows(seen, _of_frames)),
        note="A dash: there were no probes.",
        dense=True,
    )


def _rows(seen: View, cells: Callable[[View, Sequence[Point]], Iterator[Cell]]) -> Iterator[tuple[Cell, ...]]:
    for network in seen.networks:
        yield (Cell(text=network_words(seen, network), strong=True),)
        for test in seen.tests(network):
            points = [point for point in seen.of(network, test) if point.valid]
            yield (Cell(text=test), *(cells(seen, points) if points else (Cell(text="no valid trial", muted=True),)))


def _of_messages(seen: View, points: Sequence[Point]) -> Iterator[Cell]:
    for name, _ in _OF_FLAPS:
        yield _cell(name, sum(point.total(name, flap=str(flap)) for point in points for flap in flaps_of(seen)))
    for name, _ in _OF_LSPS:
        yield _cell(name, sum(point.total(name) for point in points))


def _of_frames(seen: View, points: Sequence[Point]) -> Iterator[Cell]:  # noqa: ARG001 - as the other
    for name, _ in _OF_PROBES:
        probed = any(point.each(name) for point in points)
        yield _cell(name, sum(point.total(name) for point in points)) if probed else Cell(text=ABSENT, muted=True)
    sums = {name: sum(point.total(name, phase=phase) for point in points for phase in PHASES) for name in ("sent", "received", *_OF_FRAMES)}
    for name, value in (("sent", sums["sent"]), ("lost", sums["sent"] - sums["received"]), *((name, sums[name]) for name in _OF_FRAMES)):
        yield _cell(name, value)


def _cell(name: str, value: float) -> Cell:
    return Cell(text=count(value), strong=value > 0 and name not in _GOOD, muted=value == 0)
