"""Campaigns that never ran, with numbers like those of the bench: the ideal switch, a little noise, and a device with defects."""

import dataclasses
import hashlib
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from rackproof.model.campaign import CampaignRecord, CampaignState, SamplesFile, TrialRecord
from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict, worst
from testplans.switch_qos import criteria, of_plan
from testplans.switch_qos.expansion import expand
from testplans.switch_qos.plan import SwitchQosPlan

BEGAN = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
DEMO: dict[str, Any] = {
    "kind": "switch-qos",
    "name": "Strict priority and weighted round robin at 100 Mbit/s",
    "description": "The kernel's own scheduler and the reference switch of the bench, beside a reference switch with two planted defects.",
    "devices": ["linux-htb", "reference", {"name": "reference-faulty", "model": "reference", "options": {"leak": 0.05, "unfair": 0.5}}],
    "disciplines": ["strict-priority", {"discipline": "wrr-bytes", "weights": [0.1, 0.2, 0.3, 0.4]}],
    "queues": {"count": 4, "length_frames": 100},
    "traffic": {"senders": 8, "frame_bytes": 1518, "arrivals": "poisson"},
    "link": {"rate_mbps": 100, "layer": "L1"},
    "load": {"per_sender_mbps": [10, 15, 22, 40, 60]},
    "criteria": {"fairness_spread_max": 0.2},
    "expect": [{"device": "reference-faulty", "criteria": ["sp.leak", "sp.top_share", "fairness", "throughput.deviation"]}],
}


def demo(seed: int = 1, **changes: Any) -> CampaignRecord:
    """A campaign as `make demo` runs it. changes replace keys of the plan."""
    plan = SwitchQosPlan.model_validate({**DEMO, **changes})
    rng = np.random.default_rng(seed)
    records, at = [], BEGAN + timedelta(seconds=4)
    for trial in expand(plan):
        records.append(_record(plan, trial, rng, at))
        at += timedelta(seconds=trial.duration_s + 0.05)
    text = (
        "# Two switches and a broken one.\nkind: switch-qos\nname: Strict priority and weighted round robin at 100 "
        "Mbit/s\ndevices:\n  - linux-htb\n"
    )
    campaign = CampaignRecord(
        id=7,
        name=plan.name,
        kind=plan.kind,
        testbed=plan.testbed,
        plan=plan.model_dump(mode="json"),
        plan_text=text,
        plan_sha256=hashlib.sha256(text.encode()).hexdigest(),
        state=CampaignState.DONE,
        created=BEGAN - timedelta(minutes=2),
        started=BEGAN,
        ended=at,
        calibration=Calibration(
            delay_floor_us=3.91,
            timestamp_error_us_p50=0.42,
            timestamp_error_us_p99=2.87,
            honest_fps=412345.0,
            frames=4000,
            detail={"frame_bytes": 512, "slow_fps": 10000.0, "gap_p10_us": 99.61, "gap_p90_us": 100.4, "ceiling_fps": 634377.2},
        ),
        trials=tuple(records),
        provenance={
            "Rackproof": {"version": "0.1.0", "commit": "8c1f0a4be2d97f1d35c2a0cb7f6f3f2a1b0c9d8e", "python": "3.11.7", "numpy": "2.4.6"},
            "Host": {"name": "bench-1", "system": "Debian GNU/Linux 12 (bookworm)", "clock": "sender and receiver read the same clock"},
            "Testbed": {"name": "bench", "kernel": "6.1.0", "cpus": "2"},
            **{f"Device {device.name}": {"model": device.model, "version": "6.1.0"} for device in plan.devices},
        },
        configurations=_configurations(plan),
    )
    findings = criteria.conclude(campaign)
    return dataclasses.replace(campaign, findings=findings, verdict=worst(finding.verdict for finding in findings))


