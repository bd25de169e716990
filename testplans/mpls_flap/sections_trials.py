"""All trials in a table, and some of them under the microscope: messages, LSPs, lost frames and delay on one time axis."""

from collections.abc import Iterator, Sequence
from typing import Any

from rackproof.model.campaign import TrialRecord
from rackproof.model.measurement import Measurement
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from reports.campaign import trial_anchor, trial_facts, trial_opening
from reports.document import Block, Cell, Column, Figure, KeyValues, Paragraph, Section, Table
from reports.text import ABSENT, count, measured, number
from testplans.mpls_flap import figures_flap, figures_separation
from testplans.mpls_flap.choice import chosen
from testplans.mpls_flap.view import View
from testplans.mpls_flap.words import flaps_of, network_words, roomy, whole
from testplans.results import Get, getter

#: Flaps side by side in one figure.
_FLAPS = 2
#: Numbers of each phase: name, title, scale, unit.
PHASE_ROWS = (
    ("sent", "Frames sent", 1.0, ""),
    ("received", "Frames received", 1.0, ""),
    ("loss", "Loss", 100.0, "%"),
    ("reordered", "Out of order", 1.0, ""),
    ("duplicates", "Came twice", 1.0, ""),
    ("throughput", "Throughput", 1.0, "Mbit/s"),
    ("delay.mean", "Delay, average of the LSPs' means", 1.0, "µs"),
    ("delay.p50", "Delay, median", 1.0, "µs"),
    ("delay.p99", "Delay, 99th percentile", 1.0, "µs"),
    ("delay.max", "Delay, longest", 1.0, "µs"),
    ("ipdv.p99", "Delay variation, 99th percentile", 1.0, "µs"),
    ("delay.slope", "Growth of the delay", 1.0, "µs/s"),
    ("lsp.loss.max", "Loss of the LSP that lost most", 100.0, "%"),
    ("lsp.delay.spread", "Spread of the LSPs' mean delays", 1.0, "µs"),
)
_COUNTS = {"sent", "received", "reordered", "duplicates"}
#: Numbers of each flap: name, title, unit.
FLAP_ROWS = (
    ("flap.up", "Up when it began", ""),
    ("flap.k", "Up again at the end of the window, K", ""),
    ("flap.failed", "Not up at the end of the window", ""),
    ("flap.tears_sent", "PATH_TEARs sent", ""),
    ("flap.tears_received", "PATH_TEARs received", ""),
    ("flap.tears_lost", "PATH_TEARs lost", ""),
    ("flap.retries", "Sent again", ""),
    ("teardown.p50", "Tear-down, median", "ms"),
    ("establish.p50", "Set-up, median", "ms"),
    ("gap.p50", "RESV to forwarding, median", "ms"),
    ("gap.max", "RESV to forwarding, longest", "ms"),
    ("outage.p50", "Outage, median", "ms"),
    ("outage.max", "Outage, longest", "ms"),
)


def section(seen: View) -> Section:
    """The table of all; a section for each that was chosen."""
    why = chosen(seen)
    lead = Paragraph(
        text="All trials in the order in which they ran. Those that cannot be trusted keep their place, with the reason; their numbers "
        "took no part in any verdict. "
        + ("Each has a page below." if len(why) == len(seen.campaign.trials) else "Those with a link have a page below." if why else "")
    )
    parts = tuple(_trial(seen, record, why[record.trial.index]) for record in seen.campaign.trials if record.trial.index in why)
    return Section(id="trials", title="The trials", blocks=(lead, _all(seen, set(why))), sections=parts, page_break=roomy(seen))


# ---- all


