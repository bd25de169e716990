"""What a trial needs in front of it: devices, and the links between their ports and the generator's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rackproof.model.functions import DeviceFunction

#: The node name that stands for the generator in a link.
GENERATOR = "generator"


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceSpec:
    """A device by the name that results carry, and the model that the testbed has for it.

    options are the model's own settings (the planted defects of the bench's reference switch); a testbed refuses those that it does not
    know.
    """

    name: str
    model: str
    options: Mapping[str, float | int | bool | str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Endpoint:
    """A port of a node; node is a device's or a host's name, or GENERATOR."""

    node: str
    port: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Wire:
    """What a bench must emulate for a link to be like a cable: frames take their time at rate_bps (layer 1), one after the other.

    queue_frames wait at most in front of it; the next is dropped. delay_us is a fault planted behind it, which no hardware can have.
    """

    rate_bps: float
    queue_frames: int = 1000
    delay_us: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A cable between two ports. rate_bps: the most that the plan sends over it, at layer 1; 0: the plan does not say.

    wire: what a bench emulates in both directions, where the time that a frame takes on the link matters; a cable takes it by itself.
    """

    a: Endpoint
    b: Endpoint
    rate_bps: float = 0.0
    wire: Wire | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HostSpec:
    """A host that programs run on, with one port and one IPv4 address ("10.82.1.1/24"); hosts of one network reach each other.

    A real host is found in the inventory by its name; its port and address are those that stand there, whatever the port is called here.
    """

    name: str
    port: str
    address: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """Devices, hosts and cables. On the bench it is built as asked; on hardware it must be found in the inventory.

    kind: the kind of plan that asks; an inventory says by kind which port plays which role.
    """

    devices: tuple[DeviceSpec, ...]
    links: tuple[Link, ...]
    hosts: tuple[HostSpec, ...] = ()
    kind: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """A topology with its devices configured: functions[device name] are applied in order. Trials with equal setups share one."""

    topology: Topology
    functions: Mapping[str, tuple[DeviceFunction, ...]] = field(default_factory=dict)
