"""Numbers and curves of the stable LSPs' traffic: each phase for itself, and what flaps change of it."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.stats import batches, equivalence
from rackproof.stats.quantiles import of_ordered, quantile_intervals, quantiles
from rackproof.units import Layer, wire_bits
from testplans.mpls_flap.forwarding import DURING, PRIOR, Forwarding, Phase
from testplans.mpls_flap.numbers import number
from testplans.mpls_flap.plan import BATCHES
from testplans.mpls_flap.signals import Floats, Signals

_SHARES = {"p50": 0.5, "p99": 0.99}
#: Fewer batches show no trend.
_TREND_MIN = 5
#: Spans that delays are averaged over to compare busy ones to quiet ones: so long, or until so many frames were sent.
_SPAN_S, _SPAN_FRAMES = 0.01, 20


def measurements(found: Forwarding, seen: Signals, frame_bytes: int, confidence: float) -> Iterator[Measurement]:
    """Of both phases, then what the second has beyond the first."""
    for phase in found.phases.values():
        yield from _of_phase(phase, frame_bytes, confidence)
    yield from _effects(found.phases[PRIOR], found.phases[DURING], confidence)
    yield from _while_busy(found, seen, confidence)


def curves(found: Forwarding) -> Iterator[Curve]:
    """Mean delay and loss of each LSP, by phase."""
    for phase in found.phases.values():
        of, came = {"phase": phase.name}, phase.came.sum(axis=0)
        known = came > 0
        if known.any():
            yield Curve(
                name="lsp.delay", x_name="LSP", x_unit="1", y_name="mean delay", y_unit="us", subject=of, n=int(came.sum()),
                x=tuple(map(float, found.lsps[known])), y=tuple(map(float, phase.of_lsps_us[known])),
            )  # fmt: skip
        sent = phase.sent.sum(axis=0)
        shares = np.divide(phase.lost.sum(axis=0), sent, out=np.zeros(len(sent)), where=sent > 0)
        yield Curve(
            name="lsp.loss", x_name="LSP", x_unit="1", y_name="loss", y_unit="1", subject=of, n=int(sent.sum()),
            x=tuple(map(float, found.lsps)), y=tuple(map(float, shares)),
        )  # fmt: skip


def _of_phase(phase: Phase, frame_bytes: int, confidence: float) -> Iterator[Measurement]:
    of = {"phase": phase.name}
    sent, came = int(phase.sent.sum()), int(phase.came.sum())
    loss, interval = _loss(phase, confidence)
    yield number("loss", "1", loss, sent, interval, of)
    for name, value in (("sent", sent), ("received", came), ("reordered", phase.reordered), ("duplicates", phase.duplicates)):
        yield number(name, "1", float(value), sent, None, of)
    mbps = wire_bits(frame_bytes, Layer.L2) / phase.length_s / 1e6
    yield number("offered", "Mbit/s", sent * mbps, sent, None, of)
    throughput, interval = batches.mean(phase.came.sum(axis=1) * BATCHES * mbps, confidence=confidence)
    yield number("throughput", "Mbit/s", throughput, came, interval, of)
    worst = np.divide(phase.lost.sum(axis=0), phase.sent.sum(axis=0), out=np.zeros(phase.sent.shape[1]), where=phase.sent.sum(axis=0) > 0)
    yield number("lsp.loss.max", "1", float(worst.max()), sent, None, of)
    if came:
        yield from _delays(phase, came, confidence, of)
        yield from _trend(phase, confidence, of)


def _delays(phase: Phase, came: int, confidence: float, of: dict[str, str]) -> Iterator[Measurement]:
    of_lsps, of_batches = phase.of_lsps_us, phase.of_batches_us
    mean = float(np.nanmean(of_lsps))
    error = batches.standard_error(of_batches - of_batches.mean()) if len(of_batches) > 1 else 0.0
    interval = batches.around(mean, error, len(of_batches), "batch means", confidence=confidence) if len(of_batches) > 1 else None
    yield number("delay.mean", "us", mean, came, interval, of)
    yield number("lsp.delay.spread", "us", float(np.nanmax(of_lsps) - np.nanmin(of_lsps)), came, None, of)
    ordered = np.sort(phase.delays_us)
    select, shares = of_ordered(ordered), list(_SHARES.values())
    values = quantiles(select, came, shares)
    below = [np.bincount(phase.batch[phase.delays_us <= value], minlength=BATCHES) for value in values]
    intervals = quantile_intervals(select, came, shares, values, below, np.bincount(phase.batch, minlength=BATCHES), confidence)
    for label, value, each in zip(_SHARES, values, intervals, strict=True):
        yield number(f"delay.{label}", "us", value, came, each, of)
    yield number("delay.max", "us", float(ordered[-1]), came, None, of)
    if len(phase.ipdv_us):
        place = math.ceil(0.99 * len(phase.ipdv_us)) - 1
        yield number("ipdv.p99", "us", float(np.partition(phase.ipdv_us, place)[place]), len(phase.ipdv_us), None, of)


def _trend(phase: Phase, confidence: float, of: dict[str, str]) -> Iterator[Measurement]:
    """By how much the delay grows with time: least squares through the medians of the batches, so that a stall of the host is no trend."""
    order = np.argsort(phase.batch, kind="stable")
    edges = np.searchsorted(phase.batch[order], np.arange(BATCHES + 1))
    parts = [(at, phase.delays_us[order[low:high]]) for at, (low, high) in enumerate(itertools.pairwise(edges)) if high > low]
    if len(parts) < _TREND_MIN:
        return
    when = (np.array([at for at, _ in parts]) + 0.5) * phase.length_s / BATCHES
    medians = np.array([float(np.median(part)) for _, part in parts])
    centred = when - when.mean()
    spread = float(centred @ centred)
    slope = float(centred @ medians) / spread
    residuals = medians - medians.mean() - slope * centred
    degrees = len(parts) - 2
    half = batches.t_quantile(degrees, confidence) * math.sqrt(float(residuals @ residuals) / degrees / spread)
    method = f"least squares through the medians of {len(parts)} batches"
    interval = Interval(low=slope - half, high=slope + half, confidence=confidence, method=method)
    yield number("delay.slope", "us/s", slope, int(phase.came.sum()), interval, of)


def _effects(prior: Phase, during: Phase, confidence: float) -> Iterator[Measurement]:
    sent = int(prior.sent.sum() + during.sent.sum())
    loss, interval = equivalence.between(_loss(prior, confidence), _loss(during, confidence))
    yield number("effect.loss", "1", loss, sent, interval)
    differences = during.of_lsps_us - prior.of_lsps_us
    if not np.isnan(differences).all():
        mean = float(np.nanmean(differences))
        delay, bounds = equivalence.difference(prior.of_batches_us, during.of_batches_us, mean, confidence)
        yield number("effect.delay", "us", delay, int(prior.came.sum() + during.came.sum()), bounds)


def _while_busy(found: Forwarding, seen: Signals, confidence: float) -> Iterator[Measurement]:
    """What the delay has while messages are under way beyond what it has before any flap: medians over short spans.

    A mean over a phase hides what lasts for a part of it, and one stall of the host moves it; a median of spans it does not move.
    """
    begin_s, end_s = found.phases[PRIOR].begin_s, found.phases[DURING].end_s
    length_s = max(_SPAN_S, _SPAN_FRAMES * (end_s - begin_s) / max(1, len(found.sent_s)))
    spans = int((end_s - begin_s) / length_s)
    at = np.floor((found.sent_s - begin_s) / length_s).astype(np.int64)
    within = (at >= 0) & (at < spans)
    counts = np.bincount(at[within], minlength=spans)
    means = np.divide(np.bincount(at[within], found.delay_us[within], spans), counts, out=np.full(spans, np.nan), where=counts > 0)
    middles = np.asarray(begin_s + (np.arange(spans) + 0.5) * length_s, np.float64)
    quiet, busy = middles < found.phases[PRIOR].end_s - length_s, (middles >= found.phases[PRIOR].end_s) & seen.busy(middles)
    both = [means[which & (counts > 0)] for which in (quiet, busy)]
    if min(map(len, both)) == 0:
        return
    value, interval = equivalence.between(*(_median(part, confidence) for part in both))
    yield number("effect.busy", "us", value, int(counts[quiet].sum() + counts[busy].sum()), interval)


def _median(values: Floats, confidence: float) -> tuple[float, Interval | None]:
    """Of values in a row, which may depend on each other."""
    select = of_ordered(np.sort(values))
    (middle,) = quantiles(select, len(values), [0.5])
    parts = np.array_split(values <= middle, min(BATCHES, len(values)))
    below, sizes = [part.sum() for part in parts], [len(part) for part in parts]
    (interval,) = quantile_intervals(select, len(values), [0.5], [middle], [below], sizes, confidence)
    return middle, interval


def _loss(phase: Phase, confidence: float) -> tuple[float, Interval | None]:
    return equivalence.share(_by_batch(phase.lost), _by_batch(phase.sent), confidence)


def _by_batch(table: Floats) -> Floats:
    return np.asarray(table.sum(axis=1))
