"""A session with a TRex server, as the campaign's process sees it: what speaks to the server lives in a process of its own."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.bench.channel import Channel, Closed, spawned
from orchestrator.generators.driver import Abilities, PortState
from orchestrator.generators.trex.messages import Opened, PortNow, Run, Told, Where
from orchestrator.generators.trex.orders import PHASES, runs
from orchestrator.generators.trex.results import capture_of
from orchestrator.interruption import Interruption
from rackproof.errors import GeneratorError
from rackproof.model.traffic import Arrivals, Capture, Traffic
from rackproof.ports import Run as RunPort

#: Bounds of a request: the client's import and the connection; anything else; the end of the process.
OPEN_S = 30.0
REQUEST_S = 30.0
END_S = 8.0


class TrexSession:
    """A server that is connected to, with its ports taken; close() gives them back."""

    def __init__(self, where: Where, fps: float, capture_frames: int, interruption: Interruption) -> None:
        self._where, self._fps, self._interruption = where, fps, interruption
        self.capture_frames = capture_frames
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._channel: Channel | None
        self._process, self._channel = spawned("orchestrator.generators.trex.process", environment=environment)
        try:
            self._opened: Opened = self.request("open", OPEN_S, where=where)
        except BaseException:
            self.close()
            raise

    def facts(self) -> Mapping[str, str]:
        """TRex's version and mode, and the server it runs on."""
        return self._opened.facts

    def ports(self) -> tuple[PortState, ...]:
        """The ports as they are now."""
        found: tuple[PortNow, ...] = self.request("ports")
        return tuple(PortState(name=str(port.number), link_up=port.link_up, speed_mbps=port.speed_mbps, owner=port.owner) for port in found)

    def abilities(self) -> Abilities:
        """What it can do."""
        return Abilities(
            fps=self._fps,
            samples=self.capture_frames > 0,
            arrivals=frozenset({Arrivals.CONSTANT, Arrivals.POISSON}),
            streams_max=self.counters,
            notes={
                "poisson": f"TRex has no exponential gaps: up to {PHASES} streams of equal gaps and random phases are summed. At lags "
                "shorter than one gap of such a stream this is close to Poisson, over longer ones it is much more regular; the measured "
                "index of dispersion is in each trial's health (poisson_dispersion; 1 for Poisson)",
                "delay": "the server's HDR histogram, in steps of 1 us; it contains the server's own delay, which the calibration measures",
                "pacing": "how evenly frames leave is seen in captured trials only (lateness_p99_us). A server that shares cores leaves "
                "gaps of some milliseconds; what a device with short queues then leaks and loses is the generator's doing",
                "batches": "arrivals of a batch are read from counters while traffic runs; losses only from counters after the drain",
                "groups": f"more than {self.counters} streams are counted in several runs of the same traffic, one after another",
            },
        )

    def start(self, traffic: Traffic) -> RunPort:
        """Begin to send and listen."""
        return TrexRun(self, traffic)

    @property
    def counters(self) -> int:
        """How many streams can be counted at a time."""
        return self._opened.counters

    def check_ports(self, asked: Iterable[str]) -> None:
        """Raises GeneratorError where a port was not taken."""
        missing = sorted(set(asked) - {str(port) for port in self._where.ports})
        if missing:
            raise GeneratorError(f"TRex at {self._where.host}: the session has no port {', '.join(missing)}")

    def request(self, name: str, timeout_s: float = REQUEST_S, **arguments: Any) -> Any:
        """Ask the client's process. Raises GeneratorError: what it raised, or that it is gone or silent."""
        if self._channel is None:
            raise GeneratorError("the session with TRex is closed")
        try:
            self._channel.send((name, arguments))
            self._await(timeout_s)
            (kind, result), _ = self._channel.receive()
        except Closed:
            self.close()
            raise GeneratorError("the process that speaks to TRex ended unexpectedly; the server ends its traffic by itself") from None
        if kind == "error":
            raise GeneratorError(result)
        return result

    def _await(self, timeout_s: float) -> None:
        """Raises GeneratorError after the time, Stopped when somebody wants an end; the process is ended then, and the traffic with it."""
        assert self._channel is not None
        end = time.monotonic() + timeout_s
        sources: list[Any] = [self._channel] if self._interruption.shields else [self._channel, self._interruption]
        ready = select.select(sources, [], [], max(0.0, end - time.monotonic()))[0]
        if self._channel in ready:
            return
        if ready:
            self.close()
            self._interruption.check()
        self.close()
        raise GeneratorError(f"TRex at {self._where.host} did not answer within {timeout_s:.0f} s; its client was ended")

    def close(self) -> None:
        """Stop traffic, give the ports back, hang up."""
        if self._channel is None:
            return
        self._channel.close()
        self._channel = None
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class TrexRun:
    """Traffic under way."""

    def __init__(self, session: TrexSession, traffic: Traffic) -> None:
        self._session, self._traffic = session, traffic
        self._runs = runs(traffic, session.counters, session.capture_frames)
        session.check_ports({port for stream in traffic.streams for port in (stream.tx_port, stream.rx_port)})
        self._stopped = self._over = False
        session.request("begin", run=self._runs[0])

    def stop(self) -> None:
        """Stop sending at once."""
        if not self._over:
            self._stopped = True
            self._session.request("stop")

    def wait(self) -> Capture:
        """Wait for the end of listening and read the counters. Raises GeneratorError."""
        told: list[tuple[Run, Told]] = []
        for run in self._runs:
            if told:
                self._session.request("begin", run=run)
            told.append((run, self._session.request("collect", 2 * run.sending_s + run.drain_s + REQUEST_S)))
            if self._stopped:
                break
        self._over = True
        return capture_of(self._traffic, told)