def _all(seen: View, linked: set[int]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for network in seen.networks:
        rows.append((Cell(text=network_words(seen, network), strong=True),))
        mine = (record for record in seen.campaign.trials if record.trial.point["network"] == network)
        rows += [_row(record, record.trial.index in linked) for record in mine]
    return Table(
        caption="All trials.",
        columns=(
            Column(title="Trial", numeric=True),
            Column(title="Test"),
            Column(title="M", numeric=True),
            Column(title="N", numeric=True),
            Column(title="K", numeric=True),
            Column(title="P − N", numeric=True),
            Column(title="Failed", numeric=True),
            Column(title="Loss, during", unit="%", numeric=True),
            Column(title="Delay, during", unit="µs", numeric=True),
            Column(title="Change of delay", unit="µs", numeric=True),
            Column(title="Gap, p99", unit="ms", numeric=True),
        ),
        rows=tuple(rows),
        note="M: stable LSPs, N: flapped ones. Failed: not up at the end of all. Gap: from RESV to forwarding, first flap.",
        dense=True,
    )  # fmt: skip


def _row(record: TrialRecord, linked: bool) -> tuple[Cell, ...]:
    trial, result = record.trial, record.result
    begin = (
        Cell(text=str(trial.index), link=trial_anchor(trial.index) if linked else None),
        Cell(text=str(trial.point["test"]) + (f", repetition {trial.repetition}" if trial.repetition > 1 else "")),
        Cell(text=str(trial.point["stable"])),
        Cell(text=str(trial.point["flapped"])),
    )
    if result is None:
        return (*begin, Cell(text="not run", muted=True))
    if result.verdict is not Verdict.PASS:
        return (*begin, Cell(text=result.reason, verdict=result.verdict))
    get = getter(result)
    return (
        *begin,
        whole(get("flap.k", flap="1")),
        whole(get("k.paper")),
        whole(get("failed")),
        Cell(text=_plain(get("loss", phase="during"), 100.0)),
        Cell(text=_plain(get("delay.mean", phase="during"))),
        Cell(text=measured(get("effect.delay"), digits=3)),
        Cell(text=_plain(get("gap.p99", flap="1"))),
    )


def _plain(found: Measurement | None, scale: float = 1.0) -> str:
    return number(found.value * scale, 3) if found else ABSENT


# ---- one


def _trial(seen: View, record: TrialRecord, why: str) -> Section:
    trial, result = record.trial, record.result
    blocks = trial_opening(record, _facts(record, why))
    if result is not None:
        blocks += _results(seen, trial.label, result)
    drawn = any(isinstance(block, Figure) for block in blocks)
    return Section(id=trial_anchor(trial.index), title=f"Trial {trial.index}: {trial.label}", blocks=tuple(blocks), page_break=drawn)


def _facts(record: TrialRecord, why: str) -> Iterator[tuple[str, str]]:
    result = record.result
    if why:
        yield "chosen as", why
    yield from trial_facts(record)
    if result is None:
        return
    get = getter(result)
    for name, title in (("established", "up before the flaps"), ("failed", "not up at the end"), ("phantoms", "phantoms")):
        if found := get(name):
            yield title, count(found.value)
    for name in ("wrong_label", "stale", "lost_up", "misclassed"):
        if found := get(f"probes.{name}"):
            yield f"probes {name.replace('_', ' ')}", f"{count(found.value)} of {count(found.n)}"
    yield from ((name.replace("_", " "), number(value, 4)) for name, value in result.health.items())


def _results(seen: View, label: str, result: TrialResult) -> Iterator[Block]:
    flaps = [drawn for flap in flaps_of(seen) if (drawn := flap_data(seen, result, flap))]
    for start in range(0, len(flaps), _FLAPS):
        part = flaps[start : start + _FLAPS]
        yield Figure(
            caption=f"{label}: messages so far, flapped LSPs that are up, frames lost and delay of the stable LSPs, all over the time "
            "since each flap began. A stroke is what was lost within one bin of the time axis.",
            alt=f"Messages, LSPs, lost frames and delay over time: {label}",
            draw=figures_flap.microscope,
            data={"flaps": part},
            height_in=5.0,
            sketched=True,
        )
    if lsps := lsp_data(result):
        yield Figure(
            caption=f"{label}: each stable LSP's mean delay and loss, prior to and during the flaps.",
            alt=f"Mean delay and loss by stable LSP: {label}",
            draw=figures_separation.per_lsp,
            data=lsps,
            height_in=2.7,
            sketched=True,
        )
    get = getter(result)
    yield from _table(
        label,
        "phase",
        "By phase",
        ("prior", "during"),
        [(name, title, scale, unit, name in _COUNTS) for name, title, scale, unit in PHASE_ROWS],
        get,
    )
    flap_names = [str(flap) for flap in flaps_of(seen)]
    yield from _table(label, "flap", "By flap", flap_names, [(name, title, 1.0, unit, not unit) for name, title, unit in FLAP_ROWS], get)
    counted = tuple((name, count(value)) for name, value in result.counters.items() if value)
    if counted:
        yield KeyValues(caption="What the routers and the signaller counted", pairs=counted, inline=True)


def flap_data(seen: View, result: TrialResult, flap: int) -> dict[str, Any] | None:
    """What a flap's column of the microscope is drawn from; None where nothing of it was kept."""
    curves = {
        each.name: list(zip(each.x, each.y, strict=True))
        for each in result.curves
        if each.name.startswith("timeline.") and each.subject.get("flap") == str(flap)
    }
    if not curves:
        return None
    ends = [x for points in curves.values() for x, _ in points]
    window = seen.plan.phases.windows_s[flap - 1]
    return {"title": f"flap {flap}", "from": min(ends), "to": max(*ends, min(ends) + 1e-3), "window": window, "curves": curves}


def lsp_data(result: TrialResult) -> dict[str, Any] | None:
    """Delay [us] and loss [%] by LSP and phase; None where there are none."""
    delay, loss = ({each.subject["phase"]: each for each in result.curves if each.name == name} for name in ("lsp.delay", "lsp.loss"))
    if not delay:
        return None
    return {
        "delay": {phase: list(zip(each.x, each.y, strict=True)) for phase, each in delay.items()},
        "loss": {phase: [(x, 100 * y) for x, y in zip(each.x, each.y, strict=True)] for phase, each in loss.items()},
    }


def _table(label: str, of: str, caption: str, across: Any, rows: Any, get: Get) -> Iterator[Table]:
    """Numbers down, phases or flaps across; nothing where no number is there."""
    shown = []
    for name, title, scale, unit, counts in rows:
        found = [get(name, **{of: each}) for each in across]
        if any(found):
            cells = (whole(each) if counts else Cell(text=measured(each, scale=scale)) for each in found)
            shown.append((Cell(text=title), Cell(text=unit, muted=True), *cells, Cell(text=_n(found))))
    if shown:
        columns = (Column(title=""), Column(title="Unit"), *(Column(title=f"{of} {each}".capitalize(), numeric=True) for each in across))
        yield Table(caption=f"{caption}, {label}.", columns=(*columns, Column(title="n", numeric=True)), rows=tuple(shown), dense=True)


def _n(found: Sequence[Measurement | None]) -> str:
    """How many samples the numbers of a row rest on: once where that is the same for all."""
    return ", ".join(dict.fromkeys(count(each.n) for each in found if each))