def troubled() -> CampaignRecord:
    """The same with an INVALID and an ERROR trial, one that did not run, and a seam; aborted before its end."""
    campaign = demo()
    trials = list(campaign.trials)
    trials[4] = dataclasses.replace(
        trials[4],
        result=dataclasses.replace(
            trials[4].result or TrialResult(verdict=Verdict.PASS),
            verdict=Verdict.INVALID,
            reason="sender 3 sent 480 frames where 494 were intended",
        ),
    )
    trials[12] = dataclasses.replace(
        trials[12], result=TrialResult(verdict=Verdict.ERROR, reason="device reference: it did not come up in 5 s"), samples=None
    )
    trials[29] = TrialRecord(trial=trials[29].trial)
    seam = trials[17].started
    assert seam is not None
    broken = dataclasses.replace(
        campaign, trials=tuple(trials), resumed=(seam,), state=CampaignState.ABORTED, verdict=Verdict.ABORTED, reason="Stopped by a person."
    )
    return dataclasses.replace(broken, findings=criteria.conclude(broken))


def _record(plan: SwitchQosPlan, trial: Trial, rng: np.random.Generator, at: datetime) -> TrialRecord:
    measurements, curves = [], []
    for measurement, curve in _observed(plan, trial, rng):
        measurements += [measurement] if measurement else []
        curves += [curve] if curve else []
    health = {
        "lateness_p99_us": float(rng.uniform(2, 30)),
        "lateness_max_us": float(rng.uniform(60, 300)),
        "ring_drops": 0.0,
        "foreign_frames": 0.0,
        "clock_step_us": float(rng.normal(0, 0.2)),
        "host_load": float(rng.uniform(0.8, 1.6)),
        "unsent_frames": 0.0,
    }
    result = TrialResult(
        verdict=Verdict.PASS,
        measurements=tuple(measurements),
        curves=tuple(curves),
        health=health,
        counters={f"queue.{queue}.dropped": int(rng.integers(0, 9000)) for queue in plan.used_queues},
    )
    path = Path("7") / f"{trial.index:05}.parquet"
    samples = SamplesFile(path=str(path), sha256=hashlib.sha256(str(path).encode()).hexdigest(), rows=int(rng.integers(8000, 9000)))
    return TrialRecord(trial=trial, result=result, samples=samples, started=at, ended=at + timedelta(seconds=trial.duration_s))


