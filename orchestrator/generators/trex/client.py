"""The client of a TRex server, within its own process: the only place that imports it.

Its import puts copies of scapy, yaml and zmq of its own in the place of this environment's.
"""

import contextlib
import importlib
import secrets
import sys
import time
import warnings
from typing import Any

from orchestrator.generators.trex import owners
from orchestrator.generators.trex.copies import Capturing
from orchestrator.generators.trex.messages import Opened, PortNow, Reading, Run, Told, Where
from orchestrator.generators.trex.orders import COUNTERS
from orchestrator.generators.trex.running import Running
from orchestrator.generators.trex.streams import Streams
from rackproof.errors import GeneratorError

#: Servers that the driver was proven with.
SERVER_VERSIONS = ("3.08",)
#: The client needs the module imp, which Python 3.12 has no more.
PYTHON_BELOW = (3, 12)
#: How long the server may take to answer one request; the client waits four times so long.
ANSWER_S = 2.0
#: Ports that begin together do so this long after they are told, which the server wants to be 0.1 s at least.
LEAD_S, LEAD_PER_PORT_S = 0.2, 0.02
#: A server that is asked reads its counters first; writing them down takes it most of the time until it answers.
READ_AFTER_NS = 500_000
_AS_IT_IS = {"type": "raw", "op": "abs", "value": 1.0}


