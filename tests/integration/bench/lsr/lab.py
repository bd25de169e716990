"""A row of routers between two ends that are sockets: an ingress and an egress by hand."""

import itertools
import select
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Self

from orchestrator.bench import links
from orchestrator.bench.devices.soft_lsr import Model
from orchestrator.bench.namespaces import Namespace
from rackproof.model.functions import Mpls, StaticLabel
from testplans.mpls_flap import addresses
from testplans.mpls_flap.addresses import EAST, EGRESS, INGRESS, WEST
from tests.integration.bench.lsr import messages
from tests.integration.bench.lsr.messages import Message

#: A router that takes no time.
QUICK: Mapping[str, float] = {"path_us": 0, "resv_us": 0, "tear_us": 0}
#: How long what must come may take, and how long what must not come is waited for [s].
WAIT_S = 30.0
QUIET_S = 0.05
PAYLOAD = b"what is in a labelled packet"

_IPV4, _MPLS = 0x0800, 0x8847
_RSVP, _UDP = 46, 17
_IGNORE_OUTGOING = 23
_ENDS = {"ingress": INGRESS.router_id, "egress": EGRESS.router_id}


class Row:
    """Routers r1 to rn; the ends' kernel answers ARP, everything else is up to whoever holds it."""

    def __init__(self, routers: int = 3, **options: float | bool | str) -> None:
        self._stack = ExitStack()
        far = self._stack.enter_context(Namespace("far"))
        spaces = [self._stack.enter_context(Namespace(f"r{number}")) for number in range(1, routers + 1)]
        links.cable(far, "in", spaces[0], WEST)
        for left, right in itertools.pairwise(spaces):
            links.cable(left, EAST, right, WEST)
        links.cable(spaces[-1], EAST, far, "out")
        for end in (INGRESS, EGRESS):
            far.route.addr("add", index=links.index(far, end.port), address=end.address, prefixlen=30)
        self._sockets = {end.port: self._stack.enter_context(far.run(partial(_socket, end.port))) for end in (INGRESS, EGRESS)}
        self._macs = {
            "in": (links.hardware_address(spaces[0], WEST), links.hardware_address(far, "in")),
            "out": (links.hardware_address(spaces[-1], EAST), links.hardware_address(far, "out")),
        }
        self.devices = [
            Model(name=f"r{number}", namespace=space, ports=(WEST, EAST), options={**QUICK, **options})
            for number, space in enumerate(spaces, 1)
        ]
        for number, device in enumerate(self.devices, 1):
            self._stack.callback(device.close)
            function = self.function(number)
            device.apply(function)
            device.check(function)

    def function(self, number: int, *labels: StaticLabel) -> Mpls:
        """What a router is told."""
        return addresses.router(number, len(self.devices), ring=False, labels=labels)

    def path(self, lsp: int) -> None:
        """The ingress sends a PATH without an explicit route."""
        objects = messages.path(lsp, **_ENDS, own=INGRESS.address)
        self._send("in", messages.packet(messages.PATH, objects, source=_ENDS["ingress"], destination=_ENDS["egress"], alert=True))

    def tear(self, lsp: int) -> None:
        """The ingress sends a PATH_TEAR."""
        objects = messages.tear(lsp, **_ENDS, own=INGRESS.address)
        self._send("in", messages.packet(messages.PATH_TEAR, objects, source=_ENDS["ingress"], destination=_ENDS["egress"], alert=True))

    def resv(self, lsp: int, label: int) -> None:
        """The egress sends a RESV."""
        objects = messages.resv(lsp, label, **_ENDS, own=EGRESS.address)
        self._send("out", messages.packet(messages.RESV, objects, source=EGRESS.address, destination=EGRESS.neighbour, alert=False))

    def establish(self, lsp: int, label: int) -> int:
        """An LSP from end to end; the label that its frames enter with."""
        self.path(lsp)
        assert self.message("out").kind == messages.PATH
        self.resv(lsp, label)
        return self.message("in").label

    def labelled(self, label: int, *, ttl: int = 64, pcp: int = 5, payload: bytes = PAYLOAD, wait_s: float = WAIT_S) -> bytes:
        """What came out at the egress of a labelled packet, from its EtherType on; nothing where none came."""
        entry = struct.pack("!I", label << 12 | pcp << 9 | 0x100 | ttl)
        inner = messages.ip(_ENDS["ingress"], _ENDS["egress"], payload, protocol=_UDP)
        self._sockets["in"].send(self._head("in", _MPLS) + entry + inner)
        found = self._receive("out", {_MPLS, _UDP}, wait_s)
        return found[12:] if found is not None else b""

    def forwards(self, label: int, *, ttl: int = 64, payload: bytes = PAYLOAD) -> bool:
        """Whether a labelled packet comes out, within a moment."""
        return bool(self.labelled(label, ttl=ttl, payload=payload, wait_s=QUIET_S))

    def message(self, port: str) -> Message:
        """The next RSVP message at an end."""
        found = self._receive(port, {_RSVP}, WAIT_S)
        assert found is not None, f"no message at {port}"
        return messages.read(found[14:])

    def silent(self, port: str) -> bool:
        """Whether nothing comes for a moment."""
        return self._receive(port, {_MPLS, _RSVP, _UDP}, QUIET_S) is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _send(self, port: str, packet: bytes) -> None:
        self._sockets[port].send(self._head(port, _IPV4) + packet)

    def _head(self, port: str, ethertype: int) -> bytes:
        return b"".join(bytes.fromhex(mac.replace(":", "")) for mac in self._macs[port]) + ethertype.to_bytes(2)

    def _receive(self, port: str, wanted: set[int], timeout_s: float) -> bytes | None:
        """The next frame with an EtherType, or an IP packet with a protocol, that is wanted."""
        end = time.monotonic() + timeout_s
        link = self._sockets[port]
        while (left := end - time.monotonic()) > 0:
            if select.select([link], [], [], left)[0]:
                frame = link.recv(4096)
                ethertype = int.from_bytes(frame[12:14])
                if (frame[23] if ethertype == _IPV4 else ethertype) in wanted:
                    return frame
        return None


def _socket(port: str) -> socket.socket:
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    link.bind((port, 0))
    link.setsockopt(263, _IGNORE_OUTGOING, 1)
    return link
