"""linux-bridge: the kernel's bridge, a learning switch between all of its ports."""

import platform
from collections.abc import Mapping, Sequence

from orchestrator.bench import links
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction

MODEL = "linux-bridge"
OPTIONS: frozenset[str] = frozenset()
LINK_RATE_BPS_MAX = 1e10
#: Frames per second over all emulated links between such bridges, on two cores. Measured (benchmarks/chain.py).
WIRES_FPS_MAX = 250e3


def objection(function: DeviceFunction) -> str:
    """It forwards, and can do nothing else."""
    return f"{MODEL} cannot do {type(function).__name__}: it forwards and has nothing to configure"


def probe() -> str:
    """Why the kernel has no bridge, "" where it has."""
    with Namespace("probe") as probe:
        links.bridge(probe, "br0", ())
    return ""


class Model:
    """Forwards from the moment it is made."""

    def __init__(self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str]) -> None:
        if options:
            raise DeviceError(f"{name}: expected no options, for {MODEL} has none; found {', '.join(sorted(options))}")
        self.name = name
        self._namespace = namespace
        self._ports = tuple(ports)
        links.bridge(namespace, "br0", ports)

    def facts(self) -> Mapping[str, str]:
        """Model and kernel."""
        return {"model": MODEL, "kernel": platform.release(), "ports": str(len(self._ports))}

    def configuration(self) -> str:
        """Its ports."""
        return f"bridge br0 {' '.join(self._ports)}"

    def apply(self, function: DeviceFunction) -> None:
        """Nothing can be configured."""
        raise DeviceError(f"{self.name}: {objection(function)}")

    def check(self, function: DeviceFunction) -> None:
        """Nothing can be configured."""
        raise DeviceError(f"{self.name}: {objection(function)}")

    def restore(self) -> None:
        """Nothing was configured."""

    def counters(self) -> Mapping[str, int]:
        """Frames that each port received, sent and dropped ("east.received")."""
        return links.counters(self._namespace, self._ports)

    def close(self) -> None:
        """Nothing runs in user space."""
