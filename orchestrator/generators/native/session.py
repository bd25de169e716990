"""The native engine on real ports, as the campaign's process sees it: orchestrator.generators.driver.Session."""

import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from orchestrator.bench.served import Served
from orchestrator.generators.driver import Abilities, PortState
from orchestrator.generators.native.sending import Sending
from orchestrator.interruption import Interruption
from orchestrator.signalling.asking import signalled
from rackproof.errors import GeneratorError
from rackproof.model.inventory import GeneratorEntry
from rackproof.model.lsp import Signalling
from rackproof.model.traffic import Arrivals, Traffic
from rackproof.ports import Run, Signaller

START_S = 60.0
#: What it may take to end: LSPs are torn down before.
END_S = 25.0
#: What taking the ports may take: somebody else may be ending, and LSPs that were left are torn down.
TAKE_S = 75.0
#: What one core sends at most, measured on veth; a calibration on a loopback says what is honest on the host at hand.
FPS_MAX = 700_000.0
#: A frame carries the number of its stream in 16 bits.
STREAMS_MAX = 65_536

_NOTES = {
    "delay": "one clock, that of the host, stamps both ends in the kernel: the delay contains both network cards and their drivers; the "
    "floor that a loopback measures is theirs",
    "poisson": "exponential gaps on an absolute schedule; frames that are late are caught up",
}


class NativeSession:
    """A context manager: entering starts the engine's process and takes the ports."""

    def __init__(self, entry: GeneratorEntry, ports: Sequence[str], interruption: Interruption, *, take_over: bool) -> None:
        self._entry = entry
        self._ports = tuple(ports)
        self._take_over = take_over
        self._served = Served(
            module="orchestrator.generators.native.process",
            name=f"the process of generator {entry.name}",
            loss="its traffic ended with it",
            error=GeneratorError,
            interruption=interruption,
            end_s=END_S,
        )
        self._found: tuple[str, ...] = ()
        self._sending = Sending(self._served)

    def __enter__(self) -> Self:
        if not is_here(self._entry.address):
            raise GeneratorError(
                f"generator {self._entry.name}: {self._entry.address} is not an address of this host ({socket.gethostname()}). The native "
                "generator sends from ports of the host that its worker runs on: start a worker there and let it serve the testbed"
            )
        self._served.start(START_S)
        try:
            self._found = self._served.request(
                "take", TAKE_S, ports=self._ports, namespace=str(self._entry.options.get("namespace", "")), take_over=self._take_over
            )
        except BaseException:
            self._served.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._served.close()

    @property
    def pid(self) -> int | None:
        """Process id of the engine's process, None where it does not run."""
        return self._served.pid

    def facts(self) -> Mapping[str, str]:
        facts: Mapping[str, str] = self._served.request("facts")
        return facts

    def ports(self) -> tuple[PortState, ...]:
        states: tuple[PortState, ...] = self._served.request("states")
        return states

    def abilities(self) -> Abilities:
        return Abilities(fps=FPS_MAX, samples=True, arrivals=frozenset(Arrivals), streams_max=STREAMS_MAX, notes=_NOTES)

    def start(self, traffic: Traffic) -> Run:
        return self._sending.start(traffic)

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        return signalled(self._served, signalling)

    def found(self) -> tuple[str, ...]:
        return self._found


def is_here(address: str) -> bool:
    """True where an address or name is this host's, or is empty: a socket can be bound to an own address alone."""
    if not address:
        return True
    try:
        found = socket.getaddrinfo(address, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return address == socket.gethostname()
    for family, kind, protocol, _, place in found:
        with socket.socket(family, kind, protocol) as sock:
            try:
                sock.bind(place)
            except OSError:
                continue
            return True
    return False
