"""The generator of a lab as a plan sees it: connected to when it is first needed, and called by the plan's port names."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.generators.driver import Session, Signals
from orchestrator.generators.registry import driver
from orchestrator.interruption import Interruption
from orchestrator.secrets import of_credentials
from rackproof.errors import GeneratorError, NotFound, SignallingError
from rackproof.model.inventory import GeneratorEntry
from rackproof.model.lsp import Signalling
from rackproof.model.traffic import Capture, Traffic
from rackproof.ports import Run, Signaller

#: An option of every generator of an inventory: take ports that somebody else has.
TAKE_OVER = "take_over"


def objections_of(entry: GeneratorEntry) -> tuple[str, ...]:
    """What is wrong with a generator of an inventory, found without reaching for anything."""
    try:
        found = driver(entry.kind).objections(_plain(entry))
    except NotFound as error:
        found = (str(error),)
    return tuple(f"{entry.name}: {why}" for why in found)


class Connection:
    """A generator, connected to while it is needed; after a failure it is connected to anew.

    heard is told what a killed user of its ports had left in the devices.
    """

    def __init__(self, entry: GeneratorEntry, ports: Sequence[str], interruption: Interruption, heard: Callable[[str], None]) -> None:
        self.entry = entry
        self._ports = tuple(ports)
        self._interruption = interruption
        self._heard = heard
        self._session: Session | None = None
        self._open = contextlib.ExitStack()

    def session(self) -> Session:
        """The session, opened if there is none. Raises GeneratorError."""
        if self._session is None:
            take_over = bool(self.entry.options.get(TAKE_OVER, False))
            known = {name: secret.reveal() for name, secret in of_credentials(self.entry.credentials).items()}
            opened = driver(self.entry.kind).opened(_plain(self.entry), self._ports, known, self._interruption, take_over=take_over)
            self._session = self._open.enter_context(opened)
            if isinstance(self._session, Signals):
                for text in self._session.found():
                    self._heard(f"{self.entry.name}: {text}")
        return self._session

    def close(self) -> None:
        """Stop traffic, give the ports back and hang up."""
        self._session = None
        open_, self._open = self._open, contextlib.ExitStack()
        open_.close()

    def lost(self) -> None:
        """Something went wrong: hang up, and connect anew when it is needed again."""
        with contextlib.suppress(GeneratorError):
            self.close()


def why_no_signals(connection: Connection) -> str:
    """Why the generator cannot signal LSPs, "" where it can. Raises GeneratorError."""
    if isinstance(connection.session(), Signals):
        return ""
    entry = connection.entry
    return f"{entry.name}: a generator of kind {entry.kind} does not speak RSVP-TE; LSPs are signalled by the native engine (kind native)"


class PlanGenerator:
    """rackproof.ports.Generator on a connection. ports: the plan's name of a port -> the generator's own."""

    def __init__(self, connection: Connection, ports: Mapping[str, str]) -> None:
        self._connection = connection
        self._ports = ports
        self._run: _Run | None = None

    def start(self, traffic: Traffic) -> Run:
        try:
            streams = tuple(
                replace(stream, tx_port=self._ports[stream.tx_port], rx_port=self._ports[stream.rx_port]) for stream in traffic.streams
            )
        except KeyError as error:
            raise GeneratorError(f"the plan sends by port {error.args[0]}, which its topology does not name") from None
        try:
            self._run = _Run(self._connection.session().start(replace(traffic, streams=streams)), self._connection)
        except GeneratorError:
            self._connection.lost()
            raise
        return self._run

    @contextlib.contextmanager
    def signaller(self, signalling: Signalling) -> Iterator[Signaller]:
        """Two LERs on ports of the generator (rackproof.ports.Rig.signaller). Raises SignallingError where it does not signal."""
        unknown = [ler.port for ler in (signalling.ingress, signalling.egress) if ler.port not in self._ports]
        if unknown:
            raise SignallingError(f"the plan signals by port {', '.join(unknown)}, which its topology does not name")
        session = self._connection.session()
        if not isinstance(session, Signals):
            raise SignallingError(why_no_signals(self._connection))
        own = replace(
            signalling,
            ingress=replace(signalling.ingress, port=self._ports[signalling.ingress.port]),
            egress=replace(signalling.egress, port=self._ports[signalling.egress.port]),
        )
        with session.signaller(own) as signaller:
            yield signaller

    def stop(self) -> None:
        """Stop what is still under way."""
        if self._run is not None:
            self._run.stop()


class _Run:
    def __init__(self, run: Run, connection: Connection) -> None:
        self._run = run
        self._connection = connection
        self._over = False

    def wait(self) -> Capture:
        try:
            capture = self._run.wait()
        except GeneratorError:
            self._over = True
            self._connection.lost()
            raise
        self._over = True
        return capture

    def stop(self) -> None:
        if not self._over:
            self._run.stop()


def _plain(entry: GeneratorEntry) -> GeneratorEntry:
    """The entry without the option that every generator has."""
    return entry.model_copy(update={"options": {name: value for name, value in entry.options.items() if name != TAKE_OVER}})
