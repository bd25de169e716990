"""What a person may ask of the kind xpfe-delay, and what is refused; its parts are in parts.py and limits.py."""

import functools
import itertools
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import InitErrorDetails

from rackproof.model.traffic import Arrivals
from rackproof.units import Layer, frames_per_second, wire_bits
from testplans.kind import TRIALS_MAX, Plan
from testplans.strict import Whole, fault, refuse
from testplans.xpfe_delay.classes import TrafficClass, resolve
from testplans.xpfe_delay.limits import ClassPart, Percentile, Requirement, TrialPart, ValidityPart, VerdictPart
from testplans.xpfe_delay.parts import (
    BackgroundPart,
    Chain,
    Forwarding,
    FrameBytes,
    Hops,
    LinkPart,
    PlantedPart,
    Rate,
)

BENCH = "bench"
#: Percentiles that every campaign has, whatever the plan asks for beyond.
PERCENTILES = (1.0, 50.0, 99.0)
#: Rates are compared to the line rate with this much room for rounding.
RATE_SLACK = 1e-9


class XpfeDelayPlan(Plan):
    """A campaign that measures the delay over chains of forwarding elements."""

    kind: Literal["xpfe-delay"] = Field(description="The kind of plan.")
    chains: tuple[Chain, ...] = Field(max_length=10, title="Chains", description="Names of device models, or what a chain is made of.")
    hops: tuple[Hops, ...] = Field(default=(2, 3, 4), title="Hops", description="Ascending; how many elements a chain has.")
    frame_bytes: tuple[FrameBytes, ...] = Field(
        default=(500, 750, 1000, 1250, 1500), max_length=50, title="Frame sizes", description="Ascending; FCS and VLAN tag included."
    )
    rates_mbps: tuple[Rate, ...] = Field(
        default=(250.0, 500.0, 750.0), max_length=50, title="Rates", description="Ascending; trials are called by them."
    )
    rate_scale: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=1.0,
        title="Scale of the rates",
        description="What is sent is each rate times this; below 1 where a testbed cannot carry it.",
    )
    link: LinkPart = Field(default_factory=LinkPart, title="Links")
    arrivals: Literal[Arrivals.CONSTANT, Arrivals.POISSON] = Field(
        default=Arrivals.CONSTANT, title="Arrivals", description="constant (equal gaps) or poisson (exponential gaps)."
    )
    background: BackgroundPart | None = Field(default=None, title="Background", description="Another tenant's traffic on every link.")
    trial: TrialPart = Field(default_factory=TrialPart, title="Trial")
    repetitions: Annotated[Whole, Field(ge=1, le=100)] = Field(default=1, title="Repetitions", description="Measurements of each point.")
    seed: Annotated[Whole, Field(ge=0, lt=2**31)] = Field(default=1, title="Seed", description="What all random draws follow from.")
    percentiles: tuple[Percentile, ...] = Field(
        default=PERCENTILES, max_length=20, title="Percentiles", description="Of the delay; 1, 50, 99 and the verdict's are always there."
    )
    classes: tuple[ClassPart, ...] = Field(
        default=(ClassPart(name="crosshaul"),),
        max_length=20,
        title="Traffic classes",
        description="Sets (crosshaul, 802.1cm, ecpri), or classes of one's own with a budget.",
    )
    verdict: VerdictPart = Field(default_factory=VerdictPart, title="Verdict")
    require: tuple[Requirement, ...] = Field(
        default=(), max_length=50, title="Required", description="What must be carried; where nothing is, the campaign says what is."
    )
    planted: tuple[PlantedPart, ...] = Field(default=(), max_length=8, title="Planted delays", description="On the bench alone.")
    validity: ValidityPart = Field(default_factory=ValidityPart, title="Validity")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        faults = [*self._sweep(), *self._chains(), *self._line_rate(), *self._classes(), *self._planted()]
        if faults:
            refuse(type(self), *faults)
        return self

    def _sweep(self) -> Iterator[InitErrorDetails]:
        for key in ("chains", "hops", "frame_bytes", "rates_mbps", "classes"):
            if not getattr(self, key):
                yield fault((key,), "at least one", "none")
        for key in ("hops", "frame_bytes", "rates_mbps"):
            for at, (before, value) in enumerate(itertools.pairwise(getattr(self, key)), 1):
                if value <= before:
                    yield fault((key, at), f"ascending values: more than {before:g}", f"{value:g}")
        points = len(self.chains) * len(self.hops) * len(self.frame_bytes) * len(self.rates_mbps)
        if points * self.repetitions > TRIALS_MAX:
            what = f"at most {TRIALS_MAX} trials in all (chains x hops x sizes x rates x repetitions)"
            yield fault(("repetitions",), what, f"{points * self.repetitions}")

    def _chains(self) -> Iterator[InitErrorDetails]:
        names = [chain.name for chain in self.chains]
        for at, chain in enumerate(self.chains):
            if chain.name in names[:at]:
                yield fault(("chains", at), "names that differ", f"{chain.name} again")
            if chain.devices and len(chain.devices) < self.hops_max:
                yield fault(("chains", at, "devices"), f"{self.hops_max} devices, as many as hops", f"{len(chain.devices)}")
            if chain.devices and chain.model:
                yield fault(("chains", at, "devices"), "a model or devices", "both")
            if len(set(chain.devices)) < len(chain.devices):
                yield fault(("chains", at, "devices"), "devices that differ", ", ".join(chain.devices))
            if self.background is not None and chain.forwarding is Forwarding.PLAIN:
                what = f"no background: {chain.name} forwards plainly, and floods what it has not learnt over all links"
                yield fault(("background",), what, f"{self.background.per_hop_mbps:g} Mbit/s")

    def _line_rate(self) -> Iterator[InitErrorDetails]:
        most = self.link.rate_mbps * (1 + RATE_SLACK)
        for at, rate in enumerate(self.rates_mbps):
            sizes = [size for size in self.frame_bytes if self.bits_per_second(rate, size, Layer.L1) / 1e6 > most]
            if sizes:
                found = f"{self.offered_mbps(rate):g} with frames of {sizes[0]} bytes"
                yield fault(("rates_mbps", at), f"at most what a link of {self.link.rate_mbps:g} Mbit/s (layer 1) takes", found)

    def _classes(self) -> Iterator[InitErrorDetails]:
        names = [each.name for each in self.traffic_classes]
        for at, part in enumerate(self.classes):
            before = {each.name for each in resolve(earlier.model_dump() for earlier in self.classes[:at])}
            again = [each.name for each in resolve([part.model_dump()]) if each.name in before]
            yield from (fault(("classes", at), "names that differ", f"{name} again") for name in again)
        for at, required in enumerate(self.require):
            if required.traffic_class not in names:
                yield fault(("require", at, "class"), f"a class of the plan ({', '.join(names)})", required.traffic_class)
            for key, found, known in (
                ("hops", [required.hops], self.hops),
                ("frame_bytes", required.frame_bytes, self.frame_bytes),
                ("rates_mbps", required.rates_mbps, self.rates_mbps),
            ):
                for value in set(found) - set(known):
                    yield fault(("require", at, key), f"what the plan measures ({', '.join(f'{each:g}' for each in known)})", f"{value:g}")

    def _planted(self) -> Iterator[InitErrorDetails]:
        if self.planted and self.testbed != BENCH:
            yield fault(("planted",), f"no planted delays on {self.testbed}: only the bench can plant them", f"{len(self.planted)}")
        for at, planted in enumerate(self.planted):
            if planted.hop >= self.hops_max:
                yield fault(("planted", at, "hop"), f"a link between two elements: at most hop {self.hops_max - 1}", f"{planted.hop}")
            if planted.hop in [other.hop for other in self.planted[:at]]:
                yield fault(("planted", at, "hop"), "each hop once", f"{planted.hop} again")

    @property
    def hops_max(self) -> int:
        """Elements of the longest chain."""
        return max(self.hops, default=1)

    @functools.cached_property
    def traffic_classes(self) -> tuple[TrafficClass, ...]:
        """All classes with their budgets, in the order of the plan."""
        return resolve(part.model_dump() for part in self.classes)

    @functools.cached_property
    def all_percentiles(self) -> tuple[float, ...]:
        """Percentiles that are measured, ascending."""
        return tuple(sorted({*PERCENTILES, *self.percentiles, self.verdict.percentile}))

    def chain(self, name: str) -> Chain:
        """The chain of that name. Raises KeyError."""
        for chain in self.chains:
            if chain.name == name:
                return chain
        raise KeyError(name)

    def offered_mbps(self, rate_mbps: float) -> float:
        """What is really sent at a rate of the plan [Mbit/s, at link.layer]."""
        return rate_mbps * self.rate_scale

    def fps(self, rate_mbps: float, frame_bytes: int) -> float:
        """Frames per second at a rate of the plan."""
        return frames_per_second(self.offered_mbps(rate_mbps) * 1e6, frame_bytes, self.link.layer)

    @property
    def background_fps(self) -> float:
        """Background frames per second on one link."""
        return 0.0 if self.background is None else self.fps(self.background.per_hop_mbps, self.background.frame_bytes)

    def bits_per_second(self, rate_mbps: float, frame_bytes: int, layer: Layer, overhead_bytes: int = 0) -> float:
        """What frames of a size at a rate of the plan take of a link that makes them larger by overhead_bytes [bit/s]."""
        return self.fps(rate_mbps, frame_bytes) * wire_bits(frame_bytes + overhead_bytes, layer)

    def background_bps(self, overhead_bytes: int = 0) -> float:
        """What background takes of one link at layer 1 [bit/s]."""
        if self.background is None:
            return 0.0
        return self.bits_per_second(self.background.per_hop_mbps, self.background.frame_bytes, Layer.L1, overhead_bytes)

    def link_bps(self, chain: Chain, rate_mbps: float, frame_bytes: int) -> float:
        """What a link between elements carries at layer 1, background included [bit/s]."""
        measured = self.bits_per_second(rate_mbps, frame_bytes, Layer.L1, chain.overhead_bytes)
        return measured + self.background_bps(chain.overhead_bytes)

    def planted_us(self, hop: int) -> float:
        """The delay that is planted behind a hop's link [us]."""
        return next((planted.delay_us for planted in self.planted if planted.hop == hop), 0.0)

    @property
    def drain_s(self) -> float:
        """How long the receiver listens on [s]: as stated, or what the full queues of the longest chain take, and 50 ms."""
        if self.trial.drain_s is not None:
            return self.trial.drain_s
        largest = max([*self.frame_bytes, *([self.background.frame_bytes] if self.background else [])])
        full_s = self.link.queue_frames * wire_bits(largest, Layer.L1) / self.link.rate_bps
        return 0.05 + 1.25 * (self.hops_max - 1) * full_s + sum(planted.delay_us for planted in self.planted) / 1e6

    @property
    def trial_s(self) -> float:
        """Wall time of a trial's traffic [s]."""
        return self.trial.warmup_s + self.trial.duration_s + self.drain_s


def percentile_name(percentile: float) -> str:
    """A percentile as it stands in names of measurements: p99, p99_9."""
    return f"p{percentile:g}".replace(".", "_")
