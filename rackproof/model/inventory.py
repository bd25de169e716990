"""What stands in a lab's rack: devices, generators, hosts and the cables between them, as a person writes it down.

Secrets are never part of it: credentials are references ("env:NAME", "file:PATH", "vault:PATH#KEY") that only a worker follows, at the
moment of use.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

#: Names of things in an inventory: they stand in files, addresses and tables.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
#: A port as the thing itself calls it ("Ethernet1/1", "enp1s0f0", "0").
PortName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_./-]{0,62}$")]
#: A node of the inventory and one of its ports: "switch-1:Ethernet1/1".
EndpointText = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}:[A-Za-z0-9][A-Za-z0-9_./-]{0,62}$")]
#: Where a secret is, never the secret itself.
Reference = Annotated[str, StringConstraints(pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:/.+|vault:/[^#]+#[A-Za-z0-9_.-]+)$")]

REFERENCE = re.compile(r"^(env|file|vault):")


class _Part(BaseModel):
    # Ports are often numbers, and YAML reads 0 as one.
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class Media(StrEnum):
    """What a cable is made of."""

    COPPER = "copper"
    FIBRE = "fibre"
    DAC = "dac"
    VIRTUAL = "virtual"


class Credentials(_Part):
    """How to sign in: references only. become: the password that raises rights, where the platform asks for one."""

    user: str = Field(default="", max_length=64, description="The user to sign in as.")
    password: Reference | None = Field(default=None, description="Where the password is: env:NAME, file:PATH or vault:PATH#KEY.")
    private_key: Reference | None = Field(default=None, description="Where the SSH private key is.")
    become: Reference | None = Field(default=None, description="Where the password is that raises rights (enable, sudo).")


class ManagedNode(_Part):
    """Something that is signed in to. known_host: its SSH host key as `known_hosts` has it, without the name; required for SSH."""

    name: Name = Field(description="What plans and results call it.")
    address: str = Field(min_length=1, max_length=255, description="Its management address: a name or an IP address.")
    port: int | None = Field(default=None, ge=1, le=65535, description="The management port, where it is not the platform's own.")
    credentials: Credentials = Field(default=Credentials(), description="How to sign in.")
    known_host: str = Field(default="", max_length=2000, description="Its SSH host key (`ssh-keyscan`); another key is refused.")


class DeviceEntry(ManagedNode):
    """A device that is configured and tested. platform: a folder of playbooks/."""

    platform: Name = Field(description="What it is: one of the platforms that `rackproof testbed platforms` lists.")
    options: Mapping[str, str | int | float | bool] = Field(default={}, description="What the platform needs to know beyond that.")


class GeneratorEntry(_Part):
    """A traffic generator. kind: one of the drivers ("native", "trex", "otg"); ports: its ports by the names that links use."""

    name: Name = Field(description="What links and results call it.")
    kind: Name = Field(description="Its driver: native, trex, otg.")
    address: str = Field(default="", max_length=255, description="Its address; empty where it is the worker's own machine.")
    ports: tuple[PortName, ...] = Field(min_length=1, description="Its ports, as links name them.")
    credentials: Credentials = Field(default=Credentials(), description="How to sign in, where it asks.")
    options: Mapping[str, str | int | float | bool] = Field(default={}, description="What the driver needs to know beyond that.")


class HostEntry(ManagedNode):
    """A Linux host that programs of a plan run on, reached by SSH. test_address: its address on the tested path, with prefix length."""

    test_port: PortName = Field(description="The interface on the tested path.")
    test_address: str = Field(description="The IPv4 address on the tested path with its prefix length: 10.82.1.1/24.")
    clock: str = Field(default="chrony", pattern="^(chrony|ntp)$", description="What keeps its clock: chrony or ntp.")


class LinkEntry(_Part):
    """A cable between two ports."""

    a: EndpointText = Field(description="One end: NODE:PORT.")
    b: EndpointText = Field(description="The other end: NODE:PORT.")
    speed_mbps: float = Field(gt=0, description="What both ends run at [Mbit/s].")
    media: Media = Field(default=Media.COPPER, description="What the cable is made of.")
    cable_delay_ns: float = Field(default=0.0, ge=0, description="What the cable adds to the delay [ns] (copper and fibre: 5 ns a metre).")


class Inventory(_Part):
    """A testbed of real parts.

    roles[kind of plan][node of the plan] maps what a plan of the kind calls a port to the port that it is here. A key may be a pattern as
    in a shell ("p*": all senders enter by one port). The cables say which port of a generator is at the other end.
    """

    name: Name = Field(description="What plans call the testbed.")
    description: str = Field(default="", max_length=4000)
    devices: tuple[DeviceEntry, ...] = Field(default=())
    generators: tuple[GeneratorEntry, ...] = Field(default=())
    hosts: tuple[HostEntry, ...] = Field(default=())
    links: tuple[LinkEntry, ...] = Field(default=())
    roles: Mapping[Name, Mapping[Name, Mapping[str, PortName]]] = Field(
        default={}, description="Kind of plan -> node of the plan -> port as the plan calls it -> port of the node here."
    )

    @property
    def resources(self) -> tuple[str, ...]:
        """What whoever uses the testbed has alone: its devices, generators and hosts by name."""
        parts: list[DeviceEntry | GeneratorEntry | HostEntry] = [*self.devices, *self.generators, *self.hosts]
        return tuple(sorted(part.name for part in parts))

    def as_text_data(self) -> dict[str, Any]:
        """Plain data without what is at its default, for YAML and JSON."""
        return self.model_dump(mode="json", exclude_defaults=True)
