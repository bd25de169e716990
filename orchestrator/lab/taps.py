"""The tap of a path between two real hosts: a capture at each end, paired by content, on one clock. It keeps rackproof.ports.Tap."""

import ipaddress
import json
import os
import re
import select
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from inspect import getsource
from typing import Any

import numpy as np

from orchestrator.lab import clocks, pcap, recorder
from orchestrator.lab.clocks import Reading
from orchestrator.lab.hosts import LabHost
from orchestrator.lab.pairing import End, Paired, paired
from orchestrator.lab.ssh import end
from rackproof.errors import LabError
from rackproof.model.path import BACKWARD, FORWARD
from rackproof.model.traffic import Capture, Samples
from rackproof.ports import Run

#: How long captures go on after the end of what counts [s]: tcpdump gets packets up to a second late, and some are still on their way.
LINGER_S = 1.5
#: How long a host may take to begin a capture, and how long it may be silent while it hands it over [s].
START_S = 15.0
SILENT_S = 30.0
SIDES = ("sender", "receiver")
_DROPS = re.compile(r"(\d+) packets? dropped by")
NS_PER_MS = 1e6

#: Says how far the clock of a host is off.
Clock = Callable[[LabHost], Reading]


class HostTap:
    """Records both directions between a sender and a receiver.

    link_mbps: the slower of their cables. ports: the port of each flow, at either end.
    """

    def __init__(self, hosts: tuple[LabHost, LabHost], *, link_mbps: float, ports: range, clock: Clock = clocks.read) -> None:
        self._hosts = hosts
        self._link_mbps = link_mbps
        self._ports = ports
        self._clock = clock

    def start(self) -> Run:
        return _Recording(self._hosts, self._link_mbps, self._ports, self._clock)


class _Recording:
    def __init__(self, hosts: tuple[LabHost, LabHost], link_mbps: float, ports: range, clock: Clock) -> None:
        self._hosts = hosts
        self._link_mbps = link_mbps
        self._ports = ports
        self._clock = clock
        self._marked = 0.0
        self._marked_ns = 0
        self._over = False
        self._before = [clock(host) for host in hosts]
        if all(reading.own for reading in self._before):
            names = " and ".join(host.name for host in hosts)
            raise LabError(f"{names}: expected clocks that follow the same time, found two that follow nothing but themselves")
        between = " and ".join(f"host {host.address}" for host in hosts)
        self._captures: list[_HostCapture] = []
        try:
            for host in hosts:
                self._captures.append(_HostCapture(host, f"ip and (tcp or udp) and {between}"))
            for capture in self._captures:
                capture.wait_until_it_listens()
        except BaseException:
            self._abandon()
            raise

    def stop(self) -> None:
        if not self._marked:
            self._marked, self._marked_ns = time.monotonic(), time.time_ns()
            for capture in self._captures:
                capture.say(b"m")

    def wait(self) -> Capture:
        if self._over:
            raise LabError("what was recorded was handed over already")
        self.stop()
        try:
            while (left := self._marked + LINGER_S - time.monotonic()) > 0:
                for host in self._hosts:
                    host.check()
                time.sleep(min(left, 0.1))
            for capture in self._captures:
                capture.say(b"e")
            ended = [capture.handed_over() for capture in self._captures]
            after = [self._clock(host) for host in self._hosts]
        finally:
            self._abandon()
        readings = list(zip(self._before, after, strict=True))
        ahead_ns = self._marked_ns - ended[0].end_ns + round(after[0].offset_ms * NS_PER_MS)
        health = {"link_speed_mbps": self._link_mbps, "worker_ahead_ms": ahead_ns / NS_PER_MS, **_clock_health(readings)}
        return _capture(self._hosts, ended, readings, self._ports, health)

    def _abandon(self) -> None:
        self._over = True
        for capture in self._captures:
            capture.close()


class _Ended:
    """What a host handed over: the packets, and what it said of them."""

    def __init__(self, seen: pcap.Seen, begin_ns: int, said: dict[str, Any]) -> None:
        self.seen = seen
        self.begin_ns = begin_ns
        self.end_ns: int = said["end_ns"]
        self.drops = sum(int(count) for count in _DROPS.findall(said["said"]))
        self.aggregated = int(np.count_nonzero((seen.octets > said["mtu"]) | (seen.octets == 0)))


