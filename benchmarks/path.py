"""How good is the emulated path on this machine? Prints one JSON row per target.

Needs root, or `unshare -Urn`. Run alone: a busy machine makes a worse path.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import rackproof_native as native
from pyroute2 import IPRoute

from benchmarks.engine import NICE, RECORD, SENDER_CPU, Bench, Row, bench, in_namespace, prefer_this_session, read_records, rounded, row

PATH_CPU = max(os.sched_getaffinity(0))
#: So fast that it takes no time.
NO_LINK_BPS = 1e12
ETHERNET_BYTES = 14
FCS_BYTES = 4
LINK_BPS = 500e6
ADDRESSES = {"tx": "10.82.1.1", "rx": "10.82.1.2"}
WARM_UP_S = 1.0

_trial = count(1)


@contextmanager
def path_between(direction: native.PathDirection) -> Iterator[tuple[Bench, native.Path]]:
    """Hosts tx and rx with a running path between them, the same both ways."""
    with bench([("tx", "tx0", "path", "a1"), ("rx", "rx0", "path", "b1")]) as made:
        path = native.Path(
            netns_fd=made.namespaces["path"], pairs=[("a1", "b1")], forward=direction, backward=direction, cpu=PATH_CPU, nice=NICE
        )
        path.start()
        try:
            yield made, path
        finally:
            path.stop()


def recorded(path: native.Path) -> np.ndarray[Any, np.dtype[Any]]:
    fd, overflow = path.take_records_fd()
    if overflow:
        raise RuntimeError(f"{overflow} packets beyond the recording's memory")
    with os.fdopen(fd, "rb") as memory:
        return np.fromfile(memory, dtype=RECORD)


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One stream through a path: what was sent, what the path saw, what came out, and how much of that the receiver had no time for."""

    sent: int
    missed: int
    path: np.ndarray[Any, np.dtype[Any]]
    received: np.ndarray[Any, np.dtype[Any]]
    report: native.PathReport


def passage(*, delay_ms: float, kpps: float, frame_bytes: int, arrivals: str, duration_s: float) -> Passage:
    """Frames that say they carry IP, from tx to rx."""
    trial = next(_trial)
    header = bytes([2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 1]) + b"\x08\x00"
    spec: dict[str, Any] = {"arrivals": arrivals, "rate_fps": kpps * 1e3, "frame_sizes": [(frame_bytes, 1.0)]}
    with path_between(native.PathDirection(rate_bps=NO_LINK_BPS, delay_ms=delay_ms)) as (made, path):
        stream = native.Stream(stream=1, port=0, header=header, **spec)
        sender = native.Sender(
            ports=[made.port("tx", "tx0")], streams=[stream], campaign=2, trial=trial, seed=trial, duration_s=duration_s,
            cpu=SENDER_CPU, nice=NICE,
        )  # fmt: skip
        receiver = native.Receiver(ports=[made.port("rx", "rx0")], campaign=2, trial=trial, capacity=4_000_000)
        receiver.start()
        path.start_recording()
        sender.start()
        if not sender.join(duration_s + 10):
            raise TimeoutError("sender did not end")
        time.sleep(delay_ms / 1e3 + 0.2)
        path.stop_recording()
        receiver.stop()
        return Passage(
            sent=sum(sender.report().frames),
            missed=sum(receiver.report().ring_drops),
            path=recorded(path),
            received=read_records(receiver),
            report=path.report(),
        )


def speed(duration_s: float, repetitions: int) -> list[Row]:
    """300 kpps of the smallest and of full packets, none lost."""
    rows = []
    for frame_bytes in (64, 1518):
        losses, drops, missed, lateness = [], [], [], []
        for _ in range(repetitions):
            done = passage(delay_ms=5, kpps=300, frame_bytes=frame_bytes, arrivals="poisson", duration_s=duration_s)
            losses.append(1 - (len(done.received) + done.missed) / done.sent)
            drops.append(done.report.ring_drops)
            missed.append(done.missed)
            lateness.append(done.report.lateness_ns_p99 / 1e3)
        best = min(losses)
        rows.append(row(f"path, 300 kpps of {frame_bytes} B: loss, best run", best, "ratio", "0", best == 0, runs=losses,
                        ring_drops=drops, missed_by_receiver=missed, lateness_us_p99=rounded(lateness)))  # fmt: skip
    return rows


