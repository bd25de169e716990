"""Random tables and random frames for a forwarding element; few numbers, so that much of it meets."""

import random
import struct
from collections.abc import Callable

from rackproof.model.xcf import (
    AccessRule,
    Attachment,
    ForwardingElement,
    Group,
    Policer,
    Priority,
    Route,
    Service,
    Station,
)
from tests.integration.bench.xpfe.lab import backbone, customer, mac

UNI = ("uni1", "uni2", "uni3", "uni4")
NNI = ("nni1", "nni2")
OWN = "02:52:50:01:00:01"
ELEMENTS = ("02:52:50:01:00:02", "02:52:50:01:00:03")
STATIONS = tuple(f"02:00:00:00:00:{number:02x}" for number in range(1, 7))
GROUPS = ("01:52:50:01:00:01", "01:52:50:01:00:02")
C_VLANS = (10, 11, 12)
B_VLANS = (101, 102)
#: 1 to 30 have tables of their own, 31 and 40 share theirs.
TENANTS = (1, 2, 30, 31, 40)
I_SIDS = (0x10001, 0x10002, 0x20001, 0x20002, 0xFFFFFF)
ETHERTYPES = (0x0800, 0x0806, 0x88B5)


def tables(rng: random.Random) -> ForwardingElement:
    """Tables without a contradiction."""
    places = [(port, c_vlan) for port in UNI for c_vlan in C_VLANS]
    rng.shuffle(places)
    services = []
    for i_sid in rng.sample(I_SIDS, rng.randint(1, len(I_SIDS))):
        mine = [Attachment(port=port, c_vlan=c_vlan) for port, c_vlan in (places.pop() for _ in range(rng.randint(0, min(4, len(places)))))]
        services.append(Service(i_sid=i_sid, tenant=rng.choice(TENANTS), b_vlan=rng.choice(B_VLANS), attachments=tuple(mine)))
    here = [service.i_sid for service in services]
    return ForwardingElement(
        address=OWN,
        uni=UNI,
        nni=NNI,
        services=tuple(services),
        priorities=tuple(Priority(i_sid=i_sid, pcp=pcp, b_pcp=rng.randrange(8)) for i_sid in here for pcp in rng.sample(range(8), 2)),
        access=tuple(_rule(rng, i_sid) for i_sid in here for _ in range(rng.randint(0, 2))),
        policers=tuple(_policer(rng, i_sid) for i_sid in here if rng.random() < 0.3),
        stations=tuple(_station(rng, i_sid, address) for i_sid in here for address in rng.sample(STATIONS, 4)),
        groups=tuple(Group(i_sid=i_sid, address=rng.choice(GROUPS)) for i_sid in here if rng.random() < 0.7),
        routes=tuple(_route(rng, address, b_vlan) for address in (*ELEMENTS, *GROUPS) for b_vlan in B_VLANS if rng.random() < 0.8),
    )


def frame(rng: random.Random, number: int) -> tuple[str, bytes]:
    """A port and a frame; whole ones end with their number, and some are not whole."""
    inner = customer(
        rng.choice((*STATIONS, "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01")),
        rng.choice(STATIONS),
        vlan=rng.choice(C_VLANS),
        pcp=rng.randrange(8),
        ethertype=rng.choice(ETHERTYPES),
        octets=rng.choice((60, 100, 1500)),
    )
    inner += struct.pack("!I", number)
    outer = backbone(
        inner,
        rng.choice((OWN, OWN, *ELEMENTS, *GROUPS)),
        rng.choice(ELEMENTS),
        vlan=rng.choice(B_VLANS),
        pcp=rng.randrange(8),
        i_sid=rng.choice(I_SIDS),
        uca=int(rng.random() < 0.05),
    )
    # Mostly where it belongs, sometimes where it does not.
    port = rng.choice(UNI)
    whole = inner
    if rng.random() < 0.5:
        port, whole = rng.choice(NNI), outer
    if rng.random() < 0.05:
        port = rng.choice((*UNI, *NNI))
    return port, rng.choice(_HARM)(rng, whole) if rng.random() < 0.15 else whole


def _rule(rng: random.Random, i_sid: int) -> AccessRule:
    return AccessRule(
        i_sid=i_sid,
        permit=rng.random() < 0.5,
        source=rng.choice((None, *STATIONS)),
        destination=rng.choice((None, *STATIONS)),
        ethertype=rng.choice((None, *ETHERTYPES)),
    )


def _policer(rng: random.Random, i_sid: int) -> Policer:
    """One that passes all, or nothing: what is between depends on the clock."""
    rate_bps, burst_bytes = rng.choice(((10**12, 10**9), (10**6, 10)))
    return Policer(i_sid=i_sid, rate_bps=rate_bps, burst_bytes=burst_bytes)


def _station(rng: random.Random, i_sid: int, address: str) -> Station:
    if rng.random() < 0.6:
        return Station(i_sid=i_sid, address=address, port=rng.choice(UNI))
    return Station(i_sid=i_sid, address=address, element=rng.choice(ELEMENTS))


def _route(rng: random.Random, address: str, b_vlan: int) -> Route:
    ports = tuple(rng.sample(NNI, rng.randint(1, 2))) if address in GROUPS else (rng.choice(NNI),)
    return Route(address=address, b_vlan=b_vlan, ports=ports)


def _cut(rng: random.Random, frame: bytes) -> bytes:
    # A socket that receives needs two octets behind a tag; the kernel drops shorter frames in front of it.
    return frame[: rng.choice([length for length in range(14, 64) if length not in (18, 19, 40, 41)])]


def _flip(rng: random.Random, frame: bytes) -> bytes:
    """Another octet somewhere in the headers."""
    where = rng.randrange(44)
    return frame[:where] + bytes([rng.randrange(256)]) + frame[where + 1 :]


def _noise(rng: random.Random, frame: bytes) -> bytes:
    return rng.randbytes(len(frame))


def _type(rng: random.Random, frame: bytes) -> bytes:
    """Another type at a place where one is looked for."""
    where = rng.choice((12, 16, 34, 38))
    return frame[:where] + rng.choice((b"\x81\x00", b"\x88\xa8", b"\x88\xe7", b"\x89\x02")) + frame[where + 2 :]


def _oam(rng: random.Random, frame: bytes) -> bytes:
    return mac("01:80:c2:00:00:30")[:5] + bytes([0x30 + rng.randrange(18)]) + frame[6:]


def _stacked(rng: random.Random, frame: bytes) -> bytes:
    """A second header around it."""
    return backbone(frame[:1400], OWN, rng.choice((*ELEMENTS, OWN)), i_sid=rng.choice(I_SIDS))


_HARM: tuple[Callable[[random.Random, bytes], bytes], ...] = (_cut, _flip, _flip, _noise, _type, _oam, _stacked)
