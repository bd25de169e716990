"""Campaigns that never ran: the published runs of Pantheon, and made-up ones with samples like those of the bench."""

import csv
import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from rackproof.model.campaign import CampaignRecord, CampaignState, SamplesFile, TrialRecord
from rackproof.model.finding import Finding
from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.path import BACKWARD, DROPPED, FORWARD
from rackproof.model.traffic import Samples
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict, worst
from testplans.congestion_control.expansion import expand
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.congestion_control.view import scheme_topic

BEGAN = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
#: Pantheon's labels in the order of its report, with our ids.
LABELS = {
    "bbr": "TCP BBR",
    "cubic": "TCP Cubic",
    "ledbat": "LEDBAT",
    "pcc": "PCC",
    "quic-cubic": "QUIC Cubic",
    "scream": "SCReAM",
    "webrtc": "WebRTC media",
    "sprout": "Sprout",
    "taova": "TaoVA-100x",
    "vegas": "TCP Vegas",
    "verus": "Verus",
    "copa": "Copa",
    "fillp": "FillP",
    "indigo": "Indigo",
    "vivace-latency": "Vivace-latency",
    "vivace-loss": "Vivace-loss",
    "vivace-lte": "Vivace-LTE",
}
#: Throughput [Mbit/s], queueing delay [ms] and loss of the made-up runs: those of the seed, about.
_LIKE = {
    "bbr": (39.2, 60, 0.0023), "cubic": (38.8, 120, 0.0058), "ledbat": (36.3, 60, 0.0017), "pcc": (13.4, 10, 0.0015),
    "quic-cubic": (38.4, 110, 0.0052), "scream": (0.3, 1, 0.0), "webrtc": (2.3, 4, 0.0), "sprout": (15.9, 8, 0.0003),
    "taova": (5.8, 7, 0.0002), "vegas": (7.2, 20, 0.0), "verus": (35.2, 130, 0.0662), "copa": (22.7, 20, 0.0),
    "fillp": (39.2, 150, 0.38), "indigo": (2.1, 5, 0.0), "vivace-latency": (2.7, 2, 0.0), "vivace-loss": (37.5, 60, 0.12),
    "vivace-lte": (8.7, 5, 0.0),
}  # fmt: skip


def published(runs: Path) -> CampaignRecord:
    """The runs of a published report: scheme, run, start, end, clock offsets, throughput, delay, loss."""
    with runs.open() as file:
        rows = list(csv.DictReader(file))
    ids = {label: scheme for scheme, label in LABELS.items()}
    plan = _plan(schemes=[ids[label] for label in dict.fromkeys(row["scheme"] for row in rows)], repetitions=3)
    by_run = {(ids[row["scheme"]], int(row["run"])): row for row in rows}

    def record(trial: Trial) -> TrialRecord:
        row = by_run[str(trial.point["scheme"]), trial.repetition]
        start, end = (datetime.fromisoformat(row[key]).replace(tzinfo=UTC) for key in ("start", "end"))
        health = {f"clock_offset.{side}_ms": float(row[f"{side}_clock_offset_ms"]) for side in ("local", "remote")}
        if not row["throughput_mbps"]:
            result = TrialResult(
                verdict=Verdict.INVALID, reason="no valid statistics: its packets span less than 0.8 of the runtime", health=health
            )
            return TrialRecord(trial=trial, result=result, started=start, ended=end)
        numbers = (
            ("throughput", "Mbit/s", float(row["throughput_mbps"])),
            ("delay.p95", "ms", float(row["delay_p95_ms"])),
            ("loss.pantheon", "1", float(row["loss_percent"]) / 100),
        )
        subjects = [{"flow": flow} for flow in ("1", "all")]
        measurements = tuple(
            Measurement(name=name, unit=unit, value=value, n=1, subject=subject) for subject in subjects for name, unit, value in numbers
        )
        return TrialRecord(
            trial=trial, result=TrialResult(verdict=Verdict.PASS, measurements=measurements, health=health), started=start, ended=end
        )

    return _campaign(plan, [record(trial) for trial in expand(plan)])


def made_up(
    keep: Callable[[int, Samples], SamplesFile | None] = lambda _index, _samples: None,
    failures: Mapping[int, TrialResult] | None = None,
    seed: int = 1,
    **changes: Any,
) -> CampaignRecord:
    """A campaign with samples. keep: stores those of a trial; failures: trials that gave another result; changes: keys of the plan."""
    plan = _plan(**changes)
    rng = np.random.default_rng(seed)
    records, at = [], BEGAN
    for trial in expand(plan):
        flows = dict(plan.tests)[str(trial.point["scheme"])]
        started, at = at, at + timedelta(seconds=plan.runtime_s + 1.5)
        failed = (failures or {}).get(trial.index)
        if failed is not None:
            records.append(TrialRecord(trial=trial, result=failed, started=started, ended=at))
            continue
        samples = _samples(plan, flows, rng, int(started.timestamp() * 1e9))
        result = _result(plan, trial, flows, samples)
        records.append(TrialRecord(trial=trial, result=result, samples=keep(trial.index, samples), started=started, ended=at))
    return _campaign(plan, records)


