"""The bench as the campaign sees it: a testbed whose parts live in a process of their own."""

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from orchestrator.bench.devices import models
from orchestrator.bench.probes import Probe
from orchestrator.bench.programs import BenchHost
from orchestrator.bench.schemes import Schemes
from orchestrator.bench.served import Served
from orchestrator.bench.taps import BenchTap
from orchestrator.calibration import calibrate
from orchestrator.generators.native.sending import Sending
from orchestrator.interruption import Interruption
from orchestrator.signalling.asking import signalled
from rackproof.errors import BenchError
from rackproof.model.functions import DeviceFunction
from rackproof.model.lsp import Signalling
from rackproof.model.topology import Setup, Topology
from rackproof.model.traffic import Calibration
from rackproof.ports import Device, Generator, Host, Limits, Rig, Signaller, Tap
from rackproof.store.life import this_machine

NAME = "bench"
START_S = 60.0


class Bench:
    """The virtual bench. A context manager: entering starts its process, leaving ends it, and with it all that it built.

    Where it was not entered, its process starts with the first thing that needs it, and close() ends it. An interruption ends traffic.
    """

    def __init__(self, name: str = NAME, interruption: Interruption | None = None) -> None:
        self.name = name
        self.served = Served(
            module="orchestrator.bench.process",
            name="the bench's process",
            loss="everything that it built is gone with it",
            error=BenchError,
            interruption=interruption,
        )
        self.rights = ""
        self.request = self.served.request
        self.request_with_files = self.served.request_with_files
        self.wait_or_fail = self.served.wait_or_fail

    def __enter__(self) -> Self:
        self._start()
        return self

    @property
    def resources(self) -> tuple[str, ...]:
        """The machine: two benches of one machine would disturb each other."""
        return (f"host:{this_machine()}",)

    def _start(self) -> None:
        kind, text = self.served.start(START_S)
        if kind == "refused":
            self.close()
            raise BenchError(f"the virtual bench cannot run here: {text}")
        self.rights = text

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the bench's process; whatever it built goes with it."""
        self.served.close()

    @property
    def pid(self) -> int:
        """Process id of the bench's process. Raises BenchError where it does not run."""
        if self.served.pid is None:
            raise BenchError("the bench's process is not running")
        return self.served.pid

    @property
    def running(self) -> bool:
        """True while its process is there, as far as is known."""
        return self.served.running

    def probe(self) -> tuple[Probe, ...]:
        """What this machine can do, by trying."""
        found: tuple[Probe, ...] = self.request("probe")
        return found

    def calibrate(self, campaign: int) -> Calibration:
        """What the generator is worth now, on a loopback."""
        return calibrate(self, campaign=campaign)

    def facts(self) -> Mapping[str, str]:
        """Host, kernel, processors and rights, for provenance."""
        self._ensure()
        return {
            "testbed": "virtual bench: network namespaces, veth, real packets",
            "rights": self.rights,
            "kernel": platform.release(),
            "machine": platform.machine(),
            "processor": _processor(),
            "processors": str(len(os.sched_getaffinity(0))),
            "engine threads": self.request("cpus"),
            "clock": "sender and receiver read the same clock; no offset to correct",
            "clock source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            "default congestion control": _read("/proc/sys/net/ipv4/tcp_congestion_control"),
            "load average before": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        }

    def limits(self) -> Limits:
        """What this machine can carry: device models and rights by trying them, frame rates by a calibration on a loopback."""
        calibration = self.calibrate(0)
        return Limits(
            send_fps=calibration.honest_fps,
            receive_fps=calibration.honest_fps,
            link_rate_bps_max={name: module.LINK_RATE_BPS_MAX for name, module in models().items()},
            device_models=self.limits_of_models(),
            options={name: module.OPTIONS for name, module in models().items()},
            schemes=Schemes(),
            wires_fps=self.request("wires_fps"),
            signalling="",
        )

    def limits_of_models(self) -> Mapping[str, str]:
        """Device model -> why it cannot be used here, "" where it can."""
        probes = {probe.name: probe.why for probe in self.probe()}
        return {name: probes[f"device {name}"] for name in models()}

    def objections(self, setup: Setup) -> tuple[str, ...]:
        """What the device models say against the functions that the setup wants of them."""
        found = []
        for spec in setup.topology.devices:
            module = models().get(spec.model)
            if module is None:
                found.append(f"{spec.name}: expected a device model of the bench ({', '.join(sorted(models()))}), found {spec.model}")
                continue
            found += [f"{spec.name}: {why}" for function in setup.functions.get(spec.name, ()) if (why := module.objection(function))]
        return tuple(found)

    def begin(self, campaign: int, heard: Callable[[str], None]) -> None:
        """Nothing: what the bench does to its devices takes no time worth telling."""

    @contextlib.contextmanager
    def assemble(self, topology: Topology) -> Iterator[Rig]:
        """Build the topology; on exit traffic is stopped and everything taken away. Raises LabError.

        Where the process ended since the last topology, a new one is started.
        """
        self._ensure()
        self.request("assemble", topology=topology)
        try:
            yield _Rig(self, topology)
        finally:
            if self.running:
                self.request("dismantle")

    def _ensure(self) -> None:
        if not self.running:
            self._start()


class _Rig:
    def __init__(self, bench: Bench, topology: Topology) -> None:
        self.generator: Generator = Sending(bench.served)
        self._bench = bench
        self._devices: dict[str, Device] = {spec.name: _Device(bench, spec.name) for spec in topology.devices}
        self._hosts: dict[str, Host] = {spec.name: BenchHost(bench, spec) for spec in topology.hosts}
        self._emulated = any(link.wire is not None for link in topology.links)

    def device(self, name: str) -> Device:
        return self._devices[name]

    def host(self, name: str) -> Host:
        return self._hosts[name]

    def tap(self, device: str) -> Tap:
        self._bench.request("tap_check", device=self._devices[device].name)
        return BenchTap(self._bench, device)

    def wires(self) -> Tap | None:
        return BenchTap(self._bench, None) if self._emulated else None

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        return signalled(self._bench.served, signalling)

    def withdraw(self, device: str, why: str) -> None:
        """Nothing: a device of the bench ends with its rig."""

    def pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._bench.wait_or_fail(left)


class _Device:
    def __init__(self, bench: Bench, name: str) -> None:
        self._bench = bench
        self.name = name

    def facts(self) -> Mapping[str, str]:
        facts: Mapping[str, str] = self._bench.request("facts", device=self.name)
        return facts

    def configuration(self) -> str:
        return str(self._bench.request("configuration", device=self.name))

    def apply(self, function: DeviceFunction) -> None:
        self._bench.request("apply", device=self.name, function=function)

    def check(self, function: DeviceFunction) -> None:
        self._bench.request("check", device=self.name, function=function)

    def restore(self) -> None:
        self._bench.request("restore", device=self.name)

    def counters(self) -> Mapping[str, int]:
        counters: Mapping[str, int] = self._bench.request("counters", device=self.name)
        return counters


def _processor() -> str:
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "unknown"
