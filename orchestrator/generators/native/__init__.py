"""native: Rackproof's own engine on ports of the Linux host that runs the worker; every frame is kept with its times."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.generators.driver import Session
from orchestrator.interruption import Interruption
from rackproof.model.inventory import GeneratorEntry

TITLE = "Rackproof's own engine on network ports of the worker's host; keeps every frame"
OPTIONS: Mapping[str, str] = {
    "namespace": "the network namespace that has the ports, as a path (/run/netns/lab), where it is not the worker's own",
}
#: Interface names of Linux are at most this long.
_NAME_MAX = 15


def objections(entry: GeneratorEntry) -> tuple[str, ...]:
    """Ports that cannot be interfaces of Linux, and a namespace that is no path."""
    found = [
        f"port {port}: expected the name of a network interface, at most {_NAME_MAX} characters and no slash"
        for port in entry.ports
        if len(port) > _NAME_MAX or "/" in port
    ]
    found += [f"option {name}: there is no such option; there are: {', '.join(OPTIONS)}" for name in entry.options if name not in OPTIONS]
    namespace = entry.options.get("namespace", "/")
    if not str(namespace).startswith("/"):
        found.append(f"option namespace: expected a path such as /run/netns/lab, found {namespace}")
    return tuple(found)


@contextlib.contextmanager
def opened(
    entry: GeneratorEntry, ports: Sequence[str], secrets: Mapping[str, str], interruption: Interruption, take_over: bool
) -> Iterator[Session]:
    """Start the engine's process and take the ports; leaving ends it, which stops traffic and gives the ports back as they were."""
    del secrets  # nobody signs in to the own host
    from orchestrator.generators.native.session import NativeSession

    with NativeSession(entry, ports, interruption, take_over=take_over) as session:
        yield session
