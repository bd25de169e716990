"""How good is the native engine on this machine? Prints one JSON row per target.

Makes its own anonymous network namespaces, which vanish with their descriptors. Needs root, or
`unshare -Urn`. Run alone: a busy machine makes a worse engine.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import fcntl
import json
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import rackproof_native as native
from pyroute2 import IPRoute

CLONE_NEWNET = 0x40000000
SIOCETHTOOL = 0x8946
PR_SET_PDEATHSIG = 1
# Checksum, segmentation and merging commands of <linux/ethtool.h>, all "set".
OFFLOAD_COMMANDS = (0x15, 0x17, 0x1F, 0x22, 0x24, 0x2C)
RECORD = np.dtype(native.RECORD_DTYPE_DESCR)
FCS_BYTES = 4
L1_OVERHEAD_BYTES = 20
LINK_RATE_BPS = 100_000_000
WARM_UP_S = 0.2
PCP_TO_QUEUE = [0, 0, 1, 1, 2, 2, 3, 3]
NICE = -20
SENDER_CPU = min(os.sched_getaffinity(0))
STALL_RECOVERY = 5

Row = dict[str, Any]
Scheduler = Literal["strict_priority", "wrr_packets", "wrr_bytes"]
Records = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Namespaces (descriptors) and the interfaces in them, by name."""

    namespaces: dict[str, int]

    def port(self, namespace: str, interface: str) -> native.Port:
        return native.Port(interface, self.namespaces[namespace])


def in_namespace(fd: int, work: Callable[[], None]) -> None:
    """Runs `work` in a thread that has entered the namespace; its error is raised here."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(fd, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "enter network namespace")
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by the caller  # handed to the caller
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def new_namespace() -> int:
    """Descriptor of a new namespace that lives as long as the descriptor."""
    found: list[int] = []

    def run() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) == 0:
            found.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if not found:
        raise PermissionError("no new network namespace: run as root or under `unshare -Urn`")
    return found[0]


def quiet(namespace: int, interfaces: Sequence[str]) -> None:
    """Turns offloads and IPv6 off and the links on, so that only our frames are on them."""

    def work() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for interface in interfaces:
                for command in OFFLOAD_COMMANDS:
                    value = ctypes.create_string_buffer(struct.pack("II", command, 0))
                    request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
                    try:
                        fcntl.ioctl(control, SIOCETHTOOL, request.ljust(40, b"\0"))
                    except OSError as error:
                        if error.errno != errno.EOPNOTSUPP:  # nothing to turn off
                            raise

    in_namespace(namespace, work)
    with IPRoute(netns=f"/proc/self/fd/{namespace}") as routes:
        for interface in interfaces:
            index = routes.link_lookup(ifname=interface)[0]
            none = {"attrs": [("IFLA_INET6_ADDR_GEN_MODE", 1)]}
            spec = {"attrs": [("AF_INET6", none)]}
            routes.link("set", index=index, IFLA_AF_SPEC=spec)
            routes.link("set", index=index, state="up")


@contextmanager
def bench(links: Sequence[tuple[str, str, str, str]]) -> Iterator[Bench]:
    """Namespaces joined by veth pairs: (namespace, interface, namespace, interface)."""
    names = dict.fromkeys(name for link in links for name in (link[0], link[2]))
    namespaces: dict[str, int] = {}
    try:
        for name in names:
            namespaces[name] = new_namespace()
        for near, near_interface, far, far_interface in links:
            path = f"/proc/self/fd/{namespaces[near]}"
            with IPRoute(netns=path) as routes:
                peer = {"ifname": far_interface, "net_ns_fd": f"/proc/self/fd/{namespaces[far]}"}
                routes.link("add", ifname=near_interface, kind="veth", peer=peer)
        for name, fd in namespaces.items():
            near_ends = [link[1] for link in links if link[0] == name]
            far_ends = [link[3] for link in links if link[2] == name]
            quiet(fd, near_ends + far_ends)
        yield Bench(namespaces=namespaces)
    finally:
        for fd in namespaces.values():
            os.close(fd)


def header(number: int, pcp: int | None = None) -> bytes:
    """Addresses, VLAN tag if a priority is given, local experimental EtherType."""
    addresses = bytes([2, 0, 0, 0, 1, 0]) + bytes([2, 0, 0, 0, 0, number & 0xFF])
    tag = b"" if pcp is None else struct.pack("!HH", 0x8100, pcp << 13 | 1)
    return addresses + tag + b"\x88\xb5"


def stream(number: int, *, port: int = 0, pcp: int | None = None, frame_bytes: int = 64, **rest: Any) -> native.Stream:
    spec: dict[str, Any] = {"rate_fps": 0.0, "arrivals": "constant"} | rest
    return native.Stream(stream=number, port=port, header=header(number, pcp), frame_sizes=[(frame_bytes, 1.0)], **spec)


def read_records(receiver: native.Receiver) -> Records:
    with os.fdopen(receiver.take_records_fd(), "rb") as memory:
        return np.fromfile(memory, dtype=RECORD)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: who sent what, what arrived, and for how long."""

    sent: native.SenderReport
    received: native.ReceiverReport
    records: Records
    duration_s: float


