"""One section for each trial: its histogram with every fit, what it says of the delay, hop by hop, and how the trial went."""

from collections.abc import Iterator
from typing import Any

from rackproof.model.campaign import TrialRecord
from rackproof.model.measurement import Curve, Measurement
from rackproof.model.trial import TrialResult
from reports.campaign import trial_anchor, trial_facts, trial_opening
from reports.document import Block, Cell, Column, Figure, KeyValues, Paragraph, Section, Table
from reports.text import ABSENT, count, measured, number, plural
from testplans.results import Get, getter
from testplans.xpfe_delay import figures_delay
from testplans.xpfe_delay.figures import distribution_words
from testplans.xpfe_delay.sections_words import interval_words
from testplans.xpfe_delay.view import View

#: Numbers of each hop: name, title.
HOP_COLUMNS = (
    ("hop.delay.mean", "Delay, mean"),
    ("hop.element.p50", "Element, p50"),
    ("hop.element.p99", "Element, p99"),
    ("hop.queueing.mean", "Queueing, mean"),
    ("hop.serialisation", "Serialisation"),
    ("hop.excess.p50", "Excess, p50"),
)
_FATES = ("hop.lost", "hop.duplicates", "hop.reordered")
_GOODNESS = (("fit.ks", "KS", "fit.ks_p"), ("fit.ad", "AD", "fit.ad_p"))


def section(seen: View) -> Section:
    """All trials in the order in which they ran; those that failed keep their place, with their reason."""
    lead = Paragraph(
        text="In the order in which they ran. Trials that cannot be trusted keep their place, with the reason; their numbers took no "
        "part in any verdict. Fits are in the order of their error, by which the paper ranks; it always prefers more parameters, so that "
        "the one with the smallest BIC is chosen and drawn in full. KS and AD are the statistics of Kolmogorov-Smirnov and of "
        "Anderson-Darling, p how often chance alone gives a larger one."
    )
    parts = tuple(_trial(record, first=at == 0) for at, record in enumerate(seen.campaign.trials))
    return Section(id="trials", title="The trials", blocks=(lead,), sections=parts, page_break=True)


def _trial(record: TrialRecord, *, first: bool) -> Section:
    trial, result = record.trial, record.result
    blocks = trial_opening(record, _facts(record))
    if result is not None:
        blocks += _results(trial.label, result)
    drawn = any(isinstance(block, Figure) for block in blocks)
    return Section(
        id=trial_anchor(trial.index), title=f"Trial {trial.index}: {trial.label}", blocks=tuple(blocks), page_break=drawn and not first
    )


def _results(label: str, result: TrialResult) -> Iterator[Block]:
    get = getter(result)
    if drawn := trial_data(result):
        yield Figure(
            caption=f"{label}: histogram with the fitted curves, and the share of the frames that has arrived after each hop.",
            alt=f"Histogram of the delay with fitted densities, and cumulative delay after each hop: {label}",
            draw=figures_delay.trial,
            data=drawn,
            height_in=2.9,
            sketched=True,
        )
    if get("delay.mean") is not None:
        yield _delays(label, result, get)
    fits = fit_names(result.measurements)
    if fits:
        yield _fits(label, result, fits, get)
    hops = sorted({int(each.subject["hop"]) for each in result.measurements if "hop" in each.subject})
    if hops:
        yield _hops(label, hops, get)
    counted = tuple((name, count(value)) for name, value in result.counters.items() if value)
    if counted:
        yield KeyValues(caption="What the elements counted", pairs=counted, inline=True)


def trial_data(result: TrialResult) -> dict[str, Any] | None:
    """What the figure of a trial is drawn from; None where it has no histogram."""
    histogram = next((each for each in result.curves if each.name == "histogram"), None)
    if histogram is None or len(histogram.x) < 2:
        return None
    # The same curve stands without a hop (end to end) and with the last one.
    hops = {int(each.subject["hop"]): points(each) for each in result.curves if each.name == "delta-q" and "hop" in each.subject}
    whole = [points(each) for each in result.curves if each.name == "delta-q" and not each.subject]
    curves = [{"hop": hop, **hops[hop]} for hop in sorted(hops)] or [{"hop": 1, **each} for each in whole[:1]]
    return {
        "histogram": points(histogram),
        "fits": {each.subject["distribution"]: points(each) for each in result.curves if each.name == "fit"},
        "chosen": chosen(result.measurements),
        "delta_q": curves,
        "longest": next((each.value for each in result.measurements if each.name == "delay.max"), histogram.x[-1]),
    }


def points(curve: Curve) -> dict[str, tuple[float, ...]]:
    """A curve as figures have it."""
    return {"x": curve.x, "y": curve.y}


def chosen(measurements: tuple[Measurement, ...]) -> str:
    """The distribution that was chosen; empty where none was."""
    return next((each.subject.get("distribution", "") for each in measurements if each.name == "fit.chosen"), "")


def fit_names(measurements: tuple[Measurement, ...]) -> list[str]:
    """All distributions that were fitted, the smallest error first."""
    errors = {each.subject["distribution"]: each.value for each in measurements if each.name == "fit.error"}
    return sorted(errors, key=lambda name: errors[name])


