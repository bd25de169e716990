"""One forwarding element with a raw socket at the far end of each cable, and frames as octets."""

import select
import socket
import struct
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Self
from unittest import mock

from orchestrator.bench import links
from orchestrator.bench.devices import xpfe
from orchestrator.bench.namespaces import Namespace
from orchestrator.bench.xpfe.element import XdpElement
from rackproof.model.xcf import ForwardingElement
from tests.waiting import until

OWN = "02:52:50:01:00:01"
NEXT = "02:52:50:01:00:02"
GROUP = "01:52:50:01:00:01"
ALICE, BOB, CAROL = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"
I_SID = 0x10001

_SOL_PACKET, _AUXDATA, _IGNORE_OUTGOING = 263, 8, 23
_AUX = struct.Struct("=IIIHHHH")
_VLAN_VALID = 0x10


class Lab:
    """The element in a namespace of its own."""

    def __init__(self, ports: Sequence[str], engine: type[xpfe.Engine] = XdpElement) -> None:
        """engine: what forwards, whatever the machine would choose."""
        self._stack = ExitStack()
        self._stack.enter_context(mock.patch.object(xpfe, "_engine", return_value=engine))
        self.namespace = self._stack.enter_context(Namespace("element"))
        far = self._stack.enter_context(Namespace("far"))
        self._sockets: dict[str, socket.socket] = {}
        self._before: dict[str, int] = {}
        self._sent = 0
        for port in ports:
            links.cable(self.namespace, port, far, port)
            self._sockets[port] = self._stack.enter_context(far.run(partial(_socket, port)))
        self.device = xpfe.Model(name="x1", namespace=self.namespace, ports=ports, options={})
        self._stack.callback(self.device.close)

    def apply(self, element: ForwardingElement) -> Self:
        """Give it tables, read them back, and count from here."""
        self.device.apply(element)
        self.device.check(element)
        self._before, self._sent = dict(self.device.counters()), 0
        return self

    def send(self, port: str, *frames: bytes) -> None:
        """Send frames into a port."""
        for frame in frames:
            self._sockets[port].send(frame)
            self._sent += 1

    def await_seen(self) -> None:
        """Return when the element has counted all that was sent since apply; at once where it has no tables."""
        until(lambda: not self.device.counters() or self._seen() >= self._sent, "the element does not see all frames")

    def _seen(self) -> int:
        return sum(value for name, value in self.counted("table.0.").items() if name.endswith(".frames"))

    def pass_through(self, port: str, *frames: bytes) -> dict[str, list[bytes]]:
        """Send frames into a port, and what came out of each port where something did."""
        self.send(port, *frames)
        return self.received()

    def received(self, quiet_s: float = 0.02) -> dict[str, list[bytes]]:
        """What came out of each port, up to a silence after the element has seen all that was sent."""
        self.await_seen()
        found: dict[str, list[bytes]] = {}
        names = {link.fileno(): port for port, link in self._sockets.items()}
        while ready := select.select(self._sockets.values(), [], [], quiet_s)[0]:
            for link in ready:
                found.setdefault(names[link.fileno()], []).append(_receive(link))
        return found

    def counted(self, prefix: str = "") -> dict[str, int]:
        """What the counters that begin so have counted since apply, where it is something."""
        now = self.device.counters()
        counted = {name: value - self._before.get(name, 0) for name, value in now.items() if name.startswith(prefix)}
        return {name: value for name, value in counted.items() if value}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def customer(destination: str, source: str = ALICE, *, vlan: int = 10, pcp: int = 0, ethertype: int = 0x0800, octets: int = 100) -> bytes:
    """A customer's frame with a C-TAG, so long in all without its FCS."""
    tci = pcp << 13 | vlan
    head = mac(destination) + mac(source) + struct.pack("!HHH", 0x8100, tci, ethertype)
    return head + bytes(index % 251 for index in range(octets - len(head)))


def backbone(
    inner: bytes,
    destination: str = OWN,
    source: str = NEXT,
    *,
    vlan: int = 101,
    pcp: int = 0,
    i_sid: int = I_SID,
    i_pcp: int = 0,
    uca: int = 0,
) -> bytes:
    """A MAC-in-MAC frame around a customer's."""
    i_tci = i_pcp << 29 | uca << 27 | i_sid
    return mac(destination) + mac(source) + struct.pack("!HHHI", 0x88A8, pcp << 13 | vlan, 0x88E7, i_tci) + inner


def mac(address: str) -> bytes:
    """Octets of an address."""
    return bytes.fromhex(address.replace(":", ""))


def pcap(frames: Iterable[bytes]) -> bytes:
    """A capture file of these frames."""
    head = struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("=IIII", 0, number, len(frame), len(frame)) + frame for number, frame in enumerate(frames))


def _socket(port: str) -> socket.socket:
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    link.bind((port, 0))
    link.setsockopt(_SOL_PACKET, _AUXDATA, 1)
    link.setsockopt(_SOL_PACKET, _IGNORE_OUTGOING, 1)
    with suppress(PermissionError):  # a root of a user namespace has to do with less
        for option in (33, 32):  # SO_RCVBUFFORCE, SO_SNDBUFFORCE
            link.setsockopt(socket.SOL_SOCKET, option, 1 << 26)
    return link


def _receive(link: socket.socket) -> bytes:
    """A frame with the tag that the kernel took out of it."""
    frame, extra, _, _ = link.recvmsg(4096, 128)
    for _, kind, data in extra:
        if kind == _AUXDATA:
            status, _, _, _, _, tci, tpid = _AUX.unpack(data[: _AUX.size])
            if status & _VLAN_VALID:
                return frame[:12] + struct.pack("!HH", tpid or 0x8100, tci) + frame[12:]
    return frame
