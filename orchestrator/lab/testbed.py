"""A rack as the campaign sees it: the testbed of an inventory (rackproof.ports.Testbed)."""

import contextlib
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import structlog

from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.platforms import entry_objections, objection, platforms
from orchestrator.devices.runner import Ansible
from orchestrator.interruption import Interruption
from orchestrator.lab import between, calibrating
from orchestrator.lab.driving import Connection, PlanGenerator, objections_of, why_no_signals
from orchestrator.lab.rig import LabRig, PlanDevice, disciplines_of
from orchestrator.lab.translating import suited, translated
from orchestrator.lab.wiring import Wiring, cabled, driving, loopback, speed_of, wire
from rackproof.errors import DeviceError, LabError
from rackproof.model.inventory import DeviceEntry
from rackproof.model.topology import Setup, Topology
from rackproof.model.traffic import Arrivals, Calibration
from rackproof.ports import Limits, Rig
from rackproof.store import Store
from rackproof.store.life import this_machine

log = structlog.get_logger()

#: What a generator keeps of what arrives, in words that reports print.
KEEPS_FRAMES = "every frame, with the times of sending and arrival"
KEEPS_COUNTS = "counts by flow, and histograms of delay"


class Lab:
    """A testbed of real parts. Nothing is reached for until it is needed; close() hangs up.

    folder: where each device's own state is kept on this machine (0700), so that whoever goes on after a crash can restore it.
    """

    def __init__(self, name: str, interruption: Interruption, store: Store, folder: Path) -> None:
        self.name = name
        self.inventory = store.inventories.get(name).inventory
        self._store = store
        self._folder = folder
        self._interruption = interruption
        self._campaign: int | None = None
        self._heard: Callable[[str], None] = lambda text: log.info(text, testbed=name)
        self._connection: Connection | None = None
        self._ansible: Ansible | None = None
        self._facts: dict[str, Mapping[str, str]] = {}

    def close(self) -> None:
        """Give the generator's ports back, and end what was started here."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._ansible is not None:
            self._ansible.close()
            self._ansible = None

    @property
    def resources(self) -> tuple[str, ...]:
        """Every device, generator and host by name; and this machine, where a generator of its own runs here."""
        here = any(entry.kind == "native" for entry in self.inventory.generators)
        return (*self.inventory.resources, *([f"host:{this_machine()}"] if here else []))

    def begin(self, campaign: int | None, heard: Callable[[str], None]) -> None:
        """What is done to devices is told to heard. campaign: the one after which devices are taken offline, None where it is none."""
        self._campaign, self._heard = campaign, heard

    def _tell(self, text: str) -> None:
        self._heard(text)

    # --- what it can do, without touching anything ---

    def limits(self) -> Limits:
        """What the generator can send and count, and which devices can be used."""
        fps, arrivals, signalling = 0.0, {}, "the testbed has no generator to signal LSPs from"
        notes = {entry.name: _notes_of(entry) for entry in self.inventory.devices}
        if self.inventory.generators:
            connection = self.connection()
            able = connection.session().abilities()
            fps = able.fps
            notes["generator"] = {topic: (note,) for topic, note in able.notes.items()}
            signalling = why_no_signals(connection)
            arrivals = {law.value: f"{connection.entry.name} does not know these gaps" for law in Arrivals if law not in able.arrivals}
        return Limits(
            send_fps=fps,
            receive_fps=fps,
            link_rate_bps_max={},
            device_models={entry.name: "" for entry in self.inventory.devices},
            options={entry.name: frozenset() for entry in self.inventory.devices},
            hosts={entry.name: "" for entry in self.inventory.hosts},
            arrivals=arrivals,
            signalling=signalling,
            notes=notes,
        )

    def objections(self, setup: Setup) -> tuple[str, ...]:
        """What the inventory, the platforms and the generator's driver say against the setup."""
        wiring = self._wired(setup.topology)
        found = list(wiring.objections)
        offline = self._offline()
        for name, entry in wiring.devices.items():
            found += entry_objections(entry)
            if entry.name in offline:
                found.append(f"{entry.name} is offline until somebody clears it: {offline[entry.name]}")
            found += self._cannot(name, entry, wiring, setup)
        if wiring.generator is not None:
            found += objections_of(wiring.generator)
        return tuple(found)

    def _cannot(self, name: str, entry: DeviceEntry, wiring: Wiring, setup: Setup) -> Iterator[str]:
        known = platforms().get(entry.platform)
        if known is None:
            return
        for function in setup.functions.get(name, ()):
            try:
                why = objection(known, suited(translated(function, wiring.device_ports[name]), disciplines_of(known)))
            except DeviceError as error:
                why = str(error)
            if why:
                yield f"{entry.name}: {why}"

    # --- going to the hardware ---

    def connection(self) -> Connection:
        """The generator that drives this testbed. Raises LabError where that is not one."""
        if self._connection is None:
            found = driving(self.inventory)
            if len(found) != 1:
                names = ", ".join(entry.name for entry in found) or "none"
                raise LabError(f"testbed {self.name}: expected one generator that its cables lead to, found {names}")
            self._connection = Connection(found[0], cabled(self.inventory, found[0]), self._interruption, self._tell)
        return self._connection

    def devices(self) -> Mapping[str, AnsibleDevice]:
        """Every device of the inventory by its name; nothing is reached for."""
        if self._ansible is None:
            self._ansible = Ansible(self._interruption)
        return {
            entry.name: AnsibleDevice(entry, self._ansible, state=self._folder / entry.name, heard=self._heard)
            for entry in (*self.inventory.devices, *map(between.as_device, self.inventory.hosts))
        }

    def facts(self) -> Mapping[str, str]:
        """This host, the inventory, and what the generator says of itself. Raises LabError."""
        record = self._store.inventories.get(self.name)
        found = {
            "testbed": f"inventory {self.name}, revision {record.revision}",
            "kernel": platform.release(),
            "load average before": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        }
        if self.inventory.generators:
            connection = self.connection()
            session = connection.session()
            entry = connection.entry
            facts = dict(session.facts())
            told = (facts.pop("generator", entry.kind), facts.pop("version", ""))
            found["generator"] = f"{entry.name}: {' '.join(filter(None, told))}"
            found |= {f"generator {name}": value for name, value in facts.items()}
            found |= {f"generator, on {topic}": note for topic, note in session.abilities().notes.items()}
            found["generator keeps"] = KEEPS_FRAMES if session.abilities().samples else KEEPS_COUNTS
        for link in self.inventory.links:
            found[f"cable {link.a} to {link.b}"] = f"{link.speed_mbps:g} Mbit/s, {link.media}, {link.cable_delay_ns:g} ns"
        return found

    def calibrate(self, campaign: int) -> Calibration:
        """On the cable between two ports of the generator; what its driver says where there is none. Raises LabError."""
        if not self.inventory.generators:
            return between.calibration()
        connection = self.connection()
        abilities = connection.session().abilities()
        ports = loopback(self.inventory, connection.entry)
        if ports is None:
            return calibrating.without_loopback(abilities)
        generator = PlanGenerator(connection, dict(zip(("cal0", "cal1"), ports, strict=True)))
        try:
            return calibrating.with_loopback(generator, abilities, speed_of(self.inventory, connection.entry, ports[0]), campaign)
        finally:
            generator.stop()

    @contextlib.contextmanager
    def assemble(self, topology: Topology) -> Iterator[Rig]:
        """Find the topology in the rack; devices that a run before left configured are restored first. On exit traffic is stopped.

        Raises LabError.
        """
        wiring = self._wired(topology)
        if wiring.objections:
            raise LabError("; ".join(wiring.objections))
        offline = self._offline()
        for entry in wiring.devices.values():
            if entry.name in offline:
                raise DeviceError(f"{entry.name} is offline until somebody clears it: {offline[entry.name]}")
        real = self.devices()
        devices = {
            name: PlanDevice(name, real[entry.name], wiring.device_ports[name], self._facts) for name, entry in wiring.devices.items()
        }
        self._clear_away(devices.values())
        generator = PlanGenerator(self.connection(), wiring.generator_ports) if wiring.generator is not None else None
        try:
            with between.joined(topology, self.inventory, self._interruption) as ends:
                yield LabRig(generator=generator, devices=devices, ends=ends, interruption=self._interruption, withdraw=self.withdraw)
        finally:
            if generator is not None:
                generator.stop()

    def _wired(self, topology: Topology) -> Wiring:
        return between.wire(topology, self.inventory) if topology.hosts else wire(topology, self.inventory)

    def withdraw(self, device: str, why: str) -> None:
        """Take a device of the inventory offline until somebody clears it."""
        self._store.devices.offline(self.name, device, why, self._campaign)

    def _clear_away(self, devices: Iterable[PlanDevice]) -> None:
        """Restore every device that a run before left configured. Raises DeviceError, after all were tried."""
        failures = []
        for each in devices:
            if not each.device.left_configured:
                continue
            self._heard(f"{each.device.name} was left configured, and is restored")
            try:
                each.restore()
            except DeviceError as error:
                self.withdraw(each.device.name, f"it could not be restored: {error}")
                failures.append(str(error))
        if failures:
            raise DeviceError("; ".join(failures))

    def _offline(self) -> Mapping[str, str]:
        return {each.device: each.reason for each in self._store.devices.list(self.name)}


def _notes_of(entry: DeviceEntry) -> Mapping[str, tuple[str, ...]]:
    """What a person must know of a device's functions, by function."""
    known = platforms().get(entry.platform)
    return {} if known is None else {name: limits.notes for name, limits in known.functions.items() if limits.notes}
