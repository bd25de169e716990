"""Where signallers are put to the test: one `soft-lsr` between two ports of the bench, or of the native generator."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace

from orchestrator.bench import links
from orchestrator.bench.devices import models
from orchestrator.bench.namespaces import Namespace
from orchestrator.bench.testbed import Bench
from orchestrator.generators.native.interfaces import LOCKS, namespace_number
from orchestrator.generators.native.session import NativeSession
from orchestrator.interruption import Interruption
from rackproof.errors import BenchError
from rackproof.model.functions import Mpls, MplsInterface
from rackproof.model.inventory import GeneratorEntry
from rackproof.model.lsp import Ler, Probing, Signalling
from rackproof.model.topology import GENERATOR, DeviceSpec, Endpoint, Link, Topology
from rackproof.ports import Device, Signaller
from tests.lab.cables import until_running
from tests.waiting import SOON_S

MODEL, ROUTER = "soft-lsr", "r1"
#: Fast enough that a test of some LSPs takes no time.
OPTIONS: Mapping[str, float] = {"path_us": 100.0, "resv_us": 100.0, "tear_us": 100.0}
FUNCTION = Mpls(
    router_id="10.83.253.1",
    interfaces=(MplsInterface(port="west", address="10.83.0.1/30"), MplsInterface(port="east", address="10.83.250.1/30")),
    routes={"10.83.254.1/32": "10.83.0.2", "10.83.254.2/32": "10.83.250.2"},
)
SIGNALLING = Signalling(
    ingress=Ler(port="in", address="10.83.0.2", neighbour="10.83.0.1", router_id="10.83.254.1"),
    egress=Ler(port="out", address="10.83.250.2", neighbour="10.83.250.1", router_id="10.83.254.2"),
    stable=5,
    flapped=10,
    campaign=7,
    trial=1,
    seed=1,
    setup_s=SOON_S,
    probing=Probing(fps=200.0),
)
TOPOLOGY = Topology(
    devices=(DeviceSpec(name=ROUTER, model=MODEL, options=OPTIONS),),
    links=(
        Link(a=Endpoint(node=GENERATOR, port="in"), b=Endpoint(node=ROUTER, port="west")),
        Link(a=Endpoint(node=ROUTER, port="east"), b=Endpoint(node=GENERATOR, port="out")),
    ),
)


class Absent(Exception):
    """This signaller cannot be tried here; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Bed:
    """signaller: as Rig.signaller. lsps: how many are in the router. interruption: ends what the signaller waits for."""

    signaller: Callable[[Signalling], AbstractContextManager[Signaller]]
    lsps: Callable[[], int]
    interruption: Interruption


@dataclass(frozen=True, kw_only=True)
class Racked:
    """A router in this process, between two ports of a namespace that a native generator may take."""

    entry: GeneratorEntry
    router: Device
    namespace: Namespace

    def opened(self, interruption: Interruption | None = None, *, take_over: bool = False) -> NativeSession:
        """The generator's session on both ports."""
        return NativeSession(self.entry, self.entry.ports, interruption or Interruption(), take_over=take_over)

    def lsps(self) -> int:
        """How many are in the router."""
        return lsps_in(self.router)

    def noted(self) -> bool:
        """Whether there is a file that says what may be left."""
        return (LOCKS / f"rackproof-port-{self.namespace.run(namespace_number)}-in.lsps").exists()


@contextmanager
def bench() -> Iterator[Bed]:
    interruption = Interruption()
    with ExitStack() as stack:
        try:
            bench = stack.enter_context(Bench(interruption=interruption))
        except BenchError as error:
            raise Absent(str(error)) from error
        rig = stack.enter_context(bench.assemble(TOPOLOGY))
        router = rig.device(ROUTER)
        router.apply(FUNCTION)
        yield Bed(signaller=rig.signaller, lsps=lambda: lsps_in(router), interruption=interruption)


@contextmanager
def racked() -> Iterator[Racked]:
    """The router and the ports; nobody has them yet."""
    try:
        namespace = Namespace("ports")
    except BenchError as error:
        raise Absent(f"the ports of the native generator need root: {error}") from error
    with namespace, Namespace(ROUTER) as router:
        links.cable(namespace, "in", router, "west")
        links.cable(router, "east", namespace, "out")
        device = models()[MODEL].Model(name=ROUTER, namespace=router, ports=("west", "east"), options=OPTIONS)
        try:
            device.apply(FUNCTION)
            until_running(namespace, "in", "out")
            options = {"namespace": f"/proc/{os.getpid()}/fd/{namespace.fd}"}
            yield Racked(
                entry=GeneratorEntry(name="here", kind="native", ports=("in", "out"), options=options), router=device, namespace=namespace
            )
        finally:
            device.close()


@contextmanager
def native() -> Iterator[Bed]:
    interruption = Interruption()
    with racked() as rack, rack.opened(interruption) as session:
        yield Bed(signaller=session.signaller, lsps=rack.lsps, interruption=interruption)


def lsps_in(router: Device) -> int:
    """LSPs that its control plane knows, or labels that it forwards, whichever are more."""
    counters = router.counters()
    return max(counters["lsps"], counters["labels.forwarding"])


BEDS: Mapping[str, Callable[[], AbstractContextManager[Bed]]] = {"bench": bench, "native": native}


def silent(signalling: Signalling, setup_s: float) -> Signalling:
    """The same with a neighbour of the egress that is not there, and so long for the other one to answer."""
    return replace(signalling, egress=replace(signalling.egress, neighbour="10.83.250.77"), setup_s=setup_s)
