"""RSVP-TE routers that others wrote, one or two in a row between two emulated LERs, for tests. Nothing of them is part of this project.

freeRtr (www.freertr.org) is a router in Java with a data plane of its own: RACKPROOF_FREERTR names a folder with its `rtr.jar` and
`rawInt.bin`. KOM RSVP is the RSVP daemon of the DRAGON project: RACKPROOF_KOM_RSVPD is the command that starts it. It has no data
plane, and asks a routing daemon for its ways; tests/lab/wayfinder.py answers in that one's place.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from orchestrator.bench import links
from orchestrator.bench.namespaces import Namespace
from rackproof.model.functions import Mpls
from rackproof.settings import is_machine_root
from testplans.mpls_flap import addresses

#: What the variables say, before tests run without them.
NAMED = {name: os.environ.get(name, "") for name in ("RACKPROOF_FREERTR", "RACKPROOF_KOM_RSVPD")}
WAYFINDER = Path(__file__).with_name("wayfinder.py")
START_S = 30.0
#: Where freeRtr finds the socket of its interface `number`, and where the socket finds freeRtr.
_ROUTER_PORT, _WIRE_PORT = 22700, 22800

_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")

_FREERTR = """hostname {name}
vrf definition v1
 exit
{interfaces}{routes}end
"""
_INTERFACE = """interface ethernet{number}
 vrf forwarding v1
 ipv4 address {address} 255.255.255.252
 mpls enable
 mpls rsvp4
 no shutdown
 exit
"""


@dataclass(frozen=True, kw_only=True)
class Routers:
    """far: where the interfaces of the LERs are, `in` and `out`. boxes: the routers, in a row. folder: what they wrote."""

    far: Namespace
    boxes: Sequence[Namespace]
    folder: Path


@contextmanager
def freertr(routers: int = 1) -> Iterator[Routers]:
    """A row of freeRtr; skips the test where there is none."""
    home = Path(_named("RACKPROOF_FREERTR", "a folder with rtr.jar and rawInt.bin of freeRtr"))
    if shutil.which("java") is None:
        pytest.skip("freeRtr needs java")
    with _row(routers) as (stack, found):
        for number, box in enumerate(found.boxes, 1):
            folder = found.folder / box.name
            folder.mkdir()
            _freertr(stack, home, folder, number, box, addresses.router(number, routers, ring=False))
        yield found


@contextmanager
def kom(routers: int = 1) -> Iterator[Routers]:
    """A row of KOM RSVP; skips the test where there is none."""
    command = shlex.split(_named("RACKPROOF_KOM_RSVPD", "the command that starts RSVPD of KOM RSVP"))
    with _row(routers) as (stack, found):
        for number, box in enumerate(found.boxes, 1):
            folder = found.folder / box.name
            folder.mkdir()
            _kom(stack, command, folder, box, addresses.router(number, routers, ring=False))
        yield found


def _named(variable: str, what: str) -> str:
    if not (value := NAMED[variable]):
        pytest.skip(f"{variable} does not name {what}")
    if not is_machine_root():
        pytest.skip("network namespaces need root")
    return value


@contextmanager
def _row(routers: int) -> Iterator[tuple[ExitStack, Routers]]:
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="rackproof-peers-") as name:
        far = stack.enter_context(Namespace("lers"))
        boxes = [stack.enter_context(Namespace(f"router-{number}")) for number in range(1, routers + 1)]
        cables = [(far, addresses.IN), *((box, port) for box in boxes for port in (addresses.WEST, addresses.EAST)), (far, addresses.OUT)]
        for (a, a_port), (b, b_port) in zip(cables[::2], cables[1::2], strict=True):
            links.cable(a, a_port, b, b_port)
        for box in boxes:
            box.route.link("set", index=links.index(box, "lo"), state="up")
        with ExitStack() as processes:
            yield processes, Routers(far=far, boxes=boxes, folder=Path(name))


def _freertr(stack: ExitStack, home: Path, folder: Path, number: int, box: Namespace, told: Mpls) -> None:
    hardware, interfaces = [f"hwid {box.name}", f"rwpath {folder}/", "port 60000 61000"], ""
    for each, interface in enumerate(told.interfaces, 1):
        there, here = _ROUTER_PORT + each, _WIRE_PORT + each
        hardware.append(f"int eth{each} eth 0253.0000.{number:02x}{each:02x} 127.0.0.1 {there} 127.0.0.1 {here}")
        interfaces += _INTERFACE.format(number=each, address=interface.address.partition("/")[0])
    routes = "".join(f"ipv4 route v1 {prefix.partition('/')[0]} 255.255.255.255 {hop}\n" for prefix, hop in told.routes.items())
    (folder / "hw.txt").write_text("\n".join(hardware) + "\n")
    (folder / "sw.txt").write_text(_FREERTR.format(name=box.name, interfaces=interfaces, routes=routes))
    java = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-jar", str(home / "rtr.jar"))
    _started(stack, box, folder, *java, "routers", str(folder / "hw.txt"), str(folder / "sw.txt"))
    for each, interface in enumerate(told.interfaces, 1):
        there, here = _ROUTER_PORT + each, _WIRE_PORT + each
        # It ends where nobody listens yet.
        _until(partial(_listens, box, there), folder)
        _started(stack, box, folder, str(home / "rawInt.bin"), interface.port, str(here), "127.0.0.1", str(there), "127.0.0.1")


def _listens(box: Namespace, port: int) -> bool:
    """Whether anybody in the namespace has the UDP port."""
    return f":{port:04X} " in box.run(Path("/proc/thread-self/net/udp").read_text)


def _kom(stack: ExitStack, command: list[str], folder: Path, box: Namespace, told: Mpls) -> None:
    own = [interface.address.partition("/")[0] for interface in told.interfaces]
    for interface, address in zip(told.interfaces, own, strict=True):
        box.route.addr("add", index=links.index(box, interface.port), address=address, prefixlen=30)
    # The kernel looks for Router Alert where it forwards, and nowhere else.
    box.run(partial(_FORWARDING.write_text, "1"))
    for prefix, hop in told.routes.items():
        box.route.route("add", dst=prefix, gateway=hop)
    _started(stack, box, folder, sys.executable, str(WAYFINDER), told.router_id, *own)
    lines = [f"interface {interface.port} tc none mpls\n" for interface in told.interfaces]
    (folder / "rsvpd.conf").write_text("".join((*lines, "api 4000\n")))
    written = folder / "rsvpd.log"
    _started(stack, box, folder, *command, "-c", str(folder / "rsvpd.conf"), "-o", str(written), "-l", "config,error,fatal")
    _until(lambda: written.exists() and "running" in written.read_text(errors="replace"), folder)


def _started(stack: ExitStack, box: Namespace, folder: Path, *command: str) -> None:
    def start() -> "subprocess.Popen[bytes]":
        with (folder / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={**os.environ, "SNMP_PERSISTENT_DIR": str(folder), "MIBS": ""},
            )

    process = box.run(start)
    stack.callback(partial(process.wait, START_S))
    stack.callback(process.terminate)


def _until(there: Callable[[], bool], folder: Path) -> None:
    end = time.monotonic() + START_S
    while not there():
        assert time.monotonic() < end, f"a router does not start: {(folder / 'log').read_text()}"
        time.sleep(0.05)
