"""Which platforms there are and what each can do: the folders of playbooks/, their limits as data.

A platform is a folder with a `platform.yaml` and five playbooks (playbooks/README.md); whatever is broken there is said at once.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from orchestrator.devices.limits import (
    Data,
    ElementLimits,
    FunctionLimits,
    MplsLimits,
    Pattern,
    PipelineLimits,
    SchedulerLimits,
    TuningLimits,
    VlanLimits,
    pattern_of,
)
from rackproof.model.functions import DeviceFunction, Discipline
from rackproof.model.inventory import DeviceEntry

#: The playbooks that every platform has.
PLAYBOOKS = ("facts", "capture", "apply", "check", "restore")


def playbooks_folder() -> Path:
    """Where the platforms are: beside this package, in a checkout as in an installation."""
    return Path(__file__).parents[2] / "playbooks"


def _one_group(pattern: str) -> str:
    if re.compile(pattern_of(pattern)).groups != 1:
        raise ValueError("expected a regular expression with one group, the secret")
    return pattern


class Functions(Data):
    """What a platform can do; what is not there it cannot."""

    qos_scheduler: SchedulerLimits | None = Field(default=None, alias="qos-scheduler")
    vlan: VlanLimits | None = None
    mpls: MplsLimits | None = None
    openflow_pipeline: PipelineLimits | None = Field(default=None, alias="openflow-pipeline")
    forwarding_element: ElementLimits | None = Field(default=None, alias="forwarding-element")
    host_tuning: TuningLimits | None = Field(default=None, alias="host-tuning")


class Counters(Data):
    """How counters of a scheduled port are read: a command ({port} is the port), and a pattern over all that it prints.

    The pattern is searched again and again; its group `queue` is the number of the queue, every other named group is a counter of it.
    """

    command: str
    pattern: Pattern


class _File(Data):
    title: str = Field(min_length=3)
    proven: str = Field(min_length=3)
    variables: Mapping[str, str | int | float | bool]
    port: int
    functions: Functions
    options: Mapping[str, str] = {}
    secrets: tuple[Annotated[str, AfterValidator(_one_group)], ...] = ()
    noise: tuple[Pattern, ...] = ()
    counters: Counters | None = None


class Platform(Data):
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


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Discipline) else value
