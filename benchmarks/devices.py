"""How long do facts, capture, apply and check of ten devices take side by side, against one? One JSON row per target.

Linux switches over SSH. Needs root and sshd; prints nothing where they are missing. Ten SSH servers share this machine's processors with
Ansible: ten devices of their own would take less.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from orchestrator.devices import together
from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.runner import Ansible
from rackproof.errors import DeviceError
from rackproof.model.functions import Discipline, QosScheduler
from tests.lab.sshd import LinuxBox, linux_box, why_not

DEVICES = 10
ROUNDS = 3
RATIO_TARGET = 2.0
COUNTERS_TARGET_MS = 100.0
SCHEDULER = QosScheduler(
    discipline=Discipline.WRR_BYTES,
    port="eth2",
    link_rate_bps=100_000_000,
    priority_map=(0, 0, 1, 1, 2, 2, 3, 3),
    queue_frames=100,
    weights=(0.1, 0.2, 0.3, 0.4),
)


def main() -> None:
    """Measure and print."""
    if why_not():
        return
    with ExitStack() as stack:
        boxes = [stack.enter_context(linux_box(f"switch-{number}", ports=("eth1", "eth2"))) for number in range(DEVICES)]
        pairs = [(_configured(boxes[:1]), _configured(boxes)) for _ in range(ROUNDS)]
    one_s, ten_s = (statistics.median(pair[side][0] for pair in pairs) for side in (0, 1))
    counters_ms = statistics.median(pair[0][1] for pair in pairs)
    _row("facts, capture, apply, check: 1 device", one_s, "s")
    _row(f"facts, capture, apply, check: {DEVICES} devices", ten_s, "s")
    _row(f"{DEVICES} devices to 1", statistics.median(ten[0] / one[0] for one, ten in pairs), "", RATIO_TARGET)
    _row("counters of a scheduled port", counters_ms, "ms", COUNTERS_TARGET_MS)


def _configured(boxes: Sequence[LinuxBox]) -> tuple[float, float]:
    """How long the four steps take [s], and how long the counters of the first device [ms]; restores the devices."""
    with tempfile.TemporaryDirectory() as folder, Ansible() as ansible:
        devices = [AnsibleDevice(box.entry, ansible, state=Path(folder) / box.name, heard=lambda _: None) for box in boxes]
        functions = {device.name: SCHEDULER for device in devices}
        begun = time.monotonic()
        for ended in (
            together.facts(ansible, devices),
            together.configurations(ansible, devices),
            together.apply(ansible, devices, functions),
            together.check(ansible, devices, functions),
        ):
            for result in ended.values():
                if isinstance(result, DeviceError):
                    raise result
        took_s = time.monotonic() - begun
        begun = time.monotonic()
        devices[0].counters()
        counters_ms = (time.monotonic() - begun) * 1e3
        together.restore(ansible, devices)
    return took_s, counters_ms


def _row(name: str, value: float, unit: str, most: float | None = None) -> None:
    met = {} if most is None else {"met": value <= most}
    target = "" if most is None else f"at most {most:g}"
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit, "target": target, **met}), flush=True)


if __name__ == "__main__":
    main()
