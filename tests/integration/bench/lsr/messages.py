"""RSVP-TE messages by hand: objects as (class, C-Type, content), after the figures of RFC 2205 and RFC 3209."""

import socket
import struct
from dataclasses import dataclass

PATH, RESV, PATH_ERR, PATH_TEAR = 1, 2, 3, 5
SESSION, HOP, LABEL = 1, 3, 16
REFRESH_MS = 30_000
TTL = 64

_IP = struct.Struct("!BBHHHBBH4s4s")
_ALERT = b"\x94\x04\x00\x00"
#: A token bucket that asks for nothing.
_BUCKET = struct.pack("!BBHfffII", 127, 0, 5, 0.0, 0.0, 0.0, 64, 1500)

Object = tuple[int, int, bytes]


def address(text: str) -> bytes:
    """Four octets."""
    return socket.inet_aton(text)


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip(source: str, destination: str, payload: bytes, *, protocol: int, ttl: int = TTL, options: bytes = b"") -> bytes:
    """An IPv4 packet."""
    words = 5 + len(options) // 4
    fields = (0x40 | words, 0, 4 * words + len(payload), 0, 0, ttl, protocol)
    ends = (address(source), address(destination))
    sum_ = checksum(_IP.pack(*fields, 0, *ends) + options)
    return _IP.pack(*fields, sum_, *ends) + options + payload


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message as it came."""

    kind: int
    source: str
    destination: str
    ttl: int
    alert: bool
    rsvp_ttl: int
    objects: tuple[Object, ...]

    def of(self, number: int) -> bytes:
        """Content of the first object of a class."""
        return next(content for kind, _, content in self.objects if kind == number)

    @property
    def hop(self) -> str:
        """Address in RSVP_HOP."""
        return socket.inet_ntoa(self.of(HOP)[:4])

    @property
    def label(self) -> int:
        """The first label."""
        return int.from_bytes(self.of(LABEL))


def packet(kind: int, objects: list[Object], *, source: str, destination: str, alert: bool) -> bytes:
    """An IP packet with one message."""
    body = b"".join(struct.pack("!HBB", 4 + len(content), number, c_type) + content for number, c_type, content in objects)
    head = (0x10, kind, 0, TTL, 0, 8 + len(body))
    sum_ = checksum(struct.pack("!BBHBBH", *head) + body)
    payload = struct.pack("!BBHBBH", *head[:2], sum_, *head[3:]) + body
    return ip(source, destination, payload, protocol=46, options=_ALERT if alert else b"")


def read(data: bytes) -> Message:
    """A message from an IP packet."""
    words = data[0] & 15
    rsvp = data[4 * words : int.from_bytes(data[2:4])]
    assert checksum(data[: 4 * words]) == 0
    assert checksum(rsvp) == 0
    objects, at = [], 8
    while at < len(rsvp):
        length, number, c_type = struct.unpack_from("!HBB", rsvp, at)
        objects.append((number, c_type, rsvp[at + 4 : at + length]))
        at += length
    return Message(
        kind=rsvp[1],
        source=socket.inet_ntoa(data[12:16]),
        destination=socket.inet_ntoa(data[16:20]),
        ttl=data[8],
        alert=words > 5,
        rsvp_ttl=rsvp[4],
        objects=tuple(objects),
    )


def session(lsp: int, *, ingress: str, egress: str) -> Object:
    """SESSION of the tunnel with an LSP's number."""
    return SESSION, 7, address(egress) + struct.pack("!HH", 0, lsp) + address(ingress)


def hop(own: str) -> Object:
    """RSVP_HOP."""
    return HOP, 1, address(own) + bytes(4)


def sender(number: int, lsp: int, ingress: str) -> Object:
    """SENDER_TEMPLATE (11) or FILTER_SPEC (10)."""
    return number, 7, address(ingress) + struct.pack("!HH", 0, lsp)


def path(lsp: int, *, ingress: str, egress: str, own: str) -> list[Object]:
    """What a PATH needs."""
    return [
        session(lsp, ingress=ingress, egress=egress),
        hop(own),
        (5, 1, struct.pack("!I", REFRESH_MS)),
        (19, 1, b"\x00\x00\x08\x00"),
        sender(11, lsp, ingress),
        (12, 2, struct.pack("!HHBBH", 0, 7, 1, 0, 6) + _BUCKET),
    ]


def tear(lsp: int, *, ingress: str, egress: str, own: str) -> list[Object]:
    """What a PATH_TEAR needs."""
    return [session(lsp, ingress=ingress, egress=egress), hop(own), sender(11, lsp, ingress)]


def resv(lsp: int, label: int, *, ingress: str, egress: str, own: str) -> list[Object]:
    """What a RESV needs, in shared explicit style."""
    return [
        session(lsp, ingress=ingress, egress=egress),
        hop(own),
        (5, 1, struct.pack("!I", REFRESH_MS)),
        (8, 1, b"\x00\x00\x00\x12"),
        (9, 2, struct.pack("!HHBBH", 0, 7, 5, 0, 6) + _BUCKET),
        sender(10, lsp, ingress),
        (LABEL, 1, struct.pack("!I", label)),
    ]
