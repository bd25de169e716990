"""How the Rust engine sends and receives one run of traffic, on ports of a network namespace."""

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import rackproof_native as engine

from orchestrator.bench.cpus import Cpus
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import GeneratorError
from rackproof.model.traffic import Stream, Traffic

#: How long threads may take to end after their time is up.
JOIN_S = 5.0
#: Room for records beyond what the schedule intends: Poisson arrivals and duplicates.
HEADROOM = 1.3
SPARE_RECORDS = 10_000
FLAT_OUT_FPS = 1_500_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one run of traffic gave, with the records still in their file: fd is a memfd of `records` records, owned by the receiver."""

    fd: int
    records: int
    first_sequence: Mapping[int, np.ndarray[Any, np.dtype[np.int64]]]
    octets: Mapping[int, np.ndarray[Any, np.dtype[np.int64]]]
    intended_frames: Mapping[int, int]
    batch_starts_ns: np.ndarray[Any, np.dtype[np.int64]]
    health: Mapping[str, float]


class NativeRun:
    """Traffic under way on ports of the namespace (None: of this thread's own); collect() must be called once, whatever happened."""

    def __init__(self, namespace: Namespace | None, traffic: Traffic) -> None:
        self._traffic = traffic
        tx_ports = sorted({stream.tx_port for stream in traffic.streams})
        rx_ports = sorted({stream.rx_port for stream in traffic.streams})
        cpus = Cpus.of_process()
        fd = None if namespace is None else namespace.fd
        try:
            _announce(namespace, traffic)
            self._receiver = engine.Receiver(
                ports=[engine.Port(port, fd) for port in rx_ports],
                campaign=traffic.campaign,
                trial=traffic.trial,
                capacity=_capacity(traffic),
                cpu=cpus.device,
                nice=cpus.nice,
            )
            self._receiver.start()
            self._sender = engine.Sender(
                ports=[engine.Port(port, fd) for port in tx_ports],
                streams=[_stream(stream, tx_ports) for stream in traffic.streams],
                campaign=traffic.campaign,
                trial=traffic.trial,
                seed=traffic.seed,
                duration_s=traffic.warmup_s + traffic.duration_s,
                marks_s=list(traffic.warmup_s + np.linspace(0, traffic.duration_s, traffic.batches + 1)),
                cpu=cpus.sender,
                nice=cpus.nice,
            )
            self._sender.start()
        except (OSError, ValueError) as error:
            raise GeneratorError(f"the native generator does not start: {error}") from error

    def stop(self) -> None:
        """Stop sending now."""
        self._sender.stop()

    def collect(self) -> Outcome:
        """Wait for the last frame, listen for the drain time, and hand over. Raises GeneratorError."""
        if not self._sender.join(self._traffic.warmup_s + self._traffic.duration_s + JOIN_S):
            self._sender.stop()
            self._receiver.stop()
            raise GeneratorError("the sender did not end within its time; the host may be overloaded")
        time.sleep(self._traffic.drain_s)
        try:
            self._receiver.stop()
        except RuntimeError as error:
            raise GeneratorError(f"{error}; the host may be overloaded") from error
        sent, got = self._sender.report(), self._receiver.report()
        ids = [stream.id for stream in self._traffic.streams]
        scheduled = [int(marks[-1] - marks[0]) for marks in sent.mark_scheduled]
        health: dict[str, float] = {
            "lateness_p50_us": sent.lateness_ns_p50 / 1e3,
            "lateness_p99_us": sent.lateness_ns_p99 / 1e3,
            "lateness_max_us": sent.lateness_ns_max / 1e3,
            "stalled_ms": sent.stalled_ns / 1e6,
            "clock_step_us": abs(sent.clock_step_ns) / 1e3,
            "send_errors": sent.errors,
            "send_retries": sent.blocked,
            "foreign_frames": sum(got.foreign),
            "other_frames": sum(got.other),
            "ring_drops": sum(got.ring_drops),
            "overflow": sum(got.overflow),
            "load_average_1min": os.getloadavg()[0],
        }
        return Outcome(
            fd=self._receiver.take_records_fd(),
            records=sum(got.records),
            first_sequence=dict(zip(ids, (np.array(marks, np.int64) for marks in sent.mark_frames), strict=True)),
            octets=dict(zip(ids, (np.array(marks, np.int64) for marks in sent.mark_octets), strict=True)),
            intended_frames=dict(zip(ids, scheduled, strict=True)),
            batch_starts_ns=np.array(sent.mark_ns, np.int64),
            health=health,
        )


class OneRun:
    """What a process that sends one run of traffic at a time can be asked once it was begun."""

    _run: NativeRun | None = None

    def stop(self) -> None:
        """Stop sending now; collect() still gives what came."""
        if self._run is not None:
            self._run.stop()

    def collect(self) -> Outcome:
        """What the traffic gave, after its last frame and the drain. Raises GeneratorError."""
        if self._run is None:
            raise GeneratorError("no traffic is under way")
        run, self._run = self._run, None
        return run.collect()

    def _must_be_free(self) -> None:
        if self._run is not None:
            raise GeneratorError("traffic is under way already")


def _capacity(traffic: Traffic) -> int:
    rate = sum(FLAT_OUT_FPS if stream.arrivals == "flat_out" else stream.rate_fps for stream in traffic.streams)
    return int(min(rate, FLAT_OUT_FPS) * (traffic.warmup_s + traffic.duration_s) * HEADROOM) + SPARE_RECORDS


def _stream(stream: Stream, tx_ports: list[str]) -> engine.Stream:
    return engine.Stream(
        stream=stream.id,
        port=tx_ports.index(stream.tx_port),
        header=stream.header,
        frame_sizes=[(size.frame_bytes, size.weight) for size in stream.frame_sizes],
        rate_fps=stream.rate_fps,
        arrivals=stream.arrivals.value,
    )


def _announce(namespace: Namespace | None, traffic: Traffic) -> None:
    """Send a learning frame from every address that streams go to, so that a learning switch floods nothing (RFC 2544, section 23)."""
    homes = {(stream.rx_port, stream.header[:6]) for stream in traffic.streams}
    broadcast, loopback_ethertype = b"\xff" * 6, b"\x90\x00"

    def send() -> None:
        # One socket for all ports: the kernel takes some 10 ms to close each.
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            for port, address in homes:
                sock.sendto(broadcast + address + loopback_ethertype + bytes(46), (port, 0))

    if namespace is None:
        send()
    else:
        namespace.run(send)
