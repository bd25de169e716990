"""What bounds the functions of a platform, and why a function is out of bounds: as a platform.yaml says it (playbooks/README.md)."""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from orchestrator.openflow import crosshaul
from rackproof.model.functions import Discipline, Flow, HostTuning, Mpls, OpenFlowPipeline, QosScheduler, Vlan
from rackproof.model.xcf import ForwardingElement

#: How near to a step a weight must be, in the device's own unit.
_NEAR = 1e-6


def pattern_of(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"expected a regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(pattern_of)]


class Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(Data):
    """What bounds a function on a platform; objection(function) says why it is out of bounds, "" where it is not.

    notes: what a person must know of it, in plain sentences.
    """

    notes: tuple[str, ...] = ()


class Range(Data):
    """What a number may be; step counts from zero."""

    min: float | None = None
    max: float | None = None
    step: float | None = Field(default=None, gt=0)

    def objection(self, what: str, value: float) -> str:
        """Why the value is out of range, "" where it is not."""
        if self.min is not None and value < self.min - _NEAR:
            return f"{what} {value:.12g} is below {self.min:.12g}, the least it takes"
        if self.max is not None and value > self.max + _NEAR:
            return f"{what} {value:.12g} is above {self.max:.12g}, the most it takes"
        if self.step is not None and abs(value / self.step - round(value / self.step)) > _NEAR:
            return f"{what} {value:.12g} is not a multiple of {self.step:.12g}, the step it takes"
        return ""


class WeightLimits(Range):
    """Weights as the device writes them: they sum to `sum`, and min, max and step are in that unit (percent: sum 100)."""

    sum: float = 100.0


class SchedulerLimits(Limits):
    """A qos-scheduler. strict_queues_max: strict priority, where it has fewer levels than queues. priority_map: the only map it has."""

    disciplines: tuple[Discipline, ...] = Field(min_length=1)
    queues_min: int = 1
    queues_max: int = 8
    strict_queues_max: int | None = None
    weights: WeightLimits = WeightLimits()
    link_rate_bps: Range = Range()
    queue_frames: Range = Range()
    priority_map: tuple[int, ...] | None = None

    def objection(self, function: QosScheduler) -> str:
        """The discipline, the queues, their map, the weights, the rate or the length of the queues."""
        if function.discipline not in self.disciplines:
            return f"it has no {function.discipline} (it has {', '.join(self.disciplines)})"
        if not self.queues_min <= function.queues <= self.queues_max:
            return f"it has {self.queues_min} to {self.queues_max} queues; {function.queues} are asked for"
        strict = self.strict_queues_max
        if function.discipline is Discipline.STRICT_PRIORITY and strict is not None and function.queues > strict:
            return f"it has strict priority over at most {strict} queues; {function.queues} are asked for"
        if self.priority_map is not None and function.priority_map != self.priority_map:
            return f"its map of priorities to queues is {_row(self.priority_map)} and cannot be changed to {_row(function.priority_map)}"
        for queue, weight in enumerate(function.weights):
            why = self.weights.objection(f"the weight of queue {queue} (of {self.weights.sum:g} in all)", weight * self.weights.sum)
            if why:
                return why
        rate = self.link_rate_bps.objection("the link rate [bit/s]", function.link_rate_bps)
        return rate or self.queue_frames.objection("the length of a queue [frames]", function.queue_frames)


class VlanLimits(Limits):
    """A vlan."""

    vlan_id: Range = Range(min=1, max=4094)

    def objection(self, function: Vlan) -> str:
        """The number of the VLAN."""
        return self.vlan_id.objection("VLAN", function.vlan_id)


class MplsLimits(Limits):
    """An mpls. What is false the platform does not have."""

    rsvp: bool = True
    ldp: bool = False
    static_labels: bool = True
    push: bool = False
    routes: bool = True
    label: Range = Range(min=16, max=1_048_575)

    def objection(self, function: Mpls) -> str:
        """RSVP, LDP, static labels, labels on top of them, static routes, or a label out of range."""
        if not self.rsvp and any(interface.rsvp for interface in function.interfaces):
            return "it has no RSVP"
        if not self.ldp and any(interface.ldp for interface in function.interfaces):
            return "it has no LDP"
        if not self.static_labels and function.labels:
            return "it has no static labels"
        if not self.push and (pushing := [entry for entry in function.labels if entry.push is not None]):
            return f"it has no static labels that push another; label {pushing[0].in_label} pushes {pushing[0].push}"
        if not self.routes and function.routes:
            return "it has no static routes to label switched paths"
        whys = (self.label.objection("the incoming label", entry.in_label) for entry in function.labels)
        return next(filter(None, whys), "")


class TableLimits(Limits):
    """OpenFlow tables. tables: how many there are, counted from 0."""

    tables: int = 255
    flows: int = 1_000_000

    def too_many(self, flows: Sequence[Flow]) -> str:
        """Why there are too many tables or flows, "" where there are not."""
        highest = max((flow.table for flow in flows), default=0)
        if highest >= self.tables:
            return f"it has {self.tables} tables, counted from 0; table {highest} is asked for"
        return f"it takes {self.flows} flows; {len(flows)} are asked for" if len(flows) > self.flows else ""


class PipelineLimits(TableLimits):
    """An openflow-pipeline."""

    def objection(self, function: OpenFlowPipeline) -> str:
        """Too many tables or flows."""
        return self.too_many(function.flows)


class TuningLimits(Limits):
    """A host-tuning. sysctl: what names of kernel settings must match, in whole; features: whether interfaces can be set."""

    sysctl: Pattern = ".*"
    features: bool = True

    def objection(self, function: HostTuning) -> str:
        """A kernel setting that is not captured, and so could not be brought back; features of interfaces."""
        for name in function.sysctl:
            if not re.fullmatch(self.sysctl, name):
                return f"it does not set {name} (names match {self.sysctl})"
        return "it does not set features of interfaces" if function.features and not self.features else ""


class ElementLimits(TableLimits):
    """A forwarding-element, by the OpenFlow tables that it becomes."""

    def objection(self, function: ForwardingElement) -> str:
        """What OpenFlow cannot do; too many tables or flows."""
        return crosshaul.objection(function) or self.too_many(crosshaul.tables(function).flows)


FunctionLimits = SchedulerLimits | VlanLimits | MplsLimits | PipelineLimits | ElementLimits | TuningLimits


def _row(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))
