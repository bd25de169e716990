"""Campaigns of the kind xpfe-delay that never ran: measurements and curves as the analysis names them, from made-up delays."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np

from rackproof.model.campaign import CampaignRecord, CampaignState, SamplesFile, TrialRecord
from rackproof.model.finding import Finding
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import worst
from reports.text import plural
from testplans.xpfe_delay.plan import XpfeDelayPlan
from tests.unit.xpfe_delay.delays import ELEMENTS, FRAMES, result

BEGAN = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)


def plan(**changes: Any) -> dict[str, Any]:
    """A plan as the file has it: the paper's campaign, with some keys changed."""
    return {
        "kind": "xpfe-delay",
        "name": "Delay over chains of packet forwarding elements",
        "testbed": "bench",
        "chains": ["xpfe"],
        "hops": [2, 3, 4],
        "frame_bytes": [500, 750, 1000, 1250, 1500],
        "rates_mbps": [250, 500, 750],
        "rate_scale": 1.0,
        "link": {"rate_mbps": 1000, "layer": "L2", "queue_frames": 1000},
        "arrivals": "constant",
        "trial": {"duration_s": 2.0, "warmup_s": 0.2, "drain_s": 0.1, "batches": 20},
        "repetitions": 1,
        "seed": 1,
        "percentiles": [1, 50, 99],
        "classes": ["crosshaul"],
        "verdict": {"percentile": 99, "confidence": 0.95},
        **changes,
    }


def made_up(
    like: str = "paper", failures: Mapping[int, TrialResult] | None = None, *, taps: bool = True, seed: int = 1, **changes: Any
) -> CampaignRecord:
    """A campaign that ran. like: a key of ELEMENTS; failures: trials that gave another result; taps: the wires were recorded, as on the
    bench; changes: keys of the plan."""
    values = plan(**changes)
    rng = np.random.default_rng(seed)
    records, at = [], BEGAN
    for trial in trials(values):
        started, at = at, at + timedelta(seconds=3)
        failed = (failures or {}).get(trial.index)
        came = failed or result(values, trial, ELEMENTS[like], rng, taps=taps)
        kept = None if failed else SamplesFile(path=f"9/{trial.index}.parquet", sha256=f"{trial.index:064x}", rows=FRAMES)
        records.append(TrialRecord(trial=trial, result=came, samples=kept, started=started, ended=at))
    return _campaign(values, records)


def bare(**changes: Any) -> CampaignRecord:
    """A campaign of which no trial has run."""
    values = plan(**changes)
    return _campaign(values, [TrialRecord(trial=trial) for trial in trials(values)])


def judged(campaign: CampaignRecord, findings: tuple[Finding, ...]) -> CampaignRecord:
    """The campaign with its findings and the worst of their verdicts."""
    return dataclasses.replace(campaign, findings=findings, verdict=worst(finding.verdict for finding in findings))


def trials(values: Mapping[str, Any]) -> Iterator[Trial]:
    """The trials of a plan, in the order in which they run."""
    names = [chain if isinstance(chain, str) else str(chain["name"]) for chain in values["chains"]]
    rounds = range(1, int(values["repetitions"]) + 1)
    points = product(names, values["hops"], rounds, values["frame_bytes"], values["rates_mbps"])
    for index, (chain, hops, repetition, size, rate) in enumerate(points, 1):
        yield Trial(
            index=index,
            label=f"{chain}, {plural(hops, 'hop')}, {size} bytes, {rate:g} Mbit/s",
            point={
                "chain": chain, "hops": hops, "frame_bytes": size, "rate_mbps": rate, "offered_mbps": rate * values["rate_scale"],
            },
            repetition=repetition,
            seed=int(values["seed"]) + index,
            duration_s=2.3,
        )  # fmt: skip


def _campaign(values: Mapping[str, Any], records: Sequence[TrialRecord]) -> CampaignRecord:
    text = f"kind: xpfe-delay\nname: {values['name']}\n"
    most = max(values["hops"])
    names = [chain if isinstance(chain, str) else str(chain["name"]) for chain in values["chains"]]
    devices = {f"Device {name}-{hop}": {"model": name, "forwarding": "XDP"} for name in names for hop in range(1, most + 1)}
    return CampaignRecord(
        id=9,
        name=str(values["name"]),
        kind="xpfe-delay",
        testbed=str(values["testbed"]),
        plan=XpfeDelayPlan.model_validate(values).model_dump(mode="json"),
        plan_text=text,
        plan_sha256=hashlib.sha256(text.encode()).hexdigest(),
        state=CampaignState.DONE,
        created=BEGAN - timedelta(minutes=2),
        started=BEGAN,
        ended=records[-1].ended,
        calibration=Calibration(delay_floor_us=1.1, timestamp_error_us_p50=0.2, timestamp_error_us_p99=1.4, honest_fps=180e3, frames=90000),
        trials=tuple(records),
        provenance={
            "Rackproof": {"version": "0.1.0", "commit": "8c1f0a4be2d97f1d35c2a0cb7f6f3f2a1b0c9d8e"},
            "Host": {"name": "bench-1", "system": "Debian GNU/Linux 12 (bookworm)", "kernel": "6.1.0"},
            **devices,
        },
    )
