"""Campaigns of the kind mpls-flap that never ran: measurements and curves by their names, from a formula, for reports and pages."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from rackproof.model.campaign import CampaignRecord, CampaignState, SamplesFile, TrialRecord
from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from testplans.mpls_flap.expansion import expand
from testplans.mpls_flap.plan import MplsFlapPlan

BEGAN = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
PAPER = [
    {
        "name": f"{family}.{place}",
        "stable": 100 if family in "13" else "same",
        "flapped": {"from": 100, "to": 900, "step": 100} if family in "13" else {"from": 100, "to": 500, "step": 50},
        "frame_bytes": size,
        "rate_mbps": 500 if family in "12" else 900,
    }
    for family in "1234"
    for place, size in enumerate((64, 512, 1500), 1)
]
CHAIN = {"name": "soft-lsr", "model": "soft-lsr", "shape": "chain", "routers": 3}
SINGLE = {"name": "one soft-lsr", "model": "soft-lsr", "shape": "router"}

_TIME = ("time since the flap", "s")
Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True)
class Router:
    """What a made-up network does. lsp_ms: work for each LSP; steal_us: what flaps add to the delay; loss: of the stable LSPs while others
    flap; tears_lost: a share; gap_ms: from RESV to forwarding; growth_us_per_s: of the delay; counts: probes.* and phantoms."""

    lsp_ms: float = 15.5
    delay_us: float = 38.0
    steal_us: float = 0.0
    loss: float = 0.0
    tears_lost: float = 0.0
    gap_ms: float = 0.6
    growth_us_per_s: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict)


def plan(**changes: Any) -> dict[str, Any]:
    """A plan as the file has it, with some keys changed."""
    return {
        "kind": "mpls-flap", "name": "Do stable LSPs notice that others flap?", "testbed": "bench", "networks": [CHAIN], "tests": PAPER[:1],
        **changes,
    }  # fmt: skip


def made_up(
    routers: Mapping[str, Router] | None = None, failures: Mapping[int, TrialResult] | None = None, *, probes: bool = True, **changes: Any
) -> CampaignRecord:
    """A campaign that ran. routers: by network, the good one where there is none; failures: trials that gave another result; probes: there
    were some; changes: keys of the plan."""
    values = MplsFlapPlan.model_validate(plan(**changes))
    records, at = [], BEGAN
    for trial in expand(values):
        started, at = at, at + timedelta(seconds=values.phases.measured_s + 4)
        router = (routers or {}).get(str(trial.point["network"]), Router())
        failed = (failures or {}).get(trial.index)
        came = failed or TrialResult(
            verdict=Verdict.PASS,
            measurements=tuple(_measurements(values, trial, router, probes)),
            curves=tuple(_curves(values, trial, router, probes)),
            health={"lateness_p99_us": 5.0, "lsp.retries": 0.0},
            counters={f"{trial.point['network']}-1.rsvp.path_in": 4 * int(trial.point["flapped"])},
        )
        kept = None if failed else SamplesFile(path=f"9/{trial.index}.parquet", sha256=f"{trial.index:064x}", rows=180_000)
        records.append(TrialRecord(trial=trial, result=came, samples=kept, started=started, ended=at))
    return _campaign(values, records)


def bare(**changes: Any) -> CampaignRecord:
    """A campaign of which no trial has run."""
    values = MplsFlapPlan.model_validate(plan(**changes))
    return _campaign(values, [TrialRecord(trial=trial) for trial in expand(values)])


def _campaign(values: MplsFlapPlan, records: Sequence[TrialRecord]) -> CampaignRecord:
    text = f"kind: mpls-flap\nname: {values.name}\n"
    return CampaignRecord(
        id=11, name=values.name, kind="mpls-flap", testbed=values.testbed, plan=values.model_dump(mode="json"), plan_text=text,
        plan_sha256=hashlib.sha256(text.encode()).hexdigest(), state=CampaignState.DONE, created=BEGAN - timedelta(minutes=2),
        started=BEGAN, ended=records[-1].ended, trials=tuple(records),
        calibration=Calibration(delay_floor_us=1.1, timestamp_error_us_p50=0.2, timestamp_error_us_p99=1.4, honest_fps=180e3, frames=90000),
        provenance={
            "Rackproof": {"version": "0.1.0", "commit": "8c1f0a4be2d97f1d35c2a0cb7f6f3f2a1b0c9d8e"},
            "Host": {"name": "bench-1", "system": "Debian GNU/Linux 12 (bookworm)", "kernel": "6.1.0"},
            **{f"Device {each.device(k)}": {"model": "soft-lsr", "forwarding": "XDP"} for each in values.networks for k in each.numbers},
        },
    )  # fmt: skip


def _came_up(router: Router, flapped: int, window_s: float) -> int:
    """How many of the flapped LSPs are up again in time: all where there is time, fewer and fewer beyond."""
    room = window_s * 1000 / router.lsp_ms
    return round(min(flapped, room - 0.35 * max(0.0, flapped - room)))


def _number(name: str, unit: str, value: float, n: int, half: float | None = None, /, **subject: str) -> Measurement:
    interval = None if half is None else Interval(low=value - half, high=value + half, method="batch means, 20 batches")
    return Measurement(name=name, unit=unit, value=float(value), n=n, interval=interval, subject=subject)


def _of_times(name: str, values: Floats, **subject: str) -> Iterator[Measurement]:
    for label, value in (("mean", values.mean()), ("p50", np.median(values)), ("p99", np.quantile(values, 0.99)), ("max", values.max())):
        yield _number(f"{name}.{label}", "ms", float(value), len(values), 0.02 * float(value) if label != "max" else None, **subject)


def _times(router: Router, trial: Trial, up: int) -> dict[str, Floats]:
    rng = np.random.default_rng(trial.index)
    order = np.arange(1, up + 1) * router.lsp_ms
    gap = router.gap_ms * rng.gamma(4.0, 0.25, up)
    return {
        "teardown": order * 0.25 + rng.uniform(1, 3, up), "establish": order * 0.6 + rng.uniform(4, 9, up), "gap": gap,
        "outage": order + gap + 5.0,
    }  # fmt: skip


def _measurements(values: MplsFlapPlan, trial: Trial, router: Router, probes: bool) -> Iterator[Measurement]:
    rng = np.random.default_rng(trial.index)
    flapped, stable = int(trial.point["flapped"]), int(trial.point["stable"])
    up, total = flapped, 0
    for flap, window in enumerate(values.phases.windows_s, 1):
        of = {"flap": str(flap)}
        lost = round(router.tears_lost * up)
        again = _came_up(router, flapped, window if flap == 1 else 5.0) - round(rng.uniform(0, 4) if flapped > 320 else 0)
        total += up - lost
        for name, value in (
            ("up", up), ("k", again), ("tears_sent", up), ("tears_received", up - lost), ("retries", 3 * lost), ("tears_lost", lost),
            ("failed", flapped - again),
        ):  # fmt: skip
            yield _number(f"flap.{name}", "1", value, flapped, **of)
        for name, found in _times(router, trial, max(again, 2)).items():
            if probes or name in {"teardown", "establish"}:
                yield from _of_times(name, found, **of)
        up = again
    yield _number("k.paper", "1", total - flapped, flapped)
    yield _number("path_tears.received", "1", total, total)
    yield _number("path_tears.raw", "1", total, total)
    counts = {"failed": 0, "established": stable + flapped, "phantoms": 0, "unanswered": 0, **router.counts}
    for name, value in ((name, counts[name]) for name in ("failed", "established", "phantoms", "unanswered")):
        yield _number(name, "1", value, stable + flapped)
    sent = 100_000
    noise = float(rng.normal(0, 0.15))
    for phase in ("prior", "during"):
        during = phase == "during"
        delay = router.delay_us + float(trial.point["frame_bytes"]) / 60 + (router.steal_us + noise if during else 0.0)
        delay += router.growth_us_per_s * (13.5 if during else 5.0)
        lost = round(router.loss * sent) if during else 0
        of = {"phase": phase}
        yield _number("loss", "1", lost / sent, sent, 3e-5, **of)
        for label, factor in (("mean", 1.0), ("p50", 0.98), ("p99", 1.8), ("max", 6.0)):
            yield _number(f"delay.{label}", "us", delay * factor, sent, None if label == "max" else 0.2 * factor, **of)
        yield _number("ipdv.p99", "us", 11.0, sent, 0.5, **of)
        for name in ("throughput", "offered"):
            yield _number(name, "Mbit/s", float(trial.point["offered_mbps"]), sent, 0.01 if name == "throughput" else None, **of)
        for name, value in (("sent", sent), ("received", sent - lost), ("reordered", 0), ("duplicates", 0)):
            yield _number(name, "1", value, sent, **of)
        yield _number("lsp.loss.max", "1", 3 * router.loss if during else 0.0, stable, **of)
        yield _number("lsp.delay.spread", "us", 1.3, stable, **of)
        yield _number("delay.slope", "us/s", router.growth_us_per_s, sent, 0.05, **of)
    growth = 8.5 * router.growth_us_per_s
    yield _number("effect.delay", "us", router.steal_us + noise + growth, stable, 0.4 + 0.02 * router.steal_us)
    yield _number("effect.busy", "us", router.steal_us * 1.4 + 2 * noise + growth, stable, 0.9 + 0.03 * router.steal_us)
    yield _number("effect.loss", "1", router.loss, sent, 3e-5)
    if probes:
        for name in ("wrong_label", "stale", "lost_up", "misclassed"):
            yield _number(f"probes.{name}", "1", counts.get(name, 0), 14_000)
            yield _number(f"probes.{name}.lsps", "1", min(counts.get(name, 0), flapped), flapped)
        yield _number("gap.early", "1", flapped if router.gap_ms > 10 else 0, flapped)


def _curve(name: str, x: tuple[str, str], y: tuple[str, str], xs: Floats, ys: Floats, **subject: str) -> Curve:
    return Curve(
        name=name, x_name=x[0], x_unit=x[1], y_name=y[0], y_unit=y[1], x=tuple(np.round(xs, 5).tolist()), y=tuple(np.round(ys, 5).tolist()),
        n=len(xs), subject=subject,
    )  # fmt: skip


def _curves(values: MplsFlapPlan, trial: Trial, router: Router, probes: bool) -> Iterator[Curve]:
    rng = np.random.default_rng(trial.index)
    flapped, stable = int(trial.point["flapped"]), int(trial.point["stable"])
    last = len(values.phases.windows_s)
    for flap, window in enumerate(values.phases.windows_s, 1):
        up = max(_came_up(router, flapped, 5.0), 2)
        found = _times(router, trial, up)
        for name, each in found.items():
            if probes or name in {"teardown", "establish"}:
                kept = np.sort(each)[:: max(1, up // 200)]
                yield _curve(name, ("time", "ms"), ("cumulative share", "1"), kept, np.arange(1, len(kept) + 1) / len(kept), flap=str(flap))
        x = np.linspace(-0.5, window + (values.phases.drain_s if flap == last else 0.0), 300)
        rises = {
            "tears_sent": np.arange(flapped) * 0.5, "tears_received": found["teardown"], "paths_sent": found["teardown"] + 1.0,
            "paths_received": found["teardown"] + found["establish"] * 0.5, "resvs_received": found["teardown"] + found["establish"],
        }  # fmt: skip
        so_far = {name: np.searchsorted(np.sort(each) / 1e3, x).astype(float) for name, each in rises.items()}
        of = {"flap": str(flap)}
        for name, ys in so_far.items():
            yield _curve(f"timeline.{name}", _TIME, ("messages", "1"), x, ys, **of)
        ys = np.clip(flapped - so_far["tears_sent"] + so_far["resvs_received"], 0, flapped)
        yield _curve("timeline.up", _TIME, ("LSPs", "1"), x, ys, **of)
        busy = (x > 0) & (x < up * router.lsp_ms / 1e3)
        frames = rng.poisson(router.loss * 330, len(x)) * busy
        yield _curve("timeline.lost", _TIME, ("lost frames", "1"), x, frames.astype(float), **of)
        if probes:
            yield _curve(
                "timeline.probes_lost",
                _TIME,
                ("lost probes", "1"),
                x,
                (rng.poisson(4.0, len(x)) * busy).astype(np.float64),
                **of,
            )
        delay = router.delay_us + router.steal_us * busy + rng.normal(0, 0.6, len(x)) + router.growth_us_per_s * (x + 10)
        yield _curve("timeline.delay", _TIME, ("mean delay", "us"), x, delay, **of)
        yield _curve("timeline.delay.p99", _TIME, ("99th percentile of the delay", "us"), x, delay * 1.7 + rng.gamma(2, 2, len(x)), **of)
    lsps = np.arange(stable, dtype=float)
    for phase, more in (("prior", 0.0), ("during", router.steal_us)):
        yield _curve(
            "lsp.delay", ("LSP", "1"), ("mean delay", "us"), lsps, router.delay_us + more + rng.normal(0, 0.3, stable), phase=phase
        )
        loss = rng.uniform(0, 2 * router.loss, stable) * (phase == "during")
        yield _curve("lsp.loss", ("LSP", "1"), ("loss", "1"), lsps, loss, phase=phase)
