"""Small plans of the kind mpls-flap, and a rig that never stood: its generator and its signaller write down what is asked of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rackproof.errors import GeneratorError
from rackproof.model.functions import DeviceFunction
from rackproof.model.lsp import FIRST_EVENT, Established, EventKind, Flaps, Signalling
from rackproof.model.traffic import RECORD_DTYPE, Capture, Samples, Sent, Traffic
from rackproof.ports import Device, Generator, Host, Run, Signaller, Tap
from testplans.mpls_flap.plan import BATCHES, MplsFlapPlan

BEGAN_NS = 1_790_000_000_000_000_000


def plan(**changes: object) -> MplsFlapPlan:
    """A small plan with some keys changed."""
    values = {
        "kind": "mpls-flap", "name": "made up", "networks": ["soft-lsr"],
        "tests": [{"name": "1.2", "stable": 4, "flapped": [2, 6], "frame_bytes": 512, "rate_mbps": 40}],
        "phases": {"prior_s": 1, "windows_s": [0.4, 0.2], "drain_s": 0.1},
    }  # fmt: skip
    return MplsFlapPlan.model_validate({**values, **changes})


def events(*rows: tuple[float, EventKind, int]) -> Samples:
    """Events as a signaller writes them: seconds since BEGAN_NS, kind, value."""
    records = np.zeros(len(rows), RECORD_DTYPE)
    for at, (when_s, kind, value) in enumerate(rows):
        records[at]["tx_ns"], records[at]["port"], records[at]["sequence"] = BEGAN_NS + round(1e9 * when_s), FIRST_EVENT + kind, value
    return Samples.of(records)


@dataclass
class FakeRig:
    """established: what comes of setting LSPs up; phases: what the signaller sees of them; fails: the generator is lost on the way."""

    established: Established
    phases: Samples = field(default_factory=events)
    fails: bool = False
    slow_s: float = 0.0
    asked: list[str] = field(default_factory=list)
    traffic: list[Traffic] = field(default_factory=list)
    signalling: list[Signalling] = field(default_factory=list)
    applied: list[tuple[str, DeviceFunction]] = field(default_factory=list)

    @property
    def generator(self) -> Generator:
        return _Generator(self)

    @contextmanager
    def signaller(self, signalling: Signalling) -> Iterator[Signaller]:
        self.signalling.append(signalling)
        yield _Lers(self)
        self.asked.append("lers close")

    def device(self, name: str) -> Device:
        return _Router(self, name)

    def host(self, name: str) -> Host:
        raise KeyError(name)

    def tap(self, device: str) -> Tap:
        raise KeyError(device)

    def wires(self) -> Tap | None:
        return None

    def withdraw(self, device: str, why: str) -> None: ...

    def pause(self, seconds: float) -> None:
        self.asked.append(f"pause {seconds:.1f}")


@dataclass
class _Router:
    _rig: FakeRig
    name: str

    def facts(self) -> Mapping[str, str]:
        return {}

    def configuration(self) -> str:
        return ""

    def apply(self, function: DeviceFunction) -> None:
        self._rig.asked.append(f"{self.name} configured")
        self._rig.applied.append((self.name, function))

    def check(self, function: DeviceFunction) -> None: ...

    def restore(self) -> None: ...

    def counters(self) -> Mapping[str, int]:
        self._rig.asked.append("counters")
        return {"forwarded": len(self._rig.asked), "dropped": 0}


@dataclass
class _Generator:
    _rig: FakeRig

    def start(self, traffic: Traffic) -> Run:
        self._rig.traffic.append(traffic)
        self._rig.asked.append("traffic starts")
        return _Ran(self._rig, "traffic", sent_of(traffic), self._rig.fails)


@dataclass
class _Lers:
    _rig: FakeRig

    def establish(self) -> Established:
        self._rig.asked.append("establish")
        return self._rig.established

    def start(self, flaps: Flaps) -> Run:
        self._rig.asked.append("phases start")
        seen = Capture(samples=self._rig.phases, sent={}, batch_starts_ns=np.empty(0, np.int64), health={"ring_drops": 2.0})
        return _Ran(self._rig, "phases", seen)

    def release(self) -> Mapping[str, float]:
        self._rig.asked.append("release")
        return {"tears_tx": 12.0, "standing": 0.0}


@dataclass
class _Ran:
    _rig: FakeRig
    _name: str
    _capture: Capture
    _fails: bool = False

    def stop(self) -> None:
        self._rig.asked.append(f"{self._name} stops")

    def wait(self) -> Capture:
        if self._fails:
            raise GeneratorError("gone")
        self._rig.asked.append(f"{self._name} ends")
        return self._capture


def sent_of(traffic: Traffic) -> Capture:
    """What a generator says that has sent all of it, and of which nothing has come back."""
    marks = np.linspace(0, traffic.duration_s, BATCHES + 1)
    frames = {stream.id: np.rint(stream.rate_fps * marks).astype(np.int64) for stream in traffic.streams}
    return Capture(
        samples=events(),
        sent={stream: Sent(first_sequence=mine, octets=mine * 512, intended_frames=int(mine[-1])) for stream, mine in frames.items()},
        batch_starts_ns=BEGAN_NS + np.rint(1e9 * (0.25 + marks)).astype(np.int64),
        health={"lateness_p99_us": 5.0},
    )


def up(lsps: range, **changes: Any) -> Established:
    """LSPs that came up, with labels that are 100 above their numbers."""
    known = Established(
        labels={lsp: 100 + lsp for lsp in lsps}, source_mac="02:00:00:00:00:01", destination_mac="02:00:00:00:00:02", took_s=0.5
    )
    return replace(known, **changes)