def _facts(record: TrialRecord) -> Iterator[tuple[str, str]]:
    result = record.result
    yield from trial_facts(record)
    if result is None:
        return
    get = getter(result)
    for name, title, unit in (("offered", "offered", "Mbit/s"), ("throughput", "throughput", "Mbit/s")):
        if found := get(name):
            yield title, f"{measured(found)} {unit}"
    for name in ("sent", "received", "duplicates", "reordered"):
        if found := get(name):
            yield name, count(found.value)
    if found := get("loss"):
        yield "loss", f"{measured(found, scale=100)} %"
    if found := get("autocorrelation.block"):
        yield "block", plural(round(found.value), "frame")
    if found := get("effective"):
        yield "independent samples", count(found.value)
    if found := get("delay.raw.mean"):
        yield "mean with the links' lateness", f"{measured(found)} µs"
    yield from ((name.replace("_", " "), number(value, 4)) for name, value in result.health.items())


def _delays(label: str, result: TrialResult, get: Get) -> Table:
    names = [each.name.removeprefix("delay.") for each in result.measurements if each.name.startswith("delay.")]
    shown = [name for name in dict.fromkeys(names) if "." not in name and name not in {"min", "max"}]
    shown.sort(key=lambda name: float(name[1:].replace("_", ".")) if name[1:2].isdigit() else -1.0)
    rows = [
        (
            Cell(text="measured"),
            *(Cell(text=number(found.value)) if (found := get(f"delay.{name}")) else Cell(text=ABSENT) for name in shown),
        )
    ]
    for title, prefix in (("interval, distribution-free", "delay."), ("interval, from the fit", "delay.fit.")):
        cells = (get(f"{prefix}{name}") for name in shown)
        rows.append((Cell(text=title), *(Cell(text=interval_words(found.interval) if found else ABSENT) for found in cells)))
    least, most, mean = get("delay.min"), get("delay.max"), get("delay.mean")
    ends = f"Least {number(least.value)} µs, most {number(most.value)} µs. " if least and most else ""
    return Table(
        caption=f"Delay, {label}.",
        columns=(Column(title=""), *(Column(title=name.replace("_", "."), unit="µs", numeric=True) for name in shown)),
        rows=tuple(rows),
        note=f"{ends}{count(mean.n) if mean else ABSENT} frames."
        + (f" Intervals: {100 * mean.interval.confidence:g} %, {mean.interval.method}." if mean and mean.interval else ""),
        dense=True,
    )


def _fits(label: str, result: TrialResult, names: list[str], get: Get) -> Table:
    parameters: dict[str, list[Measurement]] = {}
    for each in result.measurements:
        if each.name.startswith("fit.parameter."):
            parameters.setdefault(each.subject["distribution"], []).append(each)
    best = chosen(result.measurements)
    rows = []
    for name in names:
        error, bic = get("fit.error", distribution=name), get("fit.bic", distribution=name)
        cells = [Cell(text=distribution_words(name), strong=name == best), Cell(text=measured(error, digits=3))]
        for statistic, _, probability in _GOODNESS:
            found, chance = get(statistic, distribution=name), get(probability, distribution=name)
            cells += [Cell(text=measured(found, digits=3)), Cell(text=_p(chance.value) if chance else ABSENT)]
        cells += [Cell(text=number(bic.value, 6) if bic else ABSENT), Cell(text=_parameters(parameters.get(name, [])))]
        rows.append(tuple(cells))
    return Table(
        caption=f"Fits, {label}, the smallest error first.",
        columns=(
            Column(title="Distribution"),
            Column(title="Error", unit="1/µs", numeric=True),
            *(
                column
                for _, title, _ in _GOODNESS
                for column in (Column(title=title, numeric=True), Column(title="p", numeric=True))
            ),
            Column(title="BIC", numeric=True),
            Column(title="Parameters"),
        ),
        rows=tuple(rows),
        note=f"Chosen: {distribution_words(best)}." if best else "",
        dense=True,
    )  # fmt: skip


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else number(value, decimals=3)


def _parameters(found: list[Measurement]) -> str:
    """A single distribution's parameters, or those of each component."""
    components: dict[str, list[str]] = {}
    for each in found:
        name = each.name.removeprefix("fit.parameter.").replace("_", " ")
        sign = " µs" if each.unit == "us" else ""
        components.setdefault(each.subject.get("component", ""), []).append(f"{name} {number(each.value)}{sign}")
    return "; ".join(f"{component}: {', '.join(words)}" if component else ", ".join(words) for component, words in components.items())


def _hops(label: str, hops: list[int], get: Get) -> Table:
    shown = [(name, title) for name, title in HOP_COLUMNS if any(get(name, hop=str(hop)) for hop in hops)]
    rows = [
        (
            Cell(text=str(hop), strong=True),
            *(Cell(text=measured(get(name, hop=str(hop)), digits=3)) for name, _ in shown),
            Cell(text=", ".join(count(found.value) if (found := get(name, hop=str(hop))) else ABSENT for name in _FATES)),
        )
        for hop in hops
    ]
    return Table(
        caption=f"Hop by hop, {label}.",
        columns=(
            Column(title="Hop"),
            *(Column(title=title, unit="µs", numeric=True) for _, title in shown),
            Column(title="Lost, twice, reordered", unit="frames", numeric=True),
        ),
        rows=tuple(rows),
        dense=True,
    )
