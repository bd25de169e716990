"""What a person may ask of the kind mpls-flap, and what is refused; its parts are in parts.py and limits.py."""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import InitErrorDetails

from rackproof.model.lsp import LabelMode
from rackproof.units import Layer, frames_per_second, wire_bits
from testplans.kind import TRIALS_MAX, Plan
from testplans.mpls_flap.limits import CRITERIA, Expected, MarginsPart, RequirePart, ValidityPart
from testplans.mpls_flap.parts import By, LinkPart, Network, PhasesPart, ProbesPart, SignallingPart, Test
from testplans.strict import Share, Whole, fault, refuse

BENCH = "bench"
#: Octets of a frame that has an IPv4 and a UDP header behind its label, and the generator's signature behind them: the smallest such.
IP_FRAME_BYTES = 78
#: Traffic begins so long before the measured span [s]; the phases begin with the traffic.
WARMUP_S = 0.25
#: Equal parts of the measured span; rates have their intervals from them.
BATCHES = 20
#: Most LSPs by configuration: so many static labels do routers have.
CONFIGURED_MAX = 10_000


class MplsFlapPlan(Plan):
    """A campaign that asks whether label switching routers forward as before while LSPs flap."""

    kind: Literal["mpls-flap"] = Field(description="The kind of plan.")
    networks: tuple[Network, ...] = Field(
        max_length=20, title="Networks", description="Names of device models (one router each), or what a network is made of."
    )
    tests: tuple[Test, ...] = Field(max_length=50, title="Tests")
    link: LinkPart = Field(default_factory=LinkPart, title="Links")
    rate_scale: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=1.0,
        title="Scale of the rates",
        description="What is sent is each rate times this; below 1 where a testbed cannot carry it.",
    )
    phases: PhasesPart = Field(default_factory=PhasesPart, title="Phases")
    signalling: SignallingPart = Field(default_factory=SignallingPart, title="Signalling")
    probes: ProbesPart = Field(default_factory=ProbesPart, title="Probes")
    margins: MarginsPart = Field(default_factory=MarginsPart, title="Margins")
    confidence: Annotated[Share, Field(ge=0.5, lt=1)] = Field(default=0.95, title="Confidence", description="Of all intervals.")
    repetitions: Annotated[Whole, Field(ge=1, le=100)] = Field(default=1, title="Repetitions", description="Measurements of each point.")
    seed: Annotated[Whole, Field(ge=0, lt=2**31)] = Field(default=1, title="Seed", description="What all random draws follow from.")
    require: RequirePart = Field(default_factory=RequirePart, title="Required")
    expect: tuple[Expected, ...] = Field(default=(), title="Expected to fail", description="Networks with planted defects.")
    validity: ValidityPart = Field(default_factory=ValidityPart, title="Validity")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        faults = [*self._unique(), *self._sweeps(), *self._signalling(), *self._expectations()]
        if faults:
            refuse(type(self), *faults)
        return self

    def _unique(self) -> Iterator[InitErrorDetails]:
        for key in ("networks", "tests"):
            parts = getattr(self, key)
            names = [part.name for part in parts]
            if not parts:
                yield fault((key,), "at least one", "none")
            for at, name in enumerate(names):
                if name in names[:at]:
                    yield fault((key, at), "names that differ", f"{name} again")
        devices = [network.device(router) for network in self.networks for router in network.numbers]
        twice = sorted({name for name in devices if devices.count(name) > 1})
        if twice and len({network.name for network in self.networks}) == len(self.networks):
            yield fault(("networks",), "routers with names that differ", f"{twice[0]} twice")

    def _sweeps(self) -> Iterator[InitErrorDetails]:
        for at, test in enumerate(self.tests):
            if not test.sweep:
                yield fault(("tests", at, "flapped"), "at least one number of LSPs", "none")
            for place, (before, value) in enumerate(itertools.pairwise(test.sweep), 1):
                if value <= before:
                    yield fault(("tests", at, "flapped", place), f"ascending values: more than {before}", f"{value}")
        points = len(self.networks) * sum(len(test.sweep) for test in self.tests)
        if points * self.repetitions > TRIALS_MAX:
            what = f"at most {TRIALS_MAX} trials in all (networks x points of the tests x repetitions)"
            yield fault(("repetitions",), what, f"{points * self.repetitions}")

    def _signalling(self) -> Iterator[InitErrorDetails]:
        popped = self.signalling.labels is LabelMode.IMPLICIT_NULL
        for at, test in enumerate(self.tests):
            if popped and test.frame_bytes < IP_FRAME_BYTES:
                what = f"at least {IP_FRAME_BYTES} bytes: with implicit-null frames come without a label, and must then be IP packets"
                yield fault(("tests", at, "frame_bytes"), what, f"{test.frame_bytes}")
            if self.signalling.by is By.CONFIGURATION:
                most = max((test.stable_of(flapped) + flapped for flapped in test.sweep), default=0)
                if most > CONFIGURED_MAX:
                    yield fault(("tests", at, "flapped"), f"at most {CONFIGURED_MAX} LSPs in all by configuration", f"{most}")

    def _expectations(self) -> Iterator[InitErrorDetails]:
        names = [network.name for network in self.networks]
        for at, expected in enumerate(self.expect):
            if expected.device not in names:
                yield fault(("expect", at, "device"), f"a network of the plan ({', '.join(names)})", expected.device)
            elif expected.device in [other.device for other in self.expect[:at]]:
                yield fault(("expect", at, "device"), "each network once", f"{expected.device} again")
            if not expected.criteria:
                yield fault(("expect", at, "criteria"), "at least one criterion", "none")
            for place, criterion in enumerate(expected.criteria):
                if criterion not in CRITERIA:
                    yield fault(("expect", at, "criteria", place), f"a criterion ({', '.join(CRITERIA)})", criterion)

    def network(self, name: str) -> Network:
        """The network of that name. Raises KeyError."""
        return {each.name: each for each in self.networks}[name]

    def test(self, name: str) -> Test:
        """The test of that name. Raises KeyError."""
        return {each.name: each for each in self.tests}[name]

    def rate_mbps_max(self, frame_bytes: int) -> float:
        """What preamble and gap leave of the link for frames of a size [Mbit/s at layer 2], rounded down to 0.1: 761.9 at 64 bytes."""
        return math.floor(10 * self.link.rate_mbps * wire_bits(frame_bytes, Layer.L2) / wire_bits(frame_bytes, Layer.L1)) / 10

    def rate_mbps(self, test: Test) -> float:
        """The rate that a test's trials are called by: the plan's, or what the link leaves of it [Mbit/s]."""
        return min(test.rate_mbps, self.rate_mbps_max(test.frame_bytes))

    def offered_mbps(self, test: Test) -> float:
        """What is really sent over all stable LSPs together [Mbit/s at layer 2]."""
        return self.rate_mbps(test) * self.rate_scale

    def fps(self, test: Test) -> float:
        """Frames per second over all stable LSPs together."""
        return frames_per_second(self.offered_mbps(test) * 1e6, test.frame_bytes, Layer.L2)

    def bits_per_second(self, test: Test, layer: Layer) -> float:
        """What a test's traffic takes of a link [bit/s]."""
        return self.fps(test) * wire_bits(test.frame_bytes, layer)