class _HostCapture:
    """A capture on one host (recorder.py)."""

    def __init__(self, host: LabHost, expression: str) -> None:
        self._host = host
        self._rest = b""
        self._begin_ns = 0
        arguments = (str(host.agent), host.port, str(pcap.SNAP_BYTES), expression)
        self._process = host.connection.session(("python3", "-I", "-S", "-c", getsource(recorder), *arguments))

    def wait_until_it_listens(self) -> None:
        """Raises LabError where it does not."""
        first = self._line(START_S)
        if "refused" in first:
            raise LabError(f"{self._host.name}: packets of {self._host.port} cannot be captured: {first['refused']}")
        self._begin_ns = first["begin_ns"]

    def say(self, word: bytes) -> None:
        """A byte for the recorder; one that is gone is found out by whoever reads from it."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(word)

    def handed_over(self) -> _Ended:
        """What was captured, after the end was asked for. Raises LabError."""
        said = self._line(recorder.END_S + SILENT_S)
        file = np.empty(said["size"], np.uint8)
        have = min(len(self._rest), len(file))
        file[:have] = np.frombuffer(self._rest[:have], np.uint8)
        view = file.data
        assert self._process.stdout is not None
        while have < len(file):
            self._wait(SILENT_S)
            got = os.readv(self._process.stdout.fileno(), [view[have : have + (1 << 20)]])
            if not got:
                raise self._lost(f"{len(file) - have} bytes of the capture are missing")
            have += got
        return _Ended(pcap.read(file, f"{self._host.name}: the capture"), self._begin_ns, said)

    def close(self) -> None:
        """End the capture; what was not handed over is thrown away."""
        end(self._process)

    def _line(self, timeout_s: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        while b"\n" not in self._rest:
            self._wait(timeout_s)
            got = os.read(self._process.stdout.fileno(), 1 << 16)
            if not got:
                raise self._lost("it ended without a word")
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def _wait(self, timeout_s: float) -> None:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            raise self._lost(f"nothing was heard for {timeout_s:g} s")

    def _lost(self, what: str) -> LabError:
        return LabError(f"{self._host.name}: the capture of {self._host.port} was lost: {what}; {self._host.connection.errors()}")


def _capture(
    hosts: tuple[LabHost, LabHost],
    ended: Sequence[_Ended],
    readings: Sequence[tuple[Reading, Reading]],
    ports: range,
    health: Mapping[str, float],
) -> Capture:
    """Both captures on one clock, as one record of the path."""
    spans = [
        (each.begin_ns - round(before.offset_ms * NS_PER_MS), each.end_ns - round(after.offset_ms * NS_PER_MS))
        for each, (before, after) in zip(ended, readings, strict=True)
    ]
    span_ns = max(begin for begin, _ in spans), min(end for _, end in spans)
    one, other = (_on_time(each, *pair) for each, pair in zip(ended, readings, strict=True))
    sender, receiver = (int(ipaddress.IPv4Address(host.address)) for host in hosts)
    there = paired(one.of(sender), other.of(sender), span_ns=span_ns, ports=ports, direction=FORWARD)
    back = paired(other.of(receiver), one.of(receiver), span_ns=span_ns, ports=ports, direction=BACKWARD)
    names = ("tx_ns", "rx_ns", "sequence", "stream", "frame_bytes", "port", "pcp")
    return Capture(
        samples=Samples(**{name: np.concatenate([getattr(there.samples, name), getattr(back.samples, name)]) for name in names}),
        sent={},
        batch_starts_ns=np.array(span_ns, np.int64),
        health={**health, **_health(ended, (there, back))},
    )


def _on_time(ended: _Ended, before: Reading, after: Reading) -> End:
    """The packets of one end by the time: less its clock's offset, which went evenly from one reading to the other."""
    since = (ended.seen.at_ns - ended.begin_ns) / max(1, ended.end_ns - ended.begin_ns)
    offset_ms = before.offset_ms + np.clip(since, 0.0, 1.0) * (after.offset_ms - before.offset_ms)
    return End(seen=ended.seen, at_ns=ended.seen.at_ns - np.rint(offset_ms * NS_PER_MS).astype(np.int64))


def _clock_health(readings: Sequence[tuple[Reading, Reading]]) -> dict[str, float]:
    found = {}
    for side, (before, after) in zip(SIDES, readings, strict=True):
        found[f"clock_offset.{side}_ms"] = (before.offset_ms + after.offset_ms) / 2
        found[f"clock_bound.{side}_ms"] = max(before.bound_ms, after.bound_ms)
        found[f"clock_moved.{side}_ms"] = after.offset_ms - before.offset_ms
    return found


def _health(ended: Sequence[_Ended], both: Sequence[Paired]) -> dict[str, float]:
    found = {}
    for side, each in zip(SIDES, ended, strict=True):
        found[f"capture_drops.{side}"] = float(each.drops)
        found[f"aggregated.{side}"] = float(each.aggregated)
        found[f"fragments.{side}"] = float(each.seen.fragments)
    for name in ("unpaired", "duplicated", "unassigned"):
        found[name] = float(sum(getattr(each, name) for each in both))
    return found
