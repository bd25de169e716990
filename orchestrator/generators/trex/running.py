"""A run of traffic as the client's process keeps it: when counters are read next, what was read, when it is over."""

import time
from typing import Any

from orchestrator.generators.trex.messages import Count, Reading, Run

#: The server ends traffic so long after its time, whatever becomes of the client. Overloaded, it stretches this as well.
BACKSTOP_S = 1.0
#: Traffic that is behind by such a share when its time is up is stopped at once; what is behind by less may end within LATE_S.
BEHIND_SHARE, LATE_S = 0.05, 0.1
#: Frames from which it is seen when sending began.
ALIGN_FRAMES = 10
#: How often it is asked whether everything was sent.
POLL_S = 0.002
#: Counters are read so long after the last frame, where the drain has room for it: the last batch's arrivals end there.
AFTERWARDS_S = (0.003, 0.01, 0.03)


class Running:
    """Under way on a server. counters: TRex's numbers (pg_id) of the counted bursts. before, foreign: the
    ports' counters and strange frames before the start.
    """

    def __init__(self, run: Run, first_counter: int, before: Any) -> None:
        self.run, self.before = run, before
        self.counted = run.counted
        self.counters = [first_counter + at for at in range(len(self.counted))]
        self.foreign = 0.0
        self.limit_s = run.sending_s + BACKSTOP_S
        self.readings: list[Reading] = []
        self.started_ns = self.ended_ns = self._clocks_apart_ns = 0
        self.draining = self.complete = self.stopped = self._aligned = False
        self._intended = sum(burst.frames for burst in self.counted)
        self._started = self._over = self.due = 0.0

    def start(self, lead_s: float) -> None:
        """The server sends in so many seconds."""
        self._clocks_apart_ns = time.time_ns() - time.monotonic_ns()
        self._started, self.started_ns = time.monotonic() + lead_s, time.time_ns() + round(lead_s * 1e9)
        self.due = self._started + self.run.readings_s[0]

    def read(self, reading: Reading) -> bool:
        """Counters were read: is it over, and when are they read next? True: sending must be stopped, because it is far behind."""
        self.readings.append(reading)
        now = time.monotonic()
        sent = sum(count.tx_frames for count in reading.counts)
        if not self._aligned and ALIGN_FRAMES <= sent < self._intended:
            self._align(reading, sent)
        left = [self._started + at for at in self.run.readings_s if self._started + at > now]
        late = False
        if not self._over:
            self.complete = sent >= self._intended
            time_is_up = not left
            late = time_is_up and not self.complete and (sent < self._intended * (1 - BEHIND_SHARE) or now > self._end + LATE_S)
            if self.stopped or late or (time_is_up and self.complete):
                self._over, self.ended_ns = now, reading.at_ns
        if self._over:
            end = self._over + self.run.drain_s
            left = [self._over + after for after in AFTERWARDS_S if now < self._over + after < end]
            self.draining = not left
            self.due = left[0] if left else end
        else:
            self.due = left[0] if left else now + POLL_S
        return late and not self.stopped

    @property
    def _end(self) -> float:
        return self._started + self.run.sending_s

    def _align(self, reading: Reading, sent: int) -> None:
        """The server begins some milliseconds before or after it says so: readings are to fall on the ends of batches."""
        self._aligned = True
        begun_s = (reading.at_ns - self.started_ns) / 1e9 - sent / sum(burst.fps for burst in self.counted)
        self._started += begun_s - self.run.readings_s[0]

    def clock_step_us(self) -> float:
        """How far the wall clock was moved since the start."""
        return abs(time.time_ns() - time.monotonic_ns() - self._clocks_apart_ns) / 1e3

    def stop(self) -> None:
        """Sending was stopped."""
        self.stopped, self.due = True, time.monotonic()

    def counts(self, flows: Any) -> tuple[Count, ...]:
        """The counters of the counted bursts in what the server calls flow_stats."""
        return tuple(
            Count(
                tx_frames=int(flow["tp"][str(burst.tx_port)]),
                tx_octets=int(flow["tb"][str(burst.tx_port)]),
                rx_frames=int(flow["rp"][str(burst.rx_port)]),
                rx_octets=int(flow["rb"][str(burst.rx_port)]),
            )
            for flow, burst in zip((flows[str(counter)] for counter in self.counters), self.counted, strict=True)
        )
