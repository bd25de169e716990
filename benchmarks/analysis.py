"""How fast and how small is the analysis of a trial? Prints one JSON row per target.

The samples are made up, but stored and read as those of a trial are. Each measurement runs in a fresh process, so that its peak memory is
that of the interpreter, the libraries, the samples and the analysis together, and of nothing else.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rackproof.model.campaign import SamplesFile
from rackproof.model.traffic import Calibration, Capture, Samples, Sent
from rackproof.model.trial import Observation
from rackproof.store import samples as store
from testplans.switch_qos.analysis import analyse
from testplans.switch_qos.expansion import expand
from testplans.switch_qos.plan import SwitchQosPlan

LARGE_SAMPLES = 10_000_000
#: Eight flows of a second each at 1 Gbit/s and full frames come to less.
TRIAL_SAMPLES = 120_000
LARGE_S, LARGE_MB, TRIAL_MS = 10.0, 500.0, 25.0
LINK_FPS = 1e9 / ((1518 + 20) * 8)
START_NS = 1_700_000_000_000_000_000

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit code is 0 whatever was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--generate", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--samples", type=int, default=LARGE_SAMPLES)
    options = parser.parse_args(arguments)
    if options.generate:
        generate(options.generate, options.samples)
    elif options.measure:
        print(json.dumps(measure(options.measure, options.samples)))
    else:
        for row in run(options.samples):
            print(json.dumps(row), flush=True)
    return 0


def run(samples: int = LARGE_SAMPLES) -> list[Row]:
    """All rows: name, value, unit, target, met."""
    large, small = _fresh(samples), _fresh(TRIAL_SAMPLES)
    return [
        _row("analysis.large.time", large["read_s"] + large["first_s"], "s", LARGE_S),
        _row("analysis.large.peak_memory", large["peak_mb"], "MB", LARGE_MB),
        _row("analysis.trial.time", small["best_s"] * 1e3, "ms", TRIAL_MS),
    ]


def _row(name: str, value: float, unit: str, target: float) -> Row:
    return {"name": name, "value": round(value, 3), "unit": unit, "target": f"at most {target:g}", "met": value <= target}


def _fresh(samples: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="rackproof-benchmark-") as folder:
        base = [sys.executable, __file__, "--samples", str(samples)]
        subprocess.run([*base, "--generate", folder], check=True)
        done = subprocess.run([*base, "--measure", folder], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def plan_of(samples: int) -> SwitchQosPlan:
    """A plan whose one trial receives about so many frames."""
    return SwitchQosPlan.model_validate(
        {
            "kind": "switch-qos",
            "name": "benchmark",
            "devices": ["made-up"],
            "disciplines": [{"discipline": "wrr-packets", "weights": [0.1, 0.2, 0.3, 0.4]}],
            "link": {"rate_mbps": 1000},
            "load": {"per_sender_mbps": [600]},
            "trial": {"duration_s": samples / LINK_FPS, "warmup_s": 0.0},
        }
    )


def generate(folder: Path, samples: int) -> None:
    """Store made-up samples, and beside them what was sent."""
    rng = np.random.default_rng(1)
    plan = plan_of(samples)
    weights = np.repeat([0.05, 0.1, 0.15, 0.2], 2)
    stream = rng.choice(8, samples, p=weights).astype(np.uint16)
    rx = START_NS + np.rint((np.arange(samples) + 1) / LINK_FPS * 1e9).astype(np.int64)
    sequence = np.zeros(samples, np.uint32)
    delay_ns = np.empty(samples)
    starts = np.linspace(0, plan.trial.duration_s, plan.trial.batches + 1)
    sent = {}
    for sender in range(8):
        mine = np.flatnonzero(stream == sender)
        frames = int(plan.sender_fps(sender, 600) * plan.trial.duration_s)
        sequence[mine] = np.sort(rng.choice(frames, len(mine), replace=False))
        delay_ns[mine] = 2.5e6 / weights[sender] * (1 + 0.01 * rng.standard_normal(len(mine)))
        first = np.rint(np.linspace(0, frames, len(starts))).astype(np.int64)
        sent[sender] = Sent(first_sequence=first, octets=first * 1518, intended_frames=frames)
    columns = Samples(
        tx_ns=rx - delay_ns.astype(np.int64),
        rx_ns=rx,
        sequence=sequence,
        stream=stream,
        frame_bytes=np.full(samples, 1518, np.uint16),
        port=np.zeros(samples, np.uint16),
        pcp=stream.astype(np.uint8),
    )
    file = store.write(folder, 1, 1, columns)
    (folder / "file.json").write_text(json.dumps({"path": file.path, "sha256": file.sha256, "rows": file.rows}))
    np.savez(
        folder / "sent.npz",
        starts=START_NS + np.rint(starts * 1e9).astype(np.int64),
        first=np.array([one.first_sequence for one in sent.values()]),
    )


def measure(folder: Path, samples: int) -> dict[str, float]:
    """Read and analyse what generate() stored."""
    plan = plan_of(samples)
    trial = expand(plan)[0]
    sent = np.load(folder / "sent.npz")
    began = time.perf_counter()
    columns = store.read(folder, SamplesFile(**json.loads((folder / "file.json").read_text())))
    read_s = time.perf_counter() - began
    capture = Capture(
        samples=columns,
        sent={
            sender: Sent(first_sequence=first, octets=first * 1518, intended_frames=int(first[-1]))
            for sender, first in enumerate(sent["first"])
        },
        batch_starts_ns=sent["starts"],
    )
    calibration = Calibration(delay_floor_us=1, timestamp_error_us_p50=1, timestamp_error_us_p99=1, honest_fps=1e9, frames=1)
    times: list[float] = []
    result = None
    for _ in range(1 if samples > TRIAL_SAMPLES else 20):
        began = time.perf_counter()
        result = analyse(plan, trial, Observation(capture=capture), calibration)
        times.append(time.perf_counter() - began)
    assert result is not None
    received = sum(m.n for m in result.measurements if m.name == "delay.mean" and "flow" in m.subject)
    if result.reason or received != samples:
        raise SystemExit(f"the made-up trial was not analysed as it is: {received} of {samples} samples, {result.reason or 'valid'}")
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"read_s": read_s, "first_s": times[0], "best_s": float(np.median(times)), "peak_mb": peak_mb}


if __name__ == "__main__":
    raise SystemExit(main())
