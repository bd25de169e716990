"""Which platforms there are and what each can do: the folders of playbooks/, their limits as data.

A platform is a folder with a `platform.yaml` and five playbooks (playbooks/README.md); whatever is broken there is said at once.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from rackproof.model.functions import DeviceFunction, Discipline, HostTuning, Mpls, OpenFlowPipeline, QosScheduler, Vlan
from rackproof.model.inventory import DeviceEntry

#: The playbooks that every platform has.
PLAYBOOKS = ("facts", "capture", "apply", "check", "restore")
#: How near to a step a weight must be, in the device's own unit.
_NEAR = 1e-6


def playbooks_folder() -> Path:
    """Where the platforms are: beside this package, in a checkout as in an installation."""
    return Path(__file__).parents[2] / "playbooks"


def _one_group(pattern: str) -> str:
    if re.compile(_pattern(pattern)).groups != 1:
        raise ValueError("expected a regular expression with one group, the secret")
    return pattern


def _pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"expected a regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_pattern)]


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Data):
    """What bounds a function on a platform; objection(function) says why it is out of bounds, "" where it is not.

    notes: what a person must know of it, in plain sentences.
    """

    notes: tuple[str, ...] = ()


class Range(_Data):
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
    static_labels: bool = True
    routes: bool = True
    label: Range = Range(min=16, max=1_048_575)

    def objection(self, function: Mpls) -> str:
        """RSVP, static labels, static routes, or a label out of range."""
        if not self.rsvp and any(interface.rsvp for interface in function.interfaces):
            return "it has no RSVP"
        if not self.static_labels and function.labels:
            return "it has no static labels"
        if not self.routes and function.routes:
            return "it has no static routes to label switched paths"
        whys = (self.label.objection("the incoming label", entry.in_label) for entry in function.labels)
        return next(filter(None, whys), "")


class PipelineLimits(Limits):
    """An openflow-pipeline. tables: how many there are, counted from 0."""

    tables: int = 255
    flows: int = 1_000_000

    def objection(self, function: OpenFlowPipeline) -> str:
        """Too many tables or flows."""
        highest = max((flow.table for flow in function.flows), default=0)
        if highest >= self.tables:
            return f"it has {self.tables} tables, counted from 0; table {highest} is asked for"
        if len(function.flows) > self.flows:
            return f"it takes {self.flows} flows; {len(function.flows)} are asked for"
        return ""


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


FunctionLimits = SchedulerLimits | VlanLimits | MplsLimits | PipelineLimits | TuningLimits


class Functions(_Data):
    """What a platform can do; what is not there it cannot."""

    qos_scheduler: SchedulerLimits | None = Field(default=None, alias="qos-scheduler")
    vlan: VlanLimits | None = None
    mpls: MplsLimits | None = None
    openflow_pipeline: PipelineLimits | None = Field(default=None, alias="openflow-pipeline")
    host_tuning: TuningLimits | None = Field(default=None, alias="host-tuning")


class Counters(_Data):
    """How counters of a scheduled port are read: a command ({port} is the port), and a pattern over all that it prints.

    The pattern is searched again and again; its group `queue` is the number of the queue, every other named group is a counter of it.
    """

    command: str
    pattern: Pattern


class _File(_Data):
    title: str = Field(min_length=3)
    proven: str = Field(min_length=3)
    variables: Mapping[str, str | int | float | bool]
    port: int
    functions: Functions
    options: Mapping[str, str] = {}
    secrets: tuple[Annotated[str, AfterValidator(_one_group)], ...] = ()
    noise: tuple[Pattern, ...] = ()
    counters: Counters | None = None


class Platform(_Data):
    """A platform: what platform.yaml says (playbooks/README.md), its name, its folder and its functions by name."""

    name: str
    title: str
    proven: str
    variables: Mapping[str, str | int | float | bool]
    port: int
    functions: Mapping[str, FunctionLimits]
    options: Mapping[str, str]
    secrets: tuple[str, ...]
    noise: tuple[str, ...]
    counters: Counters | None
    folder: Path


@cache
def platforms() -> Mapping[str, Platform]:
    """All platforms by name. Raises RuntimeError that names what is broken."""
    return {path.parent.name: read(path.parent) for path in sorted(playbooks_folder().glob("*/platform.yaml"))}


def read(folder: Path) -> Platform:
    """The platform of a folder. Raises RuntimeError that names what is broken."""
    path = folder / "platform.yaml"
    try:
        file = _File.model_validate(YAML(typ="safe").load(path.read_text()))
    except (OSError, YAMLError) as error:
        raise RuntimeError(f"{path}: cannot be read: {error}") from error
    except ValidationError as error:
        faults = [f"  {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise RuntimeError("\n".join([f"{path}: not the description of a platform", *faults])) from None
    limits = {key: getattr(file.functions, key) for key in Functions.model_fields}
    functions = {key.replace("_", "-"): value for key, value in limits.items() if value is not None}
    wanted = [f"{name}.yml" for name in PLAYBOOKS]
    wanted += [f"functions/{name}" for name in functions]
    missing = [name for name in wanted if not (folder / name).exists()]
    if missing:
        raise RuntimeError(f"{folder}: a platform needs {', '.join(missing)}")
    values = {key: getattr(file, key) for key in _File.model_fields if key != "functions"}
    return Platform(name=folder.name, folder=folder, functions=functions, **values)


def function_name(kind: type[DeviceFunction]) -> str:
    """What playbooks call a function: QosScheduler is qos-scheduler, OpenFlowPipeline openflow-pipeline."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__.replace("OpenFlow", "Openflow")).lower()


def plain(function: DeviceFunction) -> dict[str, Any]:
    """The function as plain data: its name and its fields."""
    return {"name": function_name(type(function)), **_plain(function)}


def objection(platform: Platform, function: DeviceFunction) -> str:
    """Why the platform cannot do the function, "" where it can."""
    limits: Any = platform.functions.get(function_name(type(function)))
    if limits is None:
        return f"{platform.title} cannot do {function_name(type(function))}"
    why = limits.objection(function)
    return f"{platform.title}, {function_name(type(function))}: {why}" if why else ""


def entry_objections(entry: DeviceEntry) -> tuple[str, ...]:
    """What is wrong with a device of an inventory, found without touching anything."""
    platform = platforms().get(entry.platform)
    if platform is None:
        return (f"{entry.name}: expected a platform ({', '.join(platforms())}), found {entry.platform}",)
    known = ", ".join(platform.options) or "none"
    found = [
        f"{entry.name}: expected options of {platform.title} ({known}), found {name}" for name in entry.options.keys() - platform.options
    ]
    if not entry.known_host and platform.variables.get("ansible_connection") not in ("local", "ansible.builtin.local"):
        found.append(f"{entry.name}: expected known_host, its host key (`ssh-keyscan {entry.address}`), found none")
    return tuple(found)


def _row(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Discipline) else value
