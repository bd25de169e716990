"""What the bench's process can be asked to do: build a topology, configure its devices, send traffic, and take everything away."""

from collections.abc import Mapping

from orchestrator.bench import links
from orchestrator.bench.cpus import Cpus
from orchestrator.bench.devices import BenchDevice, Tapped, models
from orchestrator.bench.hosts import Hosts
from orchestrator.bench.namespaces import Namespace
from orchestrator.bench.probes import Probe, probe_all
from orchestrator.bench.wires import Wires
from orchestrator.generators.native.run import NativeRun, OneRun, Outcome
from orchestrator.signalling.pair import OnePair, Pair
from rackproof.errors import BenchError, DeviceError, GeneratorError, SignallingError
from rackproof.model.functions import DeviceFunction
from rackproof.model.lsp import Signalling
from rackproof.model.program import Command, Ended
from rackproof.model.topology import GENERATOR, Topology
from rackproof.model.traffic import Traffic

#: Interface names of the kernel are at most this long.
PORT_NAME_MAX = 15


class Services(OneRun, OnePair):
    """One topology at a time."""

    def __init__(self, rights: str) -> None:
        self._rights = rights
        self._namespaces: dict[str, Namespace] = {}
        self._devices: dict[str, BenchDevice] = {}
        self._hosts = Hosts((), {}, {})
        self._wires: Wires | None = None

    def probe(self) -> tuple[Probe, ...]:
        """What this machine can do, by trying."""
        return probe_all(self._rights)

    def wires_fps(self) -> Mapping[str, float]:
        """Frames per second over all emulated links, by the model of the devices between them."""
        found = {}
        for name, module in models().items():
            most = "WIRES_FPS_MAX_SHARED" if _shares_processor(name) else "WIRES_FPS_MAX"
            if (fps := getattr(module, most, None)) is not None:
                found[name] = float(fps)
        return found

    def assemble(self, topology: Topology) -> None:
        """Build namespaces, cables and devices. Raises BenchError."""
        if self._namespaces:
            raise BenchError("a topology stands already: one at a time")
        try:
            self._build(topology)
        except Exception:
            self.dismantle()
            raise

    def _build(self, topology: Topology) -> None:
        for node in (GENERATOR, *(spec.name for spec in topology.devices), *(spec.name for spec in topology.hosts)):
            self._namespaces[node] = Namespace(node)
        ports: dict[str, list[str]] = {}
        for link in topology.links:
            for end in (link.a, link.b):
                if end.node not in self._namespaces:
                    raise BenchError(f"a link names {end.node}, which is neither the generator nor a device or host of the topology")
                if not 0 < len(end.port) <= PORT_NAME_MAX:
                    raise BenchError(f"port name {end.port!r}: expected 1 to {PORT_NAME_MAX} characters")
                ports.setdefault(end.node, []).append(end.port)
            if link.wire is None:
                links.cable(self._namespaces[link.a.node], link.a.port, self._namespaces[link.b.node], link.b.port)
        if emulated := [link for link in topology.links if link.wire is not None]:
            self._wires = Wires(emulated, self._namespaces, yields=any(_shares_processor(spec.model) for spec in topology.devices))
        self._hosts = Hosts(topology.hosts, self._namespaces, ports)
        for spec in topology.devices:
            module = models().get(spec.model)
            if module is None:
                raise BenchError(f"{spec.name}: expected a device model of the bench ({', '.join(sorted(models()))}), found {spec.model}")
            self._devices[spec.name] = module.Model(
                name=spec.name, namespace=self._namespaces[spec.name], ports=ports.get(spec.name, []), options=spec.options
            )

    def dismantle(self) -> None:
        """Stop traffic, LERs and programs, stop devices, and let go of every namespace."""
        if self._run is not None:
            self._run.stop()
            self._run = None
        self.lsp_close()
        for device in self._devices.values():
            device.close()
        if self._wires is not None:
            self._wires.close()
            self._wires = None
        for namespace in self._namespaces.values():
            namespace.close()
        self._devices.clear()
        self._namespaces.clear()
        self._hosts.close()

    def facts(self, device: str) -> Mapping[str, str]:
        """Facts of a device."""
        return self._device(device).facts()

    def configuration(self, device: str) -> str:
        """Running configuration of a device."""
        return self._device(device).configuration()

    def apply(self, device: str, function: DeviceFunction) -> None:
        """Configure a device."""
        self._device(device).apply(function)

    def check(self, device: str, function: DeviceFunction) -> None:
        """Read back a device's configuration."""
        self._device(device).check(function)

    def restore(self, device: str) -> None:
        """Bring a device back to how it was."""
        self._device(device).restore()

    def counters(self, device: str) -> Mapping[str, int]:
        """Counters of a device."""
        return self._device(device).counters()

    def host_start(self, host: str, command: Command) -> int:
        """Start a program on a host; the number that it goes by. Raises LabError."""
        return self._hosts.start(host, command)

    def host_poll(self, program: int) -> Ended | None:
        """How a program ended, None while it runs. Raises LabError."""
        return self._hosts.poll(program)

    def host_stop(self, program: int) -> None:
        """Ask for the end of a program and of all that it started; host_poll says when it is there."""
        self._hosts.stop(program)

    def start(self, traffic: Traffic) -> None:
        """Begin to send and listen. Raises GeneratorError."""
        self._must_be_free()
        generator = self._namespaces.get(GENERATOR)
        if generator is None:
            raise GeneratorError("no topology stands: assemble one first")
        if self._wires is not None:
            self._wires.expect((traffic.campaign, traffic.trial))
        self._run = NativeRun(generator, traffic)

    def collect(self) -> Outcome:
        """What the traffic gave, after its last frame and the drain. Raises GeneratorError."""
        try:
            return super().collect()
        finally:
            if self._wires is not None:
                self._wires.expect(None)

    def lsp_open(self, signalling: Signalling) -> None:
        """Emulate two LERs on ports of the generator. Raises SignallingError."""
        self._lers_must_be_free()
        generator = self._namespaces.get(GENERATOR)
        if generator is None:
            raise SignallingError("no topology stands: assemble one first")
        self._pair = Pair(signalling, generator.fd)

    def tap_check(self, device: str) -> None:
        """Nothing where the device can be tapped. Raises DeviceError where it cannot."""
        self._tapped(device)

    def tap_start(self, device: str | None) -> None:
        """Begin to record what enters and leaves a device, or what passes the emulated links (None). Raises LabError."""
        self._tapped(device).tap_start()

    def tap_stop(self, device: str | None) -> None:
        """End recording; tap_collect() then gives what was seen. Raises LabError."""
        self._tapped(device).tap_stop()

    def tap_collect(self, device: str | None) -> Outcome:
        """What the last recording saw. Raises GeneratorError."""
        return self._tapped(device).tap_collect()

    def cpus(self) -> str:
        """Which processors the engine uses, for provenance."""
        cpus = Cpus.of_process()
        return f"sender on {cpus.sender}, device and receiver on {cpus.device}" if cpus.sender is not None else "shared"

    def _device(self, name: str) -> BenchDevice:
        try:
            return self._devices[name]
        except KeyError:
            raise DeviceError(f"{name}: no such device in the topology that stands") from None

    def _tapped(self, name: str | None) -> Tapped:
        if name is None:
            if self._wires is None:
                raise BenchError("no link of the topology is emulated")
            return self._wires
        device = self._device(name)
        if not isinstance(device, Tapped):
            raise DeviceError(f"{name}: a device of this model has no tap; an emulated path has")
        return device


def _shares_processor(model: str) -> bool:
    shares = getattr(models().get(model), "shares_processor", None)
    return shares is not None and bool(shares())