_trial = iter(range(1, 1 << 30))


def run(
    senders: list[native.Port],
    receiver_port: native.Port,
    streams: list[native.Stream],
    *,
    duration_s: float,
    seed: int = 1,
    capacity: int = 4_000_000,
    drain_s: float = 0.05,
) -> Run:
    trial = next(_trial)
    sender = native.Sender(ports=senders, streams=streams, campaign=1, trial=trial, seed=seed, duration_s=duration_s, nice=NICE)
    receiver = native.Receiver(ports=[receiver_port], campaign=1, trial=trial, capacity=capacity)
    receiver.start()
    sender.start()
    if not sender.join(duration_s + 10):
        raise TimeoutError("sender did not end")
    time.sleep(drain_s)
    receiver.stop()
    return Run(sent=sender.report(), received=receiver.report(), records=read_records(receiver), duration_s=duration_s)


def row(name: str, value: float | None, unit: str, target: str, met: bool | None, **more: Any) -> Row:
    shown = None if value is None else float(f"{value:.6g}")
    return {"name": name, "value": shown, "unit": unit, "target": target, "met": met} | more


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def rounded(values: Iterable[float]) -> list[float]:
    return [round(value, 3) for value in values]


def direct_link() -> AbstractContextManager[Bench]:
    return bench([("tx", "tx0", "rx", "rx0")])


# --- sender -----------------------------------------------------------------------------------------


def flat_out_kpps(ports: list[native.Port], duration_s: float, *, rate_fps: float | None = None) -> float:
    """Frames per second that the kernel took, by the sender's own count [kpps]."""
    kind = "flat_out" if rate_fps is None else "constant"
    streams = [stream(n, port=n % len(ports), arrivals=kind, rate_fps=(rate_fps or 0.0) / 8) for n in range(8)]
    sender = native.Sender(
        ports=ports, streams=streams, campaign=1, trial=next(_trial), seed=1, duration_s=duration_s,
        cpu=SENDER_CPU, nice=NICE,
    )  # fmt: skip
    sender.start()
    sender.join(duration_s + 10)
    report = sender.report()
    return sum(report.frames) / ((report.ended_ns - report.started_ns) / 1e9) / 1e3


def trafgen_kpps(namespace: int, interface: str, duration_s: float) -> float:
    """The same 64-byte frames by trafgen, one process, by the interface's counters [kpps]."""
    payload = ", ".join(f"0x{byte:02x}" for byte in header(1) + bytes(60 - len(header(1))))

    def packets() -> int:
        with IPRoute(netns=f"/proc/self/fd/{namespace}") as routes:
            link = routes.get_links(ifname=interface)[0]
            return int(link.get_attr("IFLA_STATS64")["tx_packets"])

    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
        config.write(f"{{ {payload} }}\n")
        config.flush()
        command = ["trafgen", "--dev", interface, "--conf", config.name, "--cpus", "1", "--no-cpu-stats"]
        started: list[subprocess.Popen[bytes]] = []

        def start() -> None:
            os.sched_setaffinity(0, {SENDER_CPU})  # of this thread, and so of what it starts
            null = subprocess.DEVNULL
            started.append(subprocess.Popen(command, stdout=null, stderr=null, process_group=0))

        in_namespace(namespace, start)
        process = started[0]
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PGRP, process.pid, NICE)
        try:
            time.sleep(0.7)  # it compiles its configuration first
            before, before_s = packets(), time.monotonic()
            time.sleep(duration_s)
            after, after_s = packets(), time.monotonic()
        finally:
            # It forks, and what it forked outlives a signal to it alone.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)
        return (after - before) / (after_s - before_s) / 1e3


