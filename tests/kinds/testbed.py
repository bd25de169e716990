"""A testbed without hardware, on which nothing can be done: rackproof.ports.Testbed for tests of what is around it.

The device of a plan with a device_file keeps its configuration there, as hardware would: a worker that is killed leaves it configured.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from orchestrator.interruption import Interruption
from rackproof.errors import DeviceError, SignallingError
from rackproof.model.functions import DeviceFunction
from rackproof.model.lsp import Signalling
from rackproof.model.topology import DeviceSpec, Setup, Topology
from rackproof.model.traffic import RECORD_DTYPE, Calibration, Capture, Samples, Traffic
from rackproof.ports import Device, Generator, Host, Limits, Rig, Run, Signaller, Tap
from rackproof.store import Store

MODEL = "nothing"
AS_FOUND = "level 0"


class NothingTestbed:
    """One device, one generator, and nothing between them."""

    def __init__(self, name: str, interruption: Interruption) -> None:
        self._name = name
        self._interruption = interruption

    @property
    def name(self) -> str:
        return self._name

    @property
    def resources(self) -> tuple[str, ...]:
        """What whoever uses this testbed has alone."""
        return (f"nothing:{self._name}",)

    def limits(self) -> Limits:
        return Limits(send_fps=1e6, receive_fps=1e6, link_rate_bps_max={}, device_models={MODEL: ""}, options={MODEL: frozenset({"file"})})

    def objections(self, setup: Setup) -> tuple[str, ...]:
        strange = [spec.model for spec in setup.topology.devices if spec.model != MODEL]
        return tuple(f"expected a device of the model {MODEL}, found {model}" for model in strange)

    def facts(self) -> Mapping[str, str]:
        return {"testbed": "nothing", "process": str(os.getpid())}

    def begin(self, campaign: int, heard: Callable[[str], None]) -> None: ...

    def calibrate(self, campaign: int) -> Calibration:
        return Calibration(
            delay_floor_us=0.0,
            timestamp_error_us_p50=0.0,
            timestamp_error_us_p99=0.0,
            honest_fps=1e6,
            frames=0,
            detail={"calibrated": "nothing", "campaign": campaign},
        )

    @contextlib.contextmanager
    def assemble(self, topology: Topology) -> Iterator[Rig]:
        rig = _Rig(topology, self._interruption)
        try:
            yield rig
        finally:
            for device in rig.devices.values():
                device.restore()


@contextlib.contextmanager
def nothing(name: str, interruption: Interruption, store: Store) -> Iterator[NothingTestbed]:
    """The driver, as orchestrator.testbeds.DRIVERS wants it."""
    yield NothingTestbed(name, interruption)


class _Rig:
    def __init__(self, topology: Topology, interruption: Interruption) -> None:
        self.generator: Generator = _Generator(interruption)
        self.devices: dict[str, Device] = {spec.name: _Device(spec) for spec in topology.devices}

    def device(self, name: str) -> Device:
        return self.devices[name]

    def host(self, name: str) -> Host:
        raise KeyError(name)

    def tap(self, device: str) -> Tap:
        raise KeyError(device)

    def wires(self) -> None:
        return None

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        raise SignallingError("nothing signals here")

    def withdraw(self, device: str, why: str) -> None: ...

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class _Device:
    """running and saved (what it was before the first apply) survive the process where there is a file."""

    def __init__(self, spec: DeviceSpec) -> None:
        self.name = spec.name
        found = spec.options.get("file")
        self._file = Path(str(found)) if found is not None else None
        self._running, self._saved = AS_FOUND, ""
        if self._file is not None and self._file.exists():
            kept = json.loads(self._file.read_text())
            self._running, self._saved = kept["running"], kept["saved"]

    def facts(self) -> Mapping[str, str]:
        return {"model": MODEL, "version": "1"}

    def configuration(self) -> str:
        return f"{self._running}\n"

    def apply(self, function: DeviceFunction) -> None:
        self._saved = self._saved or self._running
        self._running = f"level {_level(function)}"
        self._keep("apply")

    def check(self, function: DeviceFunction) -> None:
        expected = f"level {_level(function)}"
        if self._running != expected:
            raise DeviceError(f"{self.name}: expected {expected}, found {self._running}")

    def restore(self) -> None:
        if self._saved:
            self._running, self._saved = self._saved, ""
            self._keep("restore")

    def counters(self) -> Mapping[str, int]:
        return {}

    def _keep(self, what: str) -> None:
        if self._file is None:
            return
        beside = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        beside.write_text(json.dumps({"running": self._running, "saved": self._saved}))
        beside.replace(self._file)
        with self._file.with_suffix(".log").open("a") as log:
            log.write(f"{what} {self._running}\n")


def _level(function: DeviceFunction) -> int:
    # A function of the kind `nothing`, which this module does not import: the registry loads the kind under a name of its own.
    level = getattr(function, "level", None)
    if not isinstance(level, int):
        raise DeviceError(f"expected a level, found {type(function).__name__}")
    return level


class _Generator:
    def __init__(self, interruption: Interruption) -> None:
        self._interruption = interruption

    def start(self, traffic: Traffic) -> Run:
        return _Run(traffic, self._interruption)


class _Run:
    def __init__(self, traffic: Traffic, interruption: Interruption) -> None:
        self._traffic = traffic
        self._interruption = interruption

    def wait(self) -> Capture:
        self._interruption.wait(self._traffic.span_s)
        return Capture(samples=Samples.of(np.zeros(0, dtype=RECORD_DTYPE)), sent={}, batch_starts_ns=np.zeros(1, dtype=np.int64))

    def stop(self) -> None:
        pass