def bare(**changes: Any) -> CampaignRecord:
    """A campaign of which no trial has run."""
    plan = _plan(**changes)
    return _campaign(plan, [TrialRecord(trial=trial) for trial in expand(plan)])


def judged(campaign: CampaignRecord, findings: tuple[Finding, ...]) -> CampaignRecord:
    """The campaign with its findings and the worst of their verdicts."""
    return dataclasses.replace(campaign, findings=findings, verdict=worst(finding.verdict for finding in findings))


def _plan(**changes: Any) -> CongestionControlPlan:
    values = {
        "kind": "congestion-control",
        "name": "Seventeen schemes on a cellular-like path",
        "schemes": list(LABELS),
        "repetitions": 3,
        "order": "plan",
        "path": {"forward": {"rate_mbps": 40, "delay_ms": 20, "buffer_bytes": 500000}},
        **changes,
    }
    return CongestionControlPlan.model_validate(values)


def _campaign(plan: CongestionControlPlan, records: Sequence[TrialRecord]) -> CampaignRecord:
    text = f"kind: congestion-control\nname: {plan.name}\n"
    schemes = dict.fromkeys(scheme for _, flows in plan.tests for scheme in flows)
    return CampaignRecord(
        id=9,
        name=plan.name,
        kind=plan.kind,
        testbed=plan.testbed,
        plan=plan.model_dump(mode="json"),
        plan_text=text,
        plan_sha256=hashlib.sha256(text.encode()).hexdigest(),
        state=CampaignState.DONE,
        created=BEGAN - timedelta(minutes=2),
        started=BEGAN,
        ended=records[-1].ended,
        trials=tuple(records),
        provenance={
            "Rackproof": {"version": "0.1.0", "commit": "8c1f0a4be2d97f1d35c2a0cb7f6f3f2a1b0c9d8e"},
            "Host": {"name": "bench-1", "system": "Debian GNU/Linux 12 (bookworm)", "kernel": "6.1.0", "net.core.rmem_max": "33554432"},
            **{scheme_topic(each): {"label": LABELS.get(each, each), "program": "iperf3", "version": "3.12"} for each in schemes},
        },
    )


def _samples(plan: CongestionControlPlan, flows: Sequence[str], rng: np.random.Generator, begin_ns: int) -> Samples:
    columns: list[tuple[np.ndarray[Any, Any], ...]] = []
    for flow, scheme in enumerate(flows, 1):
        rate, queue_ms, loss = _LIKE[scheme]
        start_s = (flow - 1) * plan.flow_interval_s
        span_s = plan.runtime_s - start_s
        count = int(rate / len(flows) * 1e6 * span_s / (1500 * 8) * rng.uniform(0.93, 1.05))
        sent = np.sort(rng.uniform(0, span_s, count))
        wave = queue_ms * ((sent * rng.uniform(0.1, 0.4)) % 1.0) + rng.exponential(0.5, count)
        ingress = begin_ns + ((start_s + sent) * 1e9).astype(np.int64)
        egress = ingress + ((20 + wave) * 1e6).astype(np.int64)
        egress[rng.random(count) < loss] = DROPPED
        columns.append((ingress, egress, np.full(count, flow), np.full(count, FORWARD)))
        columns.append(
            (ingress[::2] + 10**6, ingress[::2] + 21 * 10**6, np.full(len(ingress[::2]), flow), np.full(len(ingress[::2]), BACKWARD))
        )
    ingress, egress, stream, port = (np.concatenate(each) for each in zip(*columns, strict=True))
    order = np.argsort(ingress, kind="stable")
    count = len(order)
    return Samples(
        tx_ns=ingress[order],
        rx_ns=egress[order],
        sequence=np.arange(count, dtype=np.uint32),
        stream=stream[order].astype(np.uint16),
        frame_bytes=np.full(count, 1500, np.uint16),
        port=port[order].astype(np.uint16),
        pcp=np.full(count, 255, np.uint8),
    )