def sender_speed(pairs: int, duration_s: float) -> list[Row]:
    """Flat out and constant over 8 streams, and against trafgen in alternation on the same core."""
    with direct_link() as made:
        ports = [made.port("tx", "tx0")]
        offered = median(flat_out_kpps(ports, duration_s, rate_fps=500_000) for _ in range(3))
        most = median(flat_out_kpps(ports, duration_s, rate_fps=5_000_000) for _ in range(3))
        native_kpps, trafgen = [], []
        for _ in range(pairs):
            native_kpps.append(flat_out_kpps(ports, duration_s))
            if shutil.which("trafgen"):
                trafgen.append(trafgen_kpps(made.namespaces["tx"], "tx0", duration_s))
    with bench([("tx", f"tx{n}", "rx", f"rx{n}") for n in range(8)]) as made:
        ports = [made.port("tx", f"tx{n}") for n in range(8)]
        spread = median(flat_out_kpps(ports, duration_s) for _ in range(3))
    flat = median(native_kpps)
    rows = [
        row("sender, flat out, 8 streams of 64 B, 1 port", flat, "kpps", ">= 500", flat >= 500, runs=rounded(native_kpps)),
        row("sender, flat out, 8 streams of 64 B, 8 ports", spread, "kpps", ">= 500", spread >= 500),
        row("sender, 8 constant streams, 500 kpps asked", offered, "kpps", ">= 497.5", offered >= 497.5),
        row("sender, 8 constant streams, more asked than it can", most, "kpps", ">= 500", most >= 500),
    ]
    name = "sender against trafgen, flat out, median of paired ratios"
    if not trafgen:
        return [*rows, row(name, None, "ratio", ">= 1", None, note="trafgen (netsniff-ng) is not installed")]
    ratios = [ours / theirs for ours, theirs in zip(native_kpps, trafgen, strict=True)]
    ratio = median(ratios)
    return [*rows, row(name, ratio, "ratio", ">= 1", ratio >= 1, ratios=rounded(ratios),
                       trafgen_kpps=median(trafgen), trafgen_runs=rounded(trafgen))]  # fmt: skip


def gaps_us(done: Run, clock: str) -> np.ndarray[Any, Any]:
    return np.diff(done.records[clock]) / 1e3


def sender_pacing(duration_s: float, repetitions: int) -> list[Row]:
    """Gaps of one stream, by the sender's clock and by the receiving kernel's.

    One stall of the host is enough to spoil a run: values are medians of several.
    """
    rows = []
    with direct_link() as made:
        tx, rx = [made.port("tx", "tx0")], made.port("rx", "rx0")
        for kpps in (10, 50, 100, 200):
            constant = stream(1, rate_fps=kpps * 1e3)
            runs = [run(tx, rx, [constant], duration_s=duration_s / 2, seed=n) for n in range(repetitions)]
            nominal_us = 1e3 / kpps
            frames = [len(one.records) for one in runs]
            intended = [sum(one.sent.intended_frames) for one in runs]
            for clock, where in (("tx_ns", "sent"), ("rx_ns", "received")):
                bounds = [np.percentile(gaps_us(one, clock), [10, 90]) for one in runs]
                worst = [float(np.max(np.abs(bound - nominal_us))) for bound in bounds]
                value = median(worst)
                name = f"constant gaps, {kpps} kpps, {where}: worst of p10 and p90 from nominal, median of runs"
                rows.append(row(name, value, "us", "<= 1", value <= 1, runs=rounded(worst), frames=sum(frames),
                                intended=sum(intended)))  # fmt: skip
        for kpps in (10, 50, 100, 200):
            variations, stalled = [], []
            for repetition in range(repetitions):
                poisson = stream(1, rate_fps=kpps * 1e3, arrivals="poisson")
                done = run(tx, rx, [poisson], duration_s=duration_s / 2, seed=1 + repetition)
                gaps = gaps_us(done, "tx_ns")
                variations.append(float(np.std(gaps) / np.mean(gaps)))
                stalled.append(done.sent.stalled_ns / 1e6)
            value = median(variations)
            rows.append(row(f"Poisson, {kpps} kpps: coefficient of variation of gaps, median of runs", value, "1",
                            "0.95 to 1.1", 0.95 <= value <= 1.1, runs=rounded(variations),
                            host_stalled_ms=rounded(stalled)))  # fmt: skip
    return rows


# --- receiver ---------------------------------------------------------------------------------------


