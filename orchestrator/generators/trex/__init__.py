"""trex: a TRex 3.08 server, stateless, in software mode (docs/trex.md)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from orchestrator.generators.driver import Session
from orchestrator.generators.trex.messages import Where
from orchestrator.generators.trex.session import TrexSession
from orchestrator.interruption import Interruption
from rackproof.model.inventory import GeneratorEntry

TITLE = "TRex 3.08, stateless, in software mode"
OPTIONS: Mapping[str, str] = {
    "capture_frames": "Keep every frame of trials that send at most so many, by capture in service mode; 0, the default: counters only.",
    "fps": "Frames per second that the server sends and counts without loss; 50000 where nothing is said.",
}
RPC_PORT = 4501
FPS = 50_000.0
_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9._-]+)(:(?P<port>\d{1,5}))?")


def objections(entry: GeneratorEntry) -> tuple[str, ...]:
    """What is wrong with the entry."""
    found = []
    if not _ADDRESS.fullmatch(entry.address):
        found.append(f"address: expected the server's HOST or HOST:PORT, found {entry.address!r}")
    found += [f"ports: expected TRex's port numbers (0, 1, ...), found {port!r}" for port in entry.ports if not port.isdecimal()]
    found += [f"options: trex knows {', '.join(OPTIONS)}, found {name!r}" for name in entry.options if name not in OPTIONS]
    fps = entry.options.get("fps", FPS)
    if isinstance(fps, (bool, str)) or fps <= 0:
        found.append(f"options.fps: expected a number above 0, found {fps!r}")
    capture = entry.options.get("capture_frames", 0)
    if isinstance(capture, (bool, str, float)) or capture < 0:
        found.append(f"options.capture_frames: expected a whole number, found {capture!r}")
    return tuple(found)


@contextmanager
def opened(
    entry: GeneratorEntry, ports: Sequence[str], secrets: Mapping[str, str], interruption: Interruption, take_over: bool
) -> Iterator[Session]:
    """Connect and take the ports; leaving stops traffic, gives the ports back and hangs up. TRex knows no passwords."""
    del secrets
    address = _ADDRESS.fullmatch(entry.address)
    assert address is not None, "objections() refuses other addresses"
    where = Where(
        host=address["host"],
        rpc_port=int(address["port"] or RPC_PORT),
        user=entry.credentials.user,
        ports=tuple(int(port) for port in ports),
        take_over=take_over,
    )
    session = TrexSession(where, float(entry.options.get("fps", FPS)), int(entry.options.get("capture_frames", 0)), interruption)
    try:
        yield session
    finally:
        session.close()