class Client:
    """A session with a server; every method raises GeneratorError."""

    def __init__(self, where: Where) -> None:
        if sys.version_info >= PYTHON_BELOW:
            found = ".".join(map(str, sys.version_info[:2]))
            raise GeneratorError(f"the TRex client runs with Python 3.11 (it needs the module imp); this is Python {found}")
        warnings.simplefilter("ignore")
        importlib.import_module("lbr_trex_client")  # makes its packages importable as "trex"
        self._api: Any = importlib.import_module("trex.stl.api")
        self._streams = Streams(self._api)
        self._frame: Any = importlib.import_module("trex.common.trex_client").PacketBuffer
        self._where = where
        self._ports = list(where.ports)
        # Numbers of counters are the server's, whoever uses it: ours begin where hardly anybody's are.
        self._next_counter = 1 + secrets.randbelow(1 << 30)
        self._run: Running | None = None
        self._capturing: Capturing | None = None
        self._client: Any = self._api.STLClient(
            server=where.host,
            sync_port=where.rpc_port,
            async_port=where.rpc_port - 1,
            username=where.user or owners.this_process(),
            verbose_level="none",
            sync_timeout=ANSWER_S,
            async_timeout=ANSWER_S,
        )
        # The client renders every message for its log, with the log switched off as well; for some hundred streams that takes seconds.
        self._client.conn.rpc.pretty_json = lambda *_, **__: ""

    def open(self) -> Opened:
        """Connect, check the version, take the ports and end what runs there."""
        where = self._where
        try:
            self._client.connect()
        except self._api.TRexError as error:
            raise GeneratorError(self._unreachable(error)) from None
        version = str(self._client.get_server_version()["version"]).removeprefix("v")
        if version not in SERVER_VERSIONS:
            supported = ", ".join(SERVER_VERSIONS)
            raise GeneratorError(f"{where.host} runs TRex {version}; this driver is proven with {supported}: install that version")
        missing = [str(port) for port in self._ports if port not in self._client.get_all_ports()]
        if missing:
            there = ", ".join(map(str, self._client.get_all_ports()))
            raise GeneratorError(f"{where.host} has no port {', '.join(missing)}; its ports are {there}")
        self._take()
        with self._told("the ports cannot be reset"):
            self._client.stop(ports=self._ports)
            self._client.remove_all_streams(ports=self._ports)
            self._client.set_service_mode(ports=self._ports, enabled=False)
            # Frames carry the plan's addresses, not the ports'.
            with contextlib.suppress(self._api.TRexError):
                self._client.set_port_attr(ports=self._ports, promiscuous=True)
            used = self._client.get_active_pgids()["latency"]
        return Opened(facts=self._facts(version), counters=COUNTERS - len(used))

    def _unreachable(self, error: Exception) -> str:
        where, text = self._where, str(error).strip()
        if "ASTF" in text or "STF" in text:
            return f"{where.host}:{where.rpc_port} does not run stateless (start it with --stl): {text}"
        return f"no TRex server answers at {where.host}:{where.rpc_port}: {text}"

    def _take(self) -> None:
        where = self._where
        others = {port.number: port.owner for port in self.ports() if port.owner and not owners.gone(port.owner)}
        if others and not where.take_over:
            said = ", ".join(f"port {number} belongs to {owner}" for number, owner in sorted(others.items()))
            raise GeneratorError(f"{where.host}: {said}; have it released, or take it over expressly")
        with self._told("the ports cannot be taken"):
            self._client.acquire(ports=self._ports, force=True)

    def _facts(self, version: str) -> dict[str, str]:
        info, server = self._client.get_server_system_info(), self._client.get_server_version()
        return {
            "generator": "TRex",
            "version": version,
            "mode": str(server.get("mode", "")),
            "built": f"{server.get('build_date', '')} {server.get('build_time', '')}",
            "server": str(info.get("hostname", "")),
            "processor": str(info.get("core_type", "")),
            "data plane cores": str(info.get("dp_core_count", "")),
            "ports": ", ".join(f"{port.number}: {port.driver}" for port in self.ports()),
        }

    def ports(self) -> tuple[PortNow, ...]:
        """The ports as they are now."""
        with self._told("the ports do not answer"):
            found = []
            for number in self._ports:
                port = self._client.ports[number]
                port.sync()
                attributes = port.get_ts_attr()
                owner = str(port.get_owner() or "")
                found.append(
                    PortNow(
                        number=number,
                        link_up=bool(attributes["link"]["up"]),
                        speed_mbps=1000.0 * float(attributes["speed"]),
                        owner="" if owner == "<FREE>" else owner,
                        driver=str(port.info.get("driver", "")),
                    )
                )
            return tuple(found)

    def begin(self, run: Run) -> None:
        """Send the run's traffic; step() does the rest."""
        with self._told("the traffic does not start"):
            self._client.remove_all_streams(ports=self._ports)
            running = Running(run, self._next_counter, self._client.get_stats(ports=self._ports))
            self._next_counter += len(running.counters)
            for port, streams in self._streams.by_port(running).items():
                self._client.add_streams(streams, ports=[port])
            for port, frame in run.announcements:
                self._client.push_packets([self._frame(frame)], ports=[port], force=True)
            running.foreign = _foreign(self._stats(running))
            self._capturing = Capturing(self._client, self._ports, running) if run.captured else None
            running.start(self._start(sorted({burst.tx_port for burst in run.bursts}), running.limit_s))
            self._run = running

    def _start(self, ports: list[int], limit_s: float) -> float:
        """Let all ports begin at the same time. How many seconds are left until then."""
        if len(ports) == 1:
            self._client.start(ports=ports, duration=limit_s, force=True)
            return 0.0
        lead_s = LEAD_S + LEAD_PER_PORT_S * len(ports)
        asked, server_s = time.monotonic(), float(self._client.ping_rpc_server()["ts"])
        for port in ports:  # the client's own start knows pairs of ports only, and waits for half a second each
            rc = self._client.ports[port].start(_AS_IT_IS, limit_s, True, None, start_at_ts=server_s + lead_s)
            if not rc:
                raise self._api.TRexError(rc)
        return asked + lead_s - time.monotonic()

    def due_in(self) -> float:
        """Seconds until step() has something to do."""
        return float("inf") if self._run is None else max(0.0, self._run.due - time.monotonic())

    def step(self) -> Told | None:
        """Do what is due. What the run gave, when it is over."""
        run = self._run
        if run is None:
            return None
        with self._told("the server was lost while it was sending"):
            if run.draining:
                self._run = None
                return self._finish(run)
            if run.read(self._read(run)):
                self._halt(run)
            return None

    def stop(self) -> None:
        """Stop sending now; what came until then is told after the drain."""
        run = self._run
        if run is None:
            return
        with self._told("the traffic does not stop"):
            self._halt(run)
        run.stop()

    def _halt(self, run: Running) -> None:
        for port in sorted({burst.tx_port for burst in run.run.bursts}):
            rc = self._client.ports[port].stop()  # the client's own stop would take the counters away
            if not rc:
                raise self._api.TRexError(rc)

    def _stats(self, run: Running) -> Any:
        """As the server tells them: the client's own call makes them relative to what it remembers of counters before."""
        rc = self._client.conn.rpc.transmit("get_pgid_stats", params={"pgids": run.counters})
        if not rc:
            raise self._api.TRexError(rc)
        missing = [counter for counter in run.counters if str(counter) not in (rc.data()["flow_stats"] or {})]
        if missing:
            raise GeneratorError(f"TRex at {self._where.host} no longer has the counters of this run: somebody took the ports over")
        return rc.data()

    def _read(self, run: Running) -> Reading:
        at_ns = time.time_ns() + READ_AFTER_NS
        return Reading(at_ns=at_ns, counts=run.counts(self._stats(run)["flow_stats"]))

    def _finish(self, run: Running) -> Told:
        final, stats = time.time_ns(), self._stats(run)
        counts = run.counts(stats["flow_stats"])
        copies = self._capturing.fetch([count.rx_frames for count in counts]) if self._capturing else None
        after = self._client.get_stats(ports=self._ports)
        with contextlib.suppress(self._api.TRexError):
            self._client.stop(ports=self._ports, rx_delay_ms=0)
        latency = [stats["latency"][str(counter)] for counter in run.counters]
        errors = [entry.get("er") or {} for entry in latency]
        received = [stats["flow_stats"][str(counter)]["rp"] for counter in run.counters]
        astray = sum(sum(by_port.values()) - by_port[str(burst.rx_port)] for by_port, burst in zip(received, run.counted, strict=True))
        return Told(
            started_ns=run.started_ns,
            ended_ns=run.ended_ns,
            readings=tuple(run.readings),
            final=Reading(at_ns=final, counts=counts),
            histograms=tuple(str(entry["lat"].get("hdrh", "")) for entry in latency),
            duplicates=tuple(int(error.get("dup", 0)) for error in errors),
            reordered=tuple(int(error.get("ooo", 0)) for error in errors),
            complete=run.complete,
            stopped=run.stopped,
            copies=copies,
            health={
                "clock_step_us": run.clock_step_us(),
                "ring_drops": _grown(run.before, after, self._ports, "ierrors"),
                "send_errors": _grown(run.before, after, self._ports, "oerrors"),
                "send_retries": float(after["global"]["queue_full"]) - float(run.before["global"]["queue_full"]),
                "foreign_frames": _foreign(stats) - run.foreign,
                "astray_frames": float(astray),
                "data_plane_cpu_percent": float(after["global"]["cpu_util"]),
                "receive_cpu_percent": float(after["global"]["rx_cpu_util"]),
            },
        )

    def forget(self) -> None:
        """There is no run any more: its server was lost."""
        self._run = None

    def close(self) -> None:
        """Stop traffic, give the ports back, hang up; never raises."""
        with contextlib.suppress(Exception):
            self._client.stop(ports=self._ports, rx_delay_ms=0)
            self._client.remove_all_streams(ports=self._ports)
        with contextlib.suppress(Exception):
            self._client.disconnect(stop_traffic=True, release_ports=True)

    @contextlib.contextmanager
    def _told(self, what: str) -> Any:
        try:
            yield
        except self._api.TRexError as error:
            raise GeneratorError(f"TRex at {self._where.host}: {what}: {str(error).strip()}") from None


def _foreign(stats: Any) -> float:
    """Frames with TRex's signature that are none of the running counters', since the server began."""
    return float(sum(int(value) for value in (stats["latency"].get("g") or {}).values()))


def _grown(before: Any, after: Any, ports: list[int], key: str) -> float:
    return float(sum(int(after[port][key]) - int(before[port][key]) for port in ports))