def receiver_loss(duration_s: float) -> list[Row]:
    rows = []
    with direct_link() as made:
        tx, rx = [made.port("tx", "tx0")], made.port("rx", "rx0")
        for name, frame_bytes in (("64 B", 64), ("1518 B", 1518)):
            streams = [stream(n, frame_bytes=frame_bytes, rate_fps=25e3) for n in range(8)]
            done = run(tx, rx, streams, duration_s=duration_s)
            lost = sum(done.sent.frames) - len(done.records)
            offered_kpps = sum(done.sent.frames) / duration_s / 1e3
            rows.append(
                row(
                    f"receiver, 200 kpps of {name}: frames lost",
                    lost,
                    "frames",
                    "0",
                    lost == 0 and offered_kpps > 199,
                    offered_kpps=round(offered_kpps, 2),
                    frames=len(done.records),
                    ring_drops=sum(done.received.ring_drops),
                )
            )
        done = run(tx, rx, [stream(1, rate_fps=20e3, arrivals="poisson", frame_bytes=500)], duration_s=duration_s)
        error_us = (done.records["rx_ns"] - done.records["tx_ns"]) / 1e3
        p50, p99 = np.percentile(error_us, [50, 99])
        rows.append(row("timestamp error on a bare veth, 20 kpps: p50", p50, "us", "< 5", bool(p50 < 5)))
        rows.append(row("timestamp error on a bare veth, 20 kpps: p99", p99, "us", "none", None, max_us=round(float(error_us.max()), 1)))
    return rows


# --- reference switch -------------------------------------------------------------------------------


def switch_run(
    streams: Callable[[int], native.Stream],
    *,
    duration_s: float,
    scheduler: Scheduler,
    weights: list[float],
    queue_frames: int = 100,
    seed: int = 1,
) -> tuple[Run, native.SwitchReport]:
    links = [("tx", f"tx{n}", "dut", f"in{n}") for n in range(8)] + [("dut", "out0", "rx", "rx0")]
    with bench(links) as made:
        switch = native.Switch(
            netns_fd=made.namespaces["dut"], ingress=[f"in{n}" for n in range(8)], egress="out0",
            link_rate_bps=LINK_RATE_BPS, scheduler=scheduler, weights=weights, queue_frames=[queue_frames] * 4,
            pcp_to_queue=PCP_TO_QUEUE, l1_overhead_bytes=L1_OVERHEAD_BYTES, nice=NICE,
        )  # fmt: skip
        switch.start()
        done = run(
            [made.port("tx", f"tx{n}") for n in range(8)], made.port("rx", "rx0"),
            [streams(n) for n in range(8)], duration_s=duration_s, seed=seed, drain_s=0.1,
        )  # fmt: skip
        switch.stop()
        return done, switch.report()


def steady(done: Run) -> Records:
    """Records received between warm-up and the end of sending."""
    start = done.sent.started_ns + int(WARM_UP_S * 1e9)
    end = done.sent.started_ns + int(done.duration_s * 1e9)
    return done.records[(done.records["rx_ns"] >= start) & (done.records["rx_ns"] < end)]


def l1_rate_bps(records: Records, duration_s: float) -> float:
    octets = int(records["frame_bytes"].astype(np.int64).sum()) + L1_OVERHEAD_BYTES * len(records)
    return octets * 8 / (duration_s - WARM_UP_S)


def queue_of(records: Records) -> np.ndarray[Any, Any]:
    return np.take(PCP_TO_QUEUE, records["pcp"])


def overload(frame_bytes: int = 1518) -> Callable[[int], native.Stream]:
    """8 senders of 60 Mbit/s, priorities 0 to 7."""
    rate_fps = 60e6 / 8 / (frame_bytes + L1_OVERHEAD_BYTES)
    return lambda n: stream(n, port=n, pcp=n, frame_bytes=frame_bytes, rate_fps=rate_fps)


def switch_saturation(duration_s: float) -> list[Row]:
    done, switch = switch_run(overload(), duration_s=duration_s, scheduler="strict_priority", weights=[])
    records = steady(done)
    waste = 1 - l1_rate_bps(records, duration_s) / LINK_RATE_BPS
    # Queue 3 alone offers 120 Mbit/s: whatever else leaves is a leak.
    leak = float(np.mean(queue_of(records) != 3))
    extra = {
        "ring_drops": switch.ring_drops,
        "lateness_us_p50": switch.lateness_ns_p50 / 1e3,
        "lateness_us_p99": switch.lateness_ns_p99 / 1e3,
        "lateness_us_max": switch.lateness_ns_max / 1e3,
    }
    rows = [
        row("reference, SP: waste at saturation", waste * 100, "%", "<= 0.5", bool(waste <= 0.005), **extra),
        row("reference, SP: leak to lower queues", leak * 100, "%", "< 0.1", leak < 0.001),
    ]
    schedulers: list[Scheduler] = ["wrr_packets", "wrr_bytes"]
    for scheduler in schedulers:
        weights = [0.1, 0.2, 0.3, 0.4]
        done, switch = switch_run(overload(), duration_s=duration_s, scheduler=scheduler, weights=weights)
        records = steady(done)
        octets = np.bincount(queue_of(records), weights=records["frame_bytes"], minlength=4)
        shares = octets / octets.sum()
        worst = float(np.max(np.abs(shares - weights)))
        waste = 1 - l1_rate_bps(records, duration_s) / LINK_RATE_BPS
        rows.append(
            row(
                f"reference, {scheduler}: worst share from its weight",
                worst,
                "1",
                "<= 0.01",
                worst <= 0.01,
                shares=[round(float(share), 4) for share in shares],
                ring_drops=switch.ring_drops,
            )
        )
        rows.append(row(f"reference, {scheduler}: waste at saturation", waste * 100, "%", "<= 0.5", bool(waste <= 0.005)))
    return rows