def _observed(plan: SwitchQosPlan, trial: Trial, rng: np.random.Generator) -> Iterator[tuple[Measurement | None, Curve | None]]:
    load = float(trial.point["load_mbps"])
    scheduler = plan.scheduler(str(trial.point["scheduler"]))
    faulty = "faulty" in str(trial.point["device"])
    promise = of_plan.point(plan, scheduler, load)
    got = dict(promise.queue_mbps)
    full = promise.link_share > 1
    top = max(got)
    if full:
        for queue in got:
            got[queue] *= 0.9985
        if faulty and not scheduler.weights:
            taken = 0.05 * got[top]
            got[top] -= taken
            got[0] = min(promise.queue_offered_mbps[0], got[0] + taken)
    total, frame_bits = sum(got.values()), 12304.0
    per_s = 1e6 / frame_bits * plan.trial.duration_s
    wait_ms = plan.full_queue_s * 1e3

    def one(name: str, unit: str, value: float, n: float, half: float | None, subject: dict[str, str]) -> tuple[Measurement, None]:
        noisy = value if half is None or not math.isfinite(value) else value + float(rng.normal(0, half / 3))
        interval = None
        if half is not None and math.isfinite(value):
            interval = Interval(low=noisy - half, high=noisy + half, method=f"batch means, {plan.trial.batches} batches")
        return Measurement(name=name, unit=unit, value=noisy, n=int(n), interval=interval, subject=subject), None

    def subject(labels: dict[str, str], offered: float, rate: float, mean_ms: float) -> Iterator[tuple[Measurement, None]]:
        loss = max(1 - rate / offered, 0.0)
        yield one("offered", "Mbit/s", offered, offered * per_s, None, labels)
        yield one("throughput", "Mbit/s", rate, rate * per_s, max(rate * 0.002, 1e-3), labels)
        yield one("frame_loss_rate", "1", loss, offered * per_s, 0.001 if loss else 0.0002, labels)
        count = rate * per_s if rate > 1e-6 else 0
        for name, factor in (("mean", 1.0), ("p50", 0.95), ("p95", 1.6), ("p99", 2.1), ("p999", 2.6), ("max", 2.9)):
            mean = mean_ms if count else math.inf
            yield one(f"delay.{name}", "us", mean * 1e3 * factor, count, None if name == "max" else mean * factor * 4, labels)
        if count:
            yield one("delay_variation", "us", 60.0, count - 1, 1.3, labels)
        for name in ("reordered", "duplicates"):
            yield one(name, "frames", 0.0, count, None, labels)

    delays = {}
    for queue, rate in got.items():
        offered = promise.queue_offered_mbps[queue]
        saturated = rate < offered * 0.98
        delays[queue] = (
            (wait_ms * promise.capacity_mbps / rate if rate > 1e-6 else math.inf) if saturated else 0.16 + 0.1 * (top - queue) + load / 300
        )
        yield from subject({"queue": str(queue)}, offered, rate, delays[queue])
        yield None, _curve(queue, delays[queue], rate / offered, int(offered * per_s))
        yield one("deviation.throughput", "Mbit/s", rate - promise.queue_mbps[queue], rate * per_s, 0.06, {"queue": str(queue)})
        yield one("throughput_ratio", "1", rate / total, rate * per_s, 0.0012, {"queue": str(queue)})
        senders = plan.senders_of(queue)
        tilt = 0.25 if faulty and saturated and len(senders) > 1 else 0.004
        if rate > 1e-6:
            yield one("fairness.jain", "1", 1 - tilt**2, rate * per_s, 0.0005, {"queue": str(queue)})
            yield one("fairness.spread", "1", 2 * tilt, rate * per_s, 0.03, {"queue": str(queue)})
        for place, sender in enumerate(senders):
            share = 1 + tilt * (1 if place == 0 else -1) if len(senders) == 2 else 1.0
            yield from subject(
                {"flow": str(sender)}, offered / len(senders), min(rate / len(senders) * share, offered / len(senders)), delays[queue]
            )
    if all(math.isfinite(delay) for delay in delays.values()):
        for queue, delay in delays.items():
            yield one("delay_ratio", "1", delay / sum(delays.values()), got[queue] * per_s, 0.004, {"queue": str(queue)})
    yield from subject({}, sum(promise.queue_offered_mbps.values()), total, 4.2)
    yield one("wasted", "Mbit/s", promise.total_mbps - total, total * per_s, 0.05, {})


def _curve(queue: int, mean_ms: float, arrived: float, n: int) -> Curve:
    x: tuple[float, ...] = (0.0,)
    y: tuple[float, ...] = (0.0,)
    if math.isfinite(mean_ms):
        shares = np.concatenate([np.linspace(0.01, 0.99, 90), 1 - np.geomspace(0.01, 0.0005, 60)])
        x = tuple(
            float(value)
            for value in mean_ms * 1e3 * (0.55 + 0.25 * (-np.log(1 - shares)) ** 0.8 if queue < 2 else 0.7 + 0.13 * -np.log(1 - shares))
        )
        y = tuple(float(value) for value in shares * arrived)
        x = tuple(sorted(x))
    return Curve(
        name="delta_q",
        x_name="delay",
        x_unit="us",
        y_name="cumulative probability",
        y_unit="1",
        x=x,
        y=y,
        n=n,
        subject={"queue": str(queue)},
    )


def _configurations(plan: SwitchQosPlan) -> dict[str, str]:
    texts = {}
    for device in plan.devices:
        before = "qdisc noqueue 0: dev out root refcnt 2\nbridge vlan_filtering 0 stp_state 0\n"
        for scheduler in plan.disciplines:
            classes = "".join(f"class htb 1:{queue + 1} parent 1: prio {queue} rate 8Kbit ceil 100Mbit\n" for queue in plan.used_queues)
            texts[f"{device.name}, before {scheduler.discipline}"] = before
            texts[f"{device.name}, as tested with {scheduler.discipline}"] = before.replace("noqueue 0:", "htb 1:") + classes
            texts[f"{device.name}, after {scheduler.discipline}"] = before
    return texts
