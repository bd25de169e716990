"""A control plane with a queue, simulated: events and probes of a device whose truth is known agree with each other as on a wire."""

import heapq
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rackproof.model.lsp import FIRST_EVENT, NO_LSP, PROBE, PROBE_CLASSES, PROBE_TTL, EventKind, ProbeState

#: What a label of the ingress's side is above the egress's, so that the two are never mistaken for each other.
FIRST_HOP = 100_000
_PASS_S = 100e-6
_EGRESS_S = 50e-6

Row = tuple[float, float, int, int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What a device does. tear_ms, path_ms, resv_ms: its control plane's work for each message; ready_ms: from a RESV that leaves to labels
    that forward (negative: they did before); swap_early: the first PATHs of a window overtake tears.

    lost_tears: LSPs whose tears it swallows; stale: labels go on after the tear; wrong: LSPs that leave with another label; phantoms: LSPs
    that came up without it; never: LSPs whose PATH it refuses; stolen_us: mean of what frames wait while control works; growth_us_per_s: of
    the delay; lost: share of the stable LSPs' frames, and lost_flapping more while LSPs flap. Of the host: stalls_s: (from, for how long)
    since the prior phase began; in them nothing arrives, and what was to arrive comes at their end; late_probes: lost by the host.
    """

    stable: int = 20
    flapped: int = 30
    routers: int = 3
    prior_s: float = 1.0
    windows_s: tuple[float, ...] = (1.0, 0.5)
    drain_s: float = 0.3
    fps: float = 20_000.0
    frame_bytes: int = 64
    delay_us: float = 40.0
    jitter_us: float = 4.0
    tear_ms: float = 1.0
    path_ms: float = 1.0
    resv_ms: float = 1.0
    ready_ms: float = -0.5
    lost_tears: frozenset[int] = frozenset()
    stale: bool = False
    wrong: frozenset[int] = frozenset()
    phantoms: frozenset[int] = frozenset()
    never: frozenset[int] = frozenset()
    stolen_us: float = 0.0
    growth_us_per_s: float = 0.0
    lost: float = 0.0
    lost_flapping: float = 0.0
    stalls_s: tuple[tuple[float, float], ...] = ()
    lost_probes: float = 0.0
    pace_per_s: float = 2000.0
    retry_s: float = 1.0
    retries: int = 3
    probe_fps: float = 2000.0
    gap_us: float = 500.0
    gap_s: float = 0.2
    seed: int = 1

    @property
    def flaps_s(self) -> tuple[float, ...]:
        """When flaps begin, and when the last window ends, since the prior phase began."""
        return tuple(float(each) for each in self.prior_s + np.cumsum([0.0, *self.windows_s]))

    @property
    def end_s(self) -> float:
        """When nothing is recorded any more."""
        return self.flaps_s[-1] + self.drain_s


@dataclass
class _Instance:
    lsp: int
    up: float = np.inf
    torn: float = np.inf
    ready: float = np.inf
    removed: float = np.inf
    seen_at_egress: float = np.inf
    copies: int = 0


@dataclass
class Network:
    """The simulation. Times are seconds since the prior phase began."""

    truth: Truth
    rows: list[Row] = field(default_factory=list)
    instances: list[_Instance] = field(default_factory=list)
    current: dict[int, int] = field(default_factory=dict)
    agenda: list[tuple[float, int, str, int]] = field(default_factory=list)
    busy: list[tuple[float, float]] = field(default_factory=list)
    free: float = 0.0
    order: int = 0

    def event(self, when: float, kind: EventKind, lsp: int = NO_LSP, instance: int = 0, value: int = 0, copy: int = 0) -> None:
        if when <= self.truth.end_s:
            self.rows.append((when, -1.0, value, lsp, instance, FIRST_EVENT + kind, copy))

    def at(self, when: float, what: str, instance: int) -> None:
        self.order += 1
        heapq.heappush(self.agenda, (when, self.order, what, instance))

    def served(self, arrived: float, ms: float) -> float:
        begin = max(arrived, self.free)
        self.free = begin + ms / 1e3
        self.busy.append((begin, self.free))
        return self.free

    def new(self, lsp: int) -> int:
        self.instances.append(_Instance(lsp=lsp))
        return len(self.instances)

    def run(self) -> None:
        for lsp in range(self.truth.stable + self.truth.flapped):
            instance = self.new(lsp)
            one = self.instances[instance - 1]
            one.up = one.ready = -1.0
            self.current[lsp] = instance
            when = -0.1 - (self.truth.stable + self.truth.flapped - lsp) / self.truth.pace_per_s
            self.event(when, EventKind.PATH_SENT, lsp, instance)
            self.event(when + 1e-6, EventKind.PATH_RECEIVED, lsp, instance)
            self.event(when + 2e-6, EventKind.RESV_SENT, lsp, instance, asked(instance))
            self.event(when + 3e-6, EventKind.RESV_RECEIVED, lsp, instance, FIRST_HOP + instance)
            if lsp in self.truth.phantoms:
                self.event(when + 4e-6, EventKind.PHANTOM, lsp, instance, 0x0A530002)
        for number, begin in enumerate(self.truth.flaps_s[:-1], 1):
            self.at(begin, "flap", number)
            self.at(begin + self.truth.windows_s[number - 1] - 1e-6, "flapped", number)
        while self.agenda and self.agenda[0][0] <= self.truth.end_s:
            when, _, what, instance = heapq.heappop(self.agenda)
            getattr(self, f"on_{what}")(when, instance)

    def on_flap(self, when: float, number: int) -> None:
        self.event(when, EventKind.FLAP_BEGIN, value=number)
        flapped = [self.current[lsp] for lsp in range(self.truth.stable, self.truth.stable + self.truth.flapped)]
        up = [instance for instance in flapped if self.instances[instance - 1].up <= when]
        for place, instance in enumerate(up):
            self.at(when + place / self.truth.pace_per_s, "tear", instance)

    def on_flapped(self, when: float, number: int) -> None:
        self.event(when, EventKind.FLAP_END, value=number)

    def on_tear(self, when: float, instance: int) -> None:
        one = self.instances[instance - 1]
        if np.isfinite(one.seen_at_egress):
            return
        if one.copies > self.truth.retries:
            self.event(when, EventKind.GAVE_UP, one.lsp, instance, 1)
            self.at(when, "path", instance)
            return
        self.event(when, EventKind.TEAR_SENT, one.lsp, instance, copy=one.copies)
        one.torn = min(one.torn, when)
        if one.lsp in self.truth.lost_tears:
            self.served(when, self.truth.tear_ms)
        elif one.copies == 0:
            self.at(self.served(when, self.truth.tear_ms), "torn", instance)
        one.copies += 1
        if one.lsp in self.truth.lost_tears:
            self.at(when + self.truth.retry_s, "tear", instance)

    def on_torn(self, when: float, instance: int) -> None:
        one = self.instances[instance - 1]
        one.seen_at_egress = when
        if not self.truth.stale:
            one.removed = when - 1e-4
        self.event(when, EventKind.TEAR_RECEIVED, one.lsp, instance)
        self.at(when + _EGRESS_S, "path", instance)

    def on_path(self, when: float, instance: int) -> None:
        lsp = self.instances[instance - 1].lsp
        new = self.new(lsp)
        self.current[lsp] = new
        self.event(when, EventKind.PATH_SENT, lsp, new)
        self.at(self.served(when, self.truth.path_ms), "refused" if lsp in self.truth.never else "passed", new)

    def on_refused(self, when: float, instance: int) -> None:
        self.event(when, EventKind.PATH_ERR, self.instances[instance - 1].lsp, instance, 1 << 16 | 0)

    def on_passed(self, when: float, instance: int) -> None:
        lsp = self.instances[instance - 1].lsp
        self.event(when, EventKind.PATH_RECEIVED, lsp, instance, 0x0A53FA01)
        self.event(when + _EGRESS_S, EventKind.RESV_SENT, lsp, instance, asked(instance))
        self.at(self.served(when + _EGRESS_S, self.truth.resv_ms), "up", instance)

    def on_up(self, when: float, instance: int) -> None:
        one = self.instances[instance - 1]
        one.up, one.ready = when, when + self.truth.ready_ms / 1e3
        self.event(when, EventKind.RESV_RECEIVED, one.lsp, instance, FIRST_HOP + instance)

    def probes(self, rng: np.random.Generator) -> None:
        truth = self.truth
        of: dict[int, list[int]] = {}
        for instance, one in enumerate(self.instances, 1):
            of.setdefault(one.lsp, []).append(instance)
        every = (truth.stable + truth.flapped) / truth.probe_fps
        for lsp, mine in of.items():
            step = max(every, 1.0) if lsp < truth.stable else every
            times = list(np.arange(step * rng.random(), truth.end_s - 0.05, step))
            for instance in mine:
                up, ready = self.instances[instance - 1].up, self.instances[instance - 1].ready
                if 0 < up < truth.end_s - 0.05:
                    first_to_come = max(ready, up) + truth.gap_us / 1e6
                    times += list(np.arange(up + 2e-5, min(first_to_come, up + truth.gap_s), truth.gap_us / 1e6))
            for when in sorted(times):
                self.probe(when, [each for each in mine if self.instances[each - 1].up <= when][-1], rng)

    def probe(self, when: float, instance: int, rng: np.random.Generator) -> None:
        one, truth = self.instances[instance - 1], self.truth
        state = ProbeState.TORN if one.torn <= when else ProbeState.FRESH if when - one.up < truth.gap_s else ProbeState.UP
        comes = one.ready <= when < one.removed and rng.random() >= truth.lost_probes
        label = asked(instance) + (7 if one.lsp in truth.wrong else 0)
        entry = label << 12 | one.lsp % PROBE_CLASSES << 9 | 1 << 8 | PROBE_TTL - truth.routers
        came = float(stalled(truth, np.array([when + _PASS_S]))[0]) if comes else -1.0
        self.rows.append((when, came, entry if comes else 0, one.lsp, instance, PROBE, state))


def asked(instance: int) -> int:
    """The label that the egress asks for an instance."""
    return 1000 + instance


def stalled(truth: Truth, arrivals: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """When things arrive that would arrive in a stall of the host [s since the prior phase began]."""
    for begin, length in truth.stalls_s:
        arrivals = np.where((arrivals >= begin) & (arrivals < begin + length), begin + length, arrivals)
    return arrivals
