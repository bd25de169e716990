"""A connected generator of the Open Traffic Generator API: orchestrator.generators.driver.Session."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from orchestrator.generators.driver import Abilities, PortState
from orchestrator.generators.otg import LOCATION
from orchestrator.generators.otg.config import config_of, flow_name, ports_only
from orchestrator.generators.otg.models import library_version
from orchestrator.generators.otg.run import OtgRun
from orchestrator.generators.otg.server import Server
from orchestrator.interruption import Interruption
from rackproof.errors import GeneratorError
from rackproof.model.inventory import GeneratorEntry
from rackproof.model.traffic import Arrivals, Traffic
from rackproof.ports import Run

FPS = 100_000.0
#: Every stream is a flow, and servers say themselves how many flows are too many.
STREAMS_MAX = 65_536

_NOTES = {
    "delay": "the server tells the least, the mean and the greatest delay of a flow, warm-up included, and no distribution: percentiles of "
    "the delay, its variation and delta-Q are not measured; the three are kept with the trial's health. First bit sent to first bit "
    "received (RFC 1242, cut-through)",
    "loss": "the difference of counters: frames under way when measuring begins count as received within it",
    "order": "duplicates and reordering are not told by this API; 0 stands for both",
    "rate": "whole frames per second; a server that sends slower than asked is found by what it sent",
    "poisson": "not known to this API: plans that ask for it need another generator",
}


class OtgSession:
    """A context manager: entering connects, refuses a server that is sending for somebody else, and configures the ports."""

    def __init__(self, entry: GeneratorEntry, ports: Sequence[str], interruption: Interruption, *, take_over: bool) -> None:
        self._entry = entry
        self._locations = {port: str(entry.options.get(f"{LOCATION}{port}", port)) for port in ports}
        self._interruption = interruption
        self._take_over = take_over
        self._server = Server(entry.name, entry.address, verify=bool(entry.options.get("verify", True)))
        self._run: OtgRun | None = None
        self._facts: dict[str, str] = {}

    def __enter__(self) -> Self:
        unknown = sorted(set(self._locations) - set(self._entry.ports))
        if unknown:
            raise GeneratorError(f"{', '.join(unknown)}: no port of generator {self._entry.name} ({', '.join(self._entry.ports)})")
        try:
            told = self._server.versions()
            self._facts = {"generator": f"server {told['server']} of the Open Traffic Generator API", **told, "models": library_version()}
            sending = sorted(name for name, flow in self._server.flows(()).items() if flow.sending)
            if sending and not self._take_over:
                raise GeneratorError(
                    f"{self._entry.name} is sending for somebody else ({', '.join(sending[:5])}); wait for its end, or ask for a takeover"
                )
            if sending:
                self._server.transmit("stop")
            self._server.configure(ports_only(self._locations))
        except BaseException:
            self._server.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # A server that is out of reach cannot be told anything; why is known already.
        with self._server, suppress(GeneratorError):
            if self._run is not None:
                self._server.transmit("stop")
            self._server.configure(ports_only({}))

    def facts(self) -> Mapping[str, str]:
        return self._facts

    def ports(self) -> tuple[PortState, ...]:
        told = self._server.ports()
        missing = sorted(self._locations.keys() - told.keys())
        if missing:
            raise GeneratorError(f"{self._entry.name} says nothing of {', '.join(missing)}; it knows {', '.join(told) or 'no port'}")
        return tuple(PortState(name=name, link_up=told[name].link_up, speed_mbps=told[name].speed_mbps) for name in self._locations)

    def abilities(self) -> Abilities:
        return Abilities(
            fps=float(self._entry.options.get("fps", FPS)),
            samples=False,
            arrivals=frozenset({Arrivals.CONSTANT, Arrivals.FLAT_OUT}),
            streams_max=STREAMS_MAX,
            notes=_NOTES,
        )

    def start(self, traffic: Traffic) -> Run:
        used = {port for stream in traffic.streams for port in (stream.tx_port, stream.rx_port)}
        unknown = sorted(used - self._locations.keys())
        if unknown:
            raise GeneratorError(f"{', '.join(unknown)}: not among the ports that were taken ({', '.join(self._locations)})")
        self._server.configure(config_of(traffic, self._locations))
        self._run = OtgRun(self._server, traffic, {stream.id: flow_name(stream.id) for stream in traffic.streams}, self._interruption)
        return self._run
