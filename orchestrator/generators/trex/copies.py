"""Frames as the server captures them in service mode, where they arrive.

A copy tells its burst by its mark, which orders.py puts in front of what TRex counts by, and its number and the instant at which it left by
what TRex writes there.
"""

import struct
import time
from typing import Any

import numpy as np

from orchestrator.generators.trex.messages import COPY_DTYPE, Copies
from orchestrator.generators.trex.orders import FCS_BYTES, MARK_BYTES, SIGNATURE_BYTES, mark
from orchestrator.generators.trex.running import Running
from rackproof.errors import GeneratorError

_MAGIC = 0xAB
#: What TRex writes: magic, flow, counter, number, instant of leaving in ticks of the server's clock.
_SIGNATURE = struct.Struct("<B3xIQ")
#: The number of a burst's first frame.
_FIRST = 2**32 - 2
_TAIL_BYTES = MARK_BYTES + SIGNATURE_BYTES
_VLAN = b"\x81\x00"
_UNTAGGED = 255
#: Room for what is not counted: announcements, frames of earlier runs.
SPARE = 5000


class Capturing:
    """A capture on a server, from before the traffic until after the drain."""

    def __init__(self, client: Any, ports: list[int], running: Running) -> None:
        self._client, self._ports, self._run = client, ports, running.run
        frames = sum(burst.frames for burst in self._run.bursts)
        client.set_service_mode(ports=ports, enabled=True)
        before = time.time_ns()
        started = client.start_capture(rx_ports=sorted({burst.rx_port for burst in self._run.bursts}), limit=frames + SPARE)
        self._id = started["id"]
        self._zero_ns = (before + time.time_ns()) // 2 - round(started["ts"] * 1e9)

    def fetch(self, received: list[int]) -> Copies:
        """A copy of every counted frame, in the order of arrival. received: frames by burst, as counted. Raises GeneratorError."""
        packets: list[dict[str, Any]] = []
        self._client.stop_capture(self._id, packets)
        self._client.set_service_mode(ports=self._ports, enabled=False)
        bursts = {mark(self._run.trial, at): (at, burst.rx_port) for at, burst in enumerate(self._run.counted)}
        found = []
        for packet in packets:
            octets = packet["binary"]
            burst, port = bursts.get(octets[-_TAIL_BYTES:-SIGNATURE_BYTES], (-1, -1))
            if port != packet["port"]:
                continue
            magic, number, ticks = _SIGNATURE.unpack(octets[-SIGNATURE_BYTES:])
            if magic == _MAGIC:
                pcp = octets[14] >> 5 if octets[12:14] == _VLAN else _UNTAGGED
                at_ns = self._zero_ns + round(packet["ts"] * 1e9)
                found.append((burst, (number - _FIRST) % 2**32, ticks, at_ns, port, len(octets) + FCS_BYTES, pcp))
        copies: Copies = np.array(found, COPY_DTYPE)
        if np.bincount(copies["burst"], minlength=len(received)).tolist() != received:
            raise GeneratorError(f"TRex captured {len(copies)} frames where it counted {sum(received)}: the capture is not whole")
        return np.sort(copies, order="at_ns")
