"""Sees with its own eyes what arrives at an interface, whatever the generator says."""

import socket
import struct
import time
from collections.abc import Iterator

_SOL_PACKET, _PACKET_AUXDATA = 263, 8
_AUXDATA = struct.Struct("=IIIHHHH")
_VLAN_VALID = 0x10
_OUTGOING = 4


class Witness:
    """Frames that come in on an interface of the network namespace in which it is made."""

    def __init__(self, interface: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self._socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self._socket.bind((interface, 3))
        self._socket.setblocking(False)

    def frames(self) -> Iterator[bytes]:
        """What has come since the last call, as it was on the wire, without FCS."""
        while True:
            try:
                data, control, _, place = self._socket.recvmsg(65535, 256)
            except BlockingIOError:
                return
            if place[2] == _OUTGOING:
                continue
            for level, kind, value in control:
                if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
                    status, _, _, _, _, tci, tpid = _AUXDATA.unpack(value)
                    if status & _VLAN_VALID:
                        data = data[:12] + struct.pack("!HH", tpid or 0x8100, tci) + data[12:]
            yield data

    def arriving(self, seconds: float) -> int:
        """How many frames come within so many seconds, beginning now."""
        for _ in self.frames():
            pass
        time.sleep(seconds)
        return sum(1 for _ in self.frames())

    def close(self) -> None:
        self._socket.close()
