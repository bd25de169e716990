"""What the bytes in the maps of xpfe.bpf.o mean (tables.bpf.h has the same)."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

#: Counters that every element has, in the order of their numbers in tables.bpf.h: why frames were dropped, and OAM frames.
REASONS = (
    "drop.port",
    "drop.malformed",
    "drop.no_c_tag",
    "drop.not_xcf",
    "drop.loop",
    "drop.no_service",
    "drop.b_vlan",
    "drop.access",
    "drop.policer",
    "drop.no_station",
    "drop.c_vlan",
    "drop.no_route",
    "drop.back",
    "drop.too_long",
    "oam.local",
    "oam.forwarded",
)
RULES_MAX = 32
TABLES = 8
ENTRIES_MAX = 4096
SETS_MAX = 4096
MEMBERS_MAX = 64
COUNTERS_MAX = 65536

_KEY = struct.Struct("=IH6s")
_ENTRY = struct.Struct("=IIIIH6s")
_RULE = struct.Struct("=I6s6sHBB")
_POLICER = struct.Struct("=IIQQQ")
_MEMBER = struct.Struct("=Ii")
_NUMBER = struct.Struct("=I")
_COUNT = struct.Struct("=QQ")

#: t,7 has the group of a service under this address.
ANY_GROUP = "ff:ff:ff:ff:ff:ff"
_HASH, _DEVMAP_HASH = 1, 25
_NO_PREALLOC = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """What a map within a map is made of; map_type and flags are the kernel's."""

    map_type: int
    key_bytes: int
    value_bytes: int
    entries: int
    flags: int


#: The maps within each map of maps.
INNER = {
    "tenants": Kind(map_type=_HASH, key_bytes=_KEY.size, value_bytes=_ENTRY.size, entries=ENTRIES_MAX, flags=_NO_PREALLOC),
    "access_rules": Kind(
        map_type=_HASH, key_bytes=_KEY.size, value_bytes=4 + RULES_MAX * _RULE.size, entries=ENTRIES_MAX, flags=_NO_PREALLOC
    ),
    "policers": Kind(map_type=_HASH, key_bytes=_KEY.size, value_bytes=_POLICER.size, entries=ENTRIES_MAX, flags=_NO_PREALLOC),
    "sets": Kind(map_type=_DEVMAP_HASH, key_bytes=4, value_bytes=_MEMBER.size, entries=MEMBERS_MAX, flags=0),
}


def address(text: str) -> bytes:
    """Octets of "02:00:00:00:00:01"."""
    return bytes.fromhex(text.replace(":", ""))


def number(value: int) -> bytes:
    """The key of an array."""
    return _NUMBER.pack(value)


def key(*, identity: int = 0, number: int = 0, station: str | None = None) -> bytes:
    """The key of a table: I-SID or interface, VLAN or priority, address."""
    return _KEY.pack(identity, number, address(station) if station else bytes(6))


def entry(*, counter: int = 0, value: int = 0, second: int = 0, route: int = 0, number: int = 0, station: str | None = None) -> bytes:
    """An entry of a table; tables.bpf.h says which table uses what."""
    return _ENTRY.pack(counter, value, second, route, number, address(station) if station else bytes(6))


def rule(*, counter: int, source: str | None, destination: str | None, ethertype: int | None, permit: bool) -> bytes:
    """One rule of access control."""
    matches = (source is not None) | (destination is not None) << 1 | (ethertype is not None) << 2
    stations = [address(station) if station else bytes(6) for station in (source, destination)]
    return _RULE.pack(counter, *stations, ethertype or 0, matches, permit)


def rules(packed: Sequence[bytes]) -> bytes:
    """The rules of a service in their order."""
    return (number(len(packed)) + b"".join(packed)).ljust(INNER["access_rules"].value_bytes, b"\0")


def policer(*, counter: int, exceeded: int, rate_bps: int, burst_bytes: int) -> bytes:
    """A policer with a full bucket; its tolerance is in sixteenths of a nanosecond."""
    return _POLICER.pack(counter, exceeded, rate_bps, min(burst_bytes * 128_000_000_000 // rate_bps, 2**62), 0)


def without_state(name: str, value: bytes) -> bytes:
    """What was written of a value that is read back: without the state that a policer keeps in it."""
    return value[:-8] + bytes(8) if name.startswith("policers/") else value


def member(interface: int, program_fd: int = 0) -> bytes:
    """A port of a set, and the program that frames pass on their way out (0: none)."""
    return _MEMBER.pack(interface, program_fd)


def counts(value: bytes) -> tuple[int, int]:
    """Frames and octets of a counter, of all processors."""
    pairs = list(_COUNT.iter_unpack(value))
    return sum(frames for frames, _ in pairs), sum(octets for _, octets in pairs)
