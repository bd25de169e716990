"""Where each driver is put to the test: two ports that are cabled to each other.

native: a veth pair that is made here, which needs root. The others need somebody to say where they are:
RACKPROOF_TREX=HOST, RACKPROOF_TREX_PORTS=0,1 and, where the ports are interfaces of this machine, RACKPROOF_TREX_INTERFACES=veth0,veth1;
RACKPROOF_OTG=https://HOST:8443, RACKPROOF_OTG_PORTS=NAME,NAME and RACKPROOF_OTG_INTERFACES likewise.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field

from orchestrator.bench import links
from orchestrator.bench.namespaces import Namespace
from orchestrator.generators import registry
from orchestrator.generators.driver import Session
from orchestrator.interruption import Interruption
from rackproof.errors import BenchError
from rackproof.model.inventory import Credentials, GeneratorEntry
from tests.contract.generators.witness import Witness
from tests.lab.cables import until_running

#: Read before the tests begin: none of them sees the machine's settings.
_TREX, _OTG = os.environ.get("RACKPROOF_TREX", ""), os.environ.get("RACKPROOF_OTG", "")
_PORTS = {kind: os.environ.get(f"RACKPROOF_{kind.upper()}_PORTS", "0,1").split(",") for kind in ("trex", "otg")}
_INTERFACES = {kind: os.environ.get(f"RACKPROOF_{kind.upper()}_INTERFACES", "") for kind in ("trex", "otg")}


class Absent(Exception):
    """This driver cannot be tried here; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Bed:
    """A generator with two ports. overhead_s: what a trial may take beyond its traffic. owned: whether its ports know an owner."""

    entry: GeneratorEntry
    overhead_s: float
    owned: bool = True
    interfaces: Mapping[str, str] = field(default_factory=dict)
    witnessed: Callable[[str], Witness] = Witness

    @property
    def ports(self) -> tuple[str, str]:
        a, b = self.entry.ports
        return a, b

    def opened(
        self, *, ports: Sequence[str] | None = None, user: str = "", interruption: Interruption | None = None, take_over: bool = False
    ) -> AbstractContextManager[Session]:
        """user: who signs in, where the generator's ports belong to users."""
        entry = self.entry.model_copy(update={"credentials": Credentials(user=user)}) if user else self.entry
        return registry.driver(entry.kind).opened(entry, ports or self.ports, {}, interruption or Interruption(), take_over)

    def witness(self, port: str) -> AbstractContextManager[Witness] | None:
        """Sees what arrives at a port; None where nobody can."""
        interface = self.interfaces.get(port)
        return None if interface is None else closing(self.witnessed(interface))


@contextmanager
def native() -> Iterator[Bed]:
    try:
        namespace = Namespace("generator")
    except BenchError as error:
        raise Absent(f"the veth pair of the native generator needs root: {error}") from error
    with namespace:
        links.cable(namespace, "p0", namespace, "p1")
        until_running(namespace, "p0", "p1")
        entry = GeneratorEntry(
            name="here", kind="native", ports=("p0", "p1"), options={"namespace": f"/proc/{os.getpid()}/fd/{namespace.fd}"}
        )
        yield Bed(
            entry=entry,
            overhead_s=0.5,
            interfaces={"p0": "p0", "p1": "p1"},
            witnessed=lambda interface: namespace.run(lambda: Witness(interface)),
        )


@contextmanager
def trex() -> Iterator[Bed]:
    if not _TREX:
        raise Absent("RACKPROOF_TREX names no TRex server")
    yield _named("trex", _TREX, overhead_s=0.5)


@contextmanager
def otg() -> Iterator[Bed]:
    if not _OTG:
        raise Absent("RACKPROOF_OTG names no server of the Open Traffic Generator API")
    yield _named("otg", _OTG, overhead_s=2.0, owned=False, verify=False)


def _named(kind: str, address: str, *, overhead_s: float, owned: bool = True, **options: bool) -> Bed:
    entry = GeneratorEntry(name=f"{kind}-1", kind=kind, address=address, ports=tuple(_PORTS[kind]), options=options)
    interfaces = dict(zip(entry.ports, _INTERFACES[kind].split(","), strict=True)) if _INTERFACES[kind] else {}
    return Bed(entry=entry, overhead_s=overhead_s, owned=owned, interfaces=interfaces)


BEDS: Mapping[str, Callable[[], AbstractContextManager[Bed]]] = {"native": native, "trex": trex, "otg": otg}