def delay_error(duration_s: float, repetitions: int) -> list[Row]:
    """From the kernel's timestamp at the way in to the kernel's timestamp at the receiver, less the delay that was asked for."""
    rows = []
    for kpps in (10, 50):
        medians, tails, lateness = [], [], []
        for _ in range(repetitions):
            done = passage(delay_ms=10, kpps=kpps, frame_bytes=1000, arrivals="poisson", duration_s=duration_s)
            if len(done.path) != done.sent:
                raise RuntimeError(f"{done.sent} packets were sent, {len(done.path)} came in")
            error_us = (done.received["rx_ns"] - done.path["tx_ns"][done.received["sequence"]]) / 1e3 - 10e3
            medians.append(float(np.percentile(error_us, 50)))
            tails.append(float(np.percentile(error_us, 99)))
            lateness.append(done.report.lateness_ns_p99 / 1e3)
        for name, values, bound in (("p50", medians, 5.0), ("p99", tails, 50.0)):
            best = min(values)
            rows.append(row(f"path, delay beyond the 10 ms asked, {kpps} kpps: {name}, best run", best, "us", f"< {bound:g}", best < bound,
                            runs=rounded(values), lateness_us_p99=rounded(lateness)))  # fmt: skip
    return rows


def address(made: Bench) -> None:
    """Gives both hosts their address and each other's neighbour, so that nothing is asked on the path."""
    hardware: dict[str, str] = {}
    for name in ADDRESSES:
        with IPRoute(netns=f"/proc/self/fd/{made.namespaces[name]}") as routes:
            (link,) = routes.get_links(ifname=f"{name}0")
            hardware[name] = str(link.get_attr("IFLA_ADDRESS"))
    for name, peer in (("tx", "rx"), ("rx", "tx")):
        with IPRoute(netns=f"/proc/self/fd/{made.namespaces[name]}") as routes:
            index = routes.link_lookup(ifname=f"{name}0")[0]
            routes.addr("add", index=index, address=ADDRESSES[name], prefixlen=24)
            routes.neigh("add", dst=ADDRESSES[peer], lladdr=hardware[peer], ifindex=index, state="permanent")


def start_in(namespace: int, command: list[str]) -> subprocess.Popen[str]:
    started: list[subprocess.Popen[str]] = []
    in_namespace(namespace, lambda: started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)))
    return started[0]


def iperf(duration_s: float) -> tuple[float, float, native.PathReport]:
    """What iperf3 says that arrived, and the IP packets that left the path, both without the start [bit/s]."""
    # A buffer of 20 ms behind a round trip of 20 ms: TCP can fill the link.
    bounded = native.PathDirection(rate_bps=LINK_BPS, delay_ms=10, buffer_bytes=int(LINK_BPS * 0.02 / 8))
    with path_between(bounded) as (made, path):
        address(made)
        server = start_in(made.namespaces["rx"], ["iperf3", "--server", "--one-off", "--forceflush"])
        try:
            if server.stdout is None or not server.stdout.readline():
                raise RuntimeError("iperf3 does not serve")
            time.sleep(0.3)
            begun_ns = path.start_recording()
            client = start_in(
                made.namespaces["tx"],
                ["iperf3", "--client", ADDRESSES["rx"], "--time", f"{duration_s:g}", "--omit", f"{WARM_UP_S:g}", "--json"],
            )
            said, _ = client.communicate(timeout=duration_s + 30)
            path.stop_recording()
        finally:
            server.terminate()
            server.wait(5)
            if server.stdout is not None:
                server.stdout.close()
        packets = recorded(path)
        begin_ns = begun_ns + WARM_UP_S * 1e9
        end_ns = begin_ns + (duration_s - 0.5) * 1e9
        left = (packets["port"] == 0) & (packets["rx_ns"] >= begin_ns) & (packets["rx_ns"] < end_ns)
        moved_bps = float(packets["frame_bytes"][left].sum()) * 8 / ((end_ns - begin_ns) / 1e9)
        return float(json.loads(said)["end"]["sum_received"]["bits_per_second"]), moved_bps, path.report()


def tcp(duration_s: float, repetitions: int) -> list[Row]:
    """One TCP flow of iperf3 through 500 Mbit/s."""
    name = "path, iperf3 through 500 Mbit/s: share of the link, best run"
    if not shutil.which("iperf3"):
        return [row(name, None, "ratio", ">= 0.95", None, note="iperf3 is not installed")]
    runs = [iperf(duration_s) for _ in range(repetitions)]
    shares = [moved / LINK_BPS for _, moved, _ in runs]
    best = max(shares)
    return [row(name, best, "ratio", ">= 0.95", best >= 0.95, runs=rounded(shares), goodput_mbps=rounded(good / 1e6 for good, _, _ in runs),
                ring_drops=[report.ring_drops for _, _, report in runs],
                dropped_buffer=[report.forward.dropped_buffer for _, _, report in runs],
                lateness_us_p99=rounded(report.lateness_ns_p99 / 1e3 for _, _, report in runs))]  # fmt: skip


def main() -> None:
    """Run all."""
    prefer_this_session()
    for part in (speed, delay_error, tcp):
        for found in part(duration_s=3.0, repetitions=5):
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
