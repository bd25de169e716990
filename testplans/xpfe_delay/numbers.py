"""The numbers of one trial, each with its interval: end to end, of the fits, and of each hop."""

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from rackproof.model.measurement import Interval, Measurement
from rackproof.stats import batches
from rackproof.stats.counts import wilson
from rackproof.stats.inference import Estimate
from rackproof.stats.quantiles import of_ordered, quantile_intervals, quantiles
from rackproof.stats.study import Study
from testplans.xpfe_delay.flow import Flow
from testplans.xpfe_delay.links import ON_TIME, Wire
from testplans.xpfe_delay.plan import percentile_name

Floats = npt.NDArray[np.float64]

_UNITS = {"weight": "1", "mean": "us", "deviation": "us", "location": "us", "scale": "us", "shape": "1"}


def of_delays(found: Study, raw_us: Floats | None) -> Iterator[Measurement]:
    """Delay from end to end: distribution-free and by the chosen fit. raw_us: with the links' lateness in it, None where there is none."""
    estimates: dict[str, Estimate] = {"mean": found.mean}
    estimates |= {percentile_name(percent): estimate for percent, estimate in found.percentiles.items()}
    for name, estimate in estimates.items():
        yield _number(f"delay.{name}", "us", estimate.value, found.n, estimate.interval)
        if estimate.fitted is not None:
            yield _number(f"delay.fit.{name}", "us", estimate.fitted, found.n, estimate.fitted_interval)
    yield _number("delay.min", "us", found.minimum, found.n)
    yield _number("delay.max", "us", found.maximum, found.n)
    if raw_us is not None:
        yield _number("delay.raw.mean", "us", float(raw_us.mean()), len(raw_us))
    yield _number("autocorrelation.block", "frames", float(found.autocorrelation.block), found.n)
    yield _number("effective", "1", found.autocorrelation.effective, found.n)


def of_fits(found: Study) -> Iterator[Measurement]:
    """How well each distribution fits, and its parameters."""
    for judged in found.fits:
        subject = {"distribution": judged.fit.name}
        yield _number("fit.error", "1/us", judged.error, found.n, subject=subject)
        for name, value in (("ks", judged.ks), ("ks_p", judged.ks_p), ("ad", judged.ad), ("ad_p", judged.ad_p)):
            yield _number(f"fit.{name}", "1", value, judged.tested, subject=subject)
        yield _number("fit.bic", "1", judged.fit.bic, found.n, subject=subject)
        many = len(judged.fit.components) > 1
        for at, component in enumerate(judged.fit.components, 1):
            of = {**subject, "component": str(at)} if many else subject
            for name, value in component.items():
                yield _number(f"fit.parameter.{name}", _UNITS.get(name, "1"), value, found.n, subject=of)
    if found.chosen is not None:
        fit = found.chosen.fit
        yield _number("fit.chosen", "1", float(len(fit.components)), found.n, subject={"distribution": fit.name})


def of_counts(flow: Flow) -> Iterator[Measurement]:
    """What was sent, what arrived, what was lost on the way."""
    received = flow.received
    throughput, interval = batches.mean(flow.rx_mbps)
    yield _number("offered", "Mbit/s", flow.offered_mbps, flow.sent)
    yield _number("throughput", "Mbit/s", throughput, flow.rx_frames, interval)
    yield _number("sent", "1", float(flow.sent), flow.sent)
    yield _number("received", "1", float(received), flow.sent)
    lost = flow.sent - received
    yield _number("loss", "1", lost / flow.sent if flow.sent else 0.0, flow.sent, wilson(lost, flow.sent))
    yield _number("duplicates", "1", float(flow.duplicates), received)
    yield _number("reordered", "1", float(flow.reordered), received)


def of_hops(flow: Flow) -> Iterator[Measurement]:
    """What each hop did, where links were recorded; hop k is element k and the link behind it, the last hop an element alone."""
    path = flow.path
    if not path.wires:
        return
    for hop in range(1, path.hops + 1):
        subject = {"hop": str(hop)}
        yield from _spread("hop.delay", flow.measured(path.hop_us(hop)), flow.cuts, {"p50": 0.5}, subject)
        yield from _spread("hop.element", flow.measured(path.element_us(hop)), flow.cuts, {"p50": 0.5, "p99": 0.99}, subject)
        if hop < path.hops:
            wire = path.wires[hop - 1]
            yield from _spread("hop.queueing", flow.measured(wire.queueing_ns) / 1e3, flow.cuts, {}, subject)
            takes_us = flow.measured(wire.serialisation_ns) / 1e3
            known = takes_us[~np.isnan(takes_us)]
            if len(known):
                yield _number("hop.serialisation", "us", float(known.mean()), len(known), subject=subject)
            yield _number("hop.excess.p50", "us", wire.excess_ns / 1e3, len(wire.differences_ns), _excess(wire, len(flow.cuts)), subject)
            yield _number("hop.lateness.p50", "us", wire.lateness_p50_us, len(wire.differences_ns), subject=subject)
        fate = flow.fates[hop - 1]
        for name, value in (("lost", fate.lost), ("duplicates", fate.duplicates), ("reordered", fate.reordered)):
            yield _number(f"hop.{name}", "1", float(value), fate.came, subject=subject)


def _excess(wire: Wire, batches: int) -> Interval | None:
    """The interval of what is constant behind a link: that of the quantile that it is, and below it what the least lateness may be."""
    values = wire.differences_ns / 1e3
    cuts = np.linspace(0, len(values), batches).astype(np.int64)
    found = next((each for each in _spread("", values, cuts, {"on_time": ON_TIME}, {}) if each.name == ".on_time"), None)
    if found is None or found.interval is None:
        return None
    low, excess_us = max(0.0, found.interval.low - wire.lateness_p50_us), wire.excess_ns / 1e3
    method = f"{found.interval.method}; below, by the median of the lateness that the host measured"
    return Interval(low=min(low, excess_us), high=max(found.interval.high, excess_us), method=method)


def _spread(
    name: str, values: Floats, cuts: npt.NDArray[np.int64], shares: Mapping[str, float], subject: Mapping[str, str]
) -> Iterator[Measurement]:
    """Mean and quantiles of values in the order of sending, with intervals from the batches; nothing where there is no value."""
    there = ~np.isnan(values)
    known = values[there]
    if len(known) == 0:
        return
    edges = np.concatenate([[0], np.cumsum(there)])[cuts - cuts[0]]
    sizes = np.diff(edges)
    sums = np.array([known[low:high].sum() for low, high in itertools.pairwise(edges)])
    mean, interval = batches.ratio(sums, sizes, "batch means")
    yield _number(f"{name}.mean", "us", mean, len(known), interval, subject)
    if not shares:
        return
    select = of_ordered(np.sort(known))
    found = quantiles(select, len(known), list(shares.values()))
    below = [np.array([np.count_nonzero(known[low:high] <= value) for low, high in itertools.pairwise(edges)]) for value in found]
    intervals = quantile_intervals(select, len(known), list(shares.values()), found, below, sizes)
    for label, value, each in zip(shares, found, intervals, strict=True):
        yield _number(f"{name}.{label}", "us", value, len(known), each, subject)


def _number(
    name: str, unit: str, value: float, n: int, interval: Interval | None = None, subject: Mapping[str, str] | None = None
) -> Measurement:
    return Measurement(name=name, unit=unit, value=value, n=n, interval=interval, subject=subject or {})
