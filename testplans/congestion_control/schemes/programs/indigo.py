"""Indigo (Yan and others, USENIX ATC 2018) with numpy: `indigo.py receive BIND PORT`, then `indigo.py send PEER PORT WEIGHTS`.

A recurrent network of 32 units sets the window every 10 ms. WEIGHTS is the file of its trained variables, as the authors' repository has it
(dagger/model/model.data-00000-of-00001): TensorFlow writes them one after the other as 32-bit floats, in the order of their names.
"""

import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

UNITS = 32
STEP_MS = 10
PAYLOAD = bytes(1400)
#: Sequence number, time sent [ms], bytes sent, time of the last delivery known then [ms], bytes delivered until then.
HEADER = struct.Struct("!QqQqQ")
IDLE_S = 1.0
#: What the network's outputs do to the window.
ACTIONS: tuple[Callable[[float], float], ...] = (
    lambda cwnd: cwnd / 2,
    lambda cwnd: cwnd - 10,
    lambda cwnd: cwnd,
    lambda cwnd: cwnd + 10,
    lambda cwnd: cwnd * 2,
)
#: Queueing delay [ms], delivery rate and sending rate [Mbit/s] and window [packets] are divided by these.
SCALES = np.array([200, 200, 200, 5000], np.float32)
INPUTS = len(SCALES) + len(ACTIONS)
#: The variables in the file: a counter that is not used, then these.
SHAPES = {"scores_bias": (len(ACTIONS),), "scores": (UNITS, len(ACTIONS)), "bias": (4 * UNITS,), "kernel": (INPUTS + UNITS, 4 * UNITS)}


class Network:
    """One layer of long short-term memory, and a score for each action."""

    def __init__(self, weights: Path) -> None:
        values = np.fromfile(weights, np.float32)
        sizes = [int(np.prod(shape)) for shape in SHAPES.values()]
        if len(values) != 1 + sum(sizes):
            sys.exit(f"{weights}: expected {4 * (1 + sum(sizes))} bytes, the variables of Indigo's network, found {4 * len(values)}")
        parts = np.split(values[1:], np.cumsum(sizes)[:-1])
        self._variables = {name: part.reshape(SHAPES[name]) for name, part in zip(SHAPES, parts, strict=True)}
        self._cell = self._output = np.zeros(UNITS, np.float32)
        self._last = len(ACTIONS) - 1

    def act(self, state: Floats) -> int:
        """The action of the highest score for queueing delay, delivery rate, sending rate and window."""
        before = np.zeros(len(ACTIONS), np.float32)
        before[self._last] = 1
        inputs = np.concatenate([state / SCALES, before, self._output])
        take, new, forget, give = np.split(inputs @ self._variables["kernel"] + self._variables["bias"], 4)
        self._cell = self._cell * _sigmoid(forget + 1) + _sigmoid(take) * np.tanh(new)
        self._output = np.tanh(self._cell) * _sigmoid(give)
        self._last = int(np.argmax(self._output @ self._variables["scores"] + self._variables["scores_bias"]))
        return self._last


class Sender:
    """Sends while fewer packets than the window are unacknowledged; what is lost is not sent again."""

    def __init__(self, sock: socket.socket, network: Network) -> None:
        self._sock = sock
        self._network = network
        self._begun = time.monotonic()
        self._cwnd = 10.0
        self._next = self._acked = 0
        self._sent_bytes = self._delivered = self._delivered_ms = 0
        self._least_rtt_ms = float("inf")
        self._state: Floats | None = None
        self._step_ms: int | None = None

    def run(self) -> None:
        """For ever."""
        poll = select.poll()
        while True:
            poll.register(self._sock, select.POLLIN | (select.POLLOUT if self._open else 0))
            events = poll.poll(IDLE_S * 1e3)
            if not events:
                self._send()
            for _, flags in events:
                if flags & select.POLLIN:
                    self._acknowledged(self._sock.recv(2000))
                if flags & select.POLLOUT and self._open:
                    self._send()

    @property
    def _open(self) -> bool:
        return self._next - self._acked < self._cwnd

    def _now_ms(self) -> int:
        return int((time.monotonic() - self._begun) * 1e3)

    def _send(self) -> None:
        header = HEADER.pack(self._next, self._now_ms(), self._sent_bytes, self._delivered_ms, self._delivered)
        self._sock.send(header + PAYLOAD)
        self._next += 1
        self._sent_bytes += len(header) + len(PAYLOAD)

    def _acknowledged(self, packet: bytes) -> None:
        sequence, sent_ms, sent_bytes, delivered_ms, delivered = HEADER.unpack(packet)
        now = self._now_ms()
        self._acked = max(self._acked, sequence + 1)
        rtt = now - sent_ms
        self._least_rtt_ms = min(self._least_rtt_ms, rtt)
        self._delivered += HEADER.size + len(PAYLOAD)
        self._delivered_ms = now
        # Of bytes in milliseconds, Mbit/s.
        delivery = 0.008 * (self._delivered - delivered) / max(1, now - delivered_ms)
        sending = 0.008 * (self._sent_bytes - sent_bytes) / max(1, rtt)
        state = np.array([rtt - self._least_rtt_ms, delivery, sending, self._cwnd], np.float32)
        self._state = state if self._state is None else 0.875 * self._state + 0.125 * state
        if self._step_ms is None:
            self._step_ms = now
        if now - self._step_ms > STEP_MS:
            self._state[3] = self._cwnd
            self._cwnd = max(2.0, ACTIONS[self._network.act(self._state)](self._cwnd))
            self._state, self._step_ms = None, self._now_ms()


def receive(sock: socket.socket) -> None:
    """Send every header back, for ever."""
    while True:
        packet, sender = sock.recvfrom(2000)
        sock.sendto(packet[: HEADER.size], sender)


def _sigmoid(values: Floats) -> Floats:
    return (1 / (1 + np.exp(-values))).astype(np.float32)


def main() -> None:
    """Be one side."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    side, host, port, *weights = sys.argv[1:]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        if side == "receive":
            sock.bind((host, int(port)))
            receive(sock)
        network = Network(Path(weights[0]))
        sock.connect((host, int(port)))
        Sender(sock, network).run()


if __name__ == "__main__":
    main()
