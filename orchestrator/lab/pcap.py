"""Which IPv4 packets are in a capture file? Read as a whole, without a look at each packet by itself.

The format is pcap (draft-ietf-opsawg-pcap): a header of 24 bytes, and for each packet 16 bytes (seconds, fraction, captured and original
length) and what was captured of it. Nothing but the packet before says where one begins.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.errors import LabError
from rackproof.units import NS_PER_S

#: So many bytes behind the header of IPv4 are compared.
CONTENT_BYTES = 64
#: What must be captured of each packet: Ethernet, the longest header of IPv4, and what is compared.
SNAP_BYTES = 14 + 60 + CONTENT_BYTES

_HEADER_BYTES = 24
_RECORD_BYTES = 16
#: The first number of a file -> what a fraction of a second counts [ns].
_FRACTIONS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
_ETHERNET = 1
_IPV4 = 0x0800
_TCP, _UDP = 6, 17
#: A file is walked through from several places at a time: so far from each other at least, and at most so many.
_STRETCH_BYTES = 1 << 15
_STRETCHES_MAX = 1 << 12
#: Where a packet may begin, so many headers in a row must make sense, with times that are not farther from the first one's [s].
_SENSIBLE = 4
_SPAN_S = 86_400
_FRAME_BYTES_MAX = 1 << 17

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.void]


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """TCP and UDP packets of a capture as columns of equal length, in the order of the file.

    at_ns: by the clock of the host that captured it. source: IPv4 address. octets: the IP packet. content: equal for packets that are the
    same, whatever routers did to their headers on the way: a hash over length, IP identification and what follows the header of IPv4,
    checksums left out. fragments: how many packets were fragments; they are not among the columns.
    """

    at_ns: Integers
    source: npt.NDArray[np.uint32]
    ports: tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]
    octets: npt.NDArray[np.uint16]
    content: npt.NDArray[np.uint64]
    fragments: int

    def __len__(self) -> int:
        return len(self.at_ns)


def read(file: Bytes, what: str) -> Seen:
    """The packets of a capture file; what: how messages call it. Raises LabError where it is none, or is damaged."""
    magic = int(_u32(file, np.array([0]))[0]) if len(file) >= _HEADER_BYTES else 0
    if magic not in _FRACTIONS:
        raise LabError(f"{what}: expected a capture in the format pcap, found {bytes(file[:4]).hex() or 'an empty file'}")
    snap, link = (int(number) for number in _u32(file, np.array([16, 20])))
    if link & 0xFFFF != _ETHERNET or snap > SNAP_BYTES:
        found = f"link type {link & 0xFFFF}, {snap} bytes"
        raise LabError(f"{what}: expected Ethernet (link type {_ETHERNET}) and at most {SNAP_BYTES} bytes of each packet, found {found}")
    places = _places(file, what)
    rows: Rows = _rows(file, places, 5)
    keep = (rows["type"] == _IPV4) & ((rows["protocol"] == _TCP) | (rows["protocol"] == _UDP))
    fragments = keep & ((rows["fragment"] & 0x3FFF) != 0)
    keep &= ~fragments
    if not keep.all():
        places, rows = places[keep], rows[keep]
    one, other, content = np.empty(len(rows), np.uint16), np.empty(len(rows), np.uint16), np.empty(len(rows), np.uint64)
    words = rows["version"] & 15
    for size in np.flatnonzero(np.bincount(words)):  # 5, but for packets with options
        mine = words == size
        parts = rows[mine] if size == 5 else _rows(file, places[mine], int(size))
        one[mine], other[mine], content[mine] = parts["one"], parts["other"], _content(parts, 4 * int(size))
    return Seen(
        at_ns=rows["seconds"].astype(np.int64) * NS_PER_S + rows["fraction"].astype(np.int64) * _FRACTIONS[magic],
        source=rows["source"].astype(np.uint32),
        ports=(one, other),
        octets=rows["octets"].astype(np.uint16),
        content=content,
        fragments=int(np.count_nonzero(fragments)),
    )


# --- where packets begin ---


def _places(file: Bytes, what: str) -> Integers:
    """Where the record of each packet begins: walked from many guessed places at a time.

    The first place is known. A walk from a right place ends at the next right place, so that a wrong guess shows, and is mended.
    """
    size = len(file)
    count = min(max(size // _STRETCH_BYTES, 1), _STRETCHES_MAX)
    edges = np.linspace(_HEADER_BYTES, size, count + 1).astype(np.int64)
    starts = np.concatenate([edges[:1], _guesses(file, edges[1:-1]), [size]])
    while True:
        places, ends = _walked(file, starts)
        wrong = np.flatnonzero(ends != starts[1:])
        if not len(wrong):
            return places
        first = int(wrong[0])
        if first + 1 == count or ends[first] > size:
            raise LabError(f"{what}: the capture is cut off or damaged after byte {int(starts[first])} of {size}")
        starts[first + 1] = ends[first]
        starts = np.maximum.accumulate(starts)


def _guesses(file: Bytes, edges: Integers) -> Integers:
    """For each edge where the first record behind it seems to begin; for one without any, that of the next edge, or the end."""
    if not len(edges):
        return edges
    size = len(file)
    first_s = int(_u32(file, np.array([_HEADER_BYTES]))[0])
    found = np.full(len(edges), size, np.int64)
    for step in range(_RECORD_BYTES + SNAP_BYTES):
        left = np.flatnonzero(found == size)
        places = edges[left] + step
        sensible = np.ones(len(left), np.bool_)
        for _ in range(_SENSIBLE):
            inside = np.flatnonzero(sensible & (places <= size - _RECORD_BYTES))
            sensible &= (places <= size - _RECORD_BYTES) | (places == size)
            at = places[inside]
            seconds, fraction, captured, original = (_u32(file, at + offset) for offset in (0, 4, 8, 12))
            good = (np.abs(seconds - first_s) <= _SPAN_S) & (fraction < NS_PER_S)
            good &= (captured <= SNAP_BYTES) & (captured <= original) & (original < _FRAME_BYTES_MAX)
            sensible[inside] &= good
            places[inside] += _RECORD_BYTES + captured
        found[left[sensible]] = edges[left[sensible]] + step
    return np.minimum.accumulate(found[::-1])[::-1].copy()


def _walked(file: Bytes, starts: Integers) -> tuple[Integers, Integers]:
    """The places of all records from each start up to the next, in order; and where each walk ended."""
    at, stops = starts[:-1].copy(), starts[1:]
    last = len(file) - _RECORD_BYTES
    steps = []
    while len(going := np.flatnonzero((at < stops) & (at <= last))):
        step = np.full(len(at), -1, np.int64)
        step[going] = at[going]
        steps.append(step)
        at[going] += _RECORD_BYTES + _u32(file, at[going] + 8)
    table = np.stack(steps, axis=1) if steps else np.empty((len(at), 0), np.int64)
    return table[table >= 0], at


def _u32(file: Bytes, at: Integers) -> Integers:
    """Numbers of four bytes, the lowest first."""
    return sum((file[at + byte].astype(np.int64) << 8 * byte for byte in range(1, 4)), file[at].astype(np.int64))


# --- what is in them ---


def _rows(file: Bytes, places: Integers, words: int) -> Rows:
    """The records at some places, of packets whose header of IPv4 has so many words; bytes that were not captured are those behind it."""
    behind = _RECORD_BYTES + 14 + 4 * words
    fields = {
        "seconds": ("<u4", 0),
        "fraction": ("<u4", 4),
        "type": (">u2", 28),
        "version": ("u1", 30),
        "octets": (">u2", 32),
        "identification": (">u2", 34),
        "fragment": (">u2", 36),
        "protocol": ("u1", 39),
        "source": (">u4", 42),
        "one": (">u2", behind),
        "other": (">u2", behind + 2),
        "content": (("<u8", (CONTENT_BYTES // 8,)), behind),
    }
    kinds, offsets = zip(*fields.values(), strict=True)
    size = behind + CONTENT_BYTES
    row = np.dtype({"names": list(fields), "formats": list(kinds), "offsets": list(offsets), "itemsize": size})
    # The last records are read from a copy with room behind it.
    edge = max(0, len(file) - size)
    early = int(np.searchsorted(places, edge))
    spare = np.concatenate([file[edge:], np.zeros(size, np.uint8)])
    return np.concatenate([_copied(file, places[:early], row), _copied(spare, places[early:] - edge, row)])


def _copied(file: Bytes, places: Integers, row: np.dtype[np.void]) -> Rows:
    # As opaque bytes: fields would be copied one by one.
    everywhere = np.ndarray(max(0, len(file) - row.itemsize + 1), f"V{row.itemsize}", file, strides=(1,))
    return everywhere[places].view(row)


def _content(rows: Rows, header_bytes: int) -> npt.NDArray[np.uint64]:
    """A hash of what tells packets apart."""
    octets = rows["octets"].astype(np.uint64)
    known = np.clip(octets.astype(np.int64) - header_bytes, 0, CONTENT_BYTES)
    tcp = rows["protocol"] == _TCP
    masks = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)
    # Checksums may be the card's work, and then not be there yet: bytes 16 and 17 of TCP, 6 and 7 of UDP.
    checksums = {0: (~tcp, np.uint64(0x0000FFFFFFFFFFFF)), 2: (tcp, np.uint64(0xFFFFFFFFFFFF0000))}
    content: npt.NDArray[np.uint64] = octets << np.uint64(24) | rows["identification"].astype(np.uint64) << np.uint64(8) | rows["protocol"]
    for place in range(CONTENT_BYTES // 8):
        word = rows["content"][:, place] & masks[np.clip(known - 8 * place, 0, 8)]
        if place in checksums:
            which, mask = checksums[place]
            word[which] &= mask
        # The mixing of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
        content = (content ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        content ^= content >> np.uint64(31)
    return content
