"""otg: whatever speaks the Open Traffic Generator API (Ixia-c, IxNetwork and others), over HTTP; it counts, and keeps no frame."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from orchestrator.generators.driver import Session
from orchestrator.interruption import Interruption
from rackproof.model.inventory import GeneratorEntry

TITLE = "A generator behind the Open Traffic Generator API (Ixia-c, IxNetwork); counts, and keeps no frame"
LOCATION = "location."
OPTIONS: Mapping[str, str] = {
    f"{LOCATION}PORT": "where the server finds the port PORT (192.0.2.1;1;3), where that is not its name here",
    "verify": "whether the server's certificate must be good (default true); false for one that signed itself, which anybody can pretend",
    "fps": "frames per second that the ports send and count at most; the API does not tell (default 100000)",
}


def objections(entry: GeneratorEntry) -> tuple[str, ...]:
    """An address that is no server's, and options that there are not."""
    found = []
    if urlsplit(entry.address).scheme not in ("http", "https") or not urlsplit(entry.address).hostname:
        found.append(f"address: expected the server's address such as https://192.0.2.7:8443, found {entry.address or 'none'}")
    places = {f"{LOCATION}{port}" for port in entry.ports}
    found += [
        f"option {name}: there is no such option; there are: {', '.join(sorted({'verify', 'fps', *places}))}"
        for name in entry.options
        if name not in {"verify", "fps", *places}
    ]
    if not isinstance(entry.options.get("verify", True), bool):
        found.append(f"option verify: expected true or false, found {entry.options['verify']}")
    fps = entry.options.get("fps", 1)
    if not isinstance(fps, int | float) or fps <= 0:
        found.append(f"option fps: expected a number above 0, found {fps}")
    return tuple(found)


@contextlib.contextmanager
def opened(
    entry: GeneratorEntry, ports: Sequence[str], secrets: Mapping[str, str], interruption: Interruption, take_over: bool
) -> Iterator[Session]:
    """Connect and configure the ports; leaving stops traffic and takes the configuration away."""
    del secrets  # the API has no sign-in
    from orchestrator.generators.otg.session import OtgSession

    with OtgSession(entry, ports, interruption, take_over=take_over) as session:
        yield session
