"""Is a testbed as its inventory says? Goes to the hardware: every device, the generator and its ports, the loopback, the clock."""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from orchestrator.devices.device import LIMITS_S
from orchestrator.devices.platforms import entry_objections
from orchestrator.generators.driver import PortState
from orchestrator.interruption import Interruption
from orchestrator.lab import clock, clocks
from orchestrator.lab.hosts import opened as opened_host
from orchestrator.lab.testbed import Lab
from orchestrator.lab.wiring import ends
from orchestrator.testbeds import opened
from rackproof.errors import Conflict, LabError, StoreError
from rackproof.model.inventory import HostEntry
from rackproof.model.program import Command
from rackproof.model.topology import Endpoint
from rackproof.store import Store
from rackproof.store.inventories import DRIVER

#: A check takes no longer: what is kept for it is given back then [s].
BOUND_S = 900.0
#: A port may run at another speed than its cable by so much.
SPEED_SLACK = 0.01
#: A program on a host that only says its version [s].
HOST_S = 10.0


class Finding(StrEnum):
    """How something was found. UNKNOWN: it cannot be seen from here, or was not measured."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One thing that was looked at. what: "device sw1", "port trex:0", "loopback", "clock"; text: what was found, in words."""

    what: str
    finding: Finding
    text: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """What a check found."""

    testbed: str
    revision: int
    items: tuple[Item, ...]

    @property
    def passed(self) -> bool:
        """True where nothing failed."""
        return all(item.finding is not Finding.FAILED for item in self.items)

    def plain(self) -> dict[str, Any]:
        """As plain data: {"testbed", "revision", "passed", "items": [{"what", "finding", "text", "facts"}]}."""
        return {"testbed": self.testbed, "revision": self.revision, "passed": self.passed, "items": [asdict(item) for item in self.items]}


def check(store: Store, name: str, heard: Callable[[str], None], interruption: Interruption) -> Check:
    """Look at everything, and keep what was found with the inventory; nothing is configured.

    The testbed is kept meanwhile; heard is told what is done. Raises NotFound, Conflict where somebody uses it, StoreError, Stopped.
    """
    record = store.inventories.get(name)
    with opened(name, DRIVER, interruption, store) as testbed:
        assert isinstance(testbed, Lab)
        store.testbeds.announce(name, DRIVER, testbed.resources)
        with _kept(store, name):
            testbed.begin(None, heard)
            found = Check(testbed=name, revision=record.revision, items=tuple(_items(testbed)))
    store.inventories.checked(name, found.plain())
    return found


@contextlib.contextmanager
def _kept(store: Store, name: str) -> Iterator[None]:
    """The testbed for us alone. Raises Conflict where somebody has it."""
    until = datetime.now(UTC) + timedelta(seconds=BOUND_S)
    number = store.reservations.reserve(testbed=name, user_id=None, owner="rackproof testbed check", reason="checking it", ends=until)
    try:
        if store.reservations.get(number).granted is None:
            raise Conflict(f"testbed {name} is in use by {store.testbeds.get(name).in_use_by or 'somebody else'}; check it when it is free")
        yield
    finally:
        with contextlib.suppress(Conflict):
            store.reservations.release(number)


def _items(lab: Lab) -> Iterator[Item]:
    yield from _devices(lab)
    if lab.inventory.generators:
        item, states = _generator(lab)
        yield item
        yield from _cables(lab, states)
        if states:
            yield _loopback(lab)
    yield _clock()
    for entry in lab.inventory.hosts:
        yield _host(entry)


def _devices(lab: Lab) -> Iterator[Item]:
    """Every device side by side: can it be reached and signed in to, and what is it?"""
    devices = lab.devices()
    wrong = {entry.name: why for entry in lab.inventory.devices if (why := "; ".join(entry_objections(entry)))}
    sound = [device for name, device in devices.items() if name not in wrong]
    outcomes: Mapping[str, Any] = {}
    if sound:
        entries, variables = [device.entry for device in sound], {device.name: device.variables() for device in sound}
        outcomes = sound[0].ansible.play("facts", entries, variables, timeout_s=LIMITS_S["facts"], heard=sound[0].heard)
    for name, device in devices.items():
        what = f"device {name}"
        if name in wrong:
            yield Item(what=what, finding=Finding.FAILED, text=wrong[name])
            continue
        try:
            facts = device.facts_of(outcomes[name])
        except LabError as error:
            yield Item(what=what, finding=Finding.FAILED, text=str(error))
            continue
        left = "; a run before left it configured: the next one restores it" if device.left_configured else ""
        yield Item(what=what, finding=Finding.OK, text=f"reached and signed in{left}", facts=facts)


