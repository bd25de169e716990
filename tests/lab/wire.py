"""Frames into and out of the ports of a software device, whole and as they are on the wire, tags included."""

import socket
import struct
import time
from collections.abc import Sequence
from functools import partial

from tests.lab.soft import SoftDevice

FRAME_BYTES = 100
#: How long nothing comes until all has come [s]; what must come is waited for.
SILENCE_S, COMES_S = 0.3, 30.0
#: EtherTypes with what follows: that for experiments, and UDP over IPv4 for switches that drop what they do not know.
EXPERIMENTAL = b"\x88\xb5"
UDP = bytes.fromhex("0800 4500001c 00000000 40110000 c0000201 c0000202 0009000900080000")
SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING = 263, 8, 4
_TAGGED, _TPID_KNOWN = 0x10, 0x40


def mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def customer(target: str, source: str, c_vlan: int, pcp: int, inner: bytes = EXPERIMENTAL) -> bytes:
    """A customer's frame with a C-TAG; inner: its EtherType and what follows."""
    tag = struct.pack("!H", pcp << 13 | c_vlan)
    return (mac(target) + mac(source) + b"\x81\x00" + tag + inner).ljust(FRAME_BYTES, b"\xa5")


def xcf(target: str, b_vlan: int, b_pcp: int, i_sid: int, inner: bytes, source: str = "02:52:50:01:00:09") -> bytes:
    """The frame in MAC-in-MAC, as an element encapsulates it."""
    tags = struct.pack("!HHHI", 0x88A8, b_pcp << 13 | b_vlan, 0x88E7, (inner[14] & 0xE0) << 24 | i_sid)
    return mac(target) + mac(source) + tags + inner


class Wire:
    """A socket at the far end of every port; frames of other EtherTypes than ours are passed over."""

    def __init__(self, device: SoftDevice, ports: Sequence[str]) -> None:
        self._sockets = {port: device.box.far.run(partial(_socket, port)) for port in ports}

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets.values():
            each.close()

    def send(self, port: str, frame: bytes) -> None:
        self._sockets[port].send(frame)

    def received(self, port: str, least: int = 1, wait_s: float = SILENCE_S) -> list[bytes]:
        """All that has come out of a port since last asked: at least so many frames, then until nothing comes for wait_s."""
        found: list[bytes] = []
        end = time.monotonic() + COMES_S
        while time.monotonic() < end:
            self._sockets[port].settimeout(wait_s if len(found) >= least else max(0.01, end - time.monotonic()))
            try:
                frame, beside, _, where = self._sockets[port].recvmsg(4096, 64)
            except (TimeoutError, BlockingIOError):
                break
            if where[2] != PACKET_OUTGOING and (frame := _whole(frame, beside[0][2]))[12:14] in (b"\x81\x00", b"\x88\xa8"):
                found.append(frame)
        return found


def _whole(frame: bytes, beside: bytes) -> bytes:
    """The frame with the outer tag that the kernel has taken off."""
    status, *_, tag, kind = struct.unpack("IIIHHHH", beside)
    if not status & _TAGGED:
        return frame
    return frame[:12] + struct.pack("!HH", kind if status & _TPID_KNOWN else 0x8100, tag) + frame[12:]


def _socket(port: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    opened.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    opened.bind((port, 0))
    return opened
