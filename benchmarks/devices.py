"""How long do several devices take side by side, against one? Facts, capture, apply and check of ten; the setup of a chain of four.

One JSON row per target.

Linux switches over SSH. Needs root and sshd; prints nothing where they are missing. Ten SSH servers share this machine's processors with
Ansible: ten devices of their own would take less.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

from orchestrator.devices import together
from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.runner import Ansible
from orchestrator.interruption import Interruption
from orchestrator.lab.between import Joined
from orchestrator.lab.rig import LabRig, PlanDevice
from orchestrator.standing import AS_FOUND, Group, Standing
from rackproof.errors import DeviceError
from rackproof.model.event import EventKind
from rackproof.model.functions import Discipline, QosScheduler
from rackproof.model.topology import DeviceSpec, Setup, Topology
from rackproof.model.trial import Trial
from rackproof.ports import Rig, Testbed
from tests.lab.sshd import LinuxBox, linux_box, why_not

DEVICES = 10
CHAIN = 4
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
        chains = [(_stood(boxes[:1]), _stood(boxes[:CHAIN]), _stood(boxes[:CHAIN], at_once=False)) for _ in range(ROUNDS)]
    one_s, ten_s = (statistics.median(pair[side][0] for pair in pairs) for side in (0, 1))
    counters_ms = statistics.median(pair[0][1] for pair in pairs)
    _row("facts, capture, apply, check: 1 device", one_s, "s")
    _row(f"facts, capture, apply, check: {DEVICES} devices", ten_s, "s")
    _row(f"{DEVICES} devices to 1", statistics.median(ten[0] / one[0] for one, ten in pairs), "", RATIO_TARGET)
    _row(
        f"setup and restoring: a chain of {CHAIN} devices to 1", statistics.median(many / one for one, many, _ in chains), "", RATIO_TARGET
    )
    _row("the same, one after the other", statistics.median(slow / one for one, _, slow in chains), "")
    _row("counters of a scheduled port", counters_ms, "ms", COUNTERS_TARGET_MS)


def _configured(boxes: Sequence[LinuxBox]) -> tuple[float, float]:
    """How long the four steps take [s], and how long the counters of the first device [ms]; restores the devices."""
    with tempfile.TemporaryDirectory() as folder, Ansible() as ansible:
        devices = [AnsibleDevice(box.entry, ansible, state=Path(folder) / box.name, heard=lambda _: None) for box in boxes]
        functions = {device.name: SCHEDULER for device in devices}
        begun = time.monotonic()
        for ended in (
            together.facts(devices),
            together.configurations(devices),
            together.apply(devices, functions),
            together.check(devices, functions),
        ):
            for result in ended.values():
                if isinstance(result, DeviceError):
                    raise result
        took_s = time.monotonic() - begun
        begun = time.monotonic()
        devices[0].counters()
        counters_ms = (time.monotonic() - begun) * 1e3
        together.restore(devices)
    return took_s, counters_ms


class _OneByOne:
    """The devices of a rig, and not the way to work on several."""

    def __init__(self, rig: LabRig) -> None:
        self.device = rig.device


class _Stand:
    """A testbed and a campaign that keep nothing."""

    def __init__(self, rig: Rig) -> None:
        self.interruption = Interruption()
        self._rig = rig

    @contextmanager
    def assemble(self, topology: Topology) -> Iterator[Rig]:  # noqa: ARG002 - it stands already
        yield self._rig

    def configured(self, texts: Mapping[str, str | None], facts: Mapping[str, Mapping[str, str]], words: str) -> None:
        pass

    def restored(self, texts: Mapping[str, str | None], left: Mapping[str, str]) -> None:  # noqa: ARG002 - how they were left is enough
        if set(left.values()) != {AS_FOUND}:
            raise DeviceError(f"expected all devices as they were found, found {left}")

    def tell(self, kind: EventKind, text: str, **data: float | int | str) -> None:
        pass


def _withdrawn(device: str, why: str) -> None:
    raise DeviceError(f"{device}: {why}")


def _stood(boxes: Sequence[LinuxBox], *, at_once: bool = True) -> float:
    """How long it takes until the devices of a setup are configured and as they were found again [s]."""
    with tempfile.TemporaryDirectory() as folder, Ansible() as ansible:
        devices = {box.name: AnsibleDevice(box.entry, ansible, state=Path(folder) / box.name, heard=lambda _: None) for box in boxes}
        real = LabRig(
            generator=None,
            devices={name: PlanDevice(name, device, {"eth2": "eth2"}, {}) for name, device in devices.items()},
            ends=Joined(hosts={}, taps={}),
            interruption=Interruption(),
            withdraw=_withdrawn,
        )
        specs = tuple(DeviceSpec(name=name, model=name) for name in devices)
        setup = Setup(topology=Topology(devices=specs, links=()), functions=dict.fromkeys(devices, (SCHEDULER,)))
        stand = _Stand(real if at_once else cast(Rig, _OneByOne(real)))
        group = Group(setup=setup, trials=frozenset({1}), what="all")
        standing = Standing(session=stand, testbed=cast(Testbed, stand), groups=[group], configurations={})
        begun = time.monotonic()
        standing.rig_for(Trial(index=1, label="", point={}, repetition=1, seed=1, duration_s=1.0))
        standing.take_down()
        return time.monotonic() - begun


def _row(name: str, value: float, unit: str, most: float | None = None) -> None:
    met = {} if most is None else {"met": value <= most}
    target = "" if most is None else f"at most {most:g}"
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit, "target": target, **met}), flush=True)


if __name__ == "__main__":
    main()