def _generator(lab: Lab) -> tuple[Item, Sequence[PortState]]:
    """The generator, and its ports as they are: can it be reached, what is it, and can its ports be had?"""
    what = "generator"
    try:
        connection = lab.connection()
        what = f"generator {connection.entry.name}"
        session = connection.session()
        states, abilities = session.ports(), session.abilities()
        text = f"reached; sends and counts up to {abilities.fps:.0f} frames/s as its driver states"
        return Item(what=what, finding=Finding.OK, text=text, facts={**session.facts(), **abilities.notes}), states
    except StoreError:
        raise
    except LabError as error:
        return Item(what=what, finding=Finding.FAILED, text=str(error)), ()


def _cables(lab: Lab, states: Sequence[PortState]) -> Iterator[Item]:
    """Each cable, by what the generator says of the port at its end."""
    known = {state.name: state for state in states}
    name = lab.connection().entry.name if states else ""
    seen = set()
    for end, (_, link) in ends(lab.inventory).items():
        if end.node == name and end.port in known:
            seen.add(id(link))
            yield _port(end, known[end.port], link.speed_mbps)
    for link in lab.inventory.links:
        if id(link) not in seen:
            yield Item(what=f"cable {link.a} to {link.b}", finding=Finding.UNKNOWN, text="it cannot be seen from the generator")


def _port(end: Endpoint, state: PortState, speed_mbps: float) -> Item:
    what = f"port {end.node}:{end.port}"
    if not state.link_up:
        return Item(what=what, finding=Finding.FAILED, text="the link is down: is the cable in, and the port at its other end up?")
    if state.speed_mbps > 0 and abs(state.speed_mbps - speed_mbps) > SPEED_SLACK * speed_mbps:
        text = f"expected {speed_mbps:g} Mbit/s, as the inventory says of its cable, found {state.speed_mbps:g} Mbit/s"
        return Item(what=what, finding=Finding.FAILED, text=text)
    speed = f"{state.speed_mbps:g} Mbit/s" if state.speed_mbps > 0 else "at a speed that it does not say"
    return Item(what=what, finding=Finding.OK, text=f"up, {speed}")


def _loopback(lab: Lab) -> Item:
    try:
        found = lab.calibrate(0)
    except StoreError:
        raise
    except LabError as error:
        return Item(what="loopback", finding=Finding.FAILED, text=str(error))
    facts = {key: str(value) for key, value in found.detail.items()}
    if math.isnan(found.delay_floor_us):
        text = f"delay floor {found.detail['delay_floor']}; {found.honest_fps:.0f} frames/s"
        return Item(what="loopback", finding=Finding.UNKNOWN, text=text, facts=facts)
    text = (
        f"delay floor {found.delay_floor_us:.3g} us, time stamps within {found.timestamp_error_us_p99:.3g} us (p99), "
        f"honest up to {found.honest_fps:.0f} frames/s"
    )
    return Item(what="loopback", finding=Finding.OK, text=text, facts=facts)


def _host(entry: HostEntry) -> Item:
    """Can programs be run on a host, can it capture, and how is its clock kept?"""
    what = f"host {entry.name}"
    try:
        with opened_host(entry) as host:
            host.call(Command(arguments=("tcpdump", "--version")), HOST_S)
            reading = clocks.read(host)
    except LabError as error:
        return Item(what=what, finding=Finding.FAILED, text=str(error))
    kept = f"its clock is off by {reading.offset_ms:.3f} ms, known to {reading.bound_ms:.3f} ms ({reading.source})"
    return Item(what=what, finding=Finding.OK, text=f"runs programs and captures; {kept}")


def _clock() -> Item:
    try:
        found = clock.of_this_machine()
    except OSError as error:
        return Item(what="clock", finding=Finding.UNKNOWN, text=f"the kernel does not say how it is kept: {error.strerror}")
    return Item(what="clock", finding=Finding.OK if found.synchronised else Finding.UNKNOWN, text=str(found))
