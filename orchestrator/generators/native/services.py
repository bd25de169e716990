"""What the native generator's process can be asked to do on the ports that it has taken."""

import importlib.metadata
import os
import platform
import socket
import time
from collections.abc import Iterator, Mapping, Sequence, Set

from orchestrator.bench.privileges import setns
from orchestrator.generators.driver import PortState
from orchestrator.generators.native.interfaces import TakenPort, interfaces
from orchestrator.generators.native.run import NativeRun, OneRun
from orchestrator.signalling.left import Keeper, Left
from orchestrator.signalling.pair import OnePair, Pair
from rackproof.errors import GeneratorError, SignallingError
from rackproof.model.lsp import Signalling
from rackproof.model.traffic import Stream, Traffic

#: Addresses, EtherType and FCS.
_FRAMING_BYTES = 18
#: So long the kernel may take to say that a link is up.
LINK_S = 5.0
_POLL_S = 0.05
_TAG_BYTES, _TAGGED = 4, b"\x81\x00"


class PortServices(OneRun, OnePair):
    """Ports are taken once; close() gives them back as they were."""

    def __init__(self) -> None:
        self._ports: dict[str, TakenPort] = {}
        self._keeper: Keeper | None = None

    def take(self, ports: Sequence[str], namespace: str, take_over: bool) -> tuple[str, ...]:
        """Take interfaces of this process's network namespace, or of the one that the path names. Raises GeneratorError.

        LSPs that a killed holder has left in the devices are torn down; what was found and done about them, in words.
        """
        if namespace:
            _enter(namespace)
        _may_send()
        there = interfaces()
        missing = [port for port in ports if port not in there]
        if missing:
            raise GeneratorError(f"{', '.join(missing)}: there is no such interface on this host; there are: {', '.join(there)}")
        for port in ports:
            self._ports[port] = TakenPort(port, take_over=take_over)
        return tuple(self._cleared())

    def _cleared(self) -> Iterator[str]:
        for name, port in self._ports.items():
            if (left := Left.read(port.lsps)) is not None:
                yield left.cleared(name, self._ports)
                port.lsps.unlink()

    def facts(self) -> Mapping[str, str]:
        """The engine with its version, host, and what drives each port."""
        return {
            "generator": f"native engine {importlib.metadata.version('rackproof-native')} on ports of a Linux host",
            "host": socket.gethostname(),
            "kernel": platform.release(),
            **{f"port {name}": port.described() for name, port in self._ports.items()},
        }

    def states(self) -> tuple[PortState, ...]:
        """The ports as they are now."""
        return tuple(port.state() for port in self._ports.values())

    def start(self, traffic: Traffic) -> None:
        """Begin to send and listen. Raises GeneratorError."""
        self._must_be_free()
        used = {port for stream in traffic.streams for port in (stream.tx_port, stream.rx_port)}
        if why := self._unusable(used):
            raise GeneratorError(why)
        for stream in traffic.streams:
            for port in (stream.tx_port, stream.rx_port):
                _must_fit(stream, port, self._ports[port].mtu)
        self._run = NativeRun(None, traffic)

    def _unusable(self, used: Set[str]) -> str:
        """Why ports cannot be used now, "" where they can."""
        unknown = sorted(used - self._ports.keys())
        if unknown:
            return f"{', '.join(unknown)}: not among the ports that were taken ({', '.join(self._ports)})"
        end = time.monotonic() + LINK_S
        while (down := sorted(port for port in used if not self._ports[port].state().link_up)) and time.monotonic() < end:
            time.sleep(_POLL_S)
        return f"{', '.join(down)}: the link is down; is the cable in and the other end up?" if down else ""

    def lsp_open(self, signalling: Signalling) -> None:
        """Emulate two LERs on ports that were taken. Raises SignallingError."""
        self._lers_must_be_free()
        if why := self._unusable({signalling.ingress.port, signalling.egress.port}):
            raise SignallingError(why)
        self._pair = Pair(signalling, None)
        port = self._ports[signalling.ingress.port]
        self._keeper = Keeper(port.lsps, port.owner, self._pair)

    def lsp_close(self) -> None:
        """Tear down what stands, and end; what may stand all the same is kept for whoever has the port next."""
        super().lsp_close()
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None

    def close(self) -> None:
        """Stop traffic, tear all LSPs down, and give every port back as it was."""
        self.stop()
        try:
            if self._pair is not None:
                for port in self._ports.values():
                    port.ending()
                self.lsp_close()
        finally:
            for port in self._ports.values():
                port.close()
            self._ports.clear()


def _must_fit(stream: Stream, port: str, mtu: int) -> None:
    """Raise GeneratorError where the stream's longest frame is too long for a port; one VLAN tag is not counted, as the kernel does."""
    longest = max(size.frame_bytes for size in stream.frame_sizes)
    needed = longest - _FRAMING_BYTES - (_TAG_BYTES if stream.header[12:14] == _TAGGED else 0)
    if needed > mtu:
        raise GeneratorError(
            f"{port}: frames of {longest} bytes (stream {stream.id}) need an MTU of {needed}, and it has {mtu}: "
            f"`ip link set {port} mtu {needed}`"
        )


def _enter(namespace: str) -> None:
    try:
        fd = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            setns(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise GeneratorError(f"the network namespace {namespace} cannot be entered: {error.strerror}") from error


def _may_send() -> None:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    except PermissionError:
        raise GeneratorError(
            "this process may not send raw frames: it lacks the capability CAP_NET_RAW (and needs CAP_NET_ADMIN to set up ports). Run the "
            "worker as root, or give its service `AmbientCapabilities=CAP_NET_RAW CAP_NET_ADMIN`"
        ) from None
