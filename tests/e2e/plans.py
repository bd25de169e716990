"""Small plans that the end-to-end tests run, and how they run the command line."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]

PLAN = """
kind: switch-qos
name: {name}
devices: [{devices}]
disciplines:
  - strict-priority
  - discipline: wrr-bytes
    weights: [0.1, 0.2, 0.3, 0.4]
queues: {{length_frames: 20}}
traffic: {{senders: 8, frame_bytes: 512, arrivals: poisson}}
link: {{rate_mbps: 20, layer: L1}}
load: {{per_sender_mbps: [{loads}]}}
trial: {{duration_s: {duration_s}, warmup_s: 0.1, batches: 10}}
# What these tests are about is neither fine differences, for which trials this short are no good, nor pacing: a host that takes the
# processor away leaves up to a third of the link unused.
criteria:
  fairness_spread_max: null
  loss_below_saturation_max: null
  sp_leak_share_max: 0.4
  sp_top_share_min: 0.6
  wrr_share_deviation_max: 0.3
  waste_share_max: null
  throughput_deviation_max: 0.4
validity: {{lateness_p99_us_max: 100000, stalled_share_max: 0.5}}
"""


def write_plan(folder: Path, *, name: str = "short", devices: str = "reference", loads: str = "2, 12", duration_s: float = 0.3) -> Path:
    """A plan file of (devices x 2 disciplines x loads) short trials."""
    path = folder / f"{name}.yaml"
    path.write_text(PLAN.format(name=name, devices=devices, loads=loads, duration_s=duration_s))
    return path


def rackproof(*arguments: str, environment: Mapping[str, str], timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return subprocess.run(
        command(*arguments), env={**environment, "COLUMNS": "200"}, capture_output=True, text=True, timeout=timeout_s, check=False, cwd=ROOT
    )


def command(*arguments: str) -> list[str]:
    """The command line as a list of arguments."""
    return [sys.executable, "-c", "from rackproof.cli.main import main; main()", *arguments]
