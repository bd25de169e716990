"""The bench as the campaign sees it: a testbed whose parts live in a process of their own."""

import contextlib
import os
import platform
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from orchestrator.bench.captures import capture_of
from orchestrator.bench.channel import Channel, Closed
from orchestrator.bench.devices import models
from orchestrator.bench.probes import Probe
from orchestrator.bench.programs import BenchHost
from orchestrator.bench.schemes import Schemes
from orchestrator.bench.taps import BenchTap
from orchestrator.calibration import calibrate
from orchestrator.generators.native import Outcome
from orchestrator.interruption import Interruption
from rackproof.errors import BenchError, GeneratorError, TrialTimeout
from rackproof.model.functions import DeviceFunction
from rackproof.model.topology import Setup, Topology
from rackproof.model.traffic import Calibration, Capture, Traffic
from rackproof.ports import Device, Generator, Host, Limits, Rig, Run, Tap
from rackproof.store.life import this_machine

NAME = "bench"
START_S = 20.0
#: A request that is not about traffic; building a topology of 60 links takes about a second.
REQUEST_S = 30.0
END_S = 5.0


class Bench:
    """The virtual bench. A context manager: entering starts its process, leaving ends it, and with it all that it built.

    Where it was not entered, its process starts with the first thing that needs it, and close() ends it. An interruption ends traffic.
    """

    def __init__(self, name: str = NAME, interruption: Interruption | None = None) -> None:
        self.name = name
        self._interruption = interruption
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self.rights = ""

    def __enter__(self) -> Self:
        self._start()
        return self

    @property
    def resources(self) -> tuple[str, ...]:
        """The machine: two benches of one machine would disturb each other."""
        return (f"host:{this_machine()}",)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "orchestrator.bench.process", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in the terminal is for the campaign's process alone
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        self._channel = Channel(ours)
        try:
            kind, text = self._reply(START_S)
            if kind == "refused":
                raise BenchError(f"the virtual bench cannot run here: {text}")
            self.rights = text
        except BaseException:
            self.close()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the bench's process; whatever it built goes with it."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    @property
    def pid(self) -> int:
        """Process id of the bench's process. Raises BenchError where it does not run."""
        if self._process is None:
            raise BenchError("the bench is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """True while its process is there, as far as is known."""
        return self._channel is not None

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
            if self._channel is not None:
                self.request("dismantle")

    def request(self, name: str, **arguments: Any) -> Any:
        """Ask the bench's process for something. Raises what it raised, or BenchError where it is gone or silent."""
        result, fds = self.request_with_files(name, **arguments)
        for fd in fds:
            os.close(fd)
        return result

    def request_with_files(self, name: str, timeout_s: float = REQUEST_S, **arguments: Any) -> tuple[Any, list[int]]:
        """As request, with the files that came along; the caller closes them."""
        try:
            self._open_channel.send((name, arguments))
        except Closed:
            raise self._gone() from None
        kind, result, *fds = self._reply(timeout_s)
        if kind == "error":
            raise result
        return result, fds

    def wait_or_fail(self, seconds: float) -> None:
        """Let time pass while the bench works. Raises BenchError when its process is gone, Stopped when somebody wants an end."""
        channel = self._open_channel
        if self._interruption is None or self._interruption.shields:
            gone = channel.readable(max(0.0, seconds))
        else:
            self._interruption.check()
            sources: list[Any] = [channel, self._interruption]
            gone = channel in select.select(sources, [], [], max(0.0, seconds))[0]
            self._interruption.check()
        if gone:
            raise self._gone()

    def _ensure(self) -> None:
        if self._channel is None:
            self._start()

    @property
    def _open_channel(self) -> Channel:
        if self._channel is None:
            raise BenchError("the bench is not running")
        return self._channel

    def _reply(self, timeout_s: float) -> tuple[Any, ...]:
        if not self._open_channel.readable(timeout_s):
            raise TrialTimeout(f"the bench's process did not answer within {timeout_s:.0f} s")
        try:
            (kind, result), fds = self._open_channel.receive()
        except Closed:
            raise self._gone() from None
        return (kind, result, *fds)

    def _gone(self) -> BenchError:
        status = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._process.wait(1.0)
        self.close()
        return BenchError(f"the bench's process ended unexpectedly (exit status {status}); everything that it built is gone with it")


class _Rig:
    def __init__(self, bench: Bench, topology: Topology) -> None:
        self.generator: Generator = _Generator(bench)
        self._bench = bench
        self._devices: dict[str, Device] = {spec.name: _Device(bench, spec.name) for spec in topology.devices}
        self._hosts: dict[str, Host] = {spec.name: BenchHost(bench, spec) for spec in topology.hosts}

    def device(self, name: str) -> Device:
        return self._devices[name]

    def host(self, name: str) -> Host:
        return self._hosts[name]

    def tap(self, device: str) -> Tap:
        self._bench.request("tap_check", device=self._devices[device].name)
        return BenchTap(self._bench, device)

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


class _Generator:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def start(self, traffic: Traffic) -> Run:
        self._bench.request("start", traffic=traffic)
        return _Run(self._bench, traffic)


class _Run:
    def __init__(self, bench: Bench, traffic: Traffic) -> None:
        self._bench = bench
        self._traffic = traffic
        self._end = time.monotonic() + traffic.warmup_s + traffic.duration_s
        self._over = False

    def stop(self) -> None:
        # A bench that is gone sends nothing, and why it is gone is what must be told.
        if not self._over and self._bench.running:
            self._bench.request("stop")
            self._end = time.monotonic()

    def wait(self) -> Capture:
        while (left := self._end - time.monotonic()) > 0:
            self._bench.wait_or_fail(left)
        outcome, fds = self._bench.request_with_files("collect", timeout_s=self._traffic.drain_s + REQUEST_S)
        self._over = True
        if not isinstance(outcome, Outcome) or len(fds) != 1:
            raise GeneratorError("the bench's process sent no records")
        return capture_of(outcome, fds[0])


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
