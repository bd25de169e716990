"""Plans for tests, as plain data."""

import copy
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from testplans.switch_qos.kind import SwitchQos
from testplans.switch_qos.plan import SwitchQosPlan

SHIPPED = ("demo", "paper", "bench_nightly")

PAPER: dict[str, Any] = {
    "kind": "switch-qos",
    "name": "the paper's",
    "devices": ["reference"],
    "disciplines": ["strict-priority", {"discipline": "wrr-packets", "weights": [0.1, 0.2, 0.3, 0.4]}],
    "link": {"rate_mbps": 1000, "layer": "L1"},
    "load": {"per_sender_mbps": [100, 600]},
}


def shipped(name: str) -> dict[str, Any]:
    """A plan file of the kind's folder, as data."""
    found: dict[str, Any] = YAML(typ="safe").load(SwitchQos.folder / f"{name}.yaml")
    return found


def changed(plan: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with the key at a path ("link.rate_mbps", "disciplines.1.weights") set."""
    found = copy.deepcopy(plan)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at: Any = found
    for step in way:
        at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
    at[last] = value
    return found


def plan(data: dict[str, Any] | None = None, **paths: Any) -> SwitchQosPlan:
    """A plan, with keys changed (two underscores stand for the dot of a path)."""
    found = data or PAPER
    for path, value in paths.items():
        found = changed(found, path.replace("__", "."), value)
    return SwitchQosPlan.model_validate(found)


def published(name: str) -> Path:
    """A published table."""
    return SwitchQos.folder / "published" / name
