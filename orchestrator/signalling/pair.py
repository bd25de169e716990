"""Two LERs of the engine on ports of a network namespace: what a process that holds them can be asked to do, a request at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import rackproof_native as engine

from orchestrator.bench.cpus import Cpus
from orchestrator.generators.native.run import Outcome
from rackproof.errors import SignallingError
from rackproof.model.lsp import Established, Flaps, Signalling
from rackproof.model.traffic import RECORD_DTYPE

#: How long the device may take for each tear, and how long the last may be on its way [s].
TEAR_S, LAST_TEAR_S = 0.02, 2.0
#: How long whoever ends may wait for tears to be seen; what is not seen by then is torn once more, without waiting.
FAREWELL_S = 20.0
POLL_S = 0.02
#: How often LSPs that an earlier pair has left are torn down, where the egress does not see it.
LEFT_TRIES = 3
#: Counters that go up and down.
GAUGES = frozenset({"ingress_p2p_lsps_configured", "ingress_p2p_lsps_up", "egress_p2p_lsps_up"})


class Pair:
    """LERs on interfaces of a namespace (None: of this thread's own)."""

    def __init__(self, asked: Signalling, netns_fd: int | None) -> None:
        cpus = Cpus.of_process()
        self.asked = asked
        try:
            self._pair = engine.LerPair(
                netns_fd=netns_fd,
                signalling=asked,
                ingress=asked.ingress.port,
                egress=asked.egress.port,
                cpu=cpus.device,
                nice=cpus.nice,
            )
        except (OSError, ValueError) as error:
            raise SignallingError(f"LSPs cannot be signalled from {asked.ingress.port} to {asked.egress.port}: {error}") from error
        self._begun: float | None = None
        self._deadline = 0.0
        self._tearing = False
        self._flapped_ns = 0
        self._before: engine.LerReport | None = None

    def begin(self) -> None:
        """Begin to set LSPs up."""
        if self._begun is not None:
            raise SignallingError("LSPs are established once")
        self._pair.start()
        self._begun = time.monotonic()

    def established(self) -> Established | None:
        """What came of it; None while some are down and there is time. Raises SignallingError where a neighbour does not answer."""
        took_s = time.monotonic() - self._running()
        state = self._pair.state()
        found = state.destination_mac is not None and state.egress_neighbour_mac is not None
        if (state.up + state.phantoms < state.wanted or not found) and took_s < self.asked.setup_s:
            return None
        if (mac := state.destination_mac) is None:
            raise SignallingError(_silent(self.asked, ingress=True))
        if state.egress_neighbour_mac is None:
            raise SignallingError(_silent(self.asked, ingress=False))
        return Established(
            labels=dict(state.labels),
            source_mac=state.source_mac,
            destination_mac=mac,
            took_s=took_s,
            phantoms=state.phantoms,
            refused=dict(state.refused),
        )

    def flap(self, flaps: Flaps) -> None:
        """Begin the phases."""
        self._running()
        self._before = self._pair.report()
        self._flapped_ns = time.time_ns()
        try:
            self._pair.flap(flaps)
        except (RuntimeError, ValueError) as error:
            raise SignallingError(f"LSPs are not flapped: {error}") from error

    def halt(self) -> None:
        """End the phases at once."""
        self._pair.halt()

    def collect(self) -> Outcome | None:
        """All that was seen since the beginning or the last time; None while phases are under way."""
        if self._before is None:
            raise SignallingError("nothing is being flapped")
        if self._pair.flapping:
            return None
        before, self._before = self._before, None
        report = self._pair.report()
        fd, overflow = self._pair.take_records_fd()
        return Outcome(
            fd=fd,
            records=os.fstat(fd).st_size // RECORD_DTYPE.itemsize,
            first_sequence={},
            octets={},
            intended_frames={},
            batch_starts_ns=np.array([self._flapped_ns, time.time_ns()], np.int64),
            health={**_health(before, report), "overflow": overflow},
        )

    def tear(self) -> None:
        """Begin to tear down what stands."""
        self._running()
        if not self._tearing:
            self._tearing = True
            self._deadline = time.monotonic() + self.tear_s
            self._pair.tear()

    def tear_left(self, lsps: Sequence[tuple[int, int]]) -> None:
        """Begin to tear down LSPs that an earlier pair has left, once each."""
        self._pair.tear_left(list(lsps))

    @property
    def tear_s(self) -> float:
        """How long tearing down what stands may take."""
        pace = self.asked.pace
        return self._pair.standing * (1 / pace.teardowns_per_s + TEAR_S) + (pace.retries + 1) * pace.retry_s + LAST_TEAR_S

    def torn(self) -> Mapping[str, float] | None:
        """What was counted since the beginning; None while tears are under way and there is time."""
        if self._pair.state().tearing and time.monotonic() < self._deadline:
            return None
        return {**{name: float(value) for name, value in self.counters().items()}, "standing": float(self._pair.standing)}

    def counters(self) -> Mapping[str, int]:
        """What was counted up to now."""
        return self._pair.report().counters

    def standing(self) -> list[tuple[int, int]]:
        """Tunnel id and LSP id of all that may be in the devices."""
        return self._pair.standing_lsps()

    def close(self) -> None:
        """Tear down what stands, wait for it no longer than FAREWELL_S, and end."""
        if self._begun is not None:
            self.tear()
            self._deadline = min(self._deadline, time.monotonic() + FAREWELL_S)
            while self.torn() is None:
                time.sleep(POLL_S)
        self._pair.stop()

    def _running(self) -> float:
        if self._begun is None:
            raise SignallingError("no LSP was set up: establish them first")
        return self._begun


class OnePair:
    """What a process that holds two LERs at a time can be asked."""

    _pair: Pair | None = None

    def lsp_establish(self) -> None:
        """Begin to set all LSPs up. Raises SignallingError."""
        self._lers.begin()

    def lsp_established(self) -> Established | None:
        """What came of it, None while it goes on. Raises SignallingError."""
        return self._lers.established()

    def lsp_flap(self, flaps: Flaps) -> None:
        """Begin the phases. Raises SignallingError."""
        self._lers.flap(flaps)

    def lsp_halt(self) -> None:
        """End the phases at once."""
        self._lers.halt()

    def lsp_collect(self) -> Outcome | None:
        """What was seen, None while phases go on. Raises SignallingError."""
        return self._lers.collect()

    def lsp_tear(self) -> None:
        """Begin to tear all LSPs down."""
        self._lers.tear()

    def lsp_torn(self) -> Mapping[str, float] | None:
        """What was counted, None while it goes on."""
        return self._lers.torn()

    def lsp_close(self) -> None:
        """Tear down what stands, and end. Nothing where it has ended."""
        if self._pair is not None:
            self._pair.close()
            self._pair = None

    @property
    def _lers(self) -> Pair:
        if self._pair is None:
            raise SignallingError("no LER is emulated")
        return self._pair

    def _lers_must_be_free(self) -> None:
        if self._pair is not None:
            raise SignallingError("LERs are emulated already: one pair at a time")


def cleared(asked: Signalling, netns_fd: int | None, left: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Tear down LSPs that an earlier pair has left: for how many a tear was sent, and seen at the egress. Raises SignallingError."""
    pair = Pair(replace(asked, stable=0, flapped=0, probing=None), netns_fd)
    try:
        pair.begin()
        deadline = time.monotonic() + FAREWELL_S
        seen = 0
        for tries in range(1, 1 + LEFT_TRIES):
            pair.tear_left(left)
            sent = _wait(pair, "left_tears_tx", tries * len(left), deadline)
            seen = _wait(pair, "left_tears_rx", len(left), deadline) if sent else 0
            if seen >= len(left) or time.monotonic() > deadline:
                break
    finally:
        pair.close()
    return min(sent, len(left)), seen


def _wait(pair: Pair, name: str, wanted: int, deadline: float) -> int:
    """What a counter has reached when it is as high as wanted, has stood still for LAST_TEAR_S, or the time is over."""
    found, moved = 0, time.monotonic()
    while found < wanted and time.monotonic() < min(deadline, moved + LAST_TEAR_S):
        time.sleep(POLL_S)
        if (now := pair.counters()[name]) != found:
            found, moved = now, time.monotonic()
    return found


def _silent(asked: Signalling, *, ingress: bool) -> str:
    name, ler = ("ingress", asked.ingress) if ingress else ("egress", asked.egress)
    return f"{ler.port}: nobody answers ARP for {ler.neighbour}, the {name} LER's neighbour; is the address configured there?"


def _health(before: engine.LerReport, after: engine.LerReport) -> Mapping[str, float]:
    counted = {name: float(value - (0 if name in GAUGES else before.counters[name])) for name, value in after.counters.items()}
    return {
        **counted,
        "lateness_p50_us": after.lateness_ns_p50 / 1e3,
        "lateness_p99_us": after.lateness_ns_p99 / 1e3,
        "lateness_max_us": after.lateness_ns_max / 1e3,
        "stalled_ms": (after.stalled_ns - before.stalled_ns) / 1e6,
        "clock_step_us": abs(after.clock_step_ns - before.clock_step_ns) / 1e3,
        "send_errors": after.send_errors - before.send_errors,
        "ring_drops": after.ring_drops - before.ring_drops,
    }