def top_delay_us(loads: Sequence[float], service_s: float) -> float:
    """Mean delay of the top class in a non-preemptive M/G/1 priority queue, service included [us].

    Every class has the same constant service time; the top class waits for the residual service of
    any class and for its own queue (Cobham 1954).
    """
    residual_s = sum(loads) * service_s / 2
    return (residual_s / (1 - loads[-1]) + service_s) * 1e6


def undisturbed(records: Records, stalls: Iterable[tuple[int, int]]) -> Records:
    """Records that were not under way during a stall of the host or while its backlog drained.

    At a load of 0.8 the backlog of a stall takes 0.8 / (1 - 0.8) = 4 times its length to drain.
    """
    keep = np.ones(len(records), dtype=bool)
    for start_ns, length_ns in stalls:
        end_ns = start_ns + STALL_RECOVERY * length_ns
        keep &= (records["rx_ns"] < start_ns) | (records["tx_ns"] > end_ns)
    return records[keep]


def switch_delay(duration_s: float, repetitions: int) -> list[Row]:
    """80 % load, Poisson, 2 streams per queue: mean delay of the top queue against theory.

    Where the host stalls the sender or the switch, delay is the host's: it is left out in the first
    row and left in in the second.
    """
    frame_bytes, load = 1518, 0.8
    service_s = (frame_bytes + L1_OVERHEAD_BYTES) * 8 / LINK_RATE_BPS
    rate_fps = load / service_s / 8
    theory_us = top_delay_us([load / 4] * 4, service_s)
    clean, every, stalled_ms = [], [], []
    for repetition in range(repetitions):
        done, switch = switch_run(
            lambda n: stream(n, port=n, pcp=n, frame_bytes=frame_bytes, rate_fps=rate_fps, arrivals="poisson"),
            duration_s=duration_s, scheduler="strict_priority", weights=[], queue_frames=1000, seed=100 + repetition,
        )  # fmt: skip
        records = steady(done)
        top = records[queue_of(records) == 3]
        calm = undisturbed(top, [*done.sent.stalls, *switch.stalls])
        every.append((top["rx_ns"] - top["tx_ns"]) / 1e3)
        clean.append((calm["rx_ns"] - calm["tx_ns"]) / 1e3)
        stalled_ms.append((done.sent.stalled_ns + switch.stalled_ns) / 1e6)
    rows = []
    for name, delays_us in (("while the host did not stall", clean), ("all frames", every)):
        mean_us = float(np.mean(np.concatenate(delays_us)))
        deviation = mean_us / theory_us - 1
        rows.append(row(f"reference, SP, Poisson at 80 %: mean delay of the top queue from M/G/1, {name}",
                        deviation * 100, "%", "within 5", abs(deviation) <= 0.05, measured_us=round(mean_us, 2),
                        theory_us=round(theory_us, 2), runs_us=rounded(float(np.mean(run)) for run in delays_us),
                        frames=sum(len(run) for run in delays_us), host_stalled_ms=rounded(stalled_ms)))  # fmt: skip
    return rows


def measure(*, quick: bool) -> list[Row]:
    """All targets; quick is shorter and less precise."""
    scale = 0.5 if quick else 1.0
    return [
        *sender_speed(pairs=5 if quick else 11, duration_s=0.5),
        *sender_pacing(duration_s=2 * scale, repetitions=5 if quick else 9),
        *receiver_loss(duration_s=5 * scale),
        *switch_saturation(duration_s=6 * scale),
        *switch_delay(duration_s=8 * scale, repetitions=2 if quick else 5),
    ]


def prefer_this_session() -> None:
    """Puts the process into a session that the kernel prefers.

    Where the kernel groups tasks by session (autogroup), niceness counts within a session only and
    a spinning thread at -20 still has to share with every other session.
    """
    if os.getpid() == os.getpgrp():  # a group's leader can't begin a session: its child can
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            os._exit(0)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    os.setsid()
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(NICE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    options = parser.parse_args()
    prefer_this_session()
    for measured in measure(quick=options.quick):
        print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