def _result(plan: CongestionControlPlan, trial: Trial, flows: Sequence[str], samples: Samples) -> TrialResult:
    begin = int(samples.tx_ns.min())
    names = [(str(flow), (samples.port == FORWARD) & (samples.stream == flow)) for flow in range(1, len(flows) + 1)]
    every = [*names, ("all", samples.port == FORWARD)]
    measurements, curves = [], []
    for name, mine in every:
        subject = {"flow": name}
        measurements += [dataclasses.replace(each, subject=subject) for each in _numbers(samples, mine)]
        curves += [dataclasses.replace(each, subject=subject) for each in _curves(plan, samples, mine, begin)]
    subject = {"flow": "all"}
    total = next(each for each in measurements if each.name == "throughput" and each.subject["flow"] == "all")
    p95 = next(each for each in measurements if each.name == "delay.p95" and each.subject["flow"] == "all")
    extra = [("capacity", "Mbit/s", 40.0), ("utilisation", "1", total.value / 40), ("power", "Mbit/s per ms", total.value / p95.value)]
    extra += [("cpu.sender", "s/Gbit", 0.31), ("cpu.receiver", "s/Gbit", 0.44)]
    if len(flows) > 1:
        rates = np.array([each.value for each in measurements if each.name == "throughput" and each.subject["flow"] != "all"])
        extra += [("jain", "1", float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))), ("convergence", "s", math.inf)]
    measurements += [Measurement(name=name, unit=unit, value=value, n=total.n, subject=subject) for name, unit, value in extra]
    bins = tuple(np.arange(0, plan.runtime_s, 0.5) + 0.25)
    curves.append(_curve("capacity", "rate", "Mbit/s", bins, [40.0] * len(bins), subject))
    ends = {f"flow.{flow}.{what}_ns": begin + int(at * 1e9) for flow, _ in names for what, at in (("start", 0), ("end", plan.runtime_s))}
    health = {"lateness_us_p99": 41.0, "ring_drops": 0.0}
    return TrialResult(verdict=Verdict.PASS, measurements=tuple(measurements), curves=tuple(curves), counters=ends, health=health)


def _numbers(samples: Samples, mine: np.ndarray[Any, Any]) -> Iterator[Measurement]:
    left = mine & (samples.rx_ns > 0)
    delay = np.sort((samples.rx_ns[left] - samples.tx_ns[left]) / 1e6)
    departed = samples.rx_ns[left]
    rate = left.sum() * 12e3 / (departed.max() - departed.min()) * 1e3
    loss = 1 - left.sum() / mine.sum()
    rank = {share: float(delay[math.ceil(len(delay) * share / 100) - 1]) for share in (5, 50, 95, 99)}
    near = Interval(low=rate * 0.99, high=rate * 1.01, method="batch means")
    values = [("throughput", "Mbit/s", rate, near), ("loss", "1", loss, None), ("loss.pantheon", "1", loss + 0.001, None)]
    values += [(f"delay.p{share}", "ms", rank[share], None) for share in (50, 95, 99)]
    values += [
        ("delay.mean", "ms", delay.mean(), None),
        ("delay.spread", "ms", rank[95] - rank[5], None),
        ("delay.floor", "ms", 20.0, None),
    ]
    values += [(f"queueing.p{share}", "ms", rank[share] - 20, None) for share in (50, 95)]
    for name, unit, value, interval in values:
        yield Measurement(name=name, unit=unit, value=float(value), n=int(left.sum()), interval=interval)


def _curves(plan: CongestionControlPlan, samples: Samples, mine: np.ndarray[Any, Any], begin: int) -> Iterator[Curve]:
    edges = np.arange(0, plan.runtime_s + 0.5, 0.5)
    middle = edges[:-1] + 0.25
    left = mine & (samples.rx_ns > 0)
    sent, departed = (samples.tx_ns[mine] - begin) / 1e9, (samples.rx_ns[left] - begin) / 1e9
    for name, times in (("throughput.ingress", sent), ("throughput.egress", departed)):
        yield _curve(name, "rate", "Mbit/s", middle, np.histogram(times, edges)[0] * 12e3 / 0.5 / 1e6)
    delay, place = (samples.rx_ns[left] - samples.tx_ns[left]) / 1e6, np.digitize(departed, edges) - 1
    found = [(x, np.quantile(delay[place == at], 0.95)) for at, x in enumerate(middle) if (place == at).any()]
    yield _curve("delay.p95.over_time", "delay", "ms", [x for x, _ in found], [y for _, y in found])


def _curve(name: str, what: str, unit: str, x: Any, y: Any, subject: Mapping[str, str] | None = None) -> Curve:
    return Curve(
        name=name, x_name="time", x_unit="s", y_name=what, y_unit=unit, n=len(x), subject=subject or {},
        x=tuple(map(float, x)), y=tuple(map(float, y)),
    )  # fmt: skip
