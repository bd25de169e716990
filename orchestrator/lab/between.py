"""A path that is nothing but what lies between two hosts of the inventory: found, tuned as Linux devices, and seen from both ends."""

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from orchestrator.interruption import Interruption
from orchestrator.lab import clocks
from orchestrator.lab.hosts import LabHost, opened
from orchestrator.lab.taps import Clock, HostTap
from orchestrator.lab.wiring import Wiring, ends
from rackproof.model.inventory import DeviceEntry, HostEntry, Inventory, LinkEntry
from rackproof.model.path import BETWEEN_HOSTS, FIRST_PORT, FLOWS
from rackproof.model.topology import Endpoint, Topology
from rackproof.model.traffic import Calibration

_PLATFORM = "linux"
NO_GENERATOR = "not measured: nothing is generated; captures on both hosts have the time stamps of their kernels"


@dataclass(frozen=True, kw_only=True, slots=True)
class Joined:
    """Hosts that are signed in to, by the names of the topology, and the taps of the paths between them."""

    hosts: Mapping[str, LabHost]
    taps: Mapping[str, HostTap]


def as_device(entry: HostEntry) -> DeviceEntry:
    """A host as the Linux device that it is, so that what its port does can be set, read back and restored."""
    return DeviceEntry(
        name=entry.name,
        address=entry.address,
        port=entry.port,
        platform=_PLATFORM,
        credentials=entry.credentials,
        known_host=entry.known_host,
        options={} if entry.credentials.user in ("", "root") else {"sudo": True},
    )


def wire(topology: Topology, inventory: Inventory) -> Wiring:
    """Find the hosts of a topology and their cables in the inventory; each is a device, too."""
    entries = {entry.name: entry for entry in inventory.hosts}
    found = {spec.name: entries[spec.name] for spec in topology.hosts if spec.name in entries}
    cables = _cables(inventory, found)
    objections = [
        f"expected a host of the inventory ({', '.join(entries) or 'it has none'}), found {spec.name}"
        for spec in topology.hosts
        if spec.name not in entries
    ]
    objections += [f"{name}: expected a cable at its port {found[name].test_port}, found none" for name in found if name not in cables]
    objections += [
        f"{each.name}: a path between hosts is not emulated; {each.model} is a device of the bench"
        for each in topology.devices
        if each.model != BETWEEN_HOSTS
    ]
    if found and len(topology.hosts) != 2:
        objections.append(f"a path lies between two hosts, found {len(topology.hosts)}")
    return Wiring(
        devices={name: as_device(entry) for name, entry in found.items()},
        device_ports={spec.name: {spec.port: found[spec.name].test_port} for spec in topology.hosts if spec.name in found},
        objections=tuple(f"testbed {inventory.name}: {each}" for each in objections),
    )


@contextmanager
def joined(
    topology: Topology, inventory: Inventory, interruption: Interruption | None = None, clock: Clock = clocks.read
) -> Iterator[Joined]:
    """Sign in to the hosts of a topology to which wire() has no objection; leaving ends what runs there. Raises LabError.

    Nobody, and nothing, where it has none.
    """
    if not topology.hosts:
        yield Joined(hosts={}, taps={})
        return
    entries = {entry.name: entry for entry in inventory.hosts}
    cables = _cables(inventory, {spec.name: entries[spec.name] for spec in topology.hosts})
    with ExitStack() as stack:
        hosts = {spec.name: stack.enter_context(opened(entries[spec.name], interruption)) for spec in topology.hosts}
        sender, receiver = (hosts[spec.name] for spec in topology.hosts)
        link_mbps = min(cable.speed_mbps for cable in cables.values())
        taps = {}
        for path in topology.devices:
            first = int(path.options[FIRST_PORT])
            ports = range(first, first + int(path.options[FLOWS]))
            taps[path.name] = HostTap((sender, receiver), link_mbps=link_mbps, ports=ports, clock=clock)
        yield Joined(hosts=hosts, taps=taps)


def calibration() -> Calibration:
    """What is known of delays where no generator sends: nothing is added by one, and the captures' own error is not measured."""
    return Calibration(
        delay_floor_us=math.nan,
        timestamp_error_us_p50=math.nan,
        timestamp_error_us_p99=math.nan,
        honest_fps=0.0,
        frames=0,
        detail={"delay_floor": NO_GENERATOR},
    )


def _cables(inventory: Inventory, hosts: Mapping[str, HostEntry]) -> dict[str, LinkEntry]:
    """The cable at the test port of each host that has one."""
    cabled = ends(inventory)
    at = {name: Endpoint(node=name, port=entry.test_port) for name, entry in hosts.items()}
    return {name: cabled[end][1] for name, end in at.items() if end in cabled}
