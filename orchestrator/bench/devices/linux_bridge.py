"""linux-bridge: the kernel's bridge, a learning switch between all of its ports."""

import platform
from collections.abc import Mapping, Sequence
from functools import partial

from orchestrator.bench import links
from orchestrator.bench.devices import plain_switch
from orchestrator.bench.devices.plain_switch import PlainSwitch
from orchestrator.bench.namespaces import Namespace

MODEL = "linux-bridge"
OPTIONS: frozenset[str] = frozenset()
LINK_RATE_BPS_MAX = 1e10
#: Frames per second over all emulated links between such bridges, on two cores. Measured (benchmarks/chain.py).
WIRES_FPS_MAX = 250e3


objection = partial(plain_switch.objection, MODEL)


def probe() -> str:
    """Why the kernel has no bridge, "" where it has."""
    with Namespace("probe") as probe:
        links.bridge(probe, "br0", ())
    return ""


class Model(PlainSwitch):
    """Forwards from the moment it is made."""

    def __init__(self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str]) -> None:
        super().__init__(name=name, namespace=namespace, ports=ports, options=options, model=MODEL)
        links.bridge(namespace, "br0", ports)

    def facts(self) -> Mapping[str, str]:
        """Model and kernel."""
        return {"model": MODEL, "kernel": platform.release(), "ports": str(len(self._ports))}

    def close(self) -> None:
        """Nothing runs in user space."""
