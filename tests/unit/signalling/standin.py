"""A stand-in for the engine's pair of LERs, whose neighbours answer at once or never, and for the process that it lives in."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from orchestrator.bench.served import REQUEST_S, Served
from orchestrator.generators.native.run import Outcome
from orchestrator.interruption import Interruption
from orchestrator.signalling.pair import OnePair, Pair
from rackproof.errors import GeneratorError
from rackproof.model.lsp import Flaps, Ler, Pace, Signalling

SIGNALLING = Signalling(
    ingress=Ler(port="in", address="10.83.0.2", neighbour="10.83.0.1", router_id="10.83.254.1"),
    egress=Ler(port="out", address="10.83.250.2", neighbour="10.83.250.1", router_id="10.83.254.2"),
    stable=2,
    flapped=3,
    campaign=7,
    trial=1,
    seed=1,
    setup_s=0.2,
    pace=Pace(retry_s=0.01, retries=1),
)


@dataclass(kw_only=True)
class State:
    wanted: int
    up: int = 0
    phantoms: int = 0
    labels: dict[int, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    tearing: int = 0
    source_mac: str = "02:00:00:00:00:01"
    destination_mac: str | None = "02:00:00:00:00:02"
    egress_neighbour_mac: str | None


class Report:
    def __init__(self, counters: dict[str, int]) -> None:
        self.counters = counters
        self.ring_drops = self.send_errors = self.overflow = self.clock_step_ns = self.stalled_ns = 0
        self.lateness_ns_p50, self.lateness_ns_p99, self.lateness_ns_max = 1_000, 2_000, 3_000


class Engine:
    """rackproof_native.LerPair. answers: whether LSPs come up; hears: whether the egress sees tears; egress_neighbour: who answers ARP."""

    answers, hears = True, True
    egress_neighbour: str | None = "02:00:00:00:00:03"

    def __init__(self, *, signalling: Signalling, **others: Any) -> None:
        del others
        self._signalling = signalling
        self._state = State(wanted=signalling.stable + signalling.flapped, egress_neighbour_mac=self.egress_neighbour)
        self._standing: list[tuple[int, int]] = []
        self._counters = {"paths_tx": 0, "path_tears_tx": 0, "left_tears_tx": 0, "left_tears_rx": 0}
        self.flapping = False
        self.stopped = False

    def tear_left(self, lsps: list[tuple[int, int]]) -> None:
        self._counters["left_tears_tx"] += len(lsps)
        self._counters["left_tears_rx"] += len(lsps) if self.hears else 0

    def start(self) -> None:
        self._standing = [(number, number + 1) for number in range(self._state.wanted)]
        self._counters["paths_tx"] += len(self._standing)
        if self.answers:
            self._state.up = len(self._standing)
            self._state.labels = {number: 16 + number for number, _ in self._standing}

    def state(self) -> State:
        return self._state

    def flap(self, flaps: Flaps) -> None:
        self.flapping = bool(flaps.windows_s)

    def halt(self) -> None:
        self.flapping = False

    def tear(self) -> None:
        self._counters["path_tears_tx"] += len(self._standing)
        self._state.tearing = 0 if self.hears else len(self._standing)
        self._standing = [] if self.hears else self._standing

    @property
    def standing(self) -> int:
        return len(self._standing)

    def standing_lsps(self) -> list[tuple[int, int]]:
        return list(self._standing)

    def take_records_fd(self) -> tuple[int, int]:
        self.flapping = False
        return os.memfd_create("records"), 0

    def report(self) -> Report:
        return Report(dict(self._counters))

    def stop(self) -> None:
        self.stopped = True


class InProcess(Served, OnePair):
    """The process, in this one. asked: the requests, in order."""

    def __init__(self, interruption: Interruption | None = None) -> None:
        super().__init__(module="", name="the process", loss="nothing", error=GeneratorError, interruption=interruption)
        self._both = interruption
        self.asked: list[str] = []
        self.running_ = True

    @property
    def running(self) -> bool:
        return self.running_

    def lsp_open(self, signalling: Signalling) -> None:
        self._lers_must_be_free()
        self._pair = Pair(signalling, None)

    def request_with_files(self, name: str, timeout_s: float = REQUEST_S, **arguments: Any) -> tuple[Any, list[int]]:
        self.asked.append(name)
        method: Callable[..., Any] = getattr(self, name)
        result = method(**arguments)
        return result, [result.fd] if isinstance(result, Outcome) else []

    def wait_or_fail(self, seconds: float) -> None:
        if self._both is not None:
            self._both.wait(seconds)
