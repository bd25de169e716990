"""What this machine can do, found out by trying each thing, never by the kernel's version."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from pyroute2 import NetlinkError

from orchestrator.bench import links
from orchestrator.bench.cpus import NICE
from orchestrator.bench.devices import models
from orchestrator.bench.namespaces import Namespace


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """One thing tried. needed: the bench is of no use without it. why: the reason where it is not there."""

    name: str
    purpose: str
    available: bool
    needed: bool
    why: str = ""


def probe_all(rights: str) -> tuple[Probe, ...]:
    """Try everything that the bench or a device model uses."""
    tries: list[tuple[str, str, bool, Callable[[], str]]] = [
        ("network namespaces", f"every node of the bench, here as {rights}", True, _namespaces),
        ("veth pairs", "cables", True, _veth),
        ("raw packet sockets", "generator and reference device", True, _packet_socket),
        ("bridge", "kernel devices", False, _bridge),
        ("two processors", "sender and device each spin on one", False, _processors),
        ("negative nice", "steady pacing beside other programs", False, _nice),
        *((f"device {name}", "device under test", False, module.probe) for name, module in sorted(models().items())),
    ]
    probes = []
    for name, purpose, needed, attempt in tries:
        try:
            why = attempt()
        except (OSError, NetlinkError) as error:
            why = str(error)
        probes.append(Probe(name=name, purpose=purpose, available=not why, needed=needed, why=why))
    return tuple(probes)


def _namespaces() -> str:
    Namespace("probe").close()
    return ""


def _veth() -> str:
    with Namespace("near") as near, Namespace("far") as far:
        links.cable(near, "near", far, "far")
    return ""


def _packet_socket() -> str:
    with Namespace("probe") as probe:
        probe.run(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close())
    return ""


def _bridge() -> str:
    with Namespace("probe") as probe:
        links.bridge(probe, "br0", ())
    return ""


def _processors() -> str:
    usable = len(os.sched_getaffinity(0))
    return "" if usable >= 2 else "only one processor: sender and device share it, so delays are larger and rates lower"


def _nice() -> str:
    # Tried in a child: a process cannot take its niceness back.
    child = os.fork()
    if child == 0:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, NICE)
            os._exit(0)
        except OSError:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return "" if status == 0 else "not allowed to this user: other programs on this host will disturb the pacing more"
