"""What a person may ask of the kind congestion-control, and what is refused; the path is in path.py."""

import difflib
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import InitErrorDetails

from testplans.congestion_control.path import Milliseconds, PathPart
from testplans.congestion_control.qdiscs import Qdisc
from testplans.congestion_control.schemes import registry
from testplans.kind import TRIALS_MAX, Plan
from testplans.strict import Part, Seconds, Share, Whole, fault, refuse

FLOWS_MAX = 8
#: Id of each criterion -> what it asks.
CRITERIA = {
    "utilisation": "Use of the path",
    "delay.p95": "95th percentile of the one-way delay",
    "delay.ratio": "Delay against another scheme",
    "fairness": "Fairness between flows",
}

SchemeId = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[a-z0-9][a-z0-9-]*$")]


def _like(scheme: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(scheme, known, n=1)
    return f" (such as {near[0]})" if near else ""


class DelayRatio(Part):
    """A scheme whose delay must be below that of another."""

    scheme: SchemeId = Field(title="Scheme")
    against: SchemeId = Field(title="Against", description="The scheme that it is compared to.")
    share_max: Share = Field(title="At most", description="Its 95th percentile of one-way delay, as a share of the other's.")


class CriteriaPart(Part):
    """Limits for the verdict; what is left out is not judged."""

    utilisation_min: dict[SchemeId, Share] = Field(
        default_factory=dict, title="Use of the path", description="Scheme -> least share of the path's capacity, mean over its runs."
    )
    delay_p95_ms_max: dict[SchemeId, Annotated[Milliseconds, Field(gt=0)]] = Field(
        default_factory=dict, title="Delay", description="Scheme -> largest 95th percentile of one-way delay, mean over its runs."
    )
    delay_ratio: tuple[DelayRatio, ...] = Field(default=(), max_length=50, title="Delay against another scheme")
    jain_min: Share | None = Field(
        default=None, title="Fairness", description="Least index of Jain over the flows of a test, mean over its runs."
    )


class ValidityPart(Part):
    """When a trial cannot be trusted."""

    runtime_share_min: Annotated[Share, Field(gt=0)] = Field(
        default=0.8, title="Length", description="Share of the runtime that packets must span; Pantheon's rule."
    )
    lateness_p99_us_max: Annotated[float, Field(gt=0, allow_inf_nan=False, json_schema_extra={"unit": "us"})] = Field(
        default=2000.0, title="Lateness", description="99th percentile of how late the path let packets go."
    )


class CongestionControlPlan(Plan):
    """A campaign that compares congestion-control schemes over a path."""

    kind: Literal["congestion-control"] = Field(description="The kind of plan.")
    schemes: tuple[SchemeId, ...] = Field(
        default=(), max_length=100, title="Schemes", description="Ids, as `rackproof schemes` lists them; each is tested alone."
    )
    mixes: tuple[tuple[SchemeId, ...], ...] = Field(
        default=(), max_length=100, title="Mixed flows", description="Tests with one flow of each scheme named, side by side."
    )
    flows: Annotated[Whole, Field(ge=1, le=FLOWS_MAX)] = Field(
        default=1, title="Flows", description="How many flows of its scheme each test has."
    )
    flow_interval_s: Annotated[Seconds, Field(ge=0, le=3600)] = Field(
        default=0.0, title="Interval", description="Between the starts of two flows."
    )
    runtime_s: Annotated[Seconds, Field(ge=1, le=3600)] = Field(default=30.0, title="Runtime", description="From the first flow's start.")
    repetitions: Annotated[Whole, Field(ge=1, le=100)] = Field(default=3, title="Repetitions", description="Runs of each scheme.")
    path: PathPart = Field(title="Path")
    qdiscs: dict[SchemeId, Qdisc] = Field(
        default_factory=dict,
        title="Queueing disciplines",
        description="Scheme -> discipline of its senders' ports: fq, fq_codel, pfifo, pfifo_fast. The host's default where none stands.",
    )
    order: Literal["shuffled", "plan"] = Field(
        default="shuffled", title="Order", description="shuffled: within each round, by the seed; plan: as the schemes stand."
    )
    seed: Annotated[Whole, Field(ge=0, lt=2**31)] = Field(default=1, title="Seed", description="What all random draws follow from.")
    criteria: CriteriaPart = Field(default_factory=CriteriaPart, title="Criteria")
    validity: ValidityPart = Field(default_factory=ValidityPart, title="Validity")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        faults = [*self._tests(), *self._starts(), *self._named(), *self._one_port()]
        if faults:
            refuse(type(self), *faults)
        return self

    def _tests(self) -> list[InitErrorDetails]:
        if not self.schemes and not self.mixes:
            return [fault(("schemes",), "at least one scheme, or a mix", "none")]
        faults = [
            fault(("schemes", at), "schemes that differ", f"{each} again")
            for at, each in enumerate(self.schemes)
            if each in self.schemes[:at]
        ]
        faults += [
            fault(("mixes", at), f"2 to {FLOWS_MAX} schemes", f"{len(mix)}")
            for at, mix in enumerate(self.mixes)
            if not 2 <= len(mix) <= FLOWS_MAX
        ]
        if self.path.forward is None or self.path.forward.elsewhere is None:
            faults += self._unknown()
        trials = (len(self.schemes) + len(self.mixes)) * self.repetitions
        if trials > TRIALS_MAX:
            faults.append(fault(("repetitions",), f"at most {TRIALS_MAX} trials in all", f"{trials}"))
        return faults

    def _unknown(self) -> list[InitErrorDetails]:
        places: list[tuple[tuple[str | int, ...], str]] = [(("schemes", at), scheme) for at, scheme in enumerate(self.schemes)]
        places += [(("mixes", at, place), scheme) for at, mix in enumerate(self.mixes) for place, scheme in enumerate(mix)]
        known = registry.schemes()
        return [
            fault(where, f"a scheme that `rackproof schemes` lists{_like(scheme, known)}", scheme)
            for where, scheme in places
            if scheme not in known
        ]

    def _starts(self) -> list[InitErrorDetails]:
        most = max([self.flows, *map(len, self.mixes)])
        last = (most - 1) * self.flow_interval_s
        if last >= self.runtime_s:
            what = f"the last of {most} flows to start within the runtime of {self.runtime_s:g} s"
            return [fault(("flow_interval_s",), what, f"its start at {last:g} s")]
        return []

    def _named(self) -> list[InitErrorDetails]:
        named: list[tuple[tuple[str | int, ...], str]] = []
        for key in ("utilisation_min", "delay_p95_ms_max"):
            named += [(("criteria", key, scheme), scheme) for scheme in getattr(self.criteria, key)]
        faults = [
            fault(("qdiscs", scheme), "a scheme of the plan", scheme)
            for scheme in self.qdiscs
            if not any(scheme in flows for _, flows in self.tests)
        ]
        for at, ratio in enumerate(self.criteria.delay_ratio):
            named += [
                (("criteria", "delay_ratio", at, "scheme"), ratio.scheme),
                (("criteria", "delay_ratio", at, "against"), ratio.against),
            ]
        return faults + [fault(where, "a scheme of the plan", scheme) for where, scheme in named if scheme not in self.schemes]

    def _one_port(self) -> list[InitErrorDetails]:
        """Between two hosts all flows of a test leave by one port, which has one discipline."""
        if not self.path.hosts:
            return []
        return [
            fault(
                ("qdiscs",),
                f"one discipline for all flows of {label}, which leave by one port of {self.path.hosts[0]}",
                " and ".join(found),
            )
            for label, flows in self.tests
            if len(found := sorted({self.qdiscs[scheme] for scheme in flows if scheme in self.qdiscs})) > 1
        ]

    @property
    def tests(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What is run in each round: a label (a scheme's id, or ids joined by +) and the scheme of each flow."""
        alone = [(scheme, (scheme,) * self.flows) for scheme in self.schemes]
        return (*alone, *(("+".join(mix), mix) for mix in self.mixes))
