"""One trial of the kind xpfe-delay with made-up delays: measurements and curves as the analysis names them."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.model.xcf import ENCAPSULATION_BYTES

FRAMES = 3000
#: What an element takes: fixed [us], per byte [us], deviation [us]. "paper" is like the paper's Lagopus, "bench" like namespaces.
ELEMENTS = {"paper": (8.5, 0.015, 1.6), "bench": (1.3, 0.0002, 0.12)}
_GAP_BYTES = 20
_BLOCK = 24.0

Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Hop:
    element: Array
    queueing: Array
    serialisation: float
    excess: float


def result(
    values: Mapping[str, Any], trial: Trial, element: tuple[float, float, float], rng: np.random.Generator, *, taps: bool
) -> TrialResult:
    """What the analysis would say of a trial. element: an entry of ELEMENTS; taps: the wires were recorded."""
    size, rate, many = int(trial.point["frame_bytes"]), float(trial.point["rate_mbps"]), int(trial.point["hops"])
    hops = _hops(values, size, rate, many, element, rng)
    delay = sum((hop.element + hop.queueing + hop.serialisation + hop.excess for hop in hops), np.zeros(FRAMES))
    lost = 2 if rate >= 750 and size <= 500 else 0
    fits = _fits(delay)
    measurements = [
        *_delays(values, delay, min(fits, key=lambda fit: fit.error)),
        *(each for fit in fits for each in fit.measurements(delay)),
        _number("autocorrelation.block", _BLOCK, "frames", FRAMES),
        _number("effective", FRAMES / 5.2, "1", FRAMES),
        *_counts(trial, delay, lost),
        *(_per_hop(hops, lost) if taps else ()),
    ]
    best = min(fits, key=lambda fit: fit.error).name
    measurements.append(_number("fit.chosen", float(best[-1]) if "mixture" in best else 1.0, "1", FRAMES, {"distribution": best}))
    return TrialResult(
        verdict=Verdict.PASS,
        measurements=tuple(measurements),
        curves=tuple(_curves(delay, fits, hops if taps else (), lost)),
        health={"lateness_p99_us": 18.0, "ring_drops": 0.0, **({"wires.lateness_p99_us": 6.5, "wires.ring_drops": 0.0} if taps else {})},
    )


def _hops(
    values: Mapping[str, Any], size: int, rate: float, many: int, element: tuple[float, float, float], rng: np.random.Generator
) -> list[_Hop]:
    fixed, per_byte, deviation = element
    planted = {int(each["hop"]): float(each["delay_us"]) for each in values.get("planted", ())}
    # As in the paper: at the lowest rate there are two modes.
    slow = (rng.random(FRAMES) < 0.35) * 3.0 * deviation * (rate <= 250)
    found = []
    for hop in range(1, many + 1):
        busy = fixed + per_byte * size + 0.15 * fixed * rate / 750
        wire = hop < many
        found.append(
            _Hop(
                element=busy + np.abs(rng.normal(0, deviation, FRAMES) + 2 * deviation) - 2 * deviation - slow,
                queueing=rng.exponential(0.1 * rate / 250, FRAMES) * (rng.random(FRAMES) < 0.3) * wire,
                serialisation=(size + ENCAPSULATION_BYTES + _GAP_BYTES) * 8 / float(values["link"]["rate_mbps"]) * wire,
                excess=planted.get(hop, 0.0) * wire,
            )
        )
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Fit:
    name: str
    parameters: Mapping[tuple[str, str], float]
    parts: tuple[tuple[float, Any], ...]
    error: float

    def density(self, x: Array) -> Array:
        return sum((weight * part.pdf(x) for weight, part in self.parts), np.zeros(len(x)))

    def measurements(self, delay: Array) -> Iterator[Measurement]:
        subject = {"distribution": self.name}
        ordered = np.sort(delay)
        cumulative = sum((weight * part.cdf(ordered) for weight, part in self.parts), np.zeros(len(ordered)))
        ks = float(np.abs(cumulative - (np.arange(len(ordered)) + 0.5) / len(ordered)).max())
        likelihood = float(np.log(np.maximum(self.density(ordered), 1e-12)).sum())
        yield _number("fit.error", self.error, "1/us", FRAMES, subject)
        yield _number("fit.ks", ks, "1", FRAMES, subject)
        yield _number("fit.ks_p", math.exp(-2000 * ks**2), "1", FRAMES, subject)
        yield _number("fit.ad", 900 * ks**2, "1", FRAMES, subject)
        yield _number("fit.ad_p", math.exp(-2500 * ks**2), "1", FRAMES, subject)
        yield _number("fit.bic", len(self.parameters) * math.log(FRAMES) - 2 * likelihood, "1", FRAMES, subject)
        for (name, component), value in self.parameters.items():
            more = {"component": component} if component else {}
            yield _number(f"fit.parameter.{name}", value, "us" if name != "shape" else "1", FRAMES, {**subject, **more})


def _fits(delay: Array) -> list[_Fit]:
    mean, deviation = float(delay.mean()), float(delay.std())
    middle = float(np.quantile(delay, 0.35))
    sides = [delay[delay <= middle], delay[delay > middle]]
    pair = [(len(side) / len(delay), float(side.mean()), float(side.std())) for side in sides]
    shape, scale = (mean / deviation) ** 2, deviation**2 / mean
    logs = np.log(delay)
    candidates: list[tuple[str, dict[tuple[str, str], float], tuple[tuple[float, Any], ...]]] = [
        ("gaussian", {("mean", ""): mean, ("deviation", ""): deviation}, ((1.0, stats.norm(mean, deviation)),)),
        ("gamma", {("shape", ""): shape, ("scale", ""): scale}, ((1.0, stats.gamma(shape, scale=scale)),)),
        (
            "log-normal",
            {("shape", ""): float(logs.std()), ("scale", ""): math.exp(logs.mean())},
            ((1.0, stats.lognorm(logs.std(), scale=math.exp(logs.mean()))),),
        ),
        ("exponential", {("mean", ""): mean}, ((1.0, stats.expon(scale=mean)),)),
        (
            "mixture-2",
            {
                (name, str(at)): value
                for at, part in enumerate(pair, 1)
                for name, value in zip(("weight", "mean", "deviation"), part, strict=True)
            },
            tuple((weight, stats.norm(centre, spread)) for weight, centre, spread in pair),
        ),
    ]
    edges = np.histogram_bin_edges(delay, "fd")
    density, _ = np.histogram(delay, edges, density=True)
    middles = (edges[:-1] + edges[1:]) / 2
    made = [_Fit(name=name, parameters=parameters, parts=parts, error=0.0) for name, parameters, parts in candidates]
    return [dataclasses.replace(fit, error=float(np.sqrt(((fit.density(middles) - density) ** 2).mean()))) for fit in made]


def _delays(values: Mapping[str, Any], delay: Array, best: _Fit) -> Iterator[Measurement]:
    spread = float(delay.std()) / math.sqrt(FRAMES / 5.2)
    free, fitted = f"block bootstrap, blocks of {_BLOCK:g} frames", f"parametric bootstrap of the {best.name} fit"
    names = {"mean": float(delay.mean()), **{_percentile(each): float(np.quantile(delay, each / 100)) for each in values["percentiles"]}}
    for name, value in names.items():
        half = (2 if name == "mean" else 5) * spread
        yield _number(f"delay.{name}", value, "us", FRAMES, half=half, method=free)
        yield _number(f"delay.fit.{name}", value + 0.3 * half, "us", FRAMES, half=0.8 * half, method=fitted)
    yield _number("delay.min", float(delay.min()), "us", FRAMES)
    yield _number("delay.max", float(delay.max()), "us", FRAMES)
    yield _number("delay.raw.mean", float(delay.mean()) + 3.1, "us", FRAMES, half=2 * spread, method=free)


def _percentile(percent: float) -> str:
    return f"p{percent:g}".replace(".", "_")


def _counts(trial: Trial, delay: Array, lost: int) -> Iterator[Measurement]:
    offered = float(trial.point["offered_mbps"])
    yield _number("offered", offered, "Mbit/s", FRAMES)
    yield _number("throughput", offered * (1 - lost / FRAMES), "Mbit/s", FRAMES, half=0.002 * offered, method="batch means")
    yield _number("sent", FRAMES + lost, "1", FRAMES)
    yield _number("received", FRAMES, "1", FRAMES)
    yield _number("loss", lost / (FRAMES + lost), "1", FRAMES + lost, half=lost / FRAMES + 6e-4, method="Wilson")
    yield _number("duplicates", 0.0, "1", FRAMES)
    yield _number("reordered", float(len(delay) % 7), "1", FRAMES)


def _per_hop(hops: Sequence[_Hop], lost: int) -> Iterator[Measurement]:
    for at, hop in enumerate(hops, 1):
        subject = {"hop": str(at)}
        whole = hop.element + hop.queueing + hop.serialisation + hop.excess
        yield _number("hop.delay.mean", float(whole.mean()), "us", FRAMES, subject, half=0.1, method="block bootstrap")
        yield _number("hop.delay.p50", float(np.median(whole)), "us", FRAMES, subject, half=0.1, method="order statistics")
        yield _number("hop.element.mean", float(hop.element.mean()), "us", FRAMES, subject, half=0.1, method="block bootstrap")
        yield _number("hop.element.p50", float(np.median(hop.element)), "us", FRAMES, subject, half=0.1, method="order statistics")
        yield _number("hop.element.p99", float(np.quantile(hop.element, 0.99)), "us", FRAMES, subject, half=0.3, method="order statistics")
        yield _number("hop.lost", float(lost * (at == 2)), "1", FRAMES, subject)
        yield _number("hop.duplicates", 0.0, "1", FRAMES, subject)
        yield _number("hop.reordered", 0.0, "1", FRAMES, subject)
        if at < len(hops):
            yield _number("hop.queueing.mean", float(hop.queueing.mean()), "us", FRAMES, subject, half=0.05, method="block bootstrap")
            yield _number("hop.serialisation", hop.serialisation, "us", FRAMES, subject)
            yield _number("hop.excess.p50", hop.excess + 0.02, "us", FRAMES, subject, half=0.05, method="order statistics")
            yield _number("hop.lateness.p50", 2.8, "us", FRAMES, subject)


def _curves(delay: Array, fits: Sequence[_Fit], hops: Sequence[_Hop], lost: int) -> Iterator[Curve]:
    edges = np.histogram_bin_edges(delay, "fd")
    density, _ = np.histogram(delay, edges, density=True)
    yield _curve("histogram", "density", "1/us", edges, [*density, 0.0])
    grid = np.linspace(edges[0], edges[-1], 200)
    for fit in fits:
        yield _curve("fit", "density", "1/us", grid, fit.density(grid), {"distribution": fit.name})
    levels = np.linspace(0.005, 1.0, 200)
    arrived = FRAMES / (FRAMES + lost)
    yield _curve("delta-q", "arrived", "1", np.quantile(delay, levels), levels * arrived)
    so_far = np.zeros(FRAMES)
    for at, hop in enumerate(hops, 1):
        alone = hop.element + hop.queueing + hop.serialisation + hop.excess
        so_far = so_far + alone
        share = arrived if at >= 2 else 1.0
        yield _curve("hop.delta-q", "arrived", "1", np.quantile(alone, levels), levels * (arrived if at == 2 else 1.0), {"hop": str(at)})
        yield _curve("delta-q", "arrived", "1", np.quantile(so_far, levels), levels * share, {"hop": str(at)})


def _curve(name: str, what: str, unit: str, x: Any, y: Any, subject: Mapping[str, str] | None = None) -> Curve:
    return Curve(
        name=name, x_name="delay", x_unit="us", y_name=what, y_unit=unit, n=FRAMES, subject=subject or {},
        x=tuple(map(float, x)), y=tuple(map(float, y)),
    )  # fmt: skip


def _number(
    name: str, value: float, unit: str, n: int, subject: Mapping[str, str] | None = None, *, half: float = 0.0, method: str = ""
) -> Measurement:
    interval = Interval(low=value - half, high=value + half, method=method) if half else None
    return Measurement(name=name, unit=unit, value=value, n=n, interval=interval, subject=subject or {})
